"""`onbeat delay`: say from a recording how late a robot's joints follow their commands."""

from pathlib import Path
from typing import Annotated

import typer

from onbeat.cli.main import FINDING, GOOD
from onbeat.cli.terminal import Terminal
from onbeat.errors import BadInput

__all__ = ("EXAMPLE", "run")

EXAMPLE = "onbeat delay ~/datasets/my_arm --out my_arm_delay"


_Words = list[str] | None


def run(
    recording: Annotated[Path, typer.Argument(metavar="RECORDING", help="A LeRobot data set (its folder) or a CSV file.")],
    joint: Annotated[_Words, typer.Option("--joint", metavar="NAME", help="Look at this joint only; may be repeated.")] = None,
    max_delay: Annotated[float, typer.Option("--max-delay", metavar="S", help="Longest delay to look for, in seconds.")] = 0.5,
    episode: Annotated[int | None, typer.Option("--episode", metavar="N", help="Look at this episode only.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder to write, else onbeat-delay-NAME here.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")] = False,
    time: Annotated[str | None, typer.Option("--time", metavar="COLUMN", help="CSV: the column of time.")] = None,
    time_unit: Annotated[str | None, typer.Option("--time-unit", metavar="UNIT", help="CSV: its unit: s, ms, us or ns.")] = None,
    command: Annotated[_Words, typer.Option("--command", metavar="COLUMNS", help="CSV: of commands: a,b or 'cmd_*'.")] = None,
    measured: Annotated[
        _Words, typer.Option("--measured", metavar="COLUMNS", help="CSV: of measurements, in that order.")
    ] = None,
) -> int:
    """Say from a recording of a robot how late its joints follow their commands.

    Each joint gets its delay with a 95 % interval, or the reason why the recording cannot tell. The numbers go to a folder as
    result.json, with a picture and a report.html. Exit code 1 when no joint can be told.
    """
    from onbeat.calibrate.follow import Follower
    from onbeat.clock import SystemClock
    from onbeat.record import open_joints
    from onbeat.report import iso_date, run_folder
    from onbeat.report.delay import DelayReport

    if not 0 < max_delay <= 10:
        raise BadInput(f"--max-delay is {max_delay:g} s; it must be above 0 and at most 10")
    terminal = Terminal(json=json)
    clock = SystemClock()
    start_ns = clock.now_ns()
    source = open_joints(recording, time=time, command=command or (), measured=measured or (), unit=time_unit)
    columns = _columns(source.joints, joint or (), recording)
    path = source.path.resolve()
    with run_folder(
        f"onbeat-delay-{path.stem if path.is_file() else path.name}", out
    ) as folder:  # before the work, so that a folder that cannot be made costs no wait
        follower = Follower(source.joints, columns, max_delay)
        count = source.episode_count if episode is None else 1
        with terminal.progress("estimating", count * len(columns) if count else None) as advance:
            for one in source.episodes(episode):
                follower.add(one, advance)
        report = DelayReport(source, follower.result(), max_delay)
        run_facts = {
            "date": iso_date(SystemClock("wall").now_ns()),
            "wall_s": (clock.now_ns() - start_ns) / 1e9,
            "recording": str(path),
            "folder": str(folder.final),
        }
        document = report.document(run_facts)
        report.write(folder, document)
    if table := report.table():
        terminal.table(table.header, table.rows)
        terminal.say()
    for sentence in report.sentences():
        terminal.say(sentence)
    terminal.say()
    terminal.say(f"{folder.final}/report.html")
    terminal.document(document)
    return GOOD if report.result.accepted else FINDING


def _columns(joints: tuple[str, ...], names: "list[str] | tuple[str, ...]", recording: Path) -> list[int]:
    """Find the joints that were asked for: by name, or by the only name that holds the word."""
    from difflib import get_close_matches

    columns: list[int] = []
    for name in names:
        hits = [k for k, joint in enumerate(joints) if joint == name] or [
            k for k, joint in enumerate(joints) if name.lower() in joint.lower()
        ]
        if not hits:
            near = get_close_matches(name, joints, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(joints)}"
            raise BadInput(f"{recording} has no joint {name!r}; {hint}")
        columns.extend(k for k in hits if k not in columns)
    return columns or list(range(len(joints)))
