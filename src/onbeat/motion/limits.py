"""How fast and how far a module may be asked to move, and how long a move must therefore take."""

from dataclasses import dataclass, field, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat._core import MoveLimits
from onbeat.errors import BadInput

__all__ = ("Limits",)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a module; a scalar applies to every joint, None does not limit.

    Args:
        max_speed: Joint or opening speed per second; of a pose, the tool's linear speed in m/s. > 0.
        max_acceleration, max_jerk: Per second squared and cubed, > 0. What shapes motion needs them (`point_to_point`,
            `stop_ramp`, `OnlineShaper`); `schedule` leaves them aside, for its plans are straight lines, which turn in no time.
        lower, upper: Range of the targets; of a pose, of its position.
        max_angular_speed: Of a pose, rad/s. > 0; of joints it says nothing.

    Raises:
        BadInput: a limit that is not a positive number, or a range whose lower end is above its upper end.
    """

    max_speed: ArrayLike | None = None
    max_acceleration: ArrayLike | None = None
    max_jerk: ArrayLike | None = None
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    max_angular_speed: float | None = None
    _native: MoveLimits | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in (each.name for each in fields(self) if each.init):
            given = getattr(self, name)
            if given is None:
                continue
            values = np.asarray(given, dtype=np.float64)
            if values.ndim > (name != "max_angular_speed") or values.size == 0 or np.isnan(values).any():
                wanted = "a number" if name == "max_angular_speed" else "a number or one number for each joint"
                raise BadInput(f"{name} must be {wanted}, not {given!r}")
            if (name == "lower" and (values == np.inf).any()) or (name == "upper" and (values == -np.inf).any()):
                raise BadInput(f"{name} leaves nothing to be in: {given!r}")
            if name not in ("lower", "upper") and not (values > 0).all():
                raise BadInput(f"{name} must be > 0, not {given!r}")
            # Tuples instead of arrays, so that limits compare and hash by value.
            object.__setattr__(self, name, float(values) if values.ndim == 0 else tuple(values.tolist()))
        if self.lower is not None and self.upper is not None:
            lower, upper = np.asarray(self.lower), np.asarray(self.upper)
            if lower.size != upper.size and 1 not in (lower.size, upper.size):
                raise BadInput(
                    f"lower has {lower.size} numbers and upper has {upper.size}; give one number for each joint in both"
                )
            if (lower > upper).any():
                raise BadInput(f"lower {self.lower} lies above upper {self.upper}")

    @property
    def native(self) -> MoveLimits:
        """What the native core asks, prepared at the first use and kept."""
        native = self._native
        if native is None:
            native = MoveLimits(self.max_speed, self.lower, self.upper, self.max_angular_speed)
            object.__setattr__(self, "_native", native)
        return native

    def required(self, name: str, width: int) -> NDArray[np.float64]:
        """Give a limit as one finite number for each joint, shape (width,).

        Args:
            name: Of the limit, "max_speed", "max_acceleration" or "max_jerk".
            width: Number of joints.

        Raises:
            BadInput: it is not given, not finite, or has another number of joints.
        """
        given = getattr(self, name)
        if given is None:
            raise BadInput(f"{name} is not given; what shapes motion needs it: Limits({name}=...)")
        values = np.asarray(given, dtype=np.float64)
        if values.size not in (1, width):
            raise BadInput(f"{name} has {values.size} numbers and the width is {width}; give one number, or one for each joint")
        if not np.isfinite(values).all():
            raise BadInput(f"{name} must be finite, not {given}")
        return np.array(np.broadcast_to(values, (width,)))

    def out_of_range(self, targets: NDArray[np.float64], pose: bool = False) -> NDArray[np.bool_]:
        """Say which rows of targets, shape (n, width), leave [lower, upper]; of poses the position alone is judged.

        Raises:
            BadInput: a limit has another number of columns than the rows.
        """
        return self.native.out_of_range(targets, pose)

    def shortest_ns(self, starts: NDArray[np.float64], ends: NDArray[np.float64], pose: bool = False) -> NDArray[np.int64]:
        """Give the shortest time that each move may take, rounded up to a nanosecond.

        Args:
            starts, ends: Shape (n, width); poses are position and quat_wxyz, width 7.
            pose: Whether the rows are poses.

        Returns:
            int64, shape (n,); 0 where nothing limits, at most 2^62.

        Raises:
            BadInput: a limit has another number of columns than the rows.
        """
        return self.native.shortest_ns(starts, ends, pose)
