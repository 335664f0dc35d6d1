"""Run every bench and write its bars, with command, date, machine and stolen time, into docs/measuring.md.

How a bench reports stands in docs/measuring.md. `python bench/measure.py NAME ...` runs only the benches whose file names
contain one of the NAMEs, and keeps the other rows.
"""

import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "measuring.md"
BEGIN, END = "<!-- bars: begin -->", "<!-- bars: end -->"
HEAD = "| what | bar | figure | | command | date | machine | stolen |\n|---|---|---|---|---|---|---|---|"
MARKS = {True: "met", False: "**missed**", None: "not measured"}
LIMIT_S = 900


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    what: str
    bar: str
    figure: str
    met: bool | None
    command: str
    date: str
    machine: str
    stolen: str

    def __str__(self) -> str:
        cells = (self.what, self.bar, self.figure, MARKS[self.met], f"`{self.command}`", self.date, self.machine, self.stolen)
        return "| " + " | ".join(cell.replace("|", "/").replace("\n", " ") for cell in cells) + " |"


def machine() -> str:
    """Say what this machine is, without naming it."""
    model = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    cores, kernel = len(os.sched_getaffinity(0)), platform.release().split("-")[0]
    return f"{cores} cores, {model}, Linux {kernel}, Python {platform.python_version()}"


def cpu_times() -> tuple[int, int]:
    """Read the processor time stolen by the host, and all processor time, in clock ticks since the boot."""
    ticks = [int(n) for n in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return ticks[7], sum(ticks)


def stolen_between(before: tuple[int, int], after: tuple[int, int]) -> str:
    """Give the share of processor time that the host took between two reads."""
    return f"{100 * (after[0] - before[0]) / max(1, after[1] - before[1]):.1f} %"


def bars_of(stdout: str) -> list[dict[str, Any]]:
    """Read the bars from a bench's last line.

    Raises:
        ValueError: the last line is not the JSON object that docs/measuring.md asks for.
    """
    lines = stdout.strip().splitlines()
    if not lines:
        raise ValueError("it printed nothing")
    try:
        bars = json.loads(lines[-1])["bars"]
        checked = [{key: bar[key] for key in ("what", "bar", "figure", "met")} for bar in bars]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"its last line is not a JSON object with bars: {error}") from error
    if not checked or any(bar["met"] not in MARKS for bar in checked):
        raise ValueError("it has no bars, or one whose met is not true, false or null")
    return checked


def measure(bench: Path, here: str) -> list[Row]:
    """Run one bench and give its rows; a bench that breaks gives one row that says so."""
    command = f"python bench/{bench.name}"
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    before = cpu_times()
    try:
        done = subprocess.run(
            [sys.executable, str(bench), "--json"], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, check=False
        )
        if done.returncode != 0:
            raise ValueError(f"exit code {done.returncode}: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
        bars = bars_of(done.stdout)
    except subprocess.TimeoutExpired:
        bars = [{"what": bench.stem, "bar": "", "figure": f"bench failed: no end within {LIMIT_S} s", "met": False}]
    except ValueError as error:
        bars = [{"what": bench.stem, "bar": "", "figure": f"bench failed: {error}", "met": False}]
    stolen = stolen_between(before, cpu_times())
    return [Row(**bar, command=command, date=date, machine=here, stolen=stolen) for bar in bars]


def table_of(page: str) -> list[str]:
    """Give the rows that stand in the page."""
    between = page.split(BEGIN)[1].split(END)[0]
    return [line for line in between.splitlines() if line.startswith("| ") and not line.startswith("| what |")]


def with_table(page: str, rows: list[str]) -> str:
    """Put rows into the page, between the marks."""
    before, rest = page.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n" + "\n".join([HEAD, *rows]) + f"\n{END}{after}"


def main(names: list[str]) -> int:
    """Run the benches and rewrite the page; 1 when a bar was missed."""
    benches = sorted(path for kind in ("bench_*.py", "trace_*.py") for path in (ROOT / "bench").glob(kind))
    chosen = [path for path in benches if not names or any(name in path.name for name in names)]
    here = machine()
    page = PAGE.read_text()
    commands = {f"`python bench/{path.name}`" for path in benches if path not in chosen}
    rows = [line for line in table_of(page) if any(command in line for command in commands)]
    missed = False
    for bench in chosen:
        print(f"{bench.name} ...", flush=True)
        for row in measure(bench, here):
            print(f"  {MARKS[row.met]:12} {row.what}: {row.figure} (bar: {row.bar})", flush=True)
            rows.append(str(row))
            missed = missed or row.met is False
    PAGE.write_text(with_table(page, sorted(rows, key=lambda row: row.split("`")[1])))
    print(f"{PAGE.relative_to(ROOT)}: {len(rows)} rows")
    return int(missed)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
