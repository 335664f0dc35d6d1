"""`onbeat doctor`: is this machine fit to keep a loop on time, what is in the way, and what removes it."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onbeat.cli.main import FINDING, GOOD
from onbeat.cli.terminal import Terminal
from onbeat.errors import BadInput

if TYPE_CHECKING:
    from onbeat.machine.machine import MachineCheck
    from onbeat.machine.round_trips import RoundTrips
    from onbeat.machine.self_test import SelfTest
    from onbeat.machine.tries import Snapshot
    from onbeat.report.doctor import DoctorReport

__all__ = ("EXAMPLE", "run")

EXAMPLE = "onbeat doctor --rate 500 --load cpu,gil"

_RATES = (250, 500, 1000)
_ROUND_TRIPS, _ROUND_TRIP_HZ = 2000, 250.0
_STYLES = {"good": None, "unknown": "dim", "warn": "yellow", "bad": "red"}


def run(
    rate: Annotated[int, typer.Option("--rate", metavar="HZ", help="Of the loop of the self test: 250, 500 or 1000.")] = 250,
    seconds: Annotated[float, typer.Option("--seconds", metavar="S", help="How long each self test lasts.")] = 6.0,
    load: Annotated[
        str | None,
        typer.Option("--load", metavar="NAMES", help="Then again under load: some of cpu,mem,disk,gil.", show_default=False),
    ] = None,
    production: Annotated[
        bool, typer.Option("--production", help="Test beside the robot's real jobs, which must be running, not alone.")
    ] = False,
    cpu: Annotated[
        int | None, typer.Option("--cpu", metavar="ID", help="The CPU the loop is to stand on.", show_default=False)
    ] = None,
    device: Annotated[
        str | None,
        typer.Option("--device", metavar="NAME", help="Ask this device 2000 times; it is not moved.", show_default=False),
    ] = None,
    rig: Annotated[
        Path | None,
        typer.Option(
            "--rig", metavar="FILE", help="Where the device is: conf/rig.yaml, else the simulated rig.", show_default=False
        ),
    ] = None,
    watch: Annotated[
        Path | None,
        typer.Option("--watch", metavar="RUN", help="Follow the cycles that a running `onbeat run` records.", show_default=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Folder to write, else onbeat-doctor here.", show_default=False)
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List the good checks too.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")] = False,
) -> int:
    """Say whether this machine can keep a loop on time: each right tried, each setting read, and a native loop run.

    It needs no root and changes nothing. Exit code 0: no check is bad. 1: a check or the self test is. 2: it could not run.
    """
    if watch is not None:
        from onbeat.cli.doctor_watch import follow

        return follow(watch, Terminal(json=json))
    if rate not in _RATES:
        raise BadInput(f"--rate is {rate}; take one of {', '.join(map(str, _RATES))}")
    if cpu is not None and cpu < 0:
        raise BadInput(f"--cpu is {cpu}; a CPU's id is 0 or more")
    loads = tuple(filter(None, (word.strip() for word in (load or "").split(","))))
    if load is not None and not loads:
        raise BadInput("--load names nothing; take some of cpu,mem,disk,gil")
    if production and loads:
        raise BadInput("--production tests beside the real jobs and --load makes jobs up; choose one")
    if rig is not None and device is None:
        raise BadInput("--rig says where a device is; name the device with --device")
    return _examine(Terminal(json=json), rate, seconds, loads, production, cpu, _device(device, rig), out, every)


def _examine(
    terminal: Terminal,
    rate: int,
    seconds: float,
    loads: tuple[str, ...],
    production: bool,
    cpu: int | None,
    device: Any,
    out: Path | None,
    every: bool,
) -> int:
    from onbeat.clock import SystemClock
    from onbeat.machine.checks import check_machine
    from onbeat.machine.loads import check_loads
    from onbeat.machine.machine import Machine
    from onbeat.machine.tries import try_all
    from onbeat.report.doctor import DoctorReport

    clock = SystemClock()
    start_ns = clock.now_ns()
    check_loads(loads)
    machine = Machine()
    kinds = 1 + bool(loads)
    with terminal.steps(1 + kinds + (device is not None)) as begin:
        begin("trying what is granted")
        tried = try_all(machine)
        where = cpu if cpu in tried.allowed else None
        begin(f"a loop at {rate} Hz for {seconds:g} s, {'beside the real jobs' if production else 'alone'}")
        tests, before, after = _tests(machine, rate, seconds, loads, production, where, begin)
        checks = check_machine(machine, tried, before, after, rate_hz=rate, cpu=cpu)
        answers = None
        if device is not None:
            begin(f"{_ROUND_TRIPS} questions to {device[0]}")
            trips, way = _ask(machine, device[1], clock)
            answers, checks = (device[0], trips), (*checks, *way)
    report = DoctorReport(checks, tests, answers)
    facts = {
        "date": "",
        "wall_s": (clock.now_ns() - start_ns) / 1e9,
        "kernel": (machine.text("proc/version") or "").partition(" (")[0],
        "user": f"uid {(machine.status('Uid') or '?').split()[0]}",
    }
    document = _leave(report, facts, out, terminal)
    _print(terminal, report, every)
    if document["run"]["folder"] is not None:
        terminal.say(f"{document['run']['folder']}/report.html")
    terminal.document(document)
    return FINDING if report.level == "bad" else GOOD


def _tests(
    machine: Any, rate: int, seconds: float, loads: tuple[str, ...], production: bool, cpu: int | None, begin: Any
) -> tuple[tuple["SelfTest", ...], "Snapshot", "Snapshot"]:
    from onbeat.machine.self_test import run_self_test

    first, before, after = run_self_test(machine, "production" if production else "baseline", rate, seconds, cpu=cpu)
    if not loads:
        return (first,), before, after
    begin(f"the same under load: {', '.join(loads)}")
    loaded, _, after = run_self_test(machine, "load", rate, seconds, loads=loads, cpu=cpu)
    return (first, loaded), before, after


def _device(name: str | None, rig: Path | None) -> Any:
    """Build a device of a rig, untouched; None when none is asked for."""
    if name is None:
        return None
    from onbeat.clock import SystemClock
    from onbeat.device.config import load_rig_config
    from onbeat.device.load import open_device, simulated_rig_path

    path = rig or (Path("conf/rig.yaml") if Path("conf/rig.yaml").is_file() else simulated_rig_path())
    config = load_rig_config(path)
    if name not in config.modules:
        raise BadInput(f"{path} has no module {name!r}; it has {', '.join(config.modules)}")
    return name, open_device(config.modules[name], SystemClock())


def _ask(machine: Any, device: Any, clock: Any) -> "tuple[RoundTrips, list[MachineCheck]]":
    """Ask the device, and look at what its driver has open meanwhile."""
    from onbeat.machine.path import look_at_path, open_files
    from onbeat.machine.path_checks import path_checks
    from onbeat.machine.round_trips import measure_round_trips

    before, way = open_files(), []

    def look() -> None:
        way.extend(path_checks(machine, look_at_path(machine, before)))

    return measure_round_trips(device, clock, n=_ROUND_TRIPS, rate_hz=_ROUND_TRIP_HZ, look=look), way


def _leave(report: "DoctorReport", facts: dict[str, Any], out: Path | None, terminal: Terminal) -> dict[str, Any]:
    """Leave the folder of the run; where nothing may be written and no folder was asked for, only say so."""
    from onbeat.clock import SystemClock
    from onbeat.report import iso_date, run_folder
    from onbeat.report.doctor_page import write_doctor

    facts["date"] = iso_date(SystemClock("wall").now_ns())
    facts["folder"] = None
    document = report.document(facts)
    with suppress(*([BadInput] if out is None else [])), run_folder("onbeat-doctor", out) as folder:
        document = report.document({**facts, "folder": str(folder.final)})
        write_doctor(folder, report, document)
    if document["run"]["folder"] is None:
        terminal.say("no folder was left: this user may not write here; name one with --out", style="dim")
    return document


def _print(terminal: Terminal, report: "DoctorReport", every: bool) -> None:
    from onbeat.cli.doctor_words import bars
    from onbeat.report.doctor_page import ROUND_TRIP_HEADER, SELF_TEST_HEADER, round_trip_cells, self_test_cells
    from onbeat.report.words import as_sentence, printable

    terminal.say(as_sentence(report.verdict()), style=_STYLES[report.level])
    terminal.say()
    levels = ("bad", "warn", "unknown", "good") if every else ("bad", "warn", "unknown")
    shown = [check for level in levels for check in report.checks if check.verdict == level]
    rows = [[check.verdict, check.name, printable(check.words), check.fix] for check in shown]
    terminal.table(("", "check", "found", "fix"), rows, left=4, styles=[_STYLES[check.verdict] for check in shown])
    if hidden := len(report.checks) - len(shown):
        terminal.say(f"{hidden} good checks are not listed (--all lists them)", style="dim")
    if report.tests:
        terminal.say()
        terminal.table(SELF_TEST_HEADER, [self_test_cells(test) for test in report.tests], left=2)
        for row, test in zip((self_test_cells(test) for test in report.tests), report.tests, strict=True):
            terminal.say()
            if lines := bars(test):
                terminal.say(f"{row[0]}: cycles by how late they woke (bars are logarithmic)", style="dim")
            for line in lines:
                terminal.say(line)
            for words in (test.invalid, *test.refused):
                if words:
                    terminal.say(as_sentence(words), style="yellow")
    if report.device is not None:
        name, trips = report.device
        terminal.say()
        terminal.say(
            f"{printable(name)}: {len(trips.took_ns)} questions at {trips.rate_hz:g} Hz, {trips.late} ticks passed before an "
            "answer was in; it was told nothing"
        )
        terminal.table(ROUND_TRIP_HEADER, round_trip_cells(trips))
    terminal.say()
