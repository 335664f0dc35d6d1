"""Plan + waypoints + now -> a new plan, and what became of each waypoint.

The rules, all or nothing for each call:

- the lead is taken off first, so that lateness is judged at the instant of sending;
- the late prefix is dropped and reported, never compressed into the next period (`late="clamp"` does that);
- the plan is kept up to its last knot before the first new waypoint, or up to now where that knot has passed, so the
  position is continuous and re-sending a plan changes nothing;
- the path passes through every accepted pose; what max_speed makes late is reported as stretched, and the stretch ends
  with the chunk: a later chunk counts from its own first waypoint.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.motion.limits import Limits
from onbeat.motion.trajectory import Trajectory
from onbeat.motion.waypoint import Chunk, Waypoint

__all__ = ("Outcome", "Outcomes", "schedule")

KINDS = ("kept", "stretched", "late", "dropped", "rejected")
KEPT, STRETCHED, LATE, DROPPED, REJECTED = range(len(KINDS))


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one waypoint.

    Args:
        waypoint: As it was given.
        kind: "kept"; "stretched" (kept, arrives by_ns later because of a limit); "late" (kept but clamped, by_ns late);
            "dropped" (omitted: its sending instant was by_ns before now, or a later chunk took its place); "rejected".
        by_ns: How much, >= 0.
        due_ns: The instant at which it had to be sent: waypoint.t_ns - lead_ns.
    """

    waypoint: Waypoint
    kind: str
    by_ns: int
    due_ns: int


