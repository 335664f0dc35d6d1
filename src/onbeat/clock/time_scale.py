"""Do two wall clocks count on different time scales? TAI, UTC and GPS time are whole seconds apart, and are often confused."""

__all__ = ("time_scales_apart",)

_S = 1_000_000_000
# Since 2017-01-01: TAI - UTC (IERS Bulletin C 52); GPS time is 19 s behind TAI for ever (IS-GPS-200).
_APART_S = {37: ("TAI", "UTC"), 19: ("TAI", "GPS time"), 18: ("GPS time", "UTC")}
_TOLERANCE_NS = 400_000_000


def time_scales_apart(apart_ns: int) -> str | None:
    """Say which time scales two wall clocks seem to be on.

    Args:
        apart_ns: The reference's wall time minus ours.

    Returns:
        A clause for people; None where they are on one scale, or apart by something else.
    """
    for seconds, (ahead, behind) in _APART_S.items():
        if abs(abs(apart_ns) - seconds * _S) < _TOLERANCE_NS:
            theirs, ours = (ahead, behind) if apart_ns > 0 else (behind, ahead)
            return f"the reference's wall clock is {apart_ns / 1e9:+.1f} s from ours: it seems to count {theirs}, and ours {ours}"
    return None
