"""From rest or motion to a place or to rest, limited in speed, acceleration and jerk: point to point, and the stop ramp."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat._core import stop_pieces
from onbeat.errors import BadInput, MissingExtra
from onbeat.motion.limits import Limits
from onbeat.motion.trajectory import Trajectory

__all__ = ("Profile", "instants", "joined", "point_to_point", "state_of", "stop_ramp")

Array = NDArray[np.float64]
_SAME_S = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Profile:
    """A motion in pieces of constant jerk; before it and after it the velocity stays what it is there.

    Args:
        times_s: Where the pieces begin and where the last one ends, counted from the start: 0 first, in order. Shape (n,).
        position, velocity, acceleration: At these instants. Shape (n, width).

    Raises:
        BadInput: other shapes, numbers that are not finite, or times that do not begin at 0 or run back.
    """

    times_s: Array
    position: Array
    velocity: Array
    acceleration: Array

    def __post_init__(self) -> None:
        for name in ("times_s", "position", "velocity", "acceleration"):
            values = np.array(getattr(self, name), dtype=np.float64)
            values.flags.writeable = False
            object.__setattr__(self, name, values)
            wanted = self.times_s.shape if name == "times_s" else self.position.shape
            if values.ndim != (1 if name == "times_s" else 2) or values.shape != wanted or len(values) != len(self.times_s):
                raise BadInput(
                    f"{name} has the shape {values.shape}; a profile of n instants needs (n,) and three times (n, width)"
                )
            if not np.isfinite(values).all():
                raise BadInput(f"{name} must be finite")
        if len(self.times_s) == 0 or self.times_s[0] != 0 or (np.diff(self.times_s) < 0).any():
            raise BadInput("the times of a profile must begin at 0 and run forward")

    @property
    def duration_s(self) -> float:
        """How long the slowest joint takes."""
        return float(self.times_s[-1])

    @property
    def jerk(self) -> Array:
        """The jerk of each piece, shape (n - 1, width)."""
        took = np.diff(self.times_s)[:, None]
        return np.divide(
            np.diff(self.acceleration, axis=0), took, out=np.zeros((len(took), self.position.shape[1])), where=took > 0
        )

    def at(self, t_s: float) -> tuple[Array, Array, Array]:
        """Give position, velocity and acceleration, shape (width,) each, t_s after the start."""
        position, velocity, acceleration = self.at_many([t_s])
        return position[0], velocity[0], acceleration[0]

    def at_many(self, t_s: ArrayLike) -> tuple[Array, Array, Array]:
        """Give position, velocity and acceleration, shape (n, width) each, at instants counted from the start.

        Raises:
            BadInput: instants that are not finite numbers, shape (n,).
        """
        when = np.asarray(t_s, dtype=np.float64)
        if when.ndim != 1 or not np.isfinite(when).all():
            raise BadInput("the instants of a profile must be finite numbers of seconds, shape (n,)")
        piece = np.clip(np.searchsorted(self.times_s, when, side="right") - 1, 0, None)
        # Outside, only the velocity goes on.
        inside = ((when >= 0) & (when < self.times_s[-1]))[:, None]
        t = (when - self.times_s[piece])[:, None]
        jerk = np.where(inside, np.vstack([self.jerk, np.zeros((1, self.position.shape[1]))])[piece], 0.0)
        p, v, a = self.position[piece], self.velocity[piece], np.where(inside, self.acceleration[piece], 0.0)
        return p + t * (v + t * (a / 2 + t * jerk / 6)), v + t * (a + t * jerk / 2), a + t * jerk

    def then(self, after: "Profile") -> "Profile":
        """Give this motion and then another one, which must begin where this one ends.

        Raises:
            BadInput: it begins elsewhere, or with another velocity or acceleration.
        """
        mine = np.stack([self.position[-1], self.velocity[-1], self.acceleration[-1]])
        theirs = np.stack([after.position[0], after.velocity[0], after.acceleration[0]])
        if mine.shape != theirs.shape or not np.allclose(mine, theirs, rtol=1e-9, atol=1e-9):
            raise BadInput(f"the motion ends at {mine.tolist()} and the next one begins at {theirs.tolist()}")
        return Profile(
            np.append(self.times_s, self.duration_s + after.times_s[1:]),
            np.vstack([self.position, after.position[1:]]),
            np.vstack([self.velocity, after.velocity[1:]]),
            np.vstack([self.acceleration, after.acceleration[1:]]),
        )

    def plan(self, start_ns: int, step_ns: int = 1_000_000, lead_ns: int = 0) -> Trajectory:
        """Give the plan that a send loop follows: the motion sampled every step_ns from start_ns on, and its end.

        Straight lines between samples are off by at most max_acceleration * step^2 / 8: 2.5 um or urad for 20 /s^2 and 1 ms.
        """
        if step_ns <= 0:
            raise BadInput(f"step_ns must be > 0, not {step_ns}")
        end_ns = round(self.duration_s * 1e9)
        offsets = np.append(np.arange(0, end_ns, step_ns, dtype=np.int64), end_ns)
        return Trajectory(start_ns + offsets, self.at_many(np.minimum(offsets * 1e-9, self.duration_s))[0], lead_ns=lead_ns)


def point_to_point(start: ArrayLike, end: ArrayLike, limits: Limits) -> Profile:
    """Move as fast as the limits allow, all joints arriving together and at rest; the time-optimal profile of `ruckig`.

    Args:
        start: Where the move begins at rest, shape (width,); or position, velocity and acceleration there, shape (3, width).
        end: Where it ends, shape (width,).
        limits: max_speed, max_acceleration and max_jerk are needed. With lower and upper, both ends must lie in the range: a move
            from rest then stays in it.

    Raises:
        BadInput: other shapes, numbers that are not finite, a limit missing, a start that breaks them, or an end out of range.
        MissingExtra: ruckig is not installed.
    """
    state, goal = state_of(start), np.asarray(end, dtype=np.float64)
    width = state.shape[1]
    if goal.shape != (width,) or not np.isfinite(goal).all():
        raise BadInput(f"end must be {width} finite number(s), one for each joint, not {end!r}")
    speed, acceleration, jerk = (limits.required(name, width) for name in ("max_speed", "max_acceleration", "max_jerk"))
    ranged = limits.lower is not None or limits.upper is not None
    for name, place in (("start", state[0]), ("end", goal)):
        if ranged and limits.out_of_range(place[None, :]).any():
            raise BadInput(f"{name} {place} leaves the range {limits.lower} to {limits.upper}")
    for what, most, values in (("velocity", speed, state[1]), ("acceleration", acceleration, state[2])):
        if (np.abs(values) > most).any():
            raise BadInput(f"the {what} {values} of start is above the limit {most}")
    ruckig = _ruckig()
    given = ruckig.InputParameter(width)
    given.current_position, given.current_velocity, given.current_acceleration = (row.tolist() for row in state)
    given.target_position = goal.tolist()
    given.max_velocity, given.max_acceleration, given.max_jerk = speed.tolist(), acceleration.tolist(), jerk.tolist()
    found = ruckig.Trajectory(width)
    try:
        result = ruckig.Ruckig(width).calculate(given, found)
    except ruckig.RuckigError as error:
        raise BadInput(f"there is no move from {state.tolist()} to {goal.tolist()}: {error}") from error
    if result not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise BadInput(f"there is no move from {state.tolist()} to {goal.tolist()} within the limits: {result}")
    ends: list[float] = [0.0, found.duration]
    for profile in found.profiles[0]:
        ends.extend(np.cumsum([*profile.brake.t, *profile.t]))
    times = instants(np.clip(ends, 0.0, found.duration))
    rows = np.array([found.at_time(t) for t in times], dtype=np.float64).reshape(len(times), 3, width)
    rows[-1] = goal, np.zeros(width), np.zeros(width)
    return Profile(times, rows[:, 0], rows[:, 1], rows[:, 2])


def stop_ramp(position: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike, limits: Limits) -> Profile:
    """Come to rest, each joint as fast as its limits allow; the joints do not wait for each other, so the path may bend.

    An acceleration above the limit is brought back first. The speed is what it is: a stop from above max_speed is a stop.

    Args:
        position, velocity, acceleration: The state to stop from, shape (width,) each.
        limits: max_acceleration and max_jerk are needed; lower and upper are not looked at, for a stop cannot be refused.

    Raises:
        BadInput: other shapes, numbers that are not finite, or a limit missing.
    """
    state = state_of([position, velocity, acceleration])
    width = state.shape[1]
    most = limits.required("max_acceleration", width), limits.required("max_jerk", width)
    joints = [stop_pieces(*state[1:, k].tolist(), *(float(each[k]) for each in most)) for k in range(width)]
    return joined(state, joints)


def joined(state: Array, joints: Sequence[Sequence[tuple[float, float]]], rests: bool = True) -> Profile:
    """Make one profile of each joint's pieces (duration in s, jerk), which end at rest or else without acceleration."""
    ends = [np.cumsum([0.0, *(duration for duration, _ in pieces)]) for pieces in joints]
    times = instants(np.concatenate(ends))
    rows = np.empty((len(times), 3, len(joints)))
    for k, (pieces, own) in enumerate(zip(joints, ends, strict=True)):
        knots = np.empty((len(own), 3))
        knots[0] = state[:, k]
        for i, (duration, jerk) in enumerate(pieces):
            knots[i + 1] = _after(knots[i], duration, jerk)
        # What rounding has left.
        knots[-1, 1 if rests else 2 :] = 0.0
        jerks = np.array([*(jerk for _, jerk in pieces), 0.0])
        at = np.searchsorted(own, times + _SAME_S, side="right") - 1
        rows[:, :, k] = _after(knots[at].T, times - own[at], jerks[at]).T
    return Profile(times, rows[:, 0], rows[:, 1], rows[:, 2])


