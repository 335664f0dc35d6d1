"""`onbeat identify`: move the joints of a module one after another, and say what each makes of its commands."""

import platform
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onbeat.cli.main import FINDING, GOOD
from onbeat.cli.terminal import Terminal
from onbeat.errors import BadInput

if TYPE_CHECKING:
    from collections.abc import Sequence

    from onbeat.calibrate.excitation import Excitation
    from onbeat.calibrate.identify import JointPlant, Request
    from onbeat.device import ModuleConfig
    from onbeat.policy import Module, Rig
    from onbeat.report.folder import RunFolder
    from onbeat.report.identify import IdentifyReport

__all__ = ("EXAMPLE", "run")

EXAMPLE = "onbeat identify conf/rig.yaml --module arm --joint 0 --seconds 60"

_USUAL_RIG = Path("conf/rig.yaml")
_SIMULATED = "onbeat.device.simulated:"
_START_NS = 1_000_000_000


def run(
    rig: Annotated[
        Path | None,
        typer.Argument(
            metavar="[RIG.yaml | FOLDER]",
            help="The rig's YAML (default: conf/rig.yaml, else the simulated rig); or what a run has left, to judge it anew.",
        ),
    ] = None,
    module: Annotated[
        str | None, typer.Option("--module", metavar="NAME", help="Which module (default: the first that takes commands).")
    ] = None,
    joint: Annotated[
        list[int] | None, typer.Option("--joint", metavar="N", help="This joint only, from 0; may be repeated.")
    ] = None,
    motion: Annotated[str, typer.Option("--motion", help="sines (one after another), multisine or chirp.")] = "sines",
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="How long to move each joint.")] = 60.0,
    amplitude: Annotated[
        float | None,
        typer.Option("--amplitude", metavar="X", help="How far to each side at most (default: 0.35 rad, or 0.02 m)."),
    ] = None,
    speed: Annotated[
        float | None,
        typer.Option("--speed", metavar="X", help="How fast at most (default: 1 rad/s, 0.08 m/s, or half of max_speed)."),
    ] = None,
    acceleration: Annotated[
        float | None, typer.Option("--acceleration", metavar="X", help="How hard at most (default: 12 rad/s2, or 1 m/s2).")
    ] = None,
    tone: Annotated[
        list[float] | None,
        typer.Option("--tone", metavar="HZ", help="A frequency to move at; two or more (default: 0.3 to 2.5)."),
    ] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="Simulated rigs: on a manual clock, without waiting; the same numbers each time.")
    ] = False,
    write: Annotated[bool, typer.Option("--write/--no-write", help="Write plant: into the module's YAML.")] = True,
    yes: Annotated[bool, typer.Option("--yes", help="Move a real robot without asking.")] = False,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Folder to write (default: onbeat-identify here, numbered if taken)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")] = False,
) -> int:
    """Move the joints of a module one after another, and identify what each makes of its commands.

    Each joint moves around where it stands, from rest to rest, while the others stay. It gets its delay from sending to motion
    (l_eff) with a 95 % interval, dead time, lag and gain, or the reason why they cannot be told. What was found is written to the
    module's YAML as plant:, and to a folder as result.json, with a picture and a report.html. action_latency stays the lead that
    is applied. The folder keeps what was sent and read; name it in place of a rig to judge that anew. Ctrl-C ends the motion: the
    module holds. Exit code 1 when a joint cannot be told.
    """
    if rig is not None and (rig.suffix == ".npz" or (rig / "motion.npz").exists()):
        moving = {"--module": module, "--amplitude": amplitude, "--speed": speed, "--acceleration": acceleration}
        given = [option for option, value in moving.items() if value is not None] + ["--fast"] * fast
        if given:
            raise BadInput(f"{rig} is a motion that was kept, and nothing moves; leave out {', '.join(given)}")
        return _again(Terminal(json=json), rig, joint, tone, out)
    from onbeat.calibrate.files import check_writable
    from onbeat.calibrate.identify import excitation_of
    from onbeat.calibrate.kept_motion import MOTION_FILE, keep_motion
    from onbeat.clock import ManualClock, SystemClock
    from onbeat.device import copy_rig, simulated_rig_path
    from onbeat.policy import Rig, load_rig
    from onbeat.report import run_folder

    request = _request(motion, seconds, amplitude, speed, acceleration, tone)
    terminal, wall = Terminal(json=json), SystemClock()
    start_ns = wall.now_ns()
    path = rig or (_USUAL_RIG if _USUAL_RIG.exists() else simulated_rig_path())
    ours = path.resolve() == simulated_rig_path().resolve()
    with run_folder("onbeat-identify", out) as folder:
        if ours:  # what comes with onbeat is not written to
            path = copy_rig(path, folder.path("rig"))
        clock = ManualClock(_START_NS) if fast else SystemClock()
        machine = load_rig(path, clock)
        name, target = _module(machine, module)
        if fast and not target.config.device.startswith(_SIMULATED):
            raise BadInput(f"--fast is for simulated rigs, and {name} is {target.config.device!r}; leave it out")
        joints = list(dict.fromkeys(joint)) if joint else list(range(max(target.info.width, 1)))
        motions = {number: excitation_of(target.config, target.info, number, request) for number in joints}
        if write and target.config.path is not None:
            check_writable(target.config.path)
        if not target.config.device.startswith(_SIMULATED):
            _ask(name, target.info.unit, motions, yes)
        found = _move(terminal, Rig({name: target}, clock), name, motions)
        keep_motion(
            folder.path(MOTION_FILE), target.config, target.info.unit, _final(folder, path), [joint.moved for joint in found]
        )
        now = _now()
        written = _write(target.config, found, folder, now) if write else None
        run = {**now, "wall_s": (wall.now_ns() - start_ns) / 1e9, "fast": fast}
        asked = _asked(amplitude, speed, acceleration, tone)
        report, document = _report(folder, target.config, target.info.unit, _final(folder, path), found, written, run, asked)
    return _tell(terminal, report, document)


