import time

import pytest

from onbeat.clock import SystemClock
from onbeat.errors import BadInput


@pytest.mark.parametrize(
    ("kind", "source"),
    [("monotonic", time.CLOCK_MONOTONIC), ("boottime", time.CLOCK_BOOTTIME), ("wall", time.CLOCK_REALTIME)],
)
def test_reads_the_clock_that_it_names(kind: str, source: int) -> None:
    clock = SystemClock(kind)
    before_ns = time.clock_gettime_ns(source)
    now_ns = clock.now_ns()
    assert clock.id == kind
    assert before_ns <= now_ns <= time.clock_gettime_ns(source)


def test_default_is_monotonic() -> None:
    assert SystemClock().id == "monotonic"
    assert repr(SystemClock()) == "SystemClock('monotonic')"


def test_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(BadInput, match="no system clock of kind 'utc'; take one of monotonic, boottime, wall"):
        SystemClock("utc")


class EarlySleeper:
    """A machine whose sleeps return after a third of what was asked for."""

    def __init__(self) -> None:
        self.now_ns = 1_000
        self.sleeps_s: list[float] = []

    def clock_gettime_ns(self, _source: int) -> int:
        return self.now_ns

    def sleep(self, duration_s: float) -> None:
        self.sleeps_s.append(duration_s)
        self.now_ns += max(1, round(duration_s * 1e9 / 3))


def test_sleep_that_returns_early_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = EarlySleeper()
    monkeypatch.setattr("onbeat.clock.system.time", machine)
    SystemClock().sleep_until_ns(1_000_000)
    assert machine.now_ns >= 1_000_000
    assert len(machine.sleeps_s) > 1


def test_no_sleep_for_an_instant_that_has_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = EarlySleeper()
    monkeypatch.setattr("onbeat.clock.system.time", machine)
    SystemClock().sleep_until_ns(1_000)
    assert machine.sleeps_s == []
