"""The reference's time, read here: it never goes back, its rate stays within 500 ppm, and it says how wrong it may be."""

from onbeat._core import SteadyClock
from onbeat.clock.clock import Clock
from onbeat.clock.map import ClockMap
from onbeat.clock.system import SystemClock
from onbeat.clock.time_scale import time_scales_apart
from onbeat.errors import ClockMismatch, EpochChanged, NotSynced
from onbeat.units import to_ns

__all__ = ("SyncedClock",)

_LONGEST_SLEEP_NS = 100_000_000


class SyncedClock:
    """A clock that follows a reference; it is a `Clock`, so everything in onbeat runs on it.

    Inside an epoch a correction bends the reading, at most to 500 ppm off our own clock. A new epoch (the reference was set)
    jumps forward at once; backward it is closed at 500 ppm too, because no reading ever goes back: until then the bound says how
    far it is off, and `require` refuses. Who keeps instants for long asks with their epoch.

    Args:
        id: The name of the reference's time line.
        local: Our clock that it is read from; a ManualClock for tests and replay.
        allow_unsynced: Read our own clock where the reference was never heard of, instead of refusing. `bound_ns` is None then.
    """

    def __init__(self, id: str = "synced", local: Clock | None = None, *, allow_unsynced: bool = False) -> None:
        self.id = id
        self.local: Clock = SystemClock() if local is None else local
        self.allow_unsynced = allow_unsynced
        self._steady = SteadyClock()
        self._map: ClockMap | None = None
        self._wall_minus_reference_ns: int | None = None
        self._scales: str | None = None
        self._ended = False
        # The native read of the monotonic clock, 0.1 us, where that is what we are read from.
        self._native = isinstance(self.local, SystemClock) and self.local.id == "monotonic"

    def __repr__(self) -> str:
        return f"SyncedClock({self.id!r}, epoch {self.epoch}, bound {self.bound_ns()} ns)"

    def update(self, map: ClockMap, *, wall_minus_reference_ns: int | None = None, wall_apart_ns: int | None = None) -> None:
        """Follow a newer map from our clock to the reference. One thread at a time may do so, beside any number of readers.

        Args:
            map: From the local clock.
            wall_minus_reference_ns: The reference's wall time minus its time line, for `wall_ns`.
            wall_apart_ns: The reference's wall time minus ours: tells whether they count on different time scales.
        """
        now_ns = self.local.now_ns()
        offset_ns = map.offset_at_ns(now_ns)
        new_epoch = self._map is None or self._map.epoch != map.epoch
        # A reader may come in between: with the map of a new epoch and a reading of the old one the bound says how far it is off.
        self._map = map
        self._ended = False
        self._steady.update(now_ns, offset_ns, map.skew_ppb * 1e-9, new_epoch)
        if wall_minus_reference_ns is not None:
            self._wall_minus_reference_ns = wall_minus_reference_ns
        if wall_apart_ns is not None:
            self._scales = time_scales_apart(wall_apart_ns)

    def end_epoch(self) -> None:
        """Say that the reference's time line has ended (it was restarted): until the next map `bound_ns` and `map` are None and
        `require` refuses. `now_ns` goes on along the old line, so that what sleeps on it wakes.
        """
        self._ended = True

    @property
    def map(self) -> ClockMap | None:
        """The newest map; None before the first, and between a time line that ended and the next."""
        return None if self._ended else self._map

    @property
    def epoch(self) -> int:
        """Counts the times that the reference's time line was broken; -1 before the first map."""
        return -1 if self._map is None else self._map.epoch

    def now_ns(self) -> int:
        """Read the reference's time.

        Raises:
            NotSynced: there was no map yet, and unsynced time was not asked for.
        """
        if self.allow_unsynced and not self._steady.set:
            return self.local.now_ns()
        return self._steady.now_ns() if self._native else self._steady.read_ns(self.local.now_ns())

    def sleep_until_ns(self, t_ns: int) -> None:
        """Sleep until the reference's time is t_ns or later; when the reference is set forward, to 0.1 s."""
        while (remaining_ns := t_ns - self.now_ns()) > 0:
            self.local.sleep_until_ns(self.local.now_ns() + min(remaining_ns, _LONGEST_SLEEP_NS))

    def bound_ns(self) -> int | None:
        """Give the half-width that holds the reading now: the map's, and what is not closed yet; None without a map."""
        chart = self.map
        return None if chart is None or not self._steady.set else self._bound(chart, *self._look())

    def require(self, max_error_s: float, epoch: int | None = None) -> int:
        """Read the reference's time if it is known that well.

        Args:
            max_error_s: The error that the caller can bear, s.
            epoch: The epoch that the caller's other instants are of.

        Raises:
            NotSynced: it was never synchronised, its time line has ended, or the bound is wider now.
            EpochChanged: the reference was set since that epoch.
        """
        chart, ended = self._map, self._ended
        if chart is None or not self._steady.set:
            raise NotSynced(
                f"{self.id!r} has not been synchronised yet; wait for the first exchange, or pass allow_unsynced=True"
            )
        if ended:
            raise NotSynced(f"{self.id!r} was restarted and its new time line is not known yet; wait for the next exchange")
        if epoch is not None and epoch != chart.epoch:
            raise EpochChanged(
                f"{self.id!r} is in epoch {chart.epoch}, and the instants asked about are of epoch {epoch}: the reference was "
                "set in between; drop them and begin anew"
            )
        local_ns, reading_ns = self._look()
        if (bound_ns := self._bound(chart, local_ns, reading_ns)) > to_ns(max_error_s):
            raise NotSynced(
                f"{self.id!r} is known to {bound_ns / 1e6:.3f} ms and {max_error_s * 1e3:g} ms are required; look at "
                "onbeat clock status, or require less"
            )
        return reading_ns  # what was judged: a later one is known less well when this thread was stopped in between

    def _look(self) -> tuple[int, int]:
        """Read our clock and the reference's at one instant, so that no other thread's later reading comes in between."""
        if self._native:
            return self._steady.look()
        local_ns = self.local.now_ns()
        return local_ns, self._steady.read_ns(local_ns)

    @staticmethod
    def _bound(chart: ClockMap, local_ns: int, reading_ns: int) -> int:
        low_ns, high_ns = chart.interval_at_ns(local_ns)
        return max(local_ns + high_ns - reading_ns, reading_ns - local_ns - low_ns, 0)

    def wall_ns(self) -> int:
        """Give the reference's wall time, for logs; it decides nothing.

        Raises:
            NotSynced: the reference has not told it.
            ClockMismatch: its wall clock counts on another time scale than ours (TAI against UTC: 37 s).
        """
        if self._wall_minus_reference_ns is None:
            raise NotSynced(f"{self.id!r} has not told its wall time yet; wait for the first exchange")
        if self._scales is not None:
            raise ClockMismatch(f"{self._scales}; set the UTC offset on that machine, or take now_ns")
        return self.now_ns() + self._wall_minus_reference_ns