def _again(terminal: Terminal, path: Path, joints: list[int] | None, tones: list[float] | None, out: Path | None) -> int:
    """Judge a motion that was kept."""
    from dataclasses import replace

    from onbeat.calibrate.identify import identify_joint
    from onbeat.calibrate.kept_motion import open_motion, read_joint
    from onbeat.report import run_folder

    kept = open_motion(path)
    with run_folder("onbeat-identify", out) as folder:
        moved = [read_joint(kept, joint) for joint in (dict.fromkeys(joints) if joints else kept.joints)]
        asked = _as_moved([each.excitation for each in moved])
        if tones:
            moved = [replace(each, excitation=replace(each.excitation, tones_hz=tuple(tones))) for each in moved]
        found = [identify_joint(each) for each in moved]
        run = {**_now(), "motion": str(kept.arrays.path)}
        report, document = _report(folder, kept.module, kept.unit, kept.rig, found, None, run, asked)
    return _tell(terminal, report, document)


def _request(
    motion: str,
    seconds: float,
    amplitude: float | None,
    speed: float | None,
    acceleration: float | None,
    tones: list[float] | None,
) -> "Request":
    from onbeat.calibrate.excitation import MOTIONS, TONES_HZ
    from onbeat.calibrate.identify import Request

    kind = next((kind for kind in MOTIONS if kind == motion), None)
    if kind is None:
        raise BadInput(f"--motion is {motion!r}; it must be {', '.join(MOTIONS[:-1])} or {MOTIONS[-1]}")
    for option, value in (("--amplitude", amplitude), ("--speed", speed), ("--acceleration", acceleration)):
        if value is not None and not 0 < value < float("inf"):
            raise BadInput(f"{option} is {value:g}; it must be a number above 0")
    return Request(kind, seconds, amplitude, speed, acceleration, tuple(tones) if tones else TONES_HZ)


def _asked(amplitude: float | None, speed: float | None, acceleration: float | None, tones: "Sequence[float] | None") -> str:
    """Give the options that bound a motion, for the command that repeats it."""
    bounds = (("amplitude", amplitude), ("speed", speed), ("acceleration", acceleration))
    options = [f" --{name} {value:g}" for name, value in bounds if value is not None]
    return "".join([*options, *(f" --tone {tone:g}" for tone in tones or ())])


def _as_moved(motions: "Sequence[Excitation]") -> str:
    """Give the options of a motion of which only what was sent is known: not farther, not faster."""
    from onbeat.calibrate.excitation import TONES_HZ

    amplitude = max(max(-motion.reach[0], motion.reach[1]) for motion in motions)
    speed = max(motion.peak_speed for motion in motions)
    acceleration = max(motion.peak_acceleration for motion in motions)
    tones = motions[0].tones_hz
    return _asked(amplitude, speed, acceleration, None if tones == TONES_HZ else tones)


