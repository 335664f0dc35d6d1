from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onbeat.clock import Clock, ManualClock, SystemClock
from onbeat.errors import BadInput

CLOCKS = [ManualClock(), ManualClock(10**18, id="robot"), SystemClock(), SystemClock("boottime"), SystemClock("wall")]


@pytest.mark.parametrize("clock", CLOCKS, ids=repr)
class TestContract:
    """What every clock owes."""

    def test_is_a_clock(self, clock: Clock) -> None:
        assert isinstance(clock, Clock)

    def test_names_its_time_line(self, clock: Clock) -> None:
        assert clock.id
        assert isinstance(clock.id, str)

    def test_reads_whole_nanoseconds(self, clock: Clock) -> None:
        assert type(clock.now_ns()) is int

    def test_never_decreases(self, clock: Clock) -> None:
        reads = [clock.now_ns() for _ in range(1000)]
        assert reads == sorted(reads)

    def test_sleep_returns_no_earlier_than_asked(self, clock: Clock) -> None:
        wake_ns = clock.now_ns() + 1_000
        clock.sleep_until_ns(wake_ns)
        assert clock.now_ns() >= wake_ns

    def test_sleep_until_the_past_does_not_turn_time_back(self, clock: Clock) -> None:
        before_ns = clock.now_ns()
        clock.sleep_until_ns(before_ns - 10**12)
        assert clock.now_ns() >= before_ns


class TestManualClock:
    def test_stands_still_until_told(self) -> None:
        clock = ManualClock(7)
        assert [clock.now_ns() for _ in range(3)] == [7, 7, 7]

    def test_advances_by_a_duration(self) -> None:
        clock = ManualClock(7)
        clock.advance_ns(5)
        assert clock.now_ns() == 12

    def test_is_set_to_an_instant(self) -> None:
        clock = ManualClock(7)
        clock.set_ns(7)
        clock.set_ns(100)
        assert clock.now_ns() == 100

    def test_sleep_moves_it_exactly_there(self) -> None:
        clock = ManualClock(7)
        clock.sleep_until_ns(100)
        clock.sleep_until_ns(50)
        assert clock.now_ns() == 100

    def test_never_goes_back(self) -> None:
        clock = ManualClock(7)
        with pytest.raises(BadInput, match="6 ns is 1 ns before now"):
            clock.set_ns(6)
        with pytest.raises(BadInput, match="never goes back"):
            clock.advance_ns(-1)
        assert clock.now_ns() == 7

    def test_says_where_it_stands(self) -> None:
        assert repr(ManualClock(7)) == "ManualClock(7 ns)"

    @given(
        st.integers(-(2**62), 2**62),
        st.lists(st.tuples(st.sampled_from(["sleep", "advance"]), st.integers(0, 10**12)), max_size=20),
    )
    def test_no_order_of_moves_turns_it_back(self, start_ns: int, moves: list[tuple[str, int]]) -> None:
        clock = ManualClock(start_ns)
        seen = [clock.now_ns()]
        for move, value in moves:
            if move == "sleep":
                clock.sleep_until_ns(start_ns + value)
            else:
                clock.advance_ns(value)
            seen.append(clock.now_ns())
        assert seen == sorted(seen)

    @pytest.mark.parametrize("t_ns", [1.5, float("nan"), "7", None, 2**63])
    def test_instants_are_whole_and_fit_int64(self, t_ns: Any) -> None:
        clock = ManualClock(1)
        for move in (clock.set_ns, clock.advance_ns, clock.sleep_until_ns, ManualClock):
            with pytest.raises(BadInput, match=r"must (be an int of nanoseconds|fit into 64 bits)"):
                move(t_ns)
        assert clock.now_ns() == 1
