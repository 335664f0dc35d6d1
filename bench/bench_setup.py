"""How long the cold set-up of `make demo` takes, how big the wheel is, and what `onbeat --help` costs.

The set-up is timed in a fresh clone of the committed tree, with an empty pip cache, so that it includes every download.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(command: list[str], cwd: Path, **environment: str) -> None:
    """Run a command; end with its last words when it fails."""
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def cold_setup_s(folder: Path) -> float:
    """Time `make setup` in a fresh clone with empty caches."""
    clone, cache = folder / "onbeat", folder / "cache"
    run(["git", "clone", "-q", str(ROOT), str(clone)], folder)
    began = time.perf_counter()
    run(["make", "-s", "setup"], clone, PIP_CACHE_DIR=str(cache), UV_CACHE_DIR=str(cache), XDG_CACHE_HOME=str(cache))
    return time.perf_counter() - began


def wheel_bytes(clone: Path) -> int:
    """Build a wheel in the clone and give its size."""
    build = "from scikit_build_core.build import build_wheel; build_wheel('wheel')"
    run([str(clone / ".venv" / "bin" / "python"), "-c", build], clone)
    return next((clone / "wheel").glob("onbeat-*.whl")).stat().st_size


def help_cpu_s() -> float:
    """Give the processor time of `onbeat --help`, the least of five runs."""
    command = [str(Path(sys.executable).parent / "onbeat"), "--help"]
    costs = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, capture_output=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(costs)


def main() -> None:
    """Measure and print."""
    folder = Path(tempfile.mkdtemp(prefix="onbeat-setup-"))
    try:
        setup_s = cold_setup_s(folder)
        size = wheel_bytes(folder / "onbeat")
    finally:
        shutil.rmtree(folder)
    cpu_s = help_cpu_s()
    bars = [
        {
            "what": "cold set-up of make demo, empty caches",
            "bar": "under 180 s",
            "figure": f"{setup_s:.0f} s",
            "met": setup_s < 180,
        },
        {"what": "size of the wheel", "bar": "under 1 MB", "figure": f"{size / 1e6:.3f} MB", "met": size < 1_000_000},
        {"what": "onbeat --help", "bar": "under 0.3 s of CPU", "figure": f"{cpu_s:.2f} s", "met": cpu_s < 0.3},
    ]
    if "--json" in sys.argv[1:]:
        print(json.dumps({"bars": bars}))
    else:
        for bar in bars:
            print(f"{bar['what']}: {bar['figure']} (bar: {bar['bar']})")


if __name__ == "__main__":
    main()
