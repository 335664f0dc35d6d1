"""Many recordings for `onbeat check`: each in a process and a folder of its own, and a summary of all."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from onbeat.cli.main import COULD_NOT_RUN, FINDING, GOOD, os_sentence
from onbeat.cli.workers import in_processes
from onbeat.errors import OnbeatError

if TYPE_CHECKING:
    from onbeat.cli.terminal import Terminal
    from onbeat.report import RunFolder
    from onbeat.report.check_summary import FileSummary

__all__ = ("check_many",)

_MOST_ROWS = 60  # of the table in a terminal; the report has all
_NAME = 80


@dataclass(frozen=True, slots=True)
class _Task:
    path: Path
    folder: "RunFolder"
    name: str
    only: tuple[str, ...]
    streams: tuple[str, ...]


def check_many(
    paths: Sequence[Path], out: Path | None, only: Sequence[str], streams: Sequence[str], jobs: int, terminal: "Terminal"
) -> int:
    """Check some recordings side by side.

    A file that cannot be read does not stop the others.

    Returns:
        The exit code: 2 when one could not be read whole, else 1 when one has a finding, else 0.
    """
    from onbeat.clock import SystemClock
    from onbeat.report import iso_date, run_folder
    from onbeat.report.check_summary import HEADER, CheckSummary, FileSummary
    from onbeat.report.words import as_sentence, printable

    clock = SystemClock()
    start_ns = clock.now_ns()
    with run_folder("onbeat-check", out) as folder:
        names = _folder_names(paths)
        tasks = [
            _Task(path, folder.inner(name), name, tuple(only), tuple(streams)) for path, name in zip(paths, names, strict=True)
        ]
        done: dict[int, FileSummary] = {}
        with terminal.progress("checking", len(tasks)) as advance:
            for number, result in in_processes(_check, tasks, min(jobs, len(tasks))):
                died = "the process that looked at it was ended, as by a lack of memory; check it alone"
                done[number] = result or FileSummary(str(paths[number]), error=died)
                if not done[number].folder:
                    folder.remove(names[number])
                advance(1)
        summary = CheckSummary(tuple(done[number] for number in range(len(tasks))))
        facts = {
            "date": iso_date(SystemClock("wall").now_ns()),
            "wall_s": (clock.now_ns() - start_ns) / 1e9,
            "jobs": jobs,
            "folder": str(folder.final),
        }
        document = summary.document(facts)
        summary.write(folder, document)
    rows = summary.rows()
    terminal.table(HEADER, rows[:_MOST_ROWS], left=3)
    if len(rows) > _MOST_ROWS:
        terminal.say(f"and {len(rows) - _MOST_ROWS} more in the report")
    terminal.say()
    found = any(one.findings for one in summary.files)
    terminal.say(as_sentence(summary.verdict()), style="yellow" if found else "bold")
    terminal.say()
    terminal.say(f"{folder.final}/report.html")
    terminal.document(document)
    broken = [one for one in summary.files if one.error]
    for one in broken:
        where = "" if Path(one.path).name in one.error else f"{printable(one.path)}: "
        print(f"onbeat: {where}{printable(one.error)}", file=sys.stderr)
    return COULD_NOT_RUN if broken else FINDING if found else GOOD


def _check(task: _Task) -> "FileSummary":
    """Check one recording, in a process of its own."""
    from onbeat.clock import SystemClock
    from onbeat.health.examine import examine
    from onbeat.health.judge import checks_for
    from onbeat.read.open import open_streams
    from onbeat.report import iso_date
    from onbeat.report.check import CheckReport
    from onbeat.report.check_page import write_check
    from onbeat.report.check_summary import FileSummary, file_summary

    path, clock = str(task.path), SystemClock()
    start_ns = clock.now_ns()
    try:
        examined = examine(open_streams(task.path), checks_for(task.only), task.streams)
        report = CheckReport(examined, task.only, task.streams)
        facts = {
            "date": iso_date(SystemClock("wall").now_ns()),
            "wall_s": (clock.now_ns() - start_ns) / 1e9,
            "recording": path,
            "folder": str(task.folder.final),
        }
        write_check(task.folder, report, report.document(facts))
    except OnbeatError as error:
        return FileSummary(path, error=str(error))
    except OSError as error:
        return FileSummary(path, error=os_sentence(error))
    return file_summary(path, task.name, report)


def _folder_names(paths: Sequence[Path]) -> list[str]:
    """Name the folder of each recording after it, with a number where two have one name."""
    taken: set[str] = set()
    names: list[str] = []
    for path in paths:
        stem = re.sub(r"[\x00-\x1f]", "_", path.resolve().name)[:_NAME] or "recording"
        name, number = stem, 1
        while name in taken or name in ("report.html", "result.json"):
            number += 1
            name = f"{stem}-{number}"
        taken.add(name)
        names.append(name)
    return names
