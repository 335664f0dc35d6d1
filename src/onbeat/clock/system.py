"""This machine's clocks."""

import time

from onbeat.clock.slew import Steering
from onbeat.errors import BadInput

__all__ = ("SystemClock", "read_steering")

_LONGEST_SLEEP_NS = 1 << 62  # time.sleep takes 292 years
_CLOCKS = {"monotonic": time.CLOCK_MONOTONIC, "boottime": time.CLOCK_BOOTTIME, "wall": time.CLOCK_REALTIME}


def read_steering(looks: int = 3) -> Steering:
    """Read CLOCK_MONOTONIC against CLOCK_MONOTONIC_RAW, and keep the narrowest of some looks: nothing came in between."""
    best: tuple[int, int, int] | None = None
    for _ in range(looks):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        raw = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        if best is None or after - before < best[0]:
            best = (after - before, (before + after) // 2, raw)
    return Steering(0, 0) if best is None else Steering(best[1], best[1] - best[2])


class SystemClock:
    """One of this machine's clocks: monotonic (the default), boottime (goes on during suspend), or wall (for logs only).

    Raises:
        BadInput: the kind is none of the three.
    """

    __slots__ = ("_clock", "id")

    def __init__(self, kind: str = "monotonic") -> None:
        if kind not in _CLOCKS:
            raise BadInput(f"no system clock of kind {kind!r}; take one of {', '.join(_CLOCKS)}")
        self._clock = _CLOCKS[kind]
        self.id = kind

    def __repr__(self) -> str:
        return f"SystemClock({self.id!r})"

    def now_ns(self) -> int:
        """Read the clock."""
        return time.clock_gettime_ns(self._clock)

    def sleep_until_ns(self, t_ns: int) -> None:
        """Sleep until the clock reads t_ns or later; a sleep is relative to the monotonic clock, so it is repeated."""
        while (remaining_ns := t_ns - self.now_ns()) > 0:
            time.sleep(min(remaining_ns, _LONGEST_SLEEP_NS) * 1e-9)
