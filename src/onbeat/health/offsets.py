"""The offset of a stream's log times against its stamps, ready to be judged."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.timeline import Timeline
from onbeat.health.exposure import exposure_slope, told_by_stamps

__all__ = ("FEWEST", "Offset", "offset")

FEWEST = 20  # rows: fewer show no shape
_FRAMES = 60  # 2 s of a usual camera
_SHARES = (0.0, 0.5, 1.0, -0.5)  # of the exposure, that an offset follows
_SURE = 0.25  # half of what is between them: a slope whose interval is within that of one is surely that
_TOLD = 0.4  # half-width of a slope that tells something
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Offset:
    """Log time minus stamp of one stream.

    Args:
        line: The stream.
        t: Instants, s from the origin, not decreasing. Shape (m,).
        d: Offset less `base_ns`, s. Shape (m,).
        base_ns: The median offset, an integer.
        period: Usual time between two rows, s.
        floor: Resolution of the offset, s.
        follows: Whether it may follow an exposure, of a camera: one that neither the file nor the stamps tell.
    """

    line: Timeline
    t: _Floats
    d: _Floats
    base_ns: int
    period: float
    floor: float
    follows: bool = False

    @property
    def name(self) -> str:
        """The stream's name."""
        return self.line.name

    @property
    def span(self) -> float:
        """From the first row to the last, s."""
        return float(self.t[-1] - self.t[0])


def offset(line: Timeline, origin_ns: int, stamps: NDArray[np.int64] | None = None) -> Offset | None:
    """Give the offset of a stream, None where it has not both times or fewer than 20 rows.

    Stamps may be given, where they were unwrapped. Time runs along the log where it does not go back, else along the stamps.
    """
    if not line.has("stamp_ns", "log_ns") or len(line.rows) < FEWEST or line.info.counted:
        return None
    stamp, log = line.column("stamp_ns") if stamps is None else stamps, line.column("log_ns")
    rows = np.arange(len(log))
    if line.has("segment"):  # the longest run of the clock
        first, last = max(line.segments(), key=lambda s: s[1] - s[0])
        rows = rows[first:last]
        stamp, log = stamp[first:last], log[first:last]
        if len(rows) < FEWEST:
            return None
    difference = log - stamp
    base = int(np.median(difference))
    if np.all(np.diff(log) >= 0):
        t = (log - origin_ns) / 1e9
    elif np.all(np.diff(stamp) >= 0):
        t = (stamp - stamp[0] + (log[0] - origin_ns)) / 1e9
    else:
        t = np.maximum.accumulate(log - origin_ns) / 1e9
    if t[-1] <= t[0]:
        return None
    floor = max(1e-6, _quantum_ns(np.diff(stamp)) / 3e9)
    d = (difference - base) / 1e9
    told = None
    if line.has("exposure_ns"):
        told = _of_exposure(d, line.column("exposure_ns")[rows] / 1e9, stamp)
    elif line.info.kind == "image" and line.whole:
        told = told_by_stamps(d, stamp)
    follows = line.info.kind == "image" and told is None
    return Offset(line, t, d if told is None else d - told, base, max(line.period_ns, 1.0) / 1e9, floor, follows)


def _of_exposure(d: _Floats, exposure: _Floats, stamp_ns: NDArray[np.int64]) -> _Floats | None:
    """Give the part of the offset that follows the exposure time: none, half or all of it, whichever is nearest to the slope.

    Beside short pieces, so that a clock that is slewed or flips meanwhile is none of it. Where the slope lies between two of
    them, the stamps may tell; where these cannot either, and it says nothing, the part is taken that leaves the least change.
    None where the slope is far beyond all of it: the exposure is in another unit than said.
    """
    moved = exposure - np.median(exposure)
    if not moved.any():
        return np.zeros(len(d))
    slope, half = exposure_slope(d * 1e9, exposure * 1e9, _FRAMES)
    share = min(_SHARES, key=lambda one: abs(one - slope))
    apart = abs(share - slope)
    if apart + half >= _SURE and apart < 1 + half and (told := told_by_stamps(d, stamp_ns)) is not None:
        return told
    if half < _TOLD:
        return share * moved if apart < 1 + half else None
    lag = max(len(d) // 30, 1)  # over which an exposure changes, and a line adds the same to all

    def unrest(part: _Floats) -> float:
        steps = (d - part)[lag:] - (d - part)[:-lag]
        return float(np.mean(np.abs(steps - np.median(steps))))

    return min((share * moved for share in _SHARES), key=unrest)


def _quantum_ns(steps: NDArray[np.int64]) -> int:
    """Give what the usual intervals are all multiples of, where there are several of them: 10 ms of 30, 30, 40 ms."""
    values, counts = np.unique(steps, return_counts=True)
    usual = values[counts >= 0.02 * len(steps)]
    return int(np.gcd.reduce(usual)) if len(usual) > 1 else 0
