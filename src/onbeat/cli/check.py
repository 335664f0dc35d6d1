"""`onbeat check`: name the timing faults of a recording, or of many."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from onbeat.cli.main import COULD_NOT_RUN, FINDING, GOOD
from onbeat.cli.terminal import Terminal, only_we_speak
from onbeat.errors import BadInput, OnbeatError

__all__ = ("EXAMPLE", "run")

EXAMPLE = "onbeat check drive.mcap --out drive_check"

_Words = list[str] | None
_NAME = 80  # characters of a recording's name in the name of its folder


def run(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="A recording, several, or a folder: MCAP, bags, LeRobot, CSV, ...")
    ],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder to write, else onbeat-check-NAME here.", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")] = False,
    baseline: Annotated[
        Path | None,
        typer.Option("--baseline", metavar="result.json", help="Exit 1 only where it got worse than this.", show_default=False),
    ] = None,
    only: Annotated[_Words, typer.Option("--only", metavar="FAULT", help="Ask for this fault only; may be repeated.")] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="N", help="Processes for many recordings, else one a core.", show_default=False),
    ] = None,
    stream: Annotated[_Words, typer.Option("--stream", metavar="NAME", help="Look at this stream only; may be repeated.")] = None,
) -> int:
    """Name the timing faults of a recording: what is wrong, how sure, how to confirm it, how to mend it.

    It needs no robot and no configuration. The folder holds report.html, result.json and a picture for each finding; of many
    recordings, a folder for each and a summary. Exit code 0: no finding. 1: a finding, or with --baseline: it got worse.
    2: it could not run, or a file could not be read whole (what could be read is judged).
    """
    from onbeat.health.judge import checks_for

    if jobs is not None and jobs < 1:
        raise BadInput(f"--jobs is {jobs}; it must be 1 or more")
    checks_for(only or ())  # an unknown fault is said before anything is read
    before = None if baseline is None else _baseline(baseline)
    recordings = _recordings(paths[0], alone=len(paths) == 1)
    if len(recordings) == 1 and len(paths) == 1:
        return _check_one(recordings[0], out, before, only or [], stream or [], Terminal(json=json))
    recordings = list(dict.fromkeys(recording for path in paths for recording in _recordings(path)))
    if before is not None:
        raise BadInput(f"--baseline is of one recording, and these are {len(recordings)}; check them one at a time")
    from onbeat.cli.check_many import check_many

    return check_many(recordings, out, only or [], stream or [], jobs or os.cpu_count() or 1, Terminal(json=json))


def _recordings(path: Path, *, alone: bool = False) -> list[Path]:
    """Find the recordings at a path; of several, one with nothing to read stands for itself, and its own process says why."""
    from onbeat.read.open import find_recordings

    try:
        return find_recordings(path)
    except (OnbeatError, OSError):
        if alone:
            raise
        return [path]


def _check_one(
    path: Path, out: Path | None, before: Mapping[str, Any] | None, only: list[str], streams: list[str], terminal: Terminal
) -> int:
    from onbeat.cli.check_words import print_comparison, print_report
    from onbeat.clock import SystemClock
    from onbeat.health.baseline import RULE, compare
    from onbeat.health.examine import examine
    from onbeat.health.judge import checks_for
    from onbeat.read.open import open_streams
    from onbeat.report import iso_date, run_folder
    from onbeat.report.check import CheckReport, comparison_data
    from onbeat.report.check_page import write_check
    from onbeat.report.words import printable

    clock = SystemClock()
    start_ns = clock.now_ns()
    checks = checks_for(only)
    recording = open_streams(path)
    whole = path.resolve()
    with run_folder(f"onbeat-check-{(whole.stem if whole.is_file() else whole.name)[:_NAME]}", out) as folder:
        with only_we_speak():
            examined = examine(recording, checks, streams, terminal.progress)
        report = CheckReport(examined, tuple(only), tuple(streams))
        facts = {
            "date": iso_date(SystemClock("wall").now_ns()),
            "wall_s": (clock.now_ns() - start_ns) / 1e9,
            "recording": str(whole),
            "folder": str(folder.final),
        }
        document = report.document(facts)
        comparison = None if before is None else compare(before, document)
        if comparison is not None:
            document["baseline"] = comparison_data(comparison)
        write_check(folder, report, document)
    print_report(terminal, report)
    if comparison is not None:
        print_comparison(terminal, comparison, RULE)
    terminal.say(f"{folder.final}/report.html")
    terminal.document(document)
    if damage := report.examined.damage:
        print(f"onbeat: {printable(damage)}", file=sys.stderr)
        return COULD_NOT_RUN
    worse = report.findings if comparison is None else comparison.worse
    return FINDING if worse else GOOD


def _baseline(path: Path) -> Mapping[str, Any]:
    """Read a baseline.

    Raises:
        BadInput: it is no JSON object.
    """
    from json import loads

    try:
        document = loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadInput(f"the baseline {path} is no JSON document ({error}); give the result.json of an onbeat check") from error
    if not isinstance(document, dict):
        raise BadInput(f"the baseline {path} holds no object; give the result.json of an onbeat check")
    return document
