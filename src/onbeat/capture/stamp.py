"""When a reading was true, when it arrived, and whether the way between has been taken off."""

from dataclasses import dataclass

from onbeat.errors import BadInput

__all__ = ("Stamp",)


@dataclass(frozen=True, slots=True)
class Stamp:
    """The instants of one reading.

    Args:
        capture_ns: When the reading was true, on `clock`; equal to receive_ns until it is corrected.
        receive_ns: When the reading arrived, on `clock`.
        bound_ns: Half-width that holds capture_ns, under the assumptions of whoever set it; >= 0.
        span_ns: How long the reading looked at the world (an exposure); >= 0.
        seq: The device's count of the reading; a repeated count is a cached reading, not a new one.
        clock: Id of the clock.
        corrected: Whether receive_latency has been subtracted; it is subtracted once, by `correct`.

    Raises:
        BadInput: a reading that was true after it arrived, or a negative bound or span.
    """

    capture_ns: int
    receive_ns: int
    bound_ns: int
    span_ns: int
    seq: int
    clock: str
    corrected: bool = False

    def __post_init__(self) -> None:
        if self.bound_ns < 0 or self.span_ns < 0:
            raise BadInput(f"bound_ns and span_ns must be >= 0, not {self.bound_ns} and {self.span_ns}")
        if self.capture_ns > self.receive_ns:
            late_ms = (self.capture_ns - self.receive_ns) / 1e6
            raise BadInput(f"reading {self.seq} would be true {late_ms:.3f} ms after it arrived; receive_latency must be >= 0")
