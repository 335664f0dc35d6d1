"""Apply receive_latency: once, here, nowhere else."""

from dataclasses import replace

from onbeat.capture.stamp import Stamp
from onbeat.errors import BadInput
from onbeat.units import to_ns

__all__ = ("correct",)


def correct(stamp: Stamp, receive_latency_s: float) -> Stamp:
    """Move a stamp back to when its reading was true: capture = stamp - receive_latency.

    Args:
        stamp: As it arrived.
        receive_latency_s: How long before the stamp the reading was physically true, >= 0.

    Returns:
        The corrected stamp, marked as such.

    Raises:
        BadInput: the stamp was corrected before, or the latency is negative or not finite.
    """
    if stamp.corrected:
        raise BadInput(f"reading {stamp.seq} is corrected already; receive_latency is subtracted once, by the module that stamps")
    if not receive_latency_s >= 0:
        raise BadInput(f"receive_latency must be >= 0 s, not {receive_latency_s}; a negative latency is not a measurement")
    return replace(stamp, capture_ns=stamp.capture_ns - to_ns(receive_latency_s), corrected=True)
