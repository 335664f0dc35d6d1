"""How much CPU `onbeat --help` takes, beside Python alone: python bench/bench_cli.py [--json]."""

import json
import resource
import subprocess
import sys

RUNS = 15
BAR_S = 0.3


def cpu_s(arguments: list[str]) -> float:
    """User and system time of one fresh interpreter, in seconds: the median of several."""
    times = []
    for _ in range(RUNS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return sorted(times)[RUNS // 2]


def onbeat_s(*arguments: str) -> float:
    return cpu_s(["-c", "import sys; from onbeat.cli.main import main; sys.exit(main())", *arguments])


def main() -> None:
    alone_s, help_s, command_s = cpu_s(["-c", "pass"]), onbeat_s("--help"), onbeat_s("delay", "--help")
    if "--json" not in sys.argv:
        for what, value_s in (("python alone", alone_s), ("onbeat --help", help_s), ("onbeat delay --help", command_s)):
            print(f"{what:<20} {value_s * 1e3:4.0f} ms CPU")
    bars = [
        {
            "what": f"CPU time of `{what}` (Python alone: {alone_s * 1e3:.0f} ms)",
            "bar": f"< {BAR_S:g} s",
            "figure": f"{value_s * 1e3:.0f} ms",
            "met": value_s < BAR_S,
        }
        for what, value_s in (("onbeat --help", help_s), ("onbeat delay --help", command_s))
    ]
    print(json.dumps({"bars": bars}))


if __name__ == "__main__":
    main()
