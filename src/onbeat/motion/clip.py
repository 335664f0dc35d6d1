"""A recorded or made motion of a point, played from an instant on, and scaled into the reach and the speed of a rig."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput

__all__ = ("Clip", "Fit", "Playback", "fit_clip", "turntable")

# Samples further apart than this are a gap in a recording: the motion between them is not known.
MAX_GAP_NS = 100_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Clip:
    """Positions of a point over time, linear between samples, at rest before the first and after the last.

    Args:
        times_ns: int64, shape (n,), strictly increasing, counted from the start of the clip (the first is 0).
        positions: Metres, shape (n, 3).
    """

    times_ns: NDArray[np.int64]
    positions: NDArray[np.float64]

    def __post_init__(self) -> None:
        times_ns = np.array(self.times_ns, dtype=np.int64)
        positions = np.array(self.positions, dtype=np.float64)
        if times_ns.ndim != 1 or positions.shape != (len(times_ns), 3) or len(times_ns) < 2:
            raise BadInput(f"a clip needs n >= 2 instants and n x 3 positions, not {times_ns.shape} and {positions.shape}")
        if not np.isfinite(positions).all() or (np.diff(times_ns) <= 0).any():
            raise BadInput("a clip needs finite positions and strictly increasing instants")
        times_ns -= times_ns[0]
        times_ns.flags.writeable = positions.flags.writeable = False
        object.__setattr__(self, "times_ns", times_ns)
        object.__setattr__(self, "positions", positions)

    @property
    def duration_ns(self) -> int:
        """How long the clip is."""
        return int(self.times_ns[-1])

    def at_many(self, phase_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the positions, shape (n, 3), at instants counted from the start of the clip."""
        phase = np.asarray(phase_ns, dtype=np.int64)
        return np.stack([np.interp(phase, self.times_ns, column) for column in self.positions.T], axis=-1)

    def speed_at(self, phase_ns: NDArray[np.int64], over_ns: int = 100_000_000) -> NDArray[np.float64]:
        """Give the mean speed in m/s, shape (n,), over a window around each instant."""
        phase = np.asarray(phase_ns, dtype=np.int64)
        moved = self.at_many(phase + over_ns // 2) - self.at_many(phase - over_ns // 2)
        return np.asarray(np.linalg.norm(moved, axis=-1) / (over_ns * 1e-9))


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A recording made to fit: the clip, the factor by which its positions were scaled, and the part that was taken."""

    clip: Clip
    scale: float
    start_s: float
    axes: tuple[int, int]


def turntable(center: tuple[float, float, float], radius_m: float, speed_mps: float, duration_s: float) -> Clip:
    """Make the motion of a cup on a turntable: a circle in the plane of the table at constant speed."""
    times_ns = np.arange(0, round(duration_s * 1e9) + 1, 5_000_000, dtype=np.int64)
    angle = times_ns * 1e-9 * speed_mps / radius_m
    around = np.stack([radius_m * np.cos(angle), radius_m * np.sin(angle), np.zeros_like(angle)], axis=1)
    return Clip(times_ns, around + np.asarray(center))


def fit_clip(
    times_ns: NDArray[np.int64],
    positions: NDArray[np.float64],
    center: tuple[float, float, float],
    reach_m: float,
    max_speed_mps: float,
    duration_s: float,
) -> Fit:
    """Cut the liveliest stretch out of a recording, lay it on the table, and scale it into reach and speed.

    The two axes that move most become the table's x and y. One factor scales positions; time is left as recorded.

    Args:
        times_ns, positions: The recording, shapes (n,) and (n, 3); gaps are allowed, the stretch has none.
        center: Where the middle of the motion comes to lie, metres.
        reach_m: How far the motion may go from the middle.
        max_speed_mps: What no 100 ms window of the motion exceeds.
        duration_s: How long a stretch to cut.

    Raises:
        BadInput: the recording is shorter than that without a gap, or stands still.
    """
    wanted_ns = round(duration_s * 1e9)
    times_ns = np.asarray(times_ns, dtype=np.int64)
    cuts = np.flatnonzero(np.diff(times_ns) > MAX_GAP_NS) + 1
    best: tuple[float, int, int] | None = None
    for part in np.split(np.arange(len(times_ns)), cuts):
        ends = np.searchsorted(times_ns[part], times_ns[part] + wanted_ns)
        path = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(positions[part], axis=0), axis=1))])
        for first in range(0, int(np.count_nonzero(ends < len(part))), 10):
            length = path[ends[first]] - path[first]
            if best is None or length > best[0]:
                best = (length, int(part[first]), int(part[ends[first]]))
    if best is None:
        held_s = (times_ns[-1] - times_ns[0]) * 1e-9
        raise BadInput(f"the recording holds {held_s:.1f} s; it needs {duration_s:.1f} s without a gap above 100 ms")
    stretch = slice(best[1], best[2] + 1)
    part_positions = positions[stretch]
    axes = np.sort(np.argsort(np.ptp(part_positions, axis=0))[-2:])
    flat = np.zeros_like(part_positions)
    flat[:, :2] = part_positions[:, axes]
    flat -= (flat.max(axis=0) + flat.min(axis=0)) / 2
    extent = float(np.linalg.norm(flat, axis=1).max())
    if extent < 1e-6:
        raise BadInput(f"the recording stands still: its liveliest {duration_s:.1f} s move {extent * 1e6:.1f} um")
    raw = Clip(times_ns[stretch], flat)
    speeds = raw.speed_at(np.arange(0, raw.duration_ns, 20_000_000, dtype=np.int64))
    scale = min(reach_m / extent, max_speed_mps / float(speeds.max()))
    start_s = (times_ns[stretch][0] - times_ns[0]) * 1e-9
    return Fit(Clip(raw.times_ns, flat * scale + np.asarray(center)), scale, float(start_s), (int(axes[0]), int(axes[1])))


class Playback:
    """A clip that can be played again: at rest at its start until `start`, and after its end at rest there.

    One thread starts it; others may ask at any time, also for instants of earlier plays.
    """

    def __init__(self, clip: Clip) -> None:
        self.clip = clip
        # Replaced as a whole, so that a reader needs no lock.
        self._starts_ns: tuple[int, ...] = ()

    def start(self, t_ns: int) -> None:
        """Play from t_ns on; an earlier play ends there.

        Raises:
            BadInput: t_ns is before the last start.
        """
        if self._starts_ns and t_ns < self._starts_ns[-1]:
            raise BadInput(f"a play cannot start {self._starts_ns[-1] - t_ns} ns before the last one")
        self._starts_ns = (*self._starts_ns, int(t_ns))

    def at_many(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the positions, shape (n, 3), at instants on the clock of `start`."""
        when = np.asarray(t_ns, dtype=np.int64)
        if not self._starts_ns:
            return self.clip.at_many(np.zeros_like(when))
        starts = np.array(self._starts_ns, dtype=np.int64)
        play = np.clip(np.searchsorted(starts, when, side="right") - 1, 0, None)
        return self.clip.at_many(when - starts[play])
