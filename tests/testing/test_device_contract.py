"""The contract passes a driver that keeps it, and each way of breaking it is caught by the test that is named for it."""

import sys
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onbeat.clock import Clock, SystemClock
from onbeat.device import Command, Device, DeviceInfo, DeviceState
from onbeat.errors import BadInput, DeviceError
from onbeat.testing import DeviceContract


class Joint:
    """A correct driver; the wrong ones below change one thing."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.connected = False
        self.value = np.array([0.5, -0.5])
        self.seq = 0

    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo("joints", 2, "rad", "test joint")

    def connect(self) -> None:
        self.connected = True

    def read(self) -> DeviceState:
        self.require()
        self.seq += 1
        return DeviceState(self.value.copy(), self.clock.now_ns(), self.clock.now_ns(), self.seq)

    def write(self, command: Command) -> None:
        self.require()
        if command.target.shape != (2,) or not np.isfinite(command.target).all():
            raise BadInput("a target is two finite numbers")
        self.value = command.target.copy()

    def hold(self) -> None: ...

    def close(self) -> None:
        self.connected = False

    def require(self) -> None:
        if not self.connected:
            raise DeviceError("not connected; call connect first")


class TestJoint(DeviceContract):
    def make_device(self, clock: Clock) -> Device:
        return Joint(clock)


class WidthOnlyAfterConnect(Joint):
    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo("joints", 2, "rad", "test joint" if self.connected else "unknown")


class ShortPose(Joint):
    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo("pose", 2, "m", "test pose")


class EagerThread(Joint):
    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.done.wait, daemon=True, name="eager")
        self.thread.start()


class ReadsAnyway(Joint):
    def require(self) -> None: ...


class SinglePrecision(Joint):
    def read(self) -> DeviceState:
        state = super().read()
        return DeviceState(state.value.astype(np.float32), state.begin_ns, state.receive_ns, state.seq)


class NanWhenLost(Joint):
    def read(self) -> DeviceState:
        state = super().read()
        return DeviceState(np.array([np.nan, 0.0]), state.begin_ns, state.receive_ns, state.seq)


class OtherClock(Joint):
    def read(self) -> DeviceState:
        state = super().read()
        return DeviceState(state.value, state.begin_ns, state.receive_ns + 10**12, state.seq)


class EarlyBegin(Joint):
    def read(self) -> DeviceState:
        state = super().read()
        return DeviceState(state.value, state.begin_ns - 10**9, state.receive_ns, state.seq)


class FloatStamps(Joint):
    def read(self) -> DeviceState:
        state = super().read()
        stamp: Any = float(state.receive_ns)
        return DeviceState(state.value, state.begin_ns, stamp + 512, state.seq)


class NoCount(Joint):
    def read(self) -> DeviceState:
        state = super().read()
        return DeviceState(state.value, state.begin_ns, state.receive_ns, 0)


class CountsBack(Joint):
    def read(self) -> DeviceState:
        state = super().read()
        return DeviceState(state.value, state.begin_ns, state.receive_ns, -state.seq)


class OneBuffer(Joint):
    def read(self) -> DeviceState:
        state = super().read()
        self.value[0] += 0.001
        return DeviceState(self.value, state.begin_ns, state.receive_ns, state.seq)


class TakesAnything(Joint):
    def write(self, command: Command) -> None:
        self.require()


class BareValueError(Joint):
    def write(self, command: Command) -> None:
        self.require()
        if command.target.shape != (2,) or not np.isfinite(command.target).all():
            raise ValueError("no")


class OneHold(Joint):
    holding = False

    def hold(self) -> None:
        if self.holding:
            raise DeviceError("holds already")
        self.holding = True


class CloseOnce(Joint):
    def close(self) -> None:
        self.require()
        self.connected = False


class NotWhileReading(Joint):
    """Refuses to write while it reads: a bus without a lock. The read lasts until a write has come."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.reading = False
        self.written = threading.Event()

    def read(self) -> DeviceState:
        if threading.current_thread() is not threading.main_thread():
            self.written.clear()
            self.reading = True
            self.written.wait(5)
            self.reading = False
        return super().read()

    def write(self, command: Command) -> None:
        super().write(command)
        broken = self.reading
        self.written.set()
        if broken:
            raise DeviceError("the bus is busy")


