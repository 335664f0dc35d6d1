"""What every driver owes, as a test class to inherit: `class TestMyArm(DeviceContract)` with `make_device(clock)`."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.clock import Clock, ManualClock, SystemClock
from onbeat.device import Command, Device, DeviceInfo, DeviceState
from onbeat.errors import DeviceError, OnbeatError

__all__ = ("DeviceContract",)

_KINDS = ("joints", "pose", "gripper", "camera")
_POSE_WIDTH = 7
_PATIENCE_S = 30.0


class DeviceContract(ABC):
    """Inherit this in a test module, give `make_device`, and pytest runs every test on the driver.

    Each test builds a device of its own and closes it. The commands ask for the position that was read, so a robot stays where
    it is; keep the emergency stop at hand all the same. A failure is an AssertionError whose sentence says what is owed.

    Attributes:
        reads: Readings that a test takes.
    """

    reads = 10

    @abstractmethod
    def make_device(self, clock: Clock) -> Device:
        """Build the driver, not connected, on the clock that it is to stamp with."""

    def make_clock(self) -> Clock:
        """Give the clock of a test: the machine's monotonic one; a simulated device takes a ManualClock here."""
        return SystemClock()

    def test_info_is_known_before_connect_and_stays(self) -> None:
        """The info is complete without touching the hardware, and is the same afterwards."""
        clock = self.make_clock()
        device = self.make_device(clock)
        info = device.info
        _owe(isinstance(device, Device), "a device has info, connect, read, write, hold and close")
        _owe(isinstance(info, DeviceInfo), f"info is a DeviceInfo, not a {type(info).__name__}")
        _owe(info.kind in _KINDS, f"info.kind is one of {', '.join(_KINDS)}, not {info.kind!r}")
        _owe(
            (info.width == 0) == (info.kind == "camera"),
            f"a {info.kind} of width {info.width}: 0 is for cameras, and only for them",
        )
        _owe(info.kind != "pose" or info.width == _POSE_WIDTH, f"a pose is xyz and quat_wxyz, of width 7, not {info.width}")
        _owe(info.width >= 0 and bool(info.model), "info has a width >= 0 and the maker's name of the model")
        _owe(info.kind == "camera" or bool(info.unit), "info.unit names the unit of the numbers")
        device.connect()
        try:
            _owe(device.info == info, f"info changed from {info} to {device.info} on connect")
        finally:
            device.close()

    def test_nothing_is_touched_before_connect(self) -> None:
        """Building starts no thread, and read and write are refused with a DeviceError until connect."""
        before = set(threading.enumerate())
        device = self.make_device(self.make_clock())
        started = set(threading.enumerate()) - before
        _owe(not started, f"building a device starts nothing, and this one started {_names(started)}")
        _refuses("read before connect", DeviceError, device.read)
        target = np.zeros(max(device.info.width, 1))
        _refuses("write before connect", DeviceError, lambda: device.write(Command(0, target)))
        device.close()

    def test_reading_has_its_shape_and_is_finite(self) -> None:
        """A state is float64 of shape (width,) and finite; an image is a numpy array."""
        with self._connected() as (device, clock):
            width = device.info.width
            for state in self._readings(device, clock):
                _owe(isinstance(state, DeviceState), f"read gives a DeviceState, not a {type(state).__name__}")
                value = state.value
                _owe(isinstance(value, np.ndarray), f"a value is a numpy array, not a {type(value).__name__}")
                if width == 0:
                    _owe(
                        value.ndim in (2, 3) and value.size > 0,
                        f"an image has two or three dimensions, not the shape {value.shape}",
                    )
                    continue
                _owe(value.shape == (width,), f"a value has the shape ({width},), not {value.shape}")
                _owe(value.dtype == np.float64, f"a value is float64, not {value.dtype}")
                _owe(bool(np.isfinite(value).all()), f"a value is finite, not {value}; raise DeviceError where there is none")

    def test_stamps_are_in_order_and_on_the_clock_that_was_given(self) -> None:
        """A read begins after it was asked for, arrives after it began, and not before the one before it."""
        with self._connected() as (device, clock):
            asked_ns = clock.now_ns()
            last_ns: int | None = None
            for state in self._readings(device, clock):
                for what, instant in (("begin_ns", state.begin_ns), ("receive_ns", state.receive_ns), ("span_ns", state.span_ns)):
                    _owe(type(instant) is int, f"{what} is an int of nanoseconds, not a {type(instant).__name__}")
                _owe(state.begin_ns >= asked_ns, f"begin_ns lies {asked_ns - state.begin_ns} ns before the read was asked for")
                ahead_ns = state.receive_ns - clock.now_ns()
                _owe(ahead_ns <= 0, f"receive_ns lies {ahead_ns} ns in the future of the clock that the device was given")
                _owe(last_ns is None or state.receive_ns >= last_ns, f"a reading arrived before the one before it ({last_ns} ns)")
                _owe(state.span_ns >= 0, f"span_ns is how long it looked at the world, not {state.span_ns}")
                asked_ns, last_ns = clock.now_ns(), state.receive_ns

    def test_seq_counts_the_devices_own_samples(self) -> None:
        """The count never goes back and moves on; a repeated one means that the same sample came again."""
        with self._connected() as (device, clock):
            states = list(self._readings(device, clock))
            for before, after in pairwise(states):
                _owe(after.seq >= before.seq, f"seq went back from {before.seq} to {after.seq}")
                same = after.seq != before.seq or np.array_equal(after.value, before.value)
                _owe(bool(same), f"two different values carry the seq {after.seq}; a new sample counts on")
            _owe(states[-1].seq > states[0].seq, f"{len(states)} reads all carry the seq {states[0].seq}; a new sample counts on")

    def test_later_read_does_not_change_an_earlier_reading(self) -> None:
        """A reading is the caller's to keep: the driver does not write into it again."""
        with self._connected() as (device, clock):
            first = device.read()
            kept = np.array(first.value)
            _settle(clock, first)
            for _ in self._readings(device, clock):
                pass
            _owe(np.array_equal(kept, first.value), "a later read changed an earlier reading; give each its own array")

    def test_target_of_another_width_or_not_finite_is_refused(self) -> None:
        """A wrong target is refused before it reaches the hardware; a right one is taken before and after."""
        with self._connected() as (device, clock):
            if device.info.width == 0:
                return
            here = self._position(device, clock)
            device.write(Command(clock.now_ns(), here))
            wrong: list[NDArray[np.float64]] = [np.append(here, here[-1]), here[:-1], here[None, :]]
            for number in (np.nan, np.inf, -np.inf):
                target = here.copy()
                target[-1] = number
                wrong.append(target)
            for target in wrong:
                what = f"a target {target.tolist()} of shape {target.shape}"
                _refuses(what, OnbeatError, partial(device.write, Command(clock.now_ns(), target)))
            device.write(Command(clock.now_ns(), here))

    def test_camera_takes_no_commands(self) -> None:
        """A device without a width refuses every target with a DeviceError."""
        with self._connected() as (device, clock):
            if device.info.width > 0:
                return
            command = Command(clock.now_ns(), np.zeros(1))
            _refuses("a target for a camera", DeviceError, lambda: device.write(command))

    def test_hold_is_taken_at_any_time(self) -> None:
        """Holding works at rest, after a target and again; reading goes on."""
        with self._connected() as (device, clock):
            device.hold()
            if device.info.width > 0:
                device.write(Command(clock.now_ns(), self._position(device, clock)))
            device.hold()
            device.hold()
            device.read()

    def test_close_may_be_called_at_any_time_and_twice(self) -> None:
        """Closing is harmless without connect and when it has been done; then reads are refused, and connect opens again."""
        clock = self.make_clock()
        device = self.make_device(clock)
        device.close()
        device.connect()
        device.close()
        device.close()
        _refuses("read after close", DeviceError, device.read)
        device.connect()
        try:
            device.read()
        finally:
            device.close()

    def test_one_thread_reads_while_another_writes(self) -> None:
        """The reading thread and the send loop do not disturb each other."""
        with self._connected() as (device, clock):
            width = device.info.width
            here = self._position(device, clock) if width else np.empty(0)
            states: list[DeviceState] = []
            errors: list[Exception] = []

            def read() -> None:
                try:
                    states.extend(device.read() for _ in range(self.reads))
                except Exception as error:
                    errors.append(error)

            thread = threading.Thread(target=read, name="onbeat-contract-read", daemon=True)
            thread.start()
            while thread.is_alive() and width:
                device.write(Command(clock.now_ns(), here))
                thread.join(0.001)
            thread.join(_PATIENCE_S)
            _owe(not thread.is_alive(), f"{self.reads} reads did not end within {_PATIENCE_S:.0f} s")
            _owe(not errors, f"a read failed while another thread wrote: {errors}")
            good = [width == 0 or (state.value.shape == (width,) and np.isfinite(state.value).all()) for state in states]
            _owe(all(good), f"{good.count(False)} of {len(good)} readings were broken while another thread wrote")
            seqs = [state.seq for state in states]
            _owe(seqs == sorted(seqs), "seq went back while another thread wrote")

    def test_no_thread_is_left_after_close(self) -> None:
        """Whatever connect started has ended when close returns."""
        before = set(threading.enumerate())
        with self._connected() as (device, _):
            device.read()
        left = set(threading.enumerate()) - before
        _owe(not left, f"close left {_names(left)} running; join it")

    @contextmanager
    def _connected(self) -> Iterator[tuple[Device, Clock]]:
        clock = self.make_clock()
        device = self.make_device(clock)
        device.connect()
        try:
            yield device, clock
        finally:
            device.close()

    def _readings(self, device: Device, clock: Clock) -> Iterator[DeviceState]:
        """Take readings one after the other, each when the one before has arrived."""
        for _ in range(self.reads):
            state = device.read()
            _settle(clock, state)
            yield state

    def _position(self, device: Device, clock: Clock) -> NDArray[np.float64]:
        state = device.read()
        _settle(clock, state)
        return np.array(state.value, dtype=np.float64)


def _settle(clock: Clock, state: DeviceState) -> None:
    """Let a reading arrive: on a manual clock a device cannot block, so its reading may lie ahead of now."""
    if isinstance(clock, ManualClock):
        clock.sleep_until_ns(state.receive_ns)


def _owe(kept: bool, sentence: str) -> None:
    if not kept:
        raise AssertionError(sentence)


def _refuses(what: str, kind: type[OnbeatError], call: Callable[[], Any]) -> None:
    try:
        call()
    except kind:
        return
    except Exception as error:
        raise AssertionError(f"{what} raises {kind.__name__}, not {type(error).__name__}: {error}") from error
    raise AssertionError(f"{what} was not refused; raise {kind.__name__} with the reason")


def _names(threads: set[threading.Thread]) -> str:
    return ", ".join(repr(thread.name) for thread in threads)
