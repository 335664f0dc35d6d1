"""Is a machine's clock slewed beyond what a crystal needs? Then its rate leaves the drift bound, by an amount that is known."""

from collections import deque
from math import ceil
from typing import NamedTuple

__all__ = ("SlewWatch", "Steering")


class Steering(NamedTuple):
    """How far a machine's monotonic clock has been steered away from its crystal (CLOCK_MONOTONIC - CLOCK_MONOTONIC_RAW).

    Args:
        t_ns: When, on the monotonic clock.
        steered_ns: By how much since some instant; only its changes mean something.
    """

    t_ns: int
    steered_ns: int


class SlewWatch:
    """Tells by how much a clock left the drift bound while exchanges were taken.

    Args:
        allowed_ppm: Steering that corrects a crystal and keeps within the drift bound: half of it, the other clock has the other.
    """

    def __init__(self, allowed_ppm: float) -> None:
        self._allowed = allowed_ppm * 1e-6
        self._begins: deque[Steering] = deque(maxlen=2)
        self.ppm: float | None = None
        """The rate of the steering lately; None before the second look."""

    def take(self, begin: Steering, end: Steering) -> int:
        """Look at both ends of an exchange.

        Returns:
            By how much the clock strayed beyond what is allowed since the exchange before the last one began, ns: the round trips
            of probes that leave together are inside.
        """
        first = self._begins[0] if self._begins else begin
        self._begins.append(begin)
        elapsed, moved = max(end.t_ns - first.t_ns, 0), end.steered_ns - first.steered_ns
        if len(self._begins) == 2 and elapsed:
            self.ppm = moved / elapsed * 1e6
        return max(ceil(abs(moved) - self._allowed * elapsed), 0)
