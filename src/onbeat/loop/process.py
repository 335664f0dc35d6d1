"""A Python-only device in a process of its own: built there from its YAML, away from this process's interpreter lock."""

import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from onbeat.clock import Clock, SystemClock
from onbeat.device.config import ModuleConfig, load_module_config
from onbeat.device.device import Command, DeviceInfo, DeviceState, SinkDevice
from onbeat.device.load import open_device
from onbeat.errors import BadInput, DeviceError
from onbeat.loop.child import ENDED_BY_SIGNAL

__all__ = ("STOP_S", "ProcessDevice")

_PATIENCE_S = 5.0
STOP_S = 8.0  # the soft loop there waits for 5 s for a write that does not come back
_CONNECT_S = 60.0
_LOOK_S = 0.1
# Where the script lies is on the path already; the working directory, which -c puts first, must not hide an installed package.
_PROGRAM = "import sys; sys.path[:1] == [''] and sys.path.pop(0); from onbeat.loop.child import main; main()"
_CUT = "the device may still move, so cut its power"


class _InProcessError(Exception):
    """The traceback of what was raised there."""


class ProcessDevice:
    """The device of a module's YAML, in a process of its own from `connect` to `close`: it is read there and sent to there.

    A Device like any other, and what a SendLoop sends to: `SendLoop(ProcessDevice("arm.yaml"), ...)`. The loop there is Python
    and therefore soft, but it has its own interpreter and asks for SCHED_FIFO. Readings are stamped there, on the monotonic
    clock that both processes share. A read has a thread and a link of its own, so one that blocks delays neither the sends nor
    `hold`.

    That process holds and closes its device by itself when this one dies, whatever the signal, and when it gets SIGTERM.

    Args:
        module: A module's YAML, or its ModuleConfig out of a rig.
        clock: The clock of the stamps, which must be the machine's monotonic one.

    Raises:
        BadInput: the YAML is not acceptable or comes from no file, the driver cannot be built here or there, takes no targets, or
            has a native sink; or another clock.
    """

    def __init__(self, module: ModuleConfig | str | Path, clock: Clock | None = None) -> None:
        self.config = module if isinstance(module, ModuleConfig) else load_module_config(module)
        self._name = f"module {self.config.name!r}"
        if self.config.path is None:
            raise BadInput(f"{self._name} comes from no file, so no other process can build it; let it run in this one")
        if self.config.device.startswith("__main__:"):
            raise BadInput(
                f"{self._name} names {self.config.device!r}, a class of the running script, which no other process has; "
                "put the class into a module of its own, or leave out process: own"
            )
        if clock is not None and not (isinstance(clock, SystemClock) and clock.id == "monotonic"):
            raise BadInput(
                f"{self._name} runs in a process of its own, which stamps on the machine's monotonic clock, not on {clock.id!r}; "
                "give the rig a SystemClock() or leave out process: own"
            )
        device = open_device(self.config, SystemClock())  # touches no hardware before connect
        self.info: DeviceInfo = device.info
        if self.info.width < 1:
            raise BadInput(
                f"{self._name} is a {self.info.kind} and takes no targets, and its readings are too big to go from process to "
                "process; leave out process: own"
            )
        if isinstance(device, SinkDevice):
            raise BadInput(
                f"{self._name} is sent to by a native thread, which Python does not delay in any process; leave out process: own"
            )
        self._control = threading.RLock()
        self._reading = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._link: Connection[Any, Any] | None = None
        self._readings: Connection[Any, Any] | None = None
        self._owner = 0
        self._number = self._asked = 0
        self._lost, self._held = "", False

    def __repr__(self) -> str:
        return f"ProcessDevice({self.config.name}, width {self.width})"

    @property
    def width(self) -> int:
        """Numbers in a target."""
        return self.info.width

    @property
    def connected(self) -> bool:
        """Whether the process is there; in a fork of this process it is not."""
        return self._link is not None and self._owner == os.getpid()

    def connect(self) -> None:
        """Start the process; build and connect the device there.

        Raises:
            DeviceError: it is connected already, the device did not open, or not within 60 s.
        """
        with self._control:
            if self.connected:
                raise DeviceError(f"{self._name} is connected already; close it first")
            self._owner, self._lost, self._held = os.getpid(), "", False
            ours, theirs = zip(socket.socketpair(), socket.socketpair(), strict=True)
            # A process that is stopped reads nothing: then a full link must not block for ever.
            ours[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", round(_PATIENCE_S), 0))
            descriptors = [end.fileno() for end in theirs]
            # A session of its own: Ctrl-C is for this process, which then stops that one.
            self._process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, *map(str, descriptors), str(self._owner)],
                pass_fds=descriptors,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
            for end in theirs:
                end.close()
            self._link, self._readings = (Connection(end.detach()) for end in ours)
            config = self.config
            try:
                self.ask("open", str(config.path), config.name, config.inline, patience_s=_CONNECT_S)
            except BaseException as error:
                self._end()
                if isinstance(error, DeviceError):
                    raise DeviceError(f"{self._name} did not open in its process: {error}") from error.__cause__
                raise

    def read(self) -> DeviceState:
        """Read the device there; takes as long as that takes.

        Raises:
            DeviceError: the device's read raised (its traceback is the cause), or the process is gone.
        """
        answer = self._next_reading()
        if answer is None:
            raise self._gone()
        state: DeviceState = _value(answer)
        return state

    def write(self, command: Command) -> None:
        """Refuse: targets are sent by the loop in the process.

        Raises:
            DeviceError: always.
        """
        raise DeviceError(f"{self._name} is sent to from its own process; give SendLoop the ProcessDevice")

    def hold(self) -> None:
        """Stop where it is, and stay under power; a process that was told to end has done so itself.

        Raises:
            DeviceError: the device's hold raised, does not come back, or the process is gone.
        """
        if not self._held:
            if self._lost:  # how it ended has been said
                raise DeviceError("its process has ended, so nothing can tell it to hold")
            self.ask("hold")

    def close(self) -> None:
        """Let go of the hardware and end the process; may be called twice.

        Raises:
            DeviceError: the device's close raised; the process has ended all the same.
        """
        if not self.connected:
            return
        with self._control:
            try:
                self.ask("close", patience_s=STOP_S)
            finally:
                self._end()

    def ask(self, verb: str, *arguments: Any, patience_s: float = _PATIENCE_S) -> Any:
        """Send a message to the process and give its answer.

        Raises:
            DeviceError: the answer is an error, does not come in time, or the process is gone.
        """
        self._check_owner()
        with self._control:
            self._number += 1
            try:
                answer = self._answer(self._number, verb, arguments, patience_s)
            except BlockingIOError:
                answer = None
            except (EOFError, OSError):
                raise self._gone() from None
            if answer is None:
                raise self._given_up(patience_s)
            return _value(answer)

    def tell(self, verb: str, *arguments: Any) -> None:
        """Send a message that has no answer; one to a process that is gone is dropped, and the next `ask` says so."""
        if not self.connected:
            return
        with self._control:
            try:
                if self._link is not None:
                    self._link.send((0, verb, arguments))
            except BlockingIOError:
                self._given_up(_PATIENCE_S)
            except OSError:
                self._gone()

    def _answer(self, number: int, verb: str, arguments: tuple[Any, ...], patience_s: float) -> Any:
        """Give the answer with this number, or None when it does not come; one that an interrupted `ask` left is passed over."""
        link = self._link
        if link is None:
            raise EOFError
        link.send((number, verb, arguments))
        while True:
            looks = round(patience_s / _LOOK_S)
            while not link.poll(_LOOK_S):
                looks -= 1
                if self._ended():
                    raise EOFError
                if looks <= 0:
                    return None
            answer = link.recv()
            if answer[0] == number:
                return answer

    def _next_reading(self) -> Any:
        """Give the answer to a question for a reading, or None when the process is gone."""
        self._check_owner()
        with self._reading:
            link = self._readings
            self._asked += 1
            try:
                if link is None:
                    return None
                link.send(self._asked)
                while True:
                    while not link.poll(_LOOK_S):
                        if self._ended():
                            return None
                    answer = link.recv()
                    if answer[0] == self._asked:
                        return answer
            except (EOFError, OSError):
                return None

    def _check_owner(self) -> None:
        # Before any lock: a fork may have copied one that is held.
        if self._owner not in (0, os.getpid()):
            raise DeviceError(f"{self._name} belongs to process {self._owner}; make a device of your own after a fork")

    def _ended(self) -> bool:
        process = self._process
        return process is None or process.poll() is not None

    def _gone(self) -> DeviceError:
        """Give the error that says how the process ended."""
        with self._control:
            if self._process is not None:
                self._lost = _in_words(self._end())
            return DeviceError(self._lost or f"{self._name} is not connected")

    def _given_up(self, patience_s: float) -> DeviceError:
        """End the process, which does not answer, in the way that lets it hold, and give the error that says so."""
        with self._control:
            process = self._process
            if process is not None:
                process.terminate()
                process.send_signal(signal.SIGCONT)  # where it was stopped
                self._end()
                outcome = "was told to end, held and closed the device" if self._held else f"was killed; {_CUT}"
                self._lost = f"the device's process has not answered for {patience_s:g} s and {outcome}"
            return DeviceError(self._lost)

    def _end(self) -> int:
        """Wait for the process, kill it when it does not end, and give its exit code."""
        process = self._process
        if self._link is not None:
            self._link.close()
            self._link = None
        if process is None:
            return 0
        try:
            code = process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        self._process = None
        self._held = code == ENDED_BY_SIGNAL
        with self._reading:  # who reads has seen the end by now, and has let go
            if self._readings is not None:
                self._readings.close()
                self._readings = None
        return code


def _value(answer: Any) -> Any:
    _, good, value, lines = answer
    if not good:
        raise DeviceError(value) from _InProcessError(lines)
    return value


def _in_words(code: int) -> str:
    if code == ENDED_BY_SIGNAL:
        return "the device's process was told to end by SIGTERM; it has held and closed the device"
    named = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
    return f"the device's process ended {named}; {_CUT}"
