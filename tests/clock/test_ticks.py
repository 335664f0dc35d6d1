import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onbeat.clock import unwrap_ticks
from onbeat.errors import BadInput


def test_wraps_are_added() -> None:
    out = unwrap_ticks([65_500, 65_530, 20, 50], 16, 1000)
    assert out.t_ns.tolist() == [65_500_000, 65_530_000, 65_556_000, 65_586_000]
    assert not out.late.any()


def test_late_tick_is_not_a_second_wrap() -> None:
    out = unwrap_ticks([65_530, 10, 65_532, 12], 16, 1)
    assert out.t_ns.tolist() == [65_530, 65_546, 65_532, 65_548]
    assert out.late.tolist() == [False, False, True, False]


def test_tick_that_is_no_whole_number_of_nanoseconds() -> None:
    out = unwrap_ticks([0, 90_000], 32, 1e9 / 90_000)
    assert out.t_ns.tolist() == [0, 1_000_000_000]


@given(start=st.integers(0, 2**40), steps=st.lists(st.integers(0, 2**15 - 1), max_size=50))
def test_any_counter_comes_back_whole(start: int, steps: list[int]) -> None:
    whole = np.cumsum([start, *steps])
    out = unwrap_ticks(whole % 2**16, 16, 1)
    assert (out.t_ns - out.t_ns[0]).tolist() == (whole - whole[0]).tolist()


@pytest.mark.parametrize(
    ("ticks", "bits", "tick_ns"), [([65_536], 16, 1), ([-1], 16, 1), ([1.5], 16, 1), ([1], 0, 1), ([1], 16, 0)]
)
def test_what_no_counter_reads_is_refused(ticks: list[float], bits: int, tick_ns: float) -> None:
    with pytest.raises(BadInput):
        unwrap_ticks(ticks, bits, tick_ns)


def test_empty_is_empty() -> None:
    assert len(unwrap_ticks(np.empty(0, dtype=np.int64), 16, 1).t_ns) == 0
