"""Which clock counts such numbers: wall time, a time since boot or of a simulation, TAI or GPS time."""

from bisect import bisect_right
from dataclasses import dataclass

import numpy as np

__all__ = ("Leap", "clock_kind", "leap_between")

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


@dataclass(frozen=True, slots=True)
class Leap:
    """A constant between two scales of time: stamps are on one, log times on the other, and that many seconds ahead."""

    stamps: str
    logs: str
    seconds: int


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
