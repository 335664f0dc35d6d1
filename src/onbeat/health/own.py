"""Were waypoints in time, and did the send loops keep their beat? What onbeat's own recordings say of themselves."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.health.check import Check, Curve, Evidence, Figure, Mark, Plot, Verdict
from onbeat.loop import Flag
from onbeat.motion import Outcome
from onbeat.record import Recording, read_recording
from onbeat.record.recording import LoggedFigures, LoggedOutcome

__all__ = ("OWN", "judge_recording")

# A row a hundred that is moved or stretched is a pity; more is a schedule that does not fit the robot.
MOST_MOVED = 0.01
# The first rows of a chunk are past when it is ready; of the whole chunk they should not be half.
MOST_PAST = 0.5
MOST_BYTES = 64_000_000
MOST_POINTS = 2000
_FIGURES = ("receive_latency", "action_latency", "max_speed")


def _judge(evidence: Evidence) -> Iterator[Verdict]:
    if not evidence.recording.onbeat:
        return
    path = evidence.recording.path
    try:
        size = path.stat().st_size
        if size <= MOST_BYTES:
            yield from judge_recording(read_recording(path, partial=True))
            return
        reason = f"the file has {size / 1e6:.0f} MB, and waypoints and cycles are judged up to {MOST_BYTES / 1e6:.0f} MB"
    except (BadInput, OSError) as error:
        reason = str(error)
    yield Verdict("late_waypoints", (), "unjudged", f"waypoints and send loops cannot be judged: {reason}")


def judge_recording(recording: Recording) -> Iterator[Verdict]:
    """Judge the waypoints and the send loops of a recording, module by module."""
    for module, outcomes in recording.outcomes.items():
        yield from _waypoints(module, outcomes)
    for module, cycles in recording.cycles.items():
        yield from _cycles(module, cycles)
    last: Mapping[str, LoggedFigures] = {each.module: each for each in recording.figures}
    for module, figures in last.items():
        yield from _provenance(module, figures)


def _waypoints(module: str, logged: Sequence[LoggedOutcome]) -> Iterator[Verdict]:
    """Judge what became of a policy's rows; knots of an old plan that a new chunk replaced are none of them."""
    chunks = [(at_ns, [each.outcome for each in group]) for at_ns, group in groupby(_asked(logged), lambda each: each.log_ns)]
    rows = [outcome for _, chunk in chunks for outcome in chunk]
    if not rows:
        return
    moved = [row for row in rows if row.kind in ("late", "stretched")]
    past = np.array([sum(_is_past(row) for row in chunk) / len(chunk) for _, chunk in chunks])
    lost = int((past == 1.0).sum())
    worst_s = max((row.by_ns for row in rows), default=0) / 1e9
    figures = {
        "late rows": Figure(len(moved) / len(rows), "1"),
        "past rows": Figure(float(past.mean()), "1"),
        "chunks too late": Figure(lost / len(chunks), "1"),
        "worst": Figure(worst_s, "s"),
    }
    said = []
    if lost:
        said.append(f"{lost} of {len(chunks)} chunks were past as a whole when they were ready")
    elif float(np.median(past)) > MOST_PAST:
        said.append(f"of a usual chunk {100 * np.median(past):.0f} % was past when it was ready")
    for kind, meaning in (("late", "were sent late"), ("stretched", "asked for more than max_speed and took longer")):
        count = sum(row.kind == kind for row in rows)
        if count > MOST_MOVED * len(rows):
            by_s = max(row.by_ns for row in rows if row.kind == kind) / 1e9
            said.append(f"{count} of {len(rows)} rows ({100 * count / len(rows):.1f} %) {meaning}, by up to {by_s * 1e3:.0f} ms")
    plot = _lateness_plot(module, chunks)
    if said:
        yield Verdict(
            "late_waypoints",
            (module,),
            "finding",
            f"{module}: {'; '.join(said)}",
            figures,
            "compare the time from an observation to the answer (anchor to ready) with the length of a chunk: "
            "if it is the longer part, the policy is slow; else action_latency is too large or max_speed too small",
            "answer faster, ask for longer chunks, or measure action_latency and max_speed on this robot: docs/calibrate.md",
            plot,
            weight=worst_s,
        )
    elif past.any() or moved:
        begun = 100 * np.mean(past > 0)
        first = f"the first rows of {begun:.0f} % of the chunks were past when they were ready" if past.any() else ""
        slow = f"{len(moved)} of {len(rows)} rows took longer than asked" if moved else ""
        yield Verdict(
            "late_waypoints",
            (module,),
            "note",
            f"{module}: {' and '.join(x for x in (first, slow) if x)}, by up to {worst_s * 1e3:.0f} ms; "
            f"{100 * (1 - past.mean()):.0f} % of all rows were in time, and no chunk was lost",
            figures,
            plot=plot,
        )