def instants(times: ArrayLike) -> Array:
    """Put the instants between pieces in order, each once; what a rounding parts is one."""
    ordered = np.unique(np.asarray(times, dtype=np.float64))
    kept = ordered[np.insert(np.diff(ordered) > _SAME_S, 0, True)]
    kept[-1] = ordered[-1] if len(kept) > 1 else kept[0]
    return kept


def state_of(start: ArrayLike | Sequence[ArrayLike]) -> Array:
    """Give position, velocity and acceleration, shape (3, width), of a place at rest or of such a state.

    Raises:
        BadInput: another shape, or numbers that are not finite.
    """
    try:
        state = np.array(start, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"a state must be numbers, one for each joint, not {start!r}") from error
    if state.ndim == 1:
        state = np.stack([state, np.zeros_like(state), np.zeros_like(state)])
    if state.ndim != 2 or state.shape[0] != 3 or state.shape[1] == 0:
        raise BadInput(f"a state has the shape (width,) at rest, or (3, width) in motion, not {state.shape}")
    if not np.isfinite(state).all():
        raise BadInput(f"a state must be finite, not {state.tolist()}")
    return state


def _after(state: Array, t: Any, jerk: Any) -> Array:
    p, v, a = state
    return np.array([p + t * (v + t * (a / 2 + t * jerk / 6)), v + t * (a + t * jerk / 2), a + t * jerk])


def _ruckig() -> Any:
    try:
        import ruckig
    except ImportError as error:
        raise MissingExtra("ruckig", "shape") from error
    return ruckig
