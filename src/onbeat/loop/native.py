"""The native thread that sleeps and sends, with what it says put into words."""

import os

from onbeat._core import Cycle
from onbeat._core import SendLoop as Thread
from onbeat.loop.realtime import refusals
from onbeat.loop.sinks import Sink
from onbeat.units import to_ns

__all__ = ("NativeLoop",)

_RECORD_BYTES = 64


class NativeLoop:
    """The runner of a native sink: the thread in C++, with its reasons in words."""

    soft = False

    def __init__(self, cycle: Cycle, sink: Sink, priority: int, cpu: int | None, spin_us: float, record_capacity: int) -> None:
        self._loop = Thread(cycle, sink, priority, -1 if cpu is None else cpu, to_ns(spin_us * 1e-6))
        self._priority = priority
        self._cpu = cpu
        self._record_bytes = record_capacity * _RECORD_BYTES
        self._said: tuple[tuple[int, int, int, int], tuple[str, ...]] = ((-1, -1, -1, -1), ())
        self.start = self._loop.start
        self.place = self._loop.place
        self.stop = self._loop.stop
        self.cycle = self._loop.cycle

    @property
    def running(self) -> bool:
        """Whether the thread goes on."""
        return self._loop.running

    @property
    def realtime(self) -> bool:
        """Whether SCHED_FIFO was granted."""
        return self._loop.realtime()[0] == 0

    @property
    def refused(self) -> tuple[str, ...]:
        """What was asked for and refused."""
        fifo, affinity, stack, records, _ = self._loop.realtime()
        errors = (fifo, affinity, stack, records)
        if errors != self._said[0]:
            self._said = (errors, self._in_words(errors))
        return self._said[1]

    def _in_words(self, errors: tuple[int, int, int, int]) -> tuple[str, ...]:
        return refusals(*errors, priority=self._priority, cpu=self._cpu, record_bytes=self._record_bytes)

    @property
    def locked_bytes(self) -> int:
        """Memory that cannot be paged out."""
        return self._loop.realtime()[4]

    @property
    def error(self) -> str:
        """Why it stopped on its own."""
        if self._loop.forked:
            return "the thread stayed in the parent process; make a new loop after a fork"
        reason, error, lateness_ns, deadline_ns = self._loop.stopped()
        if reason == "late":
            return f"the loop woke {lateness_ns * 1e-6:.3f} ms late for the deadline {deadline_ns} ns and on_late is 'stop'"
        if reason == "sink":
            return f"the sink failed at the deadline {deadline_ns} ns: {os.strerror(error)}"
        return ""
