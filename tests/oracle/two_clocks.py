"""Two clocks in exact rational time, for what is claimed of the hard bound: no rounding but a stamp's.

True time is a Fraction of nanoseconds. A clock is a polyline over it, so a reading, and what the other clock showed at that
instant, are exact; a stamp is a reading rounded down, as a counter of nanoseconds is read.
"""

from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from math import floor

__all__ = ("Polyline", "true_offset_ns")

_PPM = Fraction(1, 1_000_000)


class Polyline:
    """A clock whose rate is constant between corners, and goes on at its last rate.

    Args:
        start_ns: What it reads at the true time 0.
        rates_ppm: How fast it runs in each stretch, ppm above true time.
        stretch_ns: Length of a stretch.
    """

    def __init__(self, start_ns: int, rates_ppm: Sequence[Fraction | int], stretch_ns: int) -> None:
        self._stretch = Fraction(stretch_ns)
        self._slopes = [1 + Fraction(rate) * _PPM for rate in rates_ppm]
        self._corners = [Fraction(start_ns)]
        for slope in self._slopes[:-1]:
            self._corners.append(self._corners[-1] + slope * self._stretch)

    def reading(self, t: Fraction) -> Fraction:
        k = min(max(floor(t / self._stretch), 0), len(self._slopes) - 1)
        return self._corners[k] + (t - k * self._stretch) * self._slopes[k]

    def when(self, reading: Fraction) -> Fraction:
        k = max(bisect_right(self._corners, reading) - 1, 0)
        return k * self._stretch + (reading - self._corners[k]) / self._slopes[k]

    def stamp(self, t: Fraction) -> int:
        return floor(self.reading(t))


def true_offset_ns(client: Polyline, server: Polyline, client_ns: int) -> Fraction:
    """Give server minus client at the instant at which the client's clock shows that nanosecond."""
    return server.reading(client.when(Fraction(client_ns))) - client_ns
