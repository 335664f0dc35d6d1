"""From one clock to another: an affine map in exact nanoseconds, with a bound that grows with age."""

from dataclasses import dataclass, replace
from math import ceil
from typing import overload

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput, ClockMismatch
from onbeat.units import whole_ns

__all__ = ("ClockMap",)

_PPB = 1e-9
_MOST_PPB = 1e8  # two clocks that differ by a tenth of their rate are not clocks


@dataclass(frozen=True, slots=True)
class ClockMap:
    """Instants of a source clock on a target clock: ``t_target = t + offset_ns + skew (t - anchor_ns)``.

    Going there and back is exact to 1 ns. Two maps are chained with `then`, reversed with `inverse`; their bounds add.

    Args:
        source: Id of the clock that is mapped from.
        target: Id of the clock that is mapped to.
        anchor_ns: Instant on the source at which the figures hold.
        offset_ns: Target minus source at the anchor.
        skew_ppb: What the offset gains, ns per second of the source; positive: the target runs fast.
        bound_ns: Half-width that holds the offset at the anchor.
        drift_bound_ppb: How far the true offset can leave a constant, ns per second: the hard bound grows by this with age.
        low_ns, high_ns: The interval that holds the offset at the anchor, where it is not symmetric; None: offset -+ bound.
        model_bound_ns: Half-width while the rate changes no faster than crystals do; None: as the hard one.
        model_drift_ppb: By how much that one grows, ns per second of age.
        epoch: Counts the times that the target's time line was broken.

    Raises:
        BadInput: a bound is negative, the interval does not hold the offset, or the skew is beyond 10 %.
    """

    source: str
    target: str
    anchor_ns: int
    offset_ns: int
    skew_ppb: float = 0.0
    bound_ns: int = 0
    drift_bound_ppb: float = 0.0
    low_ns: int | None = None
    high_ns: int | None = None
    model_bound_ns: int | None = None
    model_drift_ppb: float = 0.0
    epoch: int = 0

    def __post_init__(self) -> None:
        for name in ("anchor_ns", "offset_ns", "bound_ns"):
            object.__setattr__(self, name, whole_ns(getattr(self, name), name))
        if self.bound_ns < 0 or not 0 <= self.drift_bound_ppb <= _MOST_PPB or not abs(self.skew_ppb) <= _MOST_PPB:
            raise BadInput(
                f"a clock map needs a bound and a drift bound of 0 or more and a skew within 1e8 ppb, not {self.bound_ns} ns, "
                f"{self.drift_bound_ppb} ppb and {self.skew_ppb} ppb"
            )
        low = self.offset_ns - self.bound_ns if self.low_ns is None else whole_ns(self.low_ns, "low_ns")
        high = self.offset_ns + self.bound_ns if self.high_ns is None else whole_ns(self.high_ns, "high_ns")
        if not low <= self.offset_ns <= high:
            raise BadInput(f"the offset {self.offset_ns} ns does not lie in its interval [{low}, {high}] ns")
        object.__setattr__(self, "low_ns", low)
        object.__setattr__(self, "high_ns", high)
        object.__setattr__(self, "bound_ns", max(high - self.offset_ns, self.offset_ns - low))

    @overload
    def to_target_ns(self, t_ns: int) -> int: ...

    @overload
    def to_target_ns(self, t_ns: NDArray[np.int64]) -> NDArray[np.int64]: ...

    def to_target_ns(self, t_ns: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
        """Give an instant of the source, or an int64 array of them, on the target."""
        return t_ns + self._offset(t_ns)

    def offset_at_ns(self, t_ns: int) -> int:
        """Give the offset at an instant of the source; add it to that instant."""
        return int(self._offset(whole_ns(t_ns, "t_ns")))

    def interval_at_ns(self, t_ns: int) -> tuple[int, int]:
        """Give the interval that holds the true offset at an instant of the source, under the drift bound alone."""
        grown = ceil(self.drift_bound_ppb * _PPB * abs(whole_ns(t_ns, "t_ns") - self.anchor_ns))
        low, high = self._interval
        return low - grown, high + grown

    def bound_at_ns(self, t_ns: int) -> int:
        """Give the half-width that holds `to_target_ns` at an instant of the source: hard, grown by the drift bound."""
        low, high = self.interval_at_ns(t_ns)
        offset = self.offset_at_ns(t_ns)
        return max(high - offset, offset - low, 0)

    def bound_model_at_ns(self, t_ns: int) -> int:
        """Give the half-width while both clocks' rates change no faster than crystals' do; never more than the hard one."""
        hard = self.bound_at_ns(t_ns)
        if self.model_bound_ns is None:
            return hard
        age = abs(whole_ns(t_ns, "t_ns") - self.anchor_ns)
        return min(hard, self.model_bound_ns + ceil(self.model_drift_ppb * _PPB * age))

    def then(self, after: "ClockMap") -> "ClockMap":
        """Chain: this map, then one that starts where this one ends. Hard bounds and drift bounds add.

        Raises:
            ClockMismatch: the other map starts on another clock.
        """
        if after.source != self.target:
            raise ClockMismatch(
                f"a map to {self.target!r} cannot go on with one from {after.source!r}; chain maps that meet on one clock"
            )
        middle = self.to_target_ns(self.anchor_ns)
        low, high = self._interval
        after_offset = after.offset_at_ns(middle)
        after_low, after_high = after.interval_at_ns(middle)
        after_low, after_high = min(after_low, after_offset), max(after_high, after_offset)
        skew = self.skew_ppb + after.skew_ppb * (1 + self.skew_ppb * _PPB)
        return ClockMap(
            source=self.source,
            target=after.target,
            anchor_ns=self.anchor_ns,
            offset_ns=self.offset_ns + after_offset,
            skew_ppb=skew,
            drift_bound_ppb=self.drift_bound_ppb + after.drift_bound_ppb * (1 + abs(self.skew_ppb) * _PPB),
            low_ns=low + after_low,
            high_ns=high + after_high,
            model_bound_ns=self.bound_model_at_ns(self.anchor_ns) + after.bound_model_at_ns(middle),
            model_drift_ppb=self.model_drift_ppb + after.model_drift_ppb,
            epoch=self.epoch + after.epoch,
        )

    def inverse(self) -> "ClockMap":
        """Give the map from the target back to the source."""
        low, high = self._interval
        slow = 1 + self.skew_ppb * _PPB
        return replace(
            self,
            source=self.target,
            target=self.source,
            anchor_ns=self.to_target_ns(self.anchor_ns),
            offset_ns=-self.offset_ns,
            skew_ppb=-self.skew_ppb / slow,
            bound_ns=0,
            drift_bound_ppb=self.drift_bound_ppb / min(slow, 1.0),
            low_ns=-high,
            high_ns=-low,
        )

    @property
    def _interval(self) -> tuple[int, int]:
        low, high = self.low_ns, self.high_ns
        return (low if low is not None else self.offset_ns), (high if high is not None else self.offset_ns)

    def _offset(self, t_ns: int | NDArray[np.int64]) -> int | NDArray[np.int64]:
        # Subtract first, then float: what is lost of the skew's part is far below a nanosecond.
        since = t_ns - self.anchor_ns
        if isinstance(since, np.ndarray):
            bent: NDArray[np.int64] = np.rint(since * (self.skew_ppb * _PPB)).astype(np.int64) + self.offset_ns
            return bent
        return self.offset_ns + round(since * (self.skew_ppb * _PPB))
