"""Seconds at the human edges, int64 nanoseconds inside, and a grid whose ticks are computed, never accumulated."""

from dataclasses import dataclass, field
from fractions import Fraction
from numbers import Rational
from operator import index
from typing import SupportsIndex

from onbeat.errors import BadInput

__all__ = ("TimeGrid", "to_ns", "to_s", "whole_ns")

_NS_PER_S = 1_000_000_000
_END_NS = 1 << 63


def _exact(value: float | Fraction) -> Fraction | None:
    """Give a number as a fraction, without rounding; None when it is not finite. Takes numpy's scalars too."""
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    try:
        return Fraction(float(value))
    except (OverflowError, ValueError):
        return None


def to_ns(seconds: float) -> int:
    """Convert a duration in seconds to whole nanoseconds, rounded to the nearest.

    Raises:
        BadInput: the duration is not finite.
    """
    exact = _exact(seconds)
    if exact is None:
        raise BadInput(f"a duration must be a finite number of seconds, not {seconds}")
    return round(exact * _NS_PER_S)


def to_s(ns: int) -> float:
    """Convert a duration in nanoseconds to seconds. Subtract first: an absolute instant loses its nanoseconds as a float."""
    return int(ns) / _NS_PER_S


def whole_ns(value: SupportsIndex, name: str) -> int:
    """Take an instant or a duration of nanoseconds as it is: whole, and within int64. Numpy's whole numbers are welcome.

    Raises:
        BadInput: it is a float (which would be cut off in silence), no number, or too large.
    """
    try:
        ns = index(value)
    except TypeError:
        raise BadInput(
            f"{name} must be an int of nanoseconds, not a {type(value).__name__}; convert seconds with onbeat.units.to_ns"
        ) from None
    if not -_END_NS <= ns < _END_NS:
        raise BadInput(f"{name} must fit into 64 bits of nanoseconds (292 years)")
    return ns


@dataclass(frozen=True, slots=True)
class TimeGrid:
    """Instants at a fixed rate: tick k is start + k / rate, rounded down to a nanosecond from exact arithmetic.

    Args:
        start_ns: Instant of tick 0, on the clock of the caller.
        rate_hz: Ticks per second; an int or a Fraction is exact, a float is taken at its exact binary value.

    Raises:
        BadInput: the rate is not finite, not positive or above one tick a nanosecond.
    """

    start_ns: int
    rate_hz: int | float | Fraction
    _period_ns: Fraction = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rate = _exact(self.rate_hz)
        if rate is None or not 0 < rate <= _NS_PER_S:
            raise BadInput(f"rate_hz must lie in (0, 1e9], not {self.rate_hz}")
        object.__setattr__(self, "start_ns", whole_ns(self.start_ns, "start_ns"))
        object.__setattr__(self, "_period_ns", _NS_PER_S / rate)

    def tick_ns(self, k: int) -> int:
        """Give the instant of tick k.

        Raises:
            BadInput: it lies outside 64 bits of nanoseconds.
        """
        period = self._period_ns
        t_ns = self.start_ns + int(k) * period.numerator // period.denominator
        if not -_END_NS <= t_ns < _END_NS:
            raise BadInput(
                f"tick {k} at {float(self.rate_hz):.3g} Hz lies outside 64 bits of nanoseconds (292 years); raise the rate"
            )
        return t_ns

    def index(self, t_ns: int) -> int:
        """Give the slot that holds an instant: the largest k with tick_ns(k) <= t_ns."""
        # tick_ns(k) <= t  <=>  floor(k p) <= d  <=>  k p < d + 1  <=>  k < (d + 1) / p
        elapsed = int(t_ns) - self.start_ns
        period = self._period_ns
        return -((-(elapsed + 1) * period.denominator) // period.numerator) - 1

    def nearest(self, t_ns: int) -> int:
        """Give the k whose tick is nearest to an instant; of two equally near ticks the earlier one."""
        k = self.index(t_ns)
        return k if int(t_ns) - self.tick_ns(k) <= self.tick_ns(k + 1) - int(t_ns) else k + 1
