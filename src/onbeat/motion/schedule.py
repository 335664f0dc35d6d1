"""Plan + waypoints + now -> a new plan, and what became of each waypoint.

The rules, all or nothing for each call:

- the lead is taken off first, so that lateness is judged at the instant of sending;
- the late prefix is dropped and reported, never compressed into the next period (`late="clamp"` does that);
- waypoints that the plan holds already, by due instant and target, are not new: sending a plan again changes nothing;
- the plan is kept up to its last knot before the first new waypoint, or up to now where that knot has passed, so the
  position is continuous;
- the path passes through every accepted pose; what max_speed makes late is reported as stretched, and the stretch ends
  with the chunk: a later chunk counts from its own first waypoint.

What is decided once for a call stands here; what is computed for each knot is native (`cpp/src/splice.cpp`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, overload

import numpy as np
from numpy.typing import NDArray

from onbeat._core import Fates, Rows, splice
from onbeat.errors import BadInput
from onbeat.motion.limits import Limits
from onbeat.motion.trajectory import Trajectory
from onbeat.motion.waypoint import Chunk, Waypoint

__all__ = ("Outcome", "Outcomes", "schedule")

# In the order of the native enum Fate.
KINDS = ("kept", "stretched", "late", "dropped", "rejected")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one waypoint.

    Args:
        waypoint: As it was given.
        kind: "kept"; "stretched" (kept, arrives by_ns later because of a limit); "late" (kept but clamped, arrives by_ns
            late); "dropped" (omitted: its sending instant was by_ns before now, or, with by_ns 0, a later chunk took its
            place or it came before the first usable instant); "rejected".
        by_ns: How much, >= 0.
        due_ns: The instant at which it had to be sent: waypoint.t_ns - lead_ns.
    """

    waypoint: Waypoint
    kind: str
    by_ns: int
    due_ns: int


class Outcomes(Sequence[Outcome]):
    """The outcomes of one call, one for each waypoint, as read-only arrays; objects are made when indexed.

    `tail` has the knots of the old plan that were still to come and lost their place to this chunk, as dropped outcomes: due_ns
    is the instant of the knot, and the waypoint's instant is that plus the old plan's lead.
    """

    __slots__ = ("_fates", "_tail")

    def __init__(self, fates: Fates, tail: Fates | None = None) -> None:
        self._fates = fates
        self._tail = tail

    @property
    def times_ns(self) -> NDArray[np.int64]:
        """Instants of the waypoints as given, shape (n,)."""
        return self._fates.times_ns

    @property
    def targets(self) -> NDArray[np.float64]:
        """Targets as given, shape (n, width)."""
        return self._fates.targets

    @property
    def codes(self) -> NDArray[np.int8]:
        """Kinds by number, shape (n,): 0 kept, 1 stretched, 2 late, 3 dropped, 4 rejected."""
        return self._fates.codes

    @property
    def by_ns(self) -> NDArray[np.int64]:
        """How much, shape (n,)."""
        return self._fates.by_ns

    @property
    def due_ns(self) -> NDArray[np.int64]:
        """When they had to be sent, shape (n,)."""
        return self._fates.due_ns

    @property
    def tail(self) -> Sequence[Outcome]:
        """The knots of the old plan that lost their place."""
        return () if self._tail is None else Outcomes(self._tail)

    def __len__(self) -> int:
        return len(self._fates)

    @overload
    def __getitem__(self, index: int) -> Outcome: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Outcome]: ...
    def __getitem__(self, index: int | slice) -> Outcome | Sequence[Outcome]:
        if isinstance(index, slice):
            return [self[k] for k in range(*index.indices(len(self)))]
        t_ns, target, code, by_ns, due_ns = self._fates[index]
        return Outcome(Waypoint(t_ns, target), KINDS[code], by_ns, due_ns)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return list(self) == list(other)

    def __repr__(self) -> str:
        counts = ", ".join(f"{self.count_of(kind)} {kind}" for kind in KINDS if self.count_of(kind))
        return f"Outcomes({counts})"

    def count_of(self, kind: str) -> int:
        """Count the waypoints of one kind."""
        return self._fates.count(KINDS.index(kind))

    def rows_of(self, kind: str) -> NDArray[np.intp]:
        """Give the places of the waypoints of one kind, in order."""
        return np.flatnonzero(self.codes == KINDS.index(kind))


def schedule(
    plan: Trajectory,
    waypoints: Chunk | Sequence[Waypoint],
    now_ns: int,
    limits: Limits | None = None,
    late: Literal["drop", "clamp"] = "drop",
    on_limit: Literal["delay", "scale", "reject"] = "delay",
    lead_ns: int = 0,
    period_ns: int = 4_000_000,
    *,
    first_usable_ns: int | None = None,
) -> tuple[Trajectory, Outcomes]:
    """Splice waypoints into a plan.

    Args:
        plan: What the send loop follows now; one knot is a place to stay.
        waypoints: A policy's chunk, or waypoints in the order of time, on the plan's clock. Quaternions of poses are made
            unit, and continuous in sign with the plan.
        now_ns: The instant of the decision on the same clock.
        limits: max_speed (of a pose with max_angular_speed) stretches moves; targets outside lower..upper reject the call.
        late: "drop" omits waypoints whose sending instant has passed; "clamp" moves the newest of them one period
            after now, but no further than half the way to the next (the old behaviour, a jerk).
        on_limit: "delay" delays what must be; "scale" stretches the whole chunk by one factor; "reject" refuses the chunk.
        lead_ns: How early to send, >= 0; the new plan carries it.
        period_ns: Control period that late="clamp" moves to, > 0.
        first_usable_ns: Waypoints before this instant are dropped even when they could still be sent; `lead.first_usable_ns`
            gives the one that several modules have in common.

    Returns:
        The new plan, which begins now, and an outcome for each waypoint. The plan itself comes back where nothing could be
        accepted, and where it holds all of the waypoints already.

    Raises:
        BadInput: waypoints that are not finite, not in strict order of time or of another width, poses whose quaternion is
            off unit norm by more than 0.01, limits of another width, or a negative lead.
    """
    if late not in ("drop", "clamp"):
        raise BadInput(f"late must be 'drop' or 'clamp', not {late!r}")
    if on_limit not in ("delay", "scale", "reject"):
        raise BadInput(f"on_limit must be 'delay', 'scale' or 'reject', not {on_limit!r}")
    if period_ns <= 0:
        raise BadInput(f"period_ns must be > 0, not {period_ns}")
    bounds = None if limits is None else limits.native
    clamp_ns = period_ns if late == "clamp" else 0
    new, fates, tail, outside, stretched = splice(
        plan, _rows(waypoints), bounds, now_ns, lead_ns, first_usable_ns, clamp_ns, on_limit == "scale"
    )
    if outside or (stretched and on_limit == "reject"):
        return plan, Outcomes(fates.rejected())
    return (plan if new is None else new), Outcomes(fates, tail)


def _rows(waypoints: Chunk | Sequence[Waypoint]) -> Rows:
    if isinstance(waypoints, Chunk):
        return Rows.of_chunk(waypoints.anchor_ns, waypoints.step_ns, waypoints.first_step, waypoints.targets)
    return Rows.of_waypoints(waypoints)
