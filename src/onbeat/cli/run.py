"""`onbeat run`: run a policy on a rig, and leave one folder that says how it went."""

import logging
import platform
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onbeat.cli.main import FINDING, GOOD
from onbeat.cli.run_log import kept_log, open_page
from onbeat.cli.terminal import Terminal
from onbeat.errors import BadInput, OnbeatError

if TYPE_CHECKING:
    from onbeat.policy import Rig, Runner
    from onbeat.record.mcap import Recorder
    from onbeat.report.run import RunSummary
    from onbeat.report.story import LoopSummary

__all__ = ("EXAMPLE", "run")

EXAMPLE = "onbeat run conf/policy.yaml --rig conf/rig.yaml --duration 30"

_USUAL_RIG = Path("conf/rig.yaml")
_DRAIN_NS = 1_000_000_000
_ALOUD = ("onbeat.rig", "onbeat.runner")


def run(
    policy: Annotated[Path, typer.Argument(metavar="POLICY.yaml", help="The policy's YAML; its key policy names the function.")],
    rig: Annotated[
        Path | None,
        typer.Option("--rig", help="The rig's YAML (default: conf/rig.yaml, else the simulated rig).", show_default=False),
    ] = None,
    duration: Annotated[
        float | None, typer.Option("--duration", help="Seconds to run (default: until Ctrl-C).", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder to write (default: onbeat-run here, numbered if taken).", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")] = False,
    headless: Annotated[bool, typer.Option("--headless", help="Show no progress and open no browser.")] = False,
) -> int:
    """Run a policy on a rig until --duration or Ctrl-C, and say what became of its waypoints and what was late.

    The folder holds recording.mcap, run.log, result.json and report.html. Exit code 1 when something was late, missed or
    rejected; 2 when a device or the policy failed: all modules hold then, and the folder is kept.
    """
    if duration is not None and not 0 < duration < float("inf"):
        raise BadInput(f"--duration is {duration:g}; it must be a number of seconds > 0")
    from onbeat.clock import SystemClock
    from onbeat.device import load_policy_config, simulated_rig_path
    from onbeat.policy import Runner, load_rig
    from onbeat.policy.load import load_policy
    from onbeat.record.mcap import Recorder
    from onbeat.report import plain_json, run_folder
    from onbeat.report.run import RunSummary, run_page, tally

    terminal, clock = Terminal(json=json), SystemClock()
    config = load_policy_config(policy)
    rig_path = rig or (_USUAL_RIG if _USUAL_RIG.exists() else simulated_rig_path())
    function = load_policy(config)
    machine = load_rig(rig_path, clock)
    runner = Runner(
        machine,
        function,
        config.policy_dt,
        config.execution_speed_scale,
        config.n_obs,
        config.obs_dt,
        config.first_step,
    )
    facts: dict[str, Any] = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "host": platform.node(),
        "policy": str(policy.resolve()),
        "rig": str(rig_path.resolve()),
        "duration_s": duration,
    }
    with run_folder("onbeat-run", out) as folder, kept_log(folder.path("run.log"), _ALOUD):
        if not headless and not json:
            simulated = rig is None and rig_path != _USUAL_RIG
            what = f"the simulated rig (there is no {_USUAL_RIG}; name one with --rig)" if simulated else str(rig_path)
            print(f"running {policy} on {what}; Ctrl-C ends it", file=sys.stderr, flush=True)
        recorder = Recorder(folder.path("recording.mcap"), clock.id)
        start_ns = clock.now_ns()
        ended, error, loops = _go(runner, recorder, duration)
        facts |= {"ended": ended, "wall_s": (clock.now_ns() - start_ns) / 1e9}
        facts |= {"recording": recorder.counts, "folder": str(folder.final)}
        sentence = "" if error is None else str(error)
        summary = RunSummary(len(runner.decisions), tally(runner.decisions), runner.counts, tuple(loops), facts, sentence)
        document = summary.result()
        folder.write("result.json", plain_json(document))
        folder.write("report.html", run_page(summary))
    _print(terminal, summary, folder.final)
    terminal.document(document)
    if error is not None:
        raise error
    if not headless and not json:
        open_page(folder.final / "report.html")
    return FINDING if summary.findings else GOOD


def _go(runner: "Runner", recorder: "Recorder", duration_s: float | None) -> "tuple[str, OnbeatError | None, list[LoopSummary]]":
    """Start the rig, run, and stop it; gives how it ended, the error where there is one, and the send loops.

    Raises:
        OnbeatError: the rig did not start; nothing has run then.
    """
    loops: list[LoopSummary] = []
    started, ended = False, "duration"
    runner.listeners.append(recorder.add_decision)
    try:
        with recorder, runner.rig as rig:
            started = True
            with _recorded(rig, recorder, loops):
                try:
                    runner.run(duration_s)
                except KeyboardInterrupt:
                    ended = "interrupted"
    except OnbeatError as error:
        if not started:
            raise
        logging.getLogger("onbeat.run").error("%s", error, exc_info=error)
        return "error", _named(error), loops
    return ended, None, loops


def _named(error: OnbeatError) -> OnbeatError:
    """Give the error with the kind of what a policy raised: "'arm'" alone does not say that a key is missing."""
    cause = error.__cause__
    if cause is None or isinstance(cause, OnbeatError) or type(cause).__name__ in str(error):
        return error
    return OnbeatError(f"{error} ({type(cause).__name__}); run.log has its lines")


@contextmanager
def _recorded(rig: "Rig", recorder: "Recorder", loops: "list[LoopSummary]") -> Iterator[None]:
    """Record a started rig; when the block ends, the summaries of its send loops are added to the list."""
    import numpy as np

    from onbeat.report.story import summarize_loop

    for name, module in rig.modules.items():
        recorder.add_config(module.config, rig.clock.now_ns())
        recorder.add_stream(name)
        module.listeners.append(partial(recorder.add_reading, name))
    sending = {name: (module, module.loop) for name, module in rig.modules.items() if module.loop is not None}
    lateness_ns = {name: [np.empty(0, dtype=np.int64)] for name in sending}

    def drain(now_ns: int) -> int:
        for name, (_, loop) in sending.items():
            records = loop.records()
            recorder.add_cycles(name, records)
            lateness_ns[name].append(records["wake_ns"] - records["deadline_ns"])
        return now_ns + _DRAIN_NS

    rig.drive.add("(records)", drain)
    try:
        yield
    finally:
        rig.drive.remove("(records)")
        drain(rig.clock.now_ns())
        for name, (module, loop) in sending.items():
            late_ns = np.concatenate(lateness_ns[name])
            loops.append(summarize_loop(name, module.config.rate_hz, loop.status(), late_ns))


def _print(terminal: Terminal, summary: "RunSummary", folder: Path) -> None:
    from onbeat.report.run import OUTCOMES, outcome_rows

    if summary.rows:
        terminal.table(("rows of", *OUTCOMES), outcome_rows(summary))
    for loop in summary.loops:
        terminal.say(
            f"{loop.module}: {'soft, ' if loop.soft else ''}{loop.cycles} cycles at {loop.rate_hz:g} Hz, {loop.missed} missed, "
            f"late by p50 {loop.lateness_ms(50):.3g} ms, p99 {loop.lateness_ms(99):.3g} ms, max {loop.lateness_ms(100):.3g} ms"
        )
    terminal.say()
    if not summary.error:  # the error is said once, on stderr
        terminal.say(f"{summary.verdict()}.", style="yellow" if summary.findings else "bold")
    terminal.say(f"The folder: {folder}")