class Outcomes(Sequence[Outcome]):
    """The outcomes of one call, one for each waypoint, as arrays; objects are made when indexed."""

    __slots__ = ("by_ns", "codes", "due_ns", "tail", "targets", "times_ns")

    def __init__(
        self,
        times_ns: NDArray[np.int64],
        targets: NDArray[np.float64],
        codes: NDArray[np.int8],
        by_ns: NDArray[np.int64],
        due_ns: NDArray[np.int64],
        tail: tuple[Outcome, ...] = (),
    ) -> None:
        self.times_ns = times_ns
        self.targets = targets
        self.codes = codes
        self.by_ns = by_ns
        self.due_ns = due_ns
        self.tail = tail

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, index: int) -> Outcome: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Outcome]: ...
    def __getitem__(self, index: int | slice) -> Outcome | Sequence[Outcome]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        waypoint = Waypoint(int(self.times_ns[index]), self.targets[index])
        return Outcome(waypoint, KINDS[self.codes[index]], int(self.by_ns[index]), int(self.due_ns[index]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(other)

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count_of(kind)} {kind}" for kind in KINDS if self.count_of(kind))
        return f"Outcomes({counts})"

    def count_of(self, kind: str) -> int:
        """Count the waypoints of one kind."""
        return int(np.count_nonzero(self.codes == KINDS.index(kind)))


def schedule(
    plan: Trajectory,
    waypoints: Chunk | Sequence[Waypoint],
    now_ns: int,
    limits: Limits | None = None,
    late: Literal["drop", "clamp"] = "drop",
    on_limit: Literal["delay", "scale", "reject"] = "delay",
    lead_ns: int = 0,
    period_ns: int = 4_000_000,
) -> tuple[Trajectory, Outcomes]:
    """Splice waypoints into a plan.

    Args:
        plan: What the send loop follows now; one knot is a place to stay.
        waypoints: A policy's chunk, or waypoints in the order of time, on the plan's clock.
        now_ns: The instant of the decision on the same clock.
        limits: max_speed stretches moves; targets outside lower..upper reject the call.
        late: "drop" omits waypoints whose sending instant has passed; "clamp" moves the newest of them one period
            after now (the old behaviour, a jerk).
        on_limit: "delay" delays what must be; "scale" stretches the whole chunk by one factor; "reject" refuses the chunk.
        lead_ns: How early to send, >= 0; the new plan carries it.
        period_ns: Control period that late="clamp" moves to.

    Returns:
        The new plan and an outcome for each waypoint. Where nothing could be accepted the plan is returned unchanged.
        `Outcomes.tail` lists the knots of the old plan that were still to come and lost their place to this chunk.

    Raises:
        BadInput: waypoints that are not finite, not in strict order of time or of another width, or a negative lead.
    """
    limits = limits or Limits()
    times_ns, targets = _arrays(waypoints)
    _check(plan, times_ns, targets, lead_ns, late, on_limit)
    due_ns = times_ns - lead_ns
    codes = np.full(len(times_ns), KEPT, dtype=np.int8)
    by_ns = np.zeros(len(times_ns), dtype=np.int64)

    def outcomes(tail: tuple[Outcome, ...] = ()) -> Outcomes:
        return Outcomes(times_ns, targets, codes, by_ns, due_ns, tail)

    if limits.out_of_range(targets).any():
        codes[:] = REJECTED
        return plan, outcomes()

    first = int(np.searchsorted(due_ns, now_ns, side="right"))
    codes[:first] = DROPPED
    by_ns[:first] = now_ns - due_ns[:first]
    wanted_ns = due_ns.copy()
    if late == "clamp" and first > 0:
        first -= 1
        codes[first] = LATE
        wanted_ns[first] = now_ns + period_ns
        if first + 1 < len(wanted_ns):
            wanted_ns[first] = min(wanted_ns[first], (now_ns + wanted_ns[first + 1] + 1) // 2)
    if first == len(times_ns):
        return plan, outcomes()

    head_ns, head = _head(plan, now_ns, int(wanted_ns[first]))
    arrival_ns = _arrivals(head_ns, head, wanted_ns[first:], targets[first:], limits, on_limit, plan.kind == "pose")
    stretch_ns = arrival_ns - wanted_ns[first:]
    if on_limit == "reject" and (stretch_ns > 0).any():
        codes[:] = REJECTED
        by_ns[first:] = stretch_ns
        return plan, outcomes()
    stretched = stretch_ns > 0
    codes[first:][stretched & (codes[first:] != LATE)] = STRETCHED
    by_ns[first:] = np.where(codes[first:] == LATE, arrival_ns - due_ns[first:], stretch_ns)

    knots_ns = np.concatenate([head_ns, arrival_ns])
    knots = np.concatenate([head, targets[first:]])
    # Two waypoints with one pose may arrive together behind a stretched move: one knot says it.
    distinct = np.concatenate([[True], np.diff(knots_ns) > 0])
    new = Trajectory(knots_ns[distinct], knots[distinct], kind=plan.kind, lead_ns=lead_ns)
    return new, outcomes(_lost_tail(plan, int(wanted_ns[first]), now_ns, arrival_ns, targets[first:]))


def _arrays(waypoints: Chunk | Sequence[Waypoint]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    if isinstance(waypoints, Chunk):
        steps = waypoints.first_step + np.arange(len(waypoints.targets), dtype=np.int64)
        return waypoints.anchor_ns + steps * waypoints.step_ns, waypoints.targets
    if not waypoints:
        raise BadInput("there are no waypoints to schedule")
    widths = {len(waypoint.target) for waypoint in waypoints}
    if len(widths) > 1:
        raise BadInput(f"the waypoints have different widths: {sorted(widths)}")
    times_ns = np.array([waypoint.t_ns for waypoint in waypoints], dtype=np.int64)
    return times_ns, np.array([waypoint.target for waypoint in waypoints])


def _check(
    plan: Trajectory, times_ns: NDArray[np.int64], targets: NDArray[np.float64], lead_ns: int, late: str, on_limit: str
) -> None:
    if lead_ns < 0:
        raise BadInput(f"lead_ns must be >= 0, not {lead_ns}")
    if late not in ("drop", "clamp"):
        raise BadInput(f"late must be 'drop' or 'clamp', not {late!r}")
    if on_limit not in ("delay", "scale", "reject"):
        raise BadInput(f"on_limit must be 'delay', 'scale' or 'reject', not {on_limit!r}")
    if targets.shape[1] != plan.width:
        raise BadInput(f"the waypoints have width {targets.shape[1]}, the plan has width {plan.width}")
    if not np.isfinite(targets).all():
        row, column = np.argwhere(~np.isfinite(targets))[0]
        raise BadInput(f"waypoint {row} has {targets[row, column]} in column {column}; every target must be finite")
    steps_ns = np.diff(times_ns)
    if (steps_ns <= 0).any():
        row = int(np.argmax(steps_ns <= 0))
        raise BadInput(f"waypoint {row + 1} is due {-steps_ns[row] / 1e6:.3f} ms before or at waypoint {row}; sort by time")


def _head(plan: Trajectory, now_ns: int, first_ns: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Give what is kept of the plan: where it is at now, and its knots between now and the first new waypoint."""
    between = (plan.times_ns > now_ns) & (plan.times_ns < first_ns)
    times_ns = np.concatenate([[now_ns], plan.times_ns[between]])
    return times_ns, np.concatenate([plan.at_ns(now_ns)[None, :], plan.targets[between]])


def _arrivals(
    head_ns: NDArray[np.int64],
    head: NDArray[np.float64],
    wanted_ns: NDArray[np.int64],
    targets: NDArray[np.float64],
    limits: Limits,
    on_limit: str,
    pose: bool,
) -> NDArray[np.int64]:
    """Give when each waypoint can be reached, no earlier than wanted, from the last kept knot on."""
    starts = np.concatenate([head[-1:], targets[:-1]])
    shortest_ns = limits.shortest_ns(starts, targets, pose)
    gaps_ns = np.diff(wanted_ns, prepend=head_ns[-1])
    if (shortest_ns <= gaps_ns).all():
        return wanted_ns
    if on_limit == "scale":
        factor = float((shortest_ns / gaps_ns).max())
        scaled_ns: NDArray[np.int64] = head_ns[-1] + np.ceil(np.cumsum(gaps_ns) * factor).astype(np.int64)
        return np.asarray(np.maximum(scaled_ns, wanted_ns))
    arrival_ns: NDArray[np.int64] = wanted_ns.copy()
    before_ns = int(head_ns[-1])
    for k, shortest in enumerate(shortest_ns.tolist()):
        before_ns = max(int(wanted_ns[k]), before_ns + shortest)
        arrival_ns[k] = before_ns
    return arrival_ns


def _lost_tail(
    plan: Trajectory, first_ns: int, now_ns: int, arrival_ns: NDArray[np.int64], targets: NDArray[np.float64]
) -> tuple[Outcome, ...]:
    """List the knots to come that the new chunk neither keeps nor repeats."""
    lost = (plan.times_ns >= first_ns) & (plan.times_ns > now_ns)
    if not lost.any():
        return ()
    repeated = {(int(t), target.tobytes()) for t, target in zip(arrival_ns, targets, strict=True)}
    return tuple(
        Outcome(Waypoint(int(t) + plan.lead_ns, target), "dropped", 0, int(t))
        for t, target in zip(plan.times_ns[lost], plan.targets[lost], strict=True)
        if (int(t), target.tobytes()) not in repeated
    )
