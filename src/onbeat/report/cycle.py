"""One control cycle of a grasp, from the light of one image to the arm at the poses that it led to."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from onbeat.motion.kinematics import forward

if TYPE_CHECKING:
    from onbeat.device.ledger import Ledger
    from onbeat.motion import Outcomes
    from onbeat.policy.module import Reading
    from onbeat.policy.runner import Decision

__all__ = ("ControlCycle", "CycleRow", "trace_cycle")

_STEP_NS = 1_000_000
# The arm is looked for this long before and after the instant at which the scene wants it at a pose.
_SEARCH_NS = 300_000_000
# Passing further away than this is not being there; the lag rounds the path by 1 to 2 mm.
_THERE_M = 0.01
_SENDS_NS = (-500_000_000, 1_500_000_000)


@dataclass(frozen=True, slots=True)
class CycleRow:
    """One row of the chunk. Instants in nanoseconds from the true middle of the exposure.

    Args:
        number: Steps after the image.
        fate: "sent"; "dropped" (its sending instant had passed); "replaced" (a later chunk took its place before it was sent).
        sending_ns: When it was to be sent: due_ns less the lead.
        due_ns: When it was due, as the rig believed.
        wanted_ns: When it was due in truth: `number` steps after the scene looked like this.
        there_ns: When the arm truly passed its pose, whichever chunk sent it there; None when it did not.
    """

    number: int
    fate: str
    sending_ns: int
    due_ns: int
    wanted_ns: int
    there_ns: int | None

    @property
    def late_ns(self) -> int | None:
        """How much later than wanted the arm was there."""
        return None if self.there_ns is None else self.there_ns - self.wanted_ns


@dataclass(frozen=True, slots=True, eq=False)
class ControlCycle:
    """One turn of the policy and what came of it. Instants in nanoseconds from the true middle of the exposure.

    Args:
        name: Of the run: "uncompensated", "copied" or "measured".
        exposure_ns: How long light was gathered.
        stamp_ns: What the rig took for the middle of the exposure; 0 is right.
        arrived_ns: When the frame was there.
        asked_ns, ready_ns: When the policy was asked, and when its answer was scheduled.
        rows: Of the arm's chunk, the first ones: up to one behind the last that was sent.
        count: How many rows the chunk had.
        sends_ns: When the arm's send loop sent, shape (n,), around this cycle.
        rate_hz: Of the send loop.
        next_ns: When the next chunk was scheduled; None when there was none.
    """

    name: str
    exposure_ns: int
    stamp_ns: int
    arrived_ns: int
    asked_ns: int
    ready_ns: int
    rows: tuple[CycleRow, ...]
    count: int
    sends_ns: NDArray[np.int64]
    rate_hz: float
    next_ns: int | None


def trace_cycle(
    name: str,
    decisions: "Sequence[Decision]",
    frames: "Sequence[Reading]",
    sent_ns: NDArray[np.int64],
    rate_hz: float,
    ledger: "Ledger",
    near_ns: int,
) -> ControlCycle | None:
    """Follow the turn nearest to an instant that sent something to the arm.

    Args:
        name: Of the run.
        decisions: Of the run, in order.
        frames: The camera's readings during it.
        sent_ns: When the arm's send loop sent, shape (n,), in order.
        rate_hz: Of the send loop.
        ledger: Knows when the scene was true and when the arm was where.
        near_ns: On the clock of all of them; the run went on for a second after it.

    Returns:
        The cycle, or None when no turn sent anything.
    """
    fates = [_fates(decision.outcomes["arm"], decisions[k + 1 :]) for k, decision in enumerate(decisions)]
    sending = [k for k, each in enumerate(fates) if "sent" in each]
    if not sending:
        return None
    chosen = min(sending, key=lambda k: abs(decisions[k].anchor_ns - near_ns))
    decision = decisions[chosen]
    frame = next(frame for frame in frames if frame.stamp.capture_ns == decision.anchor_ns)
    numbers, middles_ns, _ = ledger.frames_ns().T
    zero_ns = int(middles_ns[np.flatnonzero(numbers == frame.state.seq)[-1]])
    shown = min(len(fates[chosen]) - fates[chosen][::-1].index("sent") + 1, len(fates[chosen]))
    around = (sent_ns >= zero_ns + _SENDS_NS[0]) & (sent_ns <= zero_ns + _SENDS_NS[1])
    return ControlCycle(
        name=name,
        exposure_ns=frame.state.span_ns,
        stamp_ns=decision.anchor_ns - zero_ns,
        arrived_ns=frame.state.receive_ns - zero_ns,
        asked_ns=decision.start_ns - zero_ns,
        ready_ns=decision.ready_ns - zero_ns,
        rows=tuple(_row(decision, fates[chosen][k], k, zero_ns, ledger) for k in range(shown)),
        count=len(fates[chosen]),
        sends_ns=sent_ns[around] - zero_ns,
        rate_hz=rate_hz,
        next_ns=decisions[chosen + 1].ready_ns - zero_ns if chosen + 1 < len(decisions) else None,
    )


def _fates(outcomes: "Outcomes", later: "Sequence[Decision]") -> list[str]:
    """Say of each row whether it was late, sent, or pushed out: a later chunk takes over from its first row in time on."""
    firsts = [each.due_ns + each.by_ns for decision in later for each in decision.outcomes["arm"] if _accepted(each.kind)]
    end_ns = min(firsts, default=None)
    return [
        "dropped" if not _accepted(each.kind) else "sent" if end_ns is None or each.due_ns + each.by_ns < end_ns else "replaced"
        for each in outcomes
    ]


def _accepted(kind: str) -> bool:
    return kind in ("kept", "stretched", "late")


def _row(decision: "Decision", fate: str, k: int, zero_ns: int, ledger: "Ledger") -> CycleRow:
    chunk, outcome = decision.chunks["arm"], decision.outcomes["arm"][k]
    number = chunk.first_step + k
    wanted_ns = number * chunk.step_ns
    there_ns = _there_ns(ledger, chunk.targets[k], zero_ns + wanted_ns)
    return CycleRow(
        number=number,
        fate=fate,
        sending_ns=outcome.due_ns + (outcome.by_ns if _accepted(outcome.kind) else 0) - zero_ns,
        due_ns=outcome.waypoint.t_ns - zero_ns,
        wanted_ns=wanted_ns,
        there_ns=None if there_ns is None else there_ns - zero_ns,
    )


def _there_ns(ledger: "Ledger", target: NDArray[np.float64], wanted_ns: int) -> int | None:
    """Find when the tool passed nearest to where a target puts it; None where it went by too far away or not at all."""
    place = forward(target[None, :])[0][0]
    when_ns = np.arange(wanted_ns - _SEARCH_NS, wanted_ns + _SEARCH_NS + 1, _STEP_NS, dtype=np.int64)
    square = ((ledger.tool_at_many(when_ns) - place) ** 2).sum(axis=1)
    nearest = int(np.argmin(square))
    if square[nearest] > _THERE_M**2 or nearest in (0, len(square) - 1):
        return None
    before, at, after = square[nearest - 1 : nearest + 2]
    bend = before - 2 * at + after
    return int(when_ns[nearest]) + (round(float(0.5 * (before - after) / bend) * _STEP_NS) if bend > 0 else 0)
