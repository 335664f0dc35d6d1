import threading

import pytest

from onbeat.clock import Clock, ClockMap, ManualClock, SyncedClock, SystemClock
from onbeat.errors import BadInput, EpochChanged, NotSynced
from tests.threads import together

S = 1_000_000_000


def chart(anchor_ns: int, offset_ns: int, *, skew_ppb: float = 0.0, bound_ns: int = 1000, epoch: int = 0) -> ClockMap:
    return ClockMap("local", "reference", anchor_ns, offset_ns, skew_ppb, bound_ns, 200_000.0, epoch=epoch)


def test_never_synchronised_is_refused_unless_asked_for() -> None:
    local = ManualClock(5)
    with pytest.raises(NotSynced):
        SyncedClock(local=local).now_ns()
    with pytest.raises(NotSynced):
        SyncedClock(local=local).require(1.0)
    free = SyncedClock(local=local, allow_unsynced=True)
    assert free.now_ns() == 5
    assert free.bound_ns() is None
    with pytest.raises(NotSynced):
        free.require(1.0)


def test_correction_bends_the_reading_and_never_breaks_it() -> None:
    local = ManualClock()
    clock = SyncedClock("robot", local)
    clock.update(chart(0, 1_000_000))
    assert clock.now_ns() == 1_000_000
    clock.update(chart(0, 900_000))
    assert clock.now_ns() == 1_000_000
    assert clock.bound_ns() == 101_000
    last = clock.now_ns()
    for _ in range(100):
        local.advance_ns(S // 100)
        reading = clock.now_ns()
        assert abs(reading - last - S // 100) <= 500e-6 * S / 100 + 1
        last = reading
    assert clock.now_ns() == S + 900_000


def test_new_epoch_jumps_forward_and_is_closed_backward() -> None:
    local = ManualClock()
    clock = SyncedClock("robot", local)
    clock.update(chart(0, 0))
    clock.update(chart(0, 5 * S, epoch=1))
    assert (clock.now_ns(), clock.epoch) == (5 * S, 1)
    clock.update(chart(0, 5 * S - 50_000_000, epoch=2))
    assert clock.now_ns() == 5 * S
    with pytest.raises(NotSynced, match=r"50\.\d+ ms"):
        clock.require(0.01)
    local.advance_ns(101 * S)
    clock.update(chart(local.now_ns(), 5 * S - 50_000_000, epoch=2))
    assert clock.require(0.01, epoch=2) == 106 * S - 50_000_000


def test_instants_of_another_epoch_are_refused() -> None:
    local = ManualClock()
    clock = SyncedClock("robot", local)
    clock.update(chart(0, 0, epoch=3))
    with pytest.raises(EpochChanged, match="epoch 2"):
        clock.require(1.0, epoch=2)


def test_expired_time_is_refused_with_the_bound() -> None:
    local = ManualClock()
    clock = SyncedClock("robot", local)
    clock.update(chart(0, 0))
    assert clock.require(0.001) == 0
    local.advance_ns(100 * S)
    with pytest.raises(NotSynced, match=r"20\.001 ms"):
        clock.require(0.001)


def test_wall_time_is_for_logs_and_has_to_be_told() -> None:
    clock = SyncedClock("robot", ManualClock(7))
    clock.update(chart(7, 3))
    with pytest.raises(NotSynced):
        clock.wall_ns()
    clock.update(chart(7, 3), wall_minus_reference_ns=1000)
    assert clock.wall_ns() == 1010


def test_it_is_a_clock_that_things_can_sleep_on() -> None:
    local = ManualClock()
    clock = SyncedClock("robot", local)
    clock.update(chart(0, 1000, skew_ppb=-100_000.0))
    assert isinstance(clock, Clock)
    clock.sleep_until_ns(S)
    assert clock.now_ns() >= S
    assert clock.id == "robot"


def test_readers_beside_updates_never_see_it_go_back() -> None:
    clock = SyncedClock("robot")
    local = SystemClock()
    clock.update(chart(local.now_ns(), 0))
    worst, stop = [0], threading.Event()

    def read() -> None:
        last = clock.now_ns()
        while not stop.is_set():
            now = clock.now_ns()
            worst[0] = min(worst[0], now - last)
            last = now

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for k in range(3000):
        clock.update(chart(local.now_ns(), (-1) ** k * 40_000, epoch=k // 500))
    stop.set()
    for reader in readers:
        reader.join()
    assert worst == [0]


class Watched(ClockMap):
    """A map that lets a test look from inside an update, where another thread may come in."""

    clock: SyncedClock
    seen: list[object]

    def offset_at_ns(self, t_ns: int) -> int:
        self.seen.extend((self.clock.bound_ns(), self.clock.now_ns()))
        with pytest.raises(NotSynced):
            self.clock.require(1.0)
        with pytest.raises(NotSynced):
            self.clock.wall_ns()
        return ClockMap.offset_at_ns(self, t_ns)


def test_reader_inside_the_first_update_gets_unsynced_time() -> None:
    clock = SyncedClock("robot", ManualClock(5), allow_unsynced=True)
    watched = Watched("local", "robot", 0, 1000)
    object.__setattr__(watched, "clock", clock)
    object.__setattr__(watched, "seen", [])
    clock.update(watched, wall_minus_reference_ns=7, wall_apart_ns=0)
    assert watched.seen == [None, 5]
    assert clock.now_ns() == 1005


def test_many_threads_are_not_refused_for_each_others_readings() -> None:
    clock = SyncedClock("robot")
    local = SystemClock()
    clock.update(chart(local.now_ns(), 0))
    end_ns = local.now_ns() + S
    refused: list[str] = []

    def read() -> None:
        while local.now_ns() < end_ns:
            try:
                clock.require(0.0005)
            except NotSynced as error:
                refused.append(str(error))

    together(read, 8)
    assert refused == []


def test_reading_that_is_given_is_the_one_that_was_judged() -> None:
    class Stopping(ManualClock):
        """The process is stopped after each look at the clock."""

        def now_ns(self) -> int:
            now = super().now_ns()
            self.advance_ns(100 * S)
            return now

    local = Stopping(0)
    clock = SyncedClock("robot", local)
    clock.update(chart(0, 0, bound_ns=1000))
    assert clock.require(0.021) == 100 * S  # known to 20 ms by then, and to 40 ms after the next stop


def test_sleeper_wakes_when_the_reference_is_set_past_its_instant() -> None:
    class Setting(ManualClock):
        """The reference is set an hour forward during the first sleep."""

        def sleep_until_ns(self, t_ns: int) -> None:
            super().sleep_until_ns(t_ns)
            clock.update(chart(t_ns, 3600 * S, epoch=1))

    local = Setting(0)
    clock = SyncedClock("robot", local)
    clock.update(chart(0, 0))
    clock.sleep_until_ns(60 * S)
    assert local.now_ns() <= S // 10


def test_offset_of_two_lifetimes_is_refused() -> None:
    clock = SyncedClock("robot", ManualClock(0))
    with pytest.raises(BadInput, match="73 years"):
        clock.update(chart(0, 2**62))
