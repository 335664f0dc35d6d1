import numpy as np
import pytest

from onbeat.device.device import Command, Device, DeviceInfo, DeviceState, SinkDevice
from onbeat.errors import BadInput


class Wire:
    """The least that is a device."""

    info = DeviceInfo("joints", 1, "rad", "a wire")

    def connect(self) -> None: ...

    def read(self) -> DeviceState:
        return DeviceState(np.zeros(1), begin_ns=1, receive_ns=2, seq=0)

    def write(self, command: Command) -> None: ...

    def hold(self) -> None: ...

    def close(self) -> None: ...


class WireWithSink(Wire):
    sink = None


def test_class_with_the_methods_is_a_device() -> None:
    assert isinstance(Wire(), Device)
    assert not isinstance(object(), Device)


def test_device_with_a_sink_is_told_apart() -> None:
    assert isinstance(WireWithSink(), SinkDevice)
    assert not isinstance(Wire(), SinkDevice)


def test_reading_may_arrive_at_the_instant_it_was_asked_for() -> None:
    assert DeviceState(0.0, begin_ns=5, receive_ns=5, seq=1).span_ns == 0


def test_reading_that_arrives_before_it_was_asked_for_is_refused() -> None:
    with pytest.raises(BadInput, match="reading 1 arrived 2 ns before it was asked for"):
        DeviceState(0.0, begin_ns=5, receive_ns=3, seq=1)


def test_sample_that_was_taken_after_it_arrived() -> None:
    with pytest.raises(BadInput, match="reading 3 was taken 5 ns after it arrived; if sample_ns is on the device's own clock"):
        DeviceState(np.zeros(1), 0, 10, 3, sample_ns=15)
    assert DeviceState(np.zeros(1), 0, 10, 3, sample_ns=15, sample_clock="box").sample_ns == 15