def _asked(logged: Sequence[LoggedOutcome]) -> Iterator[LoggedOutcome]:
    return (each for each in logged if not each.replaced)


def _is_past(row: Outcome) -> bool:
    return row.kind == "dropped" and row.by_ns > 0


def _lateness_plot(module: str, chunks: Sequence[tuple[int, Sequence[Outcome]]]) -> Plot:
    every = max(1, -(-len(chunks) // MOST_POINTS))
    at_s = np.array([(at_ns - chunks[0][0]) / 1e9 for at_ns, _ in chunks[::every]])
    margin_ms = np.array([(chunk[0].due_ns - at_ns) / 1e6 for at_ns, chunk in chunks[::every]])
    return Plot(
        f"When the first row of each chunk of {module} had to be sent, seen from when it was ready",
        "time (s)",
        "first row due in (ms)",
        (Curve("first row", at_s, margin_ms, "dots"), Curve("past below", at_s, np.zeros_like(at_s))),
    )


def _cycles(module: str, cycles: NDArray[Any]) -> Iterator[Verdict]:
    if len(cycles) < 2:
        return
    flags = cycles["flags"]
    missed, late = int(cycles["skipped"].sum()), int(((flags & Flag.LATE) != 0).sum())
    blocked, failed = int(((flags & Flag.WOULD_BLOCK) != 0).sum()), int(((flags & Flag.DEVICE_ERROR) != 0).sum())
    if not (missed or late or blocked or failed):
        return
    period_ns = float(np.median(np.diff(cycles["deadline_ns"])))
    lateness_ms = (cycles["wake_ns"] - cycles["deadline_ns"]) / 1e6
    worst = int(np.argmax(np.maximum(lateness_ms, cycles["skipped"] * period_ns / 1e6)))
    worst_s = max(float(lateness_ms[worst]) / 1e3, int(cycles["skipped"][worst]) * period_ns / 1e9)
    due = len(cycles) + missed
    said = [
        f"{count} {what}"
        for count, what in (
            (missed, f"of {due} deadlines missed"),
            (late, f"{'send' if late == 1 else 'sends'} more than half a period late"),
            (blocked, f"{'target' if blocked == 1 else 'targets'} that the device did not take"),
            (failed, f"{'error' if failed == 1 else 'errors'} of the device"),
        )
        if count
    ]
    plain = bool((flags & Flag.NO_FIFO).any())
    cause = "; the thread ran without real-time priority" if plain else ""
    at_s = (cycles["deadline_ns"] - cycles["deadline_ns"][0]) / 1e9
    every = np.unique(np.append(np.arange(0, len(cycles), max(1, -(-len(cycles) // MOST_POINTS))), worst))
    yield Verdict(
        "deadline_misses",
        (module,),
        "finding",
        f"{module}: {', '.join(said)} at {1e9 / period_ns:.0f} Hz, the worst {worst_s * 1e3:.1f} ms{cause}",
        {"missed": Figure(missed / due, "1"), "worst": Figure(worst_s, "s"), "late": Figure(late / due, "1")},
        "run onbeat doctor on this machine at rest, and with --load: a loop that is late alone is the machine's doing",
        ("grant SCHED_FIFO (see docs/loop.md), and " if plain else "")
        + "give the loop a CPU of its own, or lower its rate; a device that blocks in send needs a faster bus",
        Plot(
            f"How late the send loop of {module} woke",
            "time (s)",
            "wake minus deadline (ms)",
            (Curve("cycles", at_s[every], lateness_ms[every], "dots"),),
            (Mark(float(at_s[worst]), f"worst: {worst_s * 1e3:.1f} ms"),),
        ),
        weight=worst_s,
    )


def _provenance(module: str, figures: LoggedFigures) -> Iterator[Verdict]:
    """Say which figures of a module nobody measured."""
    sources = {key: block.source for key, block in figures.provenance.items() if key in _FIGURES and block.source != "absent"}
    loose = {key: source for key, source in sources.items() if source != "measured"}
    if loose:
        listed = ", ".join(f"{key} ({source})" for key, source in loose.items())
        yield Verdict(
            "late_waypoints",
            (module,),
            "note",
            f"{module} ran with figures that were not measured on this robot: {listed}; what they are wrong by, every sample "
            "or waypoint is wrong by, and no recording shows it",
            fix="measure them: onbeat delay for a log, or the procedures of docs/calibrate.md on the robot",
        )


OWN = Check("own", ("late_waypoints", "deadline_misses"), _judge)