class LeavesThread(Joint):
    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.done = threading.Event()

    def connect(self) -> None:
        super().connect()
        threading.Thread(target=self.done.wait, daemon=True, name="left").start()


class Eye(Joint):
    @property
    def info(self) -> DeviceInfo:
        return DeviceInfo("camera", 0, "", "test eye")

    def read(self) -> DeviceState:
        self.require()
        self.seq += 1
        return DeviceState(np.zeros((2, 3), np.uint8), self.clock.now_ns(), self.clock.now_ns(), self.seq)

    def write(self, command: Command) -> None:
        self.require()
        raise DeviceError("a camera takes no commands")


class TestEye(DeviceContract):
    def make_device(self, clock: Clock) -> Device:
        return Eye(clock)


class ObedientEye(Eye):
    def write(self, command: Command) -> None:
        self.require()


class FlatEye(Eye):
    def read(self) -> DeviceState:
        state = super().read()
        return DeviceState(np.zeros(6), state.begin_ns, state.receive_ns, state.seq)


@pytest.mark.parametrize(
    ("wrong", "test", "sentence"),
    [
        (WidthOnlyAfterConnect, "info_is_known_before_connect_and_stays", "info changed"),
        (ShortPose, "info_is_known_before_connect_and_stays", "a pose is xyz and quat_wxyz"),
        (EagerThread, "nothing_is_touched_before_connect", "started 'eager'"),
        (ReadsAnyway, "nothing_is_touched_before_connect", "read before connect was not refused"),
        (SinglePrecision, "reading_has_its_shape_and_is_finite", "float64, not float32"),
        (NanWhenLost, "reading_has_its_shape_and_is_finite", "finite, not"),
        (FlatEye, "reading_has_its_shape_and_is_finite", "an image has two or three dimensions"),
        (OtherClock, "stamps_are_in_order_and_on_the_clock_that_was_given", "in the future of the clock"),
        (EarlyBegin, "stamps_are_in_order_and_on_the_clock_that_was_given", "before the read was asked for"),
        (FloatStamps, "stamps_are_in_order_and_on_the_clock_that_was_given", "receive_ns is an int"),
        (NoCount, "seq_counts_the_devices_own_samples", "all carry the seq 0"),
        (CountsBack, "seq_counts_the_devices_own_samples", "seq went back"),
        (OneBuffer, "later_read_does_not_change_an_earlier_reading", "changed an earlier reading"),
        (TakesAnything, "target_of_another_width_or_not_finite_is_refused", "was not refused"),
        (BareValueError, "target_of_another_width_or_not_finite_is_refused", "raises OnbeatError, not ValueError"),
        (ObedientEye, "camera_takes_no_commands", "was not refused"),
        (OneHold, "hold_is_taken_at_any_time", "holds already"),
        (CloseOnce, "close_may_be_called_at_any_time_and_twice", "not connected"),
        (NotWhileReading, "one_thread_reads_while_another_writes", "the bus is busy"),
        (LeavesThread, "no_thread_is_left_after_close", "close left 'left' running"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else None,
)
def test_wrong_driver_is_caught(wrong: type[Joint], test: str, sentence: str) -> None:
    made: list[Any] = []

    class Check(DeviceContract):
        def make_device(self, clock: Clock) -> Device:
            made.append(wrong(clock))
            device: Device = made[-1]
            return device

    run: Callable[[], None] = getattr(Check(), f"test_{test}")
    with pytest.raises((AssertionError, DeviceError), match=sentence):
        run()
    for device in made:
        if hasattr(device, "done"):
            device.done.set()


def test_clock_is_the_machines_own_unless_another_is_given() -> None:
    assert isinstance(TestJoint().make_clock(), SystemClock)


def test_contract_needs_no_pytest() -> None:
    source = sys.modules[DeviceContract.__module__].__dict__
    assert "pytest" not in source
