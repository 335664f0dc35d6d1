"""How fast and how far a module may be asked to move, and how long a move must therefore take."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.errors import BadInput

__all__ = ("Limits",)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a module; a scalar applies to every joint, None does not limit.

    Args:
        max_speed: Joint or opening speed per second; of a pose, the tool's linear speed in m/s. > 0.
        max_acceleration, max_jerk: Per second squared and cubed, > 0; for the generators that shape motion.
        lower, upper: Range of the targets.
        max_angular_speed: Of a pose, rad/s. > 0.

    Raises:
        BadInput: a limit that is not a positive number, or a range whose lower end is above its upper end.
    """

    max_speed: ArrayLike | None = None
    max_acceleration: ArrayLike | None = None
    max_jerk: ArrayLike | None = None
    lower: ArrayLike | None = None
    upper: ArrayLike | None = None
    max_angular_speed: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            given = getattr(self, field.name)
            if given is None:
                continue
            values = np.asarray(given, dtype=np.float64)
            if values.ndim > 1 or np.isnan(values).any():
                raise BadInput(f"{field.name} must be a number or one number for each joint, not {given!r}")
            if field.name not in ("lower", "upper") and not (values > 0).all():
                raise BadInput(f"{field.name} must be > 0, not {given!r}")
            # Tuples instead of arrays, so that limits compare and hash by value.
            object.__setattr__(self, field.name, float(values) if values.ndim == 0 else tuple(values.tolist()))
        if self.lower is not None and self.upper is not None and np.any(np.asarray(self.lower) > np.asarray(self.upper)):
            raise BadInput(f"lower {self.lower} lies above upper {self.upper}")

    def out_of_range(self, targets: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Say which rows of targets, shape (n, width), leave [lower, upper]."""
        outside = np.zeros(len(targets), dtype=np.bool_)
        if self.lower is not None:
            outside |= (targets < np.asarray(self.lower)).any(axis=1)
        if self.upper is not None:
            outside |= (targets > np.asarray(self.upper)).any(axis=1)
        return outside

    def shortest_ns(self, starts: NDArray[np.float64], ends: NDArray[np.float64], pose: bool = False) -> NDArray[np.int64]:
        """Give the shortest time that each move may take, rounded up to a nanosecond.

        Args:
            starts, ends: Shape (n, width); poses are position and quat_wxyz, width 7.
            pose: Whether the rows are poses.

        Returns:
            int64, shape (n,); 0 where nothing limits.
        """
        seconds = np.zeros(len(starts))
        if pose:
            if self.max_speed is not None:
                seconds = np.linalg.norm(ends[:, :3] - starts[:, :3], axis=1) / np.asarray(self.max_speed)
            if self.max_angular_speed is not None:
                a, b = starts[:, 3:], ends[:, 3:]
                # atan2 keeps small angles exact where acos of the dot product loses half of the digits.
                short = np.minimum(np.linalg.norm(a - b, axis=1), np.linalg.norm(a + b, axis=1))
                long = np.maximum(np.linalg.norm(a - b, axis=1), np.linalg.norm(a + b, axis=1))
                seconds = np.maximum(seconds, 4.0 * np.arctan2(short, long) / self.max_angular_speed)
        elif self.max_speed is not None:
            seconds = (np.abs(ends - starts) / np.asarray(self.max_speed)).max(axis=1)
        # A thousandth of a nanosecond is float dust, not motion.
        return np.ceil(seconds * 1e9 - 1e-3).astype(np.int64)
