"""The clock is given, not found: the protocol that everything takes, and a clock that moves only when told to."""

from typing import Protocol, runtime_checkable

from onbeat.errors import BadInput
from onbeat.units import whole_ns

__all__ = ("Clock", "ManualClock")


@runtime_checkable
class Clock(Protocol):
    """A source of instants in int nanoseconds.

    Whoever implements it owes: `id` names the time line and never changes; `now_ns` never decreases;
    `sleep_until_ns` returns no earlier than the instant given, at once when it has passed.
    """

    @property
    def id(self) -> str:
        """The name of the time line; instants of different ids must not be compared."""
        ...

    def now_ns(self) -> int:
        """Read the clock."""
        ...

    def sleep_until_ns(self, t_ns: int) -> None:
        """Block until the clock reads t_ns or later."""
        ...


class ManualClock:
    """A clock for tests, replay and simulation: it stands still until it is told to move, and never goes back."""

    __slots__ = ("_now_ns", "id")

    def __init__(self, start_ns: int = 0, id: str = "manual") -> None:
        self._now_ns = whole_ns(start_ns, "start_ns")
        self.id = id

    def __repr__(self) -> str:
        return f"ManualClock({self._now_ns} ns)"

    def now_ns(self) -> int:
        """Read the clock."""
        return self._now_ns

    def set_ns(self, t_ns: int) -> None:
        """Move the clock to an instant.

        Raises:
            BadInput: the instant is in the clock's past.
        """
        t_ns = whole_ns(t_ns, "t_ns")
        if t_ns < self._now_ns:
            raise BadInput(f"a clock never goes back: {t_ns} ns is {self._now_ns - t_ns} ns before now")
        self._now_ns = t_ns

    def advance_ns(self, duration_ns: int) -> None:
        """Move the clock forward by a duration.

        Raises:
            BadInput: the duration is negative.
        """
        self.set_ns(self._now_ns + whole_ns(duration_ns, "duration_ns"))

    def sleep_until_ns(self, t_ns: int) -> None:
        """Move the clock to t_ns, unless it is there already."""
        self._now_ns = max(self._now_ns, whole_ns(t_ns, "t_ns"))
