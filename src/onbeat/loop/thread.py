"""The soft loop: a Python thread on the same grid and the same native cycle, for devices that only Python can write to."""

import threading

import numpy as np
from numpy.typing import NDArray

from onbeat._core import Cycle, enter_realtime, monotonic_ns, sleep_until_ns
from onbeat.device.device import Command, Device
from onbeat.errors import BadInput, DeviceError
from onbeat.loop.lock import ProcessLock
from onbeat.loop.realtime import SOFT
from onbeat.units import to_s

__all__ = ("DeviceSink", "SoftLoop")

_LONGEST_SLEEP_NS = 50_000_000  # so that stop() ends a slow loop within 50 ms
_FIRST_TICK_NS = 1_000_000
_PATIENCE_S = 5.0
_FARTHEST_NS = 1 << 61  # by hand: so that sums and differences fit


class DeviceSink:
    """Targets to a device whose `write` is Python. The loop that sends them runs soft, and says so.

    Args:
        device: Connected by the caller; `write` is called from the loop's thread.
    """

    __slots__ = ("device",)

    def __init__(self, device: Device) -> None:
        if not callable(getattr(device, "write", None)) or not callable(getattr(device, "hold", None)):
            raise BadInput(f"a device needs write(command) and hold(), and {type(device).__name__} does not have both")
        if device.info.width < 1:
            raise BadInput(f"a device of kind {device.info.kind!r} and width {device.info.width} takes no targets")
        self.device = device

    def __repr__(self) -> str:
        return f"DeviceSink({self.device.info.model}, width {self.width})"

    @property
    def width(self) -> int:
        """Numbers in a target."""
        return self.device.info.width


class SoftLoop:
    """The runner of a DeviceSink: the same methods as the native one. With a priority its thread asks for real time, which makes
    sense only where no other thread wants the interpreter lock: in a process of its own.
    """

    soft = True
    refused = (SOFT,)
    locked_bytes = 0

    def __init__(self, cycle: Cycle, device: Device, priority: int | None = None, cpu: int | None = None) -> None:
        self._cycle = cycle
        self._device = device
        self._request = None if priority is None else (priority, -1 if cpu is None else cpu)
        self._ready = threading.Event()
        self.report = (-1, -1, -1, 0)  # of enter_realtime
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._control = ProcessLock()  # a device may stop the loop from its own write
        self._by_hand = False
        self.error = ""

    @property
    def realtime(self) -> bool:
        """Whether SCHED_FIFO was asked for and granted."""
        return self.report[0] == 0

    @property
    def running(self) -> bool:
        """Whether the thread goes on; in a forked child it does not."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread."""
        with self._control:
            if self.running:
                raise BadInput("the loop runs already; stop it first")
            self.error = ""
            self._by_hand = False
            self._stop.clear()
            self._thread = threading.Thread(target=self._run, name="onbeat-loop", daemon=True)
            self._ready.clear()
            self._thread.start()
            self._ready.wait(_PATIENCE_S)

    def place(self, at: NDArray[np.float64]) -> None:
        """Say where the device stands, before the start."""
        with self._control:
            if self.running:
                raise BadInput("the loop runs, and knows what it sent last; stop it before place()")
            self._cycle.place(at)
            self._by_hand = False

    def stop(self) -> None:
        """Stop after the cycle in progress and join; from the device's own write only the former.

        A write that does not come back is waited for 5 s, so that the other modules can be stopped; `error` then says so.
        """
        self._stop.set()
        if threading.current_thread() is self._thread:
            return
        with self._control:
            if self._thread is not None:
                self._thread.join(_PATIENCE_S)
                if self._thread.is_alive():
                    self.error = (
                        f"the device's write has not returned for {_PATIENCE_S:g} s; the device may still move, so cut its power"
                    )
                    return
            self._thread = None

    def cycle(self, deadline_ns: int, wake_ns: int) -> int:
        """Do one cycle by hand."""
        with self._control:
            if self.running:
                raise BadInput("the loop's thread has the cycles; stop it before you call cycle()")
            if max(-deadline_ns, wake_ns) > _FARTHEST_NS:
                raise BadInput(f"instants of {deadline_ns} and {wake_ns} ns are beyond 73 years from zero; check their unit")
            if wake_ns < deadline_ns:
                early_ms = to_s(deadline_ns - wake_ns) * 1e3
                raise BadInput(f"woke {early_ms:.3f} ms before the deadline; a cycle begins at its deadline or later")
            if not self._by_hand:
                self._by_hand = True
                self._cycle.set_fifo(True)
                self._cycle.restart(deadline_ns)
            self._cycle.seek(deadline_ns)
            self._send(wake_ns, wake_ns, by_hand=True)
            return self._cycle.deadline_ns

    def _run(self) -> None:
        cycle = self._cycle
        if self._request is not None:
            self.report = enter_realtime(*self._request)
        self._ready.set()
        cycle.set_fifo(self.realtime)
        cycle.restart(monotonic_ns() + _FIRST_TICK_NS)
        wake_ns = monotonic_ns()
        while not self._stop.is_set():
            if wake_ns < cycle.deadline_ns:
                wake_ns = sleep_until_ns(min(cycle.deadline_ns, wake_ns + _LONGEST_SLEEP_NS))
            elif not self._send(wake_ns, monotonic_ns()):
                return

    def _send(self, wake_ns: int, sent_ns: int, by_hand: bool = False) -> bool:
        cycle, device = self._cycle, self._device
        if not cycle.begin(wake_ns, sent_ns):
            self._give_up(f"the loop woke {cycle.lateness_ns * 1e-6:.3f} ms late and on_late is 'stop'")
            return False
        failure: BaseException | None = None
        try:
            device.write(Command(cycle.t_eff_ns, cycle.target()))
        except BaseException as raised:  # the outermost place: whatever the driver raised, the next thing it is told is to hold
            failure = raised
        cycle.end(sent_ns if by_hand else monotonic_ns(), failure is not None)
        if failure is None:
            return True
        if isinstance(failure, DeviceError):
            self._give_up(f"the device refused a target: {failure}")
        else:
            self._give_up(f"the device's write raised {type(failure).__name__}: {failure}")
        if by_hand and isinstance(failure, KeyboardInterrupt):  # the caller's own
            raise failure
        return False

    def _give_up(self, reason: str) -> None:
        try:
            self._device.hold()
        except BaseException as failure:  # nor may this end the thread without a word
            reason += f"; and its hold() raised {type(failure).__name__}: {failure}"
        self.error = reason
