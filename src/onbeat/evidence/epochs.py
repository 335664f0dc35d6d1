"""Which clock counts such numbers: wall time, a time since boot or of a simulation, TAI or GPS time; and does it change?"""

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.timeline import Timeline

__all__ = ("EpochChange", "Leap", "clock_kind", "epoch_change", "leap_between")

_YEAR_NS = 31_556_952 * 10**9
# UTC instants (s since 1970) from which TAI - UTC is that many seconds: IERS Bulletin C.
_LEAPS = (
    (915_148_800, 32),
    (1_136_073_600, 33),
    (1_230_768_000, 34),
    (1_341_100_800, 35),
    (1_435_708_800, 36),
    (1_483_228_800, 37),
)
_TAI_GPS = 19  # s, for ever
_HOUR_NS = 3600 * 10**9  # no clock that runs is set by as much
_FEW_RUNS = 64


@dataclass(frozen=True, slots=True)
class Leap:
    """A constant between two scales of time: stamps are on one, log times on the other, and that many seconds ahead."""

    stamps: str
    logs: str
    seconds: int


@dataclass(frozen=True, slots=True, eq=False)
class EpochChange:
    """Stamps of one stream that come from two clocks, as of a sensor that counts from its start until its time is set.

    Args:
        row: Number of the first row after the first change, among those of the timeline.
        jump_ns: By how much the stamps jump there, beyond the time that passed.
        times: How often they change.
        other_ns: One stamp of the clock that fewer rows are on.
        share: Of the rows, that are on it.
        stamps: All stamps, with those of the other clock moved to the one that most are on. Shape (m,).
    """

    row: int
    jump_ns: int
    times: int
    other_ns: int
    share: float
    stamps: NDArray[np.int64]


def epoch_change(line: Timeline) -> EpochChange | None:
    """Find where stamps change to a clock that is hours or years away from the one before.

    Beside log times any such jump is one. Stamps alone may go on after hours, as where two recordings were put together; back by
    an hour, or forth by years, they do not.
    """
    if not line.has("stamp_ns") or line.info.counted:
        return None
    stamp = line.column("stamp_ns")
    passed = line.column("log_ns") if line.has("log_ns") else stamp[:1].repeat(len(stamp))
    behind = passed - stamp
    moved = -np.diff(behind.astype(np.float64))  # the difference of two such differences may be none of 64 bits
    odd = np.abs(moved) > _HOUR_NS if line.has("log_ns") else (moved < -_HOUR_NS) | (moved > _YEAR_NS)
    if line.has("segment"):
        odd &= np.diff(line.rows["segment"]) == 0
    rows = np.flatnonzero(odd) + 1
    if not len(rows):
        return None
    runs = np.split(np.arange(len(stamp)), rows)
    level = _middle(behind[max(runs, key=len)])
    other = np.abs(behind - level) > _HOUR_NS / 2
    if float(other.mean()) > 0.5:
        level = _middle(behind[other])
        other = np.abs(behind - level) > _HOUR_NS / 2
    if not other.any():
        return None
    mended = stamp.copy()
    if len(runs) > _FEW_RUNS:
        mended[other] += behind[other] - level
    else:
        for run in runs:
            if other[run].any():
                mended[run] += _middle(behind[run]) - level
    return EpochChange(int(rows[0]), int(moved[rows[0] - 1]), len(rows), int(stamp[other][0]), float(other.mean()), mended)


def _middle(times: NDArray[np.int64]) -> int:
    """Give the median as one of them, since a float rounds nanoseconds since 1970."""
    return int(np.sort(times)[len(times) // 2])


def clock_kind(instant_ns: int) -> str:
    """Say what clock counts such a number: "wall time of 2025-04-02", "a time that counts from 0"."""
    if 9 * _YEAR_NS < instant_ns < 130 * _YEAR_NS:
        return f"wall time of {np.datetime64(instant_ns, 'ns').astype('datetime64[D]')}"
    return "a time that counts from 0, as time since boot and simulated time do"


def leap_between(offset_s: float, log_ns: int, slack_s: float) -> Leap | None:
    """Say whether an offset (log minus stamp) is that of two scales of time, within what a transport delay adds.

    Args:
        offset_s: Baseline of the offset.
        log_ns: When, in ns since 1970.
        slack_s: By how much the baseline may be below the constant: noise.
    """
    at = bisect_right([start for start, _ in _LEAPS], log_ns // 10**9) - 1
    if at < 0:
        return None
    tai = _LEAPS[at][1]
    scales = (
        ("TAI", "UTC", tai),
        ("GPS time", "UTC", tai - _TAI_GPS),
        ("TAI", "GPS time", _TAI_GPS),
    )
    for ahead, behind, seconds in scales:
        if -slack_s <= offset_s + seconds <= 0.4:
            return Leap(ahead, behind, seconds)
        if -slack_s <= offset_s - seconds <= 0.4:
            return Leap(behind, ahead, -seconds)
    return None
