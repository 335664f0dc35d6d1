import numpy as np
import pytest

from onbeat.clock import ManualClock
from onbeat.device.device import Command, DeviceInfo, DeviceState
from onbeat.errors import DeviceError
from onbeat.machine.round_trips import measure_round_trips

MS = 1_000_000


class Clock(ManualClock):
    """A manual clock on which sleeping is moving it."""

    def sleep_until_ns(self, t_ns: int) -> None:
        if t_ns > self.now_ns():
            self.set_ns(t_ns)


class Reporting:
    """A device that reports every 10 ms, answers in 1 ms, and must not be told to move."""

    info = DeviceInfo("joints", 2, "rad", "reporting")

    def __init__(self, clock: Clock, takes_ns: int = MS, breaks_at: int | None = None) -> None:
        self.clock, self.takes_ns, self.breaks_at = clock, takes_ns, breaks_at
        self.asked = 0
        self.said: list[str] = []

    def connect(self) -> None:
        self.said.append("connect")

    def read(self) -> DeviceState:
        self.asked += 1
        if self.breaks_at == self.asked:
            raise OSError("cable")
        begin = self.clock.now_ns()
        self.clock.advance_ns(self.takes_ns)
        report = self.clock.now_ns() // (10 * MS)
        arrived = report * 10 * MS
        return DeviceState(np.zeros(2), min(begin, arrived), arrived, report)

    def write(self, command: Command) -> None:
        self.said.append("write")

    def hold(self) -> None:
        self.said.append("hold")

    def close(self) -> None:
        self.said.append("close")


def test_reports_every_10_ms_are_seen_as_such() -> None:
    clock = Clock()
    device = Reporting(clock)
    trips = measure_round_trips(device, clock, n=500, rate_hz=250)
    assert set(trips.took_ns.tolist()) == {MS}
    assert np.median(trips.interval_ns) == pytest.approx(10 * MS, abs=3 * MS)
    assert trips.interval_ns.mean() == pytest.approx(10 * MS, rel=0.02)
    assert trips.age_ns.max() < 10 * MS
    assert trips.late == 0


def test_nothing_is_told_to_move() -> None:
    clock = Clock()
    device = Reporting(clock)
    measure_round_trips(device, clock, n=10)
    assert device.said == ["connect", "close"]


def test_device_that_answers_too_slowly_is_asked_on_the_grid_still() -> None:
    clock = Clock()
    trips = measure_round_trips(Reporting(clock, takes_ns=6 * MS), clock, n=100, rate_hz=250)
    assert len(trips.took_ns) == 100
    assert trips.late == 100
    assert (trips.age_ns >= 6 * MS).all()
    assert clock.now_ns() == pytest.approx(100 * 8 * MS, abs=8 * MS)


def test_broken_cable_is_one_sentence_and_the_device_is_closed() -> None:
    clock = Clock()
    device = Reporting(clock, breaks_at=5)
    with pytest.raises(DeviceError, match="cannot be read: OSError: cable"):
        measure_round_trips(device, clock, n=10)
    assert device.said[-1] == "close"