def _module(rig: "Rig", name: str | None) -> "tuple[str, Module]":
    if name is not None:
        return name, rig[name]
    for each, module in rig.modules.items():
        if module.commanded and not module.takes_poses:
            return each, module
    raise BadInput(f"no module of this rig takes joints; it has {', '.join(rig.modules)}")


def _ask(name: str, unit: str, motions: "dict[int, Excitation]", yes: bool) -> None:
    """Say what a real robot is going to do, and wait for a yes."""
    print(f"{name} is going to move, each joint around where it stands, the others staying:", file=sys.stderr)
    for joint, motion in motions.items():
        far = max(-motion.reach[0], motion.reach[1])
        print(
            f"  joint {joint}: up to {far:.3g} {unit} to each side, {motion.peak_speed:.3g} {unit}/s and "
            f"{motion.peak_acceleration:.3g} {unit}/s2, {motion.duration_s:.0f} s of {motion.motion}",
            file=sys.stderr,
        )
    if yes:
        return
    if not sys.stdin.isatty():
        raise BadInput(f"{name} moves only after a yes; run it in a terminal, or give --yes")
    if not typer.confirm("Is there room, and a hand at the emergency stop?", err=True):
        raise BadInput("not confirmed; nothing was opened or moved")


def _move(terminal: Terminal, rig: "Rig", name: str, motions: "dict[int, Excitation]") -> "list[JointPlant]":
    from onbeat.calibrate.identify import check_places, identify_joint, move_joint

    total_s = sum(motion.duration_s for motion in motions.values())
    found, passed_s = [], 0.0

    def tell(seconds: float) -> None:
        nonlocal passed_s
        advance(int(passed_s + seconds) - int(passed_s))
        passed_s += seconds

    try:
        with terminal.progress(f"moving {name}", round(total_s)) as advance, rig:
            check_places(rig, name, motions)
            for joint, motion in motions.items():
                found.append(identify_joint(move_joint(rig, name, joint, motion, tell)))
    except KeyboardInterrupt:
        print(f"onbeat: {name} holds where it is", file=sys.stderr)
        raise
    return found


def _write(config: "ModuleConfig", found: "list[JointPlant]", folder: "RunFolder", now: dict[str, str]) -> Path | None:
    """Write the plants beside the hardware; gives the file, or None where there was nothing to write."""
    from onbeat.calibrate.files import write_plant
    from onbeat.calibrate.identify import known_plant

    told = [joint for joint in found if joint.plant.accepted]
    if not told or config.path is None:
        return None
    for joint in told:
        write_plant(config.path, joint.joint, known_plant(joint, **now), module=config.name if config.inline else None)
    return _final(folder, config.path)


def _now() -> dict[str, str]:
    """Give date and host of what is written."""
    from onbeat.clock import SystemClock
    from onbeat.report import iso_date

    return {"date": iso_date(SystemClock("wall").now_ns()), "host": platform.node()}


def _report(
    folder: "RunFolder",
    config: "ModuleConfig",
    unit: str,
    rig: Path,
    found: "list[JointPlant]",
    written: Path | None,
    run: dict[str, Any],
    asked: str,
) -> "tuple[IdentifyReport, dict[str, Any]]":
    """Write the report."""
    from onbeat.calibrate.identify import known_plant
    from onbeat.device.agreement import lead_agreement
    from onbeat.report.identify import IdentifyReport

    told = {joint.joint: known_plant(joint, run["date"], run["host"]) for joint in found if joint.plant.accepted}
    # A motion that was kept knows nothing of the module's figures.
    agreement = lead_agreement(config, told) if config.path is not None else None
    report = IdentifyReport(config, unit, tuple(found), agreement, rig, written, asked)
    document = report.document({**run, "rig": str(rig), "folder": str(folder.final)})
    report.write(folder, document)
    return report, document


def _tell(terminal: Terminal, report: "IdentifyReport", document: dict[str, Any]) -> int:
    """Say what was found."""
    from onbeat.report.identify import KEY

    if table := report.table():
        terminal.table(table.header, table.rows)
        terminal.say(KEY, style="dim")
        terminal.say()
    for sentence in report.sentences():
        terminal.say(sentence)
    terminal.say()
    terminal.say(f"{document['run']['folder']}/report.html")
    terminal.say(f"next: {report.next_command()}")
    terminal.document(document)
    return FINDING if report.refused else GOOD


def _final(folder: "RunFolder", path: Path) -> Path:
    """Give where a file will be once the folder has its name."""
    partial = folder.path(".").resolve()
    resolved = path.resolve()
    return folder.final / resolved.relative_to(partial) if resolved.is_relative_to(partial) else path
