"""The process of a ProcessDevice: builds the device from its YAML, reads it, runs the soft loop, and answers its parent."""

import gc
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from onbeat._core import Cycle
from onbeat.clock import SystemClock
from onbeat.device.config import parse_module
from onbeat.device.device import Device
from onbeat.device.load import open_device
from onbeat.device.yaml_file import read_yaml
from onbeat.errors import BadInput, OnbeatError
from onbeat.loop.thread import SoftLoop

__all__ = ("ENDED_BY_SIGNAL", "main", "serve")

ENDED_BY_SIGNAL = 128 + signal.SIGTERM  # exit code of a process that was told to end, and has let go of its device

# The threads that read and answer must hand the interpreter lock over at once when the loop wakes; the default is 5 ms.
_SWITCH_S = 50e-6
_LOOK_S = 0.1
_LAST_WORDS_S = 15
_ONE_WAY = 0


class _ToldToEnd(BaseException):
    """By SIGTERM; no handler of a driver's errors takes it for one of these."""


class _Served:
    """One connected device with the loop that sends to it, as the parent's messages want them."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.connected = self.closed = False
        self._threads = [threading.get_native_id()]
        self._loop: SoftLoop | None = None
        self._cycle: Cycle | None = None

    def start(self, settings: tuple[Any, ...], at: Any, priority: int, cpu: int | None) -> tuple[int, ...]:
        if self._loop is not None and self._loop.running:
            raise BadInput("another loop sends to this device; stop it first")
        self._cycle = Cycle(*settings)
        self._loop = SoftLoop(self._cycle, self.device, priority, cpu)
        if at is not None:
            self._loop.place(at)
        self._loop.start()
        if self._loop.realtime:
            self._raise_others(max(1, priority - 1))
        return self._loop.report

    def _raise_others(self, priority: int) -> None:
        """Put the threads that read and answer one below the loop.

        A thread without priority that is put aside while it holds the interpreter lock keeps the loop waiting: with every
        processor busy, 3 to 9 ms; so, 0.2 to 0.6 ms.
        """
        for thread in self._threads:
            with suppress(OSError):
                os.sched_setscheduler(thread, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(priority))

    def stop(self) -> tuple[Any, ...]:
        loop, cycle = self._started()
        loop.stop()
        return loop.error, cycle.records(), cycle.counts()

    def state(self) -> tuple[bool, str]:
        loop, _ = self._started()
        return loop.running, loop.error

    def records(self) -> Any:
        return self._started()[1].records()

    def counts(self) -> tuple[int, ...]:
        return self._started()[1].counts()

    def plan(self, plan: Any) -> int:
        return self._started()[1].replace(plan)

    def lead(self, lead_ns: int) -> None:
        self._started()[1].set_lead(lead_ns)

    def aim(self, *target: Any) -> int:
        return self._started()[1].aim(*target)

    def centre(self, at_ns: int, period_ns: float) -> None:
        self._started()[1].centre(at_ns, period_ns)

    def reference(self, t_ns: int) -> Any:
        return self._started()[1].reference(t_ns)

    def correct(self, *correction: Any) -> None:
        self._started()[1].correct(*correction)

    def feedback_ages(self) -> tuple[int, int, int]:
        return self._started()[1].feedback_ages()

    def hold(self) -> None:
        self.device.hold()

    def close(self) -> None:
        self.closed = True
        if self._loop is not None:
            self._loop.stop()
        self.device.close()

    def read_on(self, readings: "Connection[Any, Any]") -> None:
        """Read whenever the parent asks, on a thread of its own."""
        reader = threading.Thread(target=_read, args=(readings, self.device), name="onbeat-read", daemon=True)
        reader.start()
        if reader.native_id is not None:
            self._threads.append(reader.native_id)

    def let_go(self) -> None:
        """Stop, hold and close, whatever each of them raises; nothing where the parent has closed the device already."""
        if self.closed:
            return
        last: list[Callable[[], None]] = [self.device.hold] if self.connected else []
        if self._loop is not None:
            last.insert(0, self._loop.stop)
        for each in (*last, self.device.close):
            try:
                each()
            except (Exception, SystemExit) as error:
                print(f"onbeat: {each.__name__} raised {type(error).__name__}: {error}", file=sys.stderr)

    def _started(self) -> tuple[SoftLoop, Cycle]:
        if self._loop is None or self._cycle is None:
            raise BadInput("no loop has been started here")
        return self._loop, self._cycle


def serve(link: "Connection[Any, Any]", readings: "Connection[Any, Any]", parent: int, last_words_s: int = 0) -> None:
    """Build and connect the device, then answer until told to close or until the parent is gone; then hold and close.

    A message is (number, verb, arguments), its answer (number, whether it went well, value or sentence, traceback); number 0 gets
    none. On `readings` a message is a number alone.

    Args:
        link: Messages of which each waits for the one before; the first is "open".
        readings: Asked for readings, and for nothing else: a read that blocks keeps nobody from stopping the device.
        parent: Process id of the parent. When it dies, a fork of it may still keep its end of the link open.
        last_words_s: How long the device may take to hold and close before this process is killed; 0: for ever.
    """
    served = None
    try:
        number, _, (path, name, inline) = _next(link, parent)
        try:
            config = parse_module(read_yaml(Path(path)), ("modules", name) if inline else (), name)
            served = _Served(open_device(config, SystemClock()))
            served.device.connect()
            served.connected = True
        except (Exception, SystemExit) as error:  # whatever a driver raises, the parent is told
            link.send(_failed(number, error))
            return
        # What is imported by now stays; a collection that looked at all of it would take milliseconds.
        gc.collect()
        gc.freeze()
        served.read_on(readings)
        link.send((number, True, None, ""))
        while not served.closed:
            _answer(link, served, *_next(link, parent))
    except (EOFError, OSError):  # the parent is gone
        pass
    finally:
        signal.alarm(last_words_s)
        if served is not None:
            served.let_go()


def _next(link: "Connection[Any, Any]", parent: int) -> Any:
    while not link.poll(_LOOK_S):
        if os.getppid() != parent:
            raise EOFError
    return link.recv()


def _answer(link: "Connection[Any, Any]", served: _Served, number: int, verb: str, arguments: tuple[Any, ...]) -> None:
    try:
        answer = (number, True, getattr(served, verb)(*arguments), "")
    except (Exception, SystemExit) as error:  # of the driver; the parent decides
        answer = _failed(number, error)
    if number != _ONE_WAY:
        link.send(answer)


def _read(readings: "Connection[Any, Any]", device: Device) -> None:
    while True:
        try:
            number = readings.recv()
            try:
                answer: tuple[int, bool, Any, str] = (number, True, device.read(), "")
            except (Exception, SystemExit) as error:  # of the driver; the parent decides
                answer = _failed(number, error)
            try:
                readings.send(answer)
            except OSError:
                raise
            except Exception as error:  # what pickle raises differs from Python to Python
                said = f"read gave a value that cannot be sent to another process: {error}"
                readings.send((number, False, said, traceback.format_exc()))
        except (EOFError, OSError):
            return


def _failed(number: int, error: BaseException) -> tuple[int, bool, str, str]:
    said = str(error) if isinstance(error, OnbeatError) else f"{type(error).__name__}: {error}"
    return number, False, said, "".join(traceback.format_exception(error))


def _end(*_: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _ToldToEnd


def main() -> None:
    """Serve the descriptors that the parent names: messages, readings; and its process id."""
    link, readings, parent = (int(word) for word in sys.argv[1:4])
    sys.setswitchinterval(_SWITCH_S)
    for descriptor in (link, readings):
        os.set_inheritable(descriptor, False)  # a program that the driver starts must not keep them open
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's to answer
    signal.signal(signal.SIGTERM, _end)
    try:
        serve(Connection(link), Connection(readings), parent, _LAST_WORDS_S)
    except _ToldToEnd:
        sys.exit(ENDED_BY_SIGNAL)
