"""A stream of targets, as a hand or a policy sends it, becomes a motion within limits: one step each period, native."""

from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat._core import ShaperCore
from onbeat.errors import BadInput
from onbeat.motion.limits import Limits
from onbeat.motion.shape import state_of

__all__ = ("OnlineShaper",)

State = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


class OnlineShaper:
    """Follows targets closely where they can be followed, and never breaks a limit where they cannot.

    Speed, acceleration and jerk hold in every step, lower and upper at every instant, whatever the targets do: each state is one
    from which the joint can still stop. Targets that move are led by their velocity and acceleration; a target that jumps is gone
    to without overshoot. Targets that repeat are taken as held: a 30 Hz stream may be stepped at 250 Hz.

    Args:
        width: Number of joints, >= 1; each is shaped by itself.
        limits: max_speed, max_acceleration and max_jerk are needed; lower and upper hold where given.
        dt_s: The period of the steps; 0 < dt_s <= 1 s. Above 4 ms it follows less closely.
        start: Where it begins at rest, shape (width,), or a state, shape (3, width). Not given: at rest at the first target.

    Raises:
        BadInput: a limit missing, numbers of another shape or not finite, or a start from which it cannot stop within its limits.
    """

    __slots__ = ("_core", "dt_s", "limits", "width")

    def __init__(self, width: int, limits: Limits, dt_s: float, start: ArrayLike | None = None) -> None:
        if width < 1:
            raise BadInput(f"a shaper needs a width >= 1, not {width}")
        speed, acceleration, jerk = (limits.required(name, width) for name in ("max_speed", "max_acceleration", "max_jerk"))
        lower = np.atleast_1d(-inf if limits.lower is None else limits.lower)
        upper = np.atleast_1d(inf if limits.upper is None else limits.upper)
        self._core = ShaperCore(speed, acceleration, jerk, lower, upper, width, dt_s)
        self.width, self.limits, self.dt_s = width, limits, dt_s
        if start is not None:
            self.reset(start)

    @property
    def state(self) -> State | None:
        """Position, velocity and acceleration as the last step gave them; None before the first where no start was given."""
        return self._core.state() if self._core.begun else None

    def reset(self, start: ArrayLike) -> None:
        """Begin again at a place at rest, shape (width,), or in a state, shape (3, width), such as a plan ended in.

        Raises:
            BadInput: another shape, not finite, or a state from which it cannot stop within its limits.
        """
        position, velocity, acceleration = state_of(start)
        self._core.begin(position, velocity, acceleration)

    def step(self, target: ArrayLike, target_velocity: ArrayLike | None = None) -> State:
        """Move one period on.

        Args:
            target: Where to be at the end of this period, shape (width,). Out of range it is a place at the end of the range.
            target_velocity: How fast it moves there, shape (width,). Not given: estimated from the targets, which lags more.

        Returns:
            Position, velocity and acceleration at the end of this period, shape (width,) each.

        Raises:
            BadInput: another shape, or not finite; nothing has moved then.
        """
        if not self._core.begun:
            self._begin(target)
        return self._core.step(target, target_velocity)

    def _begin(self, target: ArrayLike) -> None:
        place = state_of(target)[0]
        if self.limits.lower is not None or self.limits.upper is not None:
            place = np.clip(place, self.limits.lower, self.limits.upper)
        self._core.begin(place, np.zeros_like(place), np.zeros_like(place))
