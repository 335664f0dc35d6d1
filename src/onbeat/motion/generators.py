"""Motions that are made: a figure-8 and a 3D weave, continuous in acceleration, with their peaks known before they are sent.

They begin and end at rest: their pace rises over the first `lap_s` and falls over the last, by a polynomial whose first two
derivatives vanish at both ends. In between they are periodic.
"""

from dataclasses import dataclass
from math import pi

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.errors import BadInput
from onbeat.motion.clip import Clip

__all__ = ("Figure", "figure_eight", "weave")

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Figure:
    """A closed path p(phase) = center + sum of axes[k] * sin(harmonics[k] * phase), run at `laps` laps of `lap_s` each.

    Args:
        center: Metres, shape (3,).
        axes: How far each harmonic reaches, metres; shape (n, 3), n >= 1.
        harmonics: Whole turns a lap of each, >= 1. Shape (n,).
        lap_s: How long a lap takes at full pace, > 0.
        laps: Laps at full pace, >= 0; run-up and run-down take one `lap_s` each, and half a lap of path each.

    Raises:
        BadInput: other shapes, numbers that are not finite, or no time for a lap.
    """

    center: tuple[float, float, float]
    axes: tuple[tuple[float, float, float], ...]
    harmonics: tuple[int, ...]
    lap_s: float
    laps: int = 1

    def __post_init__(self) -> None:
        axes, center = np.asarray(self.axes, dtype=np.float64), np.asarray(self.center, dtype=np.float64)
        if center.shape != (3,) or axes.shape != (len(self.harmonics), 3) or len(self.harmonics) == 0:
            raise BadInput(f"a figure needs a center (3,) and an axis (3,) for each harmonic, not {center.shape}, {axes.shape}")
        if not (np.isfinite(axes).all() and np.isfinite(center).all() and np.isfinite(self.lap_s) and self.lap_s > 0):
            raise BadInput("a figure needs finite numbers and a lap_s > 0")
        if self.laps < 0 or min(self.harmonics) < 1:
            raise BadInput(f"laps must be >= 0 and harmonics >= 1, not {self.laps} and {self.harmonics}")

    @property
    def duration_s(self) -> float:
        """How long it takes, from rest to rest."""
        return (self.laps + 2) * self.lap_s

    @property
    def peak_speed(self) -> float:
        """No instant is faster, m/s."""
        return float(np.linalg.norm(self._dense()[1], axis=-1).max() * _MARGIN)

    @property
    def peak_acceleration(self) -> float:
        """No instant accelerates harder, m/s^2."""
        return float(np.linalg.norm(self._dense()[2], axis=-1).max() * _MARGIN)

    def at_many(self, t_s: ArrayLike) -> tuple[Array, Array, Array]:
        """Give position, velocity and acceleration, shape (n, 3) each, at instants from the start; at rest outside."""
        phase, pace, change = self._phase(np.asarray(t_s, dtype=np.float64))
        turns = np.asarray(self.harmonics, dtype=np.float64)
        angle, axes = phase[:, None] * turns, np.asarray(self.axes, dtype=np.float64)
        along, across = np.cos(angle) * turns, -np.sin(angle) * turns**2
        position = np.asarray(self.center) + np.sin(angle) @ axes
        return position, pace[:, None] * (along @ axes), change[:, None] * (along @ axes) + (pace**2)[:, None] * (across @ axes)

    def clip(self, step_ns: int = 1_000_000) -> Clip:
        """Sample it, every step_ns and at its end; straight lines between are off by peak_acceleration * step^2 / 8."""
        if step_ns <= 0:
            raise BadInput(f"step_ns must be > 0, not {step_ns}")
        end_ns = round(self.duration_s * 1e9)
        times_ns = np.append(np.arange(0, end_ns, step_ns, dtype=np.int64), end_ns)
        return Clip(times_ns, self.at_many(times_ns * 1e-9)[0])

    def _phase(self, t: Array) -> tuple[Array, Array, Array]:
        """Give the phase, its pace and the change of its pace: the pace rises by 10 u^3 - 15 u^4 + 6 u^5 and falls alike."""
        full = 2 * pi / self.lap_s
        last = self.duration_s
        # The run-down is the run-up backwards.
        late = t > last / 2
        since = np.clip(np.where(late, last - t, t) / self.lap_s, 0.0, None)
        u = np.minimum(since, 1.0)
        gone = 2.5 * u**4 - 3 * u**5 + u**6 + (since - u)
        pace = full * u**3 * (10 - 15 * u + 6 * u * u)
        change = full / self.lap_s * 30 * u**2 * (1 - u) ** 2
        whole = 2 * pi * (self.laps + 1)
        return np.where(late, whole - 2 * pi * gone, 2 * pi * gone), pace, np.where(late, -change, change)

    def _dense(self) -> tuple[Array, Array, Array]:
        # Run-up and one lap at full pace hold all there is.
        return self.at_many(np.linspace(0.0, min(2.0, self.laps / 2 + 1) * self.lap_s, _SAMPLES * max(self.harmonics)))


# A peak lies at most half a sample from one; the curvature of the highest harmonic makes that less than this.
_SAMPLES, _MARGIN = 4000, 1 + 1e-5


def figure_eight(
    center: tuple[float, float, float], width_m: float, height_m: float, peak_speed_mps: float, laps: int = 1
) -> Figure:
    """Make a figure-8 (a lemniscate of Gerono) in the plane of the table, as fast as its peak speed says.

    Args:
        center: Where it crosses itself, metres.
        width_m, height_m: Its whole extent in x and y, > 0.
        peak_speed_mps: The highest speed of the motion, > 0.
        laps: Laps at full pace.
    """
    return _paced(center, ((width_m / 2, 0.0, 0.0), (0.0, height_m / 2, 0.0)), (1, 2), peak_speed_mps, laps)


def weave(
    center: tuple[float, float, float], size_m: tuple[float, float, float], peak_speed_mps: float, laps: int = 1, turns: int = 5
) -> Figure:
    """Make a 3D weave: `turns` swings in y and twice as many in z along each lap in x, as fast as its peak speed says.

    Args:
        center: Metres.
        size_m: Its whole extent in x, y and z, > 0.
        peak_speed_mps: The highest speed of the motion, > 0.
        laps: Laps at full pace.
        turns: Swings a lap, >= 1.
    """
    x, y, z = size_m
    axes = ((x / 2, 0.0, 0.0), (0.0, y / 2, 0.0), (0.0, 0.0, z / 2))
    return _paced(center, axes, (1, turns, 2 * turns), peak_speed_mps, laps)


def _paced(
    center: tuple[float, float, float],
    axes: tuple[tuple[float, float, float], ...],
    harmonics: tuple[int, ...],
    peak_speed_mps: float,
    laps: int,
) -> Figure:
    """Choose the time of a lap by the peak speed: speeds go with its inverse."""
    if not (np.isfinite(peak_speed_mps) and peak_speed_mps > 0):
        raise BadInput(f"peak_speed_mps must be > 0, not {peak_speed_mps}")
    if not np.abs(np.asarray(axes)).max() > 0:
        raise BadInput("a figure without any extent has no speed")
    slow = Figure(center, axes, harmonics, 1.0, laps)
    return Figure(center, axes, harmonics, slow.peak_speed / peak_speed_mps, laps)
