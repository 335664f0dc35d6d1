from fractions import Fraction
from math import floor, inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onbeat.errors import BadInput
from onbeat.units import TimeGrid, to_ns, to_s, whole_ns

NTSC = Fraction(30000, 1001)
RATES = [1, 3, 30, 500, 1000, 29.97, NTSC, 7.3e8]
EPOCH_NS = 1_700_000_000_123_456_789

starts = st.integers(-(2**60), 2**60)
ticks = st.integers(-(10**6), 10**6)
rates = st.one_of(
    st.integers(1, 10**9),
    st.fractions(Fraction(1, 1000), 10**6),
    st.floats(1e-3, 1e9, allow_nan=False),
)


@pytest.mark.parametrize("rate_hz", RATES)
def test_tick_is_exact_for_random_ticks(rate_hz: float | Fraction) -> None:
    grid = TimeGrid(EPOCH_NS, rate_hz)
    ks = np.random.default_rng(1).integers(-(10**9), 10**9, 100_000).tolist()
    period = 1_000_000_000 / Fraction(rate_hz)
    assert [grid.tick_ns(k) for k in ks] == [EPOCH_NS + floor(k * period) for k in ks]


@pytest.mark.parametrize("rate_hz", RATES)
def test_index_is_the_last_tick_not_after_the_instant(rate_hz: float | Fraction) -> None:
    grid = TimeGrid(EPOCH_NS, rate_hz)
    period_ns = float(1_000_000_000 / Fraction(rate_hz))
    rng = np.random.default_rng(2)
    for k, shift in zip(rng.integers(-(10**6), 10**6, 12_500).tolist(), rng.random(12_500).tolist(), strict=True):
        t_ns = grid.tick_ns(k) + floor(shift * period_ns)
        i = grid.index(t_ns)
        assert grid.tick_ns(i) <= t_ns < grid.tick_ns(i + 1)


def test_perfect_epoch_grid_has_no_sample_in_the_wrong_slot() -> None:
    grid = TimeGrid(EPOCH_NS, 500)
    assert all(grid.index(EPOCH_NS + 2_000_000 * k) == k for k in range(50_000))


def test_float_division_puts_half_of_a_perfect_epoch_grid_into_the_wrong_slot() -> None:
    """The wrong version, kept because it teaches: seconds since the epoch as floats, then floor."""
    start_ns, dt_s = 1_700_000_000_000_000_000, 0.002
    stamps_s = [(start_ns + 2_000_000 * k) / 1e9 for k in range(50_000)]
    wrong = sum(floor((t - start_ns / 1e9) / dt_s) != k for k, t in enumerate(stamps_s))
    assert wrong == 24_900


@given(starts, rates, ticks)
def test_index_of_a_tick_is_the_tick(start_ns: int, rate_hz: float | Fraction, k: int) -> None:
    grid = TimeGrid(start_ns, rate_hz)
    i = grid.index(grid.tick_ns(k))
    assert grid.tick_ns(i) == grid.tick_ns(k)
    assert i == k or Fraction(rate_hz) > 5 * 10**8  # above half a tick per nanosecond, two ticks may share one


@given(starts, rates, st.integers(-(2**60), 2**60))
def test_slot_holds_its_instant(start_ns: int, rate_hz: float | Fraction, elapsed_ns: int) -> None:
    grid = TimeGrid(start_ns, rate_hz)
    k = grid.index(start_ns + elapsed_ns)
    assert grid.tick_ns(k) <= start_ns + elapsed_ns < grid.tick_ns(k + 1)


@given(starts, rates, st.integers(-(2**60), 2**60))
def test_nearest_is_no_further_than_its_neighbours(start_ns: int, rate_hz: float | Fraction, elapsed_ns: int) -> None:
    grid, t_ns = TimeGrid(start_ns, rate_hz), start_ns + elapsed_ns
    k = grid.nearest(t_ns)
    distance = abs(grid.tick_ns(k) - t_ns)
    assert distance <= abs(grid.tick_ns(k - 1) - t_ns)
    assert distance <= abs(grid.tick_ns(k + 1) - t_ns)


def test_nearest_of_two_equally_near_ticks_is_the_earlier() -> None:
    assert TimeGrid(0, 500).nearest(1_000_000) == 0
    assert TimeGrid(0, 500).nearest(1_000_001) == 1


def test_grid_takes_numpy_scalars_and_gives_python_ints() -> None:
    grid = TimeGrid(np.int64(EPOCH_NS), np.float32(0.5))
    assert grid.tick_ns(np.int64(3)) == EPOCH_NS + 6_000_000_000
    assert type(grid.start_ns) is type(grid.tick_ns(3)) is type(grid.index(EPOCH_NS)) is int


def test_grids_are_values() -> None:
    assert TimeGrid(5, 30) == TimeGrid(5, 30)
    assert TimeGrid(5, 30) != TimeGrid(6, 30)
    assert repr(TimeGrid(5, 30)) == "TimeGrid(start_ns=5, rate_hz=30)"


@pytest.mark.parametrize("rate_hz", [0, -1, 1e10, nan, inf, Fraction(10**400), 10**400])
def test_rate_that_is_no_rate_is_refused(rate_hz: float) -> None:
    with pytest.raises(BadInput, match=r"rate_hz must lie in \(0, 1e9\]"):
        TimeGrid(0, rate_hz)


@pytest.mark.parametrize(
    ("seconds", "ns"),
    [(0, 0), (1, 1_000_000_000), (0.1, 100_000_000), (-0.0005, -500_000), (1e-9, 1), (4e-10, 0), (1 / 3, 333_333_333)],
)
def test_seconds_to_nanoseconds(seconds: float, ns: int) -> None:
    assert to_ns(seconds) == ns


def test_seconds_may_be_any_kind_of_number() -> None:
    assert to_ns(Fraction(1, 3)) == 333_333_333  # type: ignore[arg-type]
    assert to_ns(np.float32(0.5)) == 500_000_000
    assert to_ns(np.float64(0.5)) == to_ns(np.int64(1)) // 2 == 500_000_000
    assert to_ns(2**60) == 2**60 * 1_000_000_000


@given(st.integers(-(2**52), 2**52))
def test_round_trip_of_whole_nanoseconds_within_52_days(ns: int) -> None:
    assert to_ns(to_s(ns)) == ns


@given(st.floats(-1e9, 1e9))
def test_rounded_to_the_nearest_nanosecond(seconds: float) -> None:
    assert abs(to_ns(seconds) - Fraction(seconds) * 1_000_000_000) <= Fraction(1, 2)


@pytest.mark.parametrize("seconds", [nan, inf, -inf])
def test_duration_that_is_not_finite_is_refused(seconds: float) -> None:
    with pytest.raises(BadInput, match="finite number of seconds"):
        to_ns(seconds)


def test_absolute_instant_as_a_float_loses_its_nanoseconds() -> None:
    """Why differences are taken first."""
    assert to_ns(to_s(EPOCH_NS)) != EPOCH_NS
    assert to_ns(to_s((EPOCH_NS + 7) - EPOCH_NS)) == 7


def test_whole_nanoseconds_are_taken_as_they_are() -> None:
    assert whole_ns(np.int64(-5), "t_ns") == -5
    assert whole_ns(2**63 - 1, "t_ns") == 2**63 - 1
    with pytest.raises(BadInput, match="t_ns must be an int of nanoseconds, not a float; convert"):
        whole_ns(1.0, "t_ns")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="t_ns must fit into 64 bits"):
        whole_ns(-(2**63) - 1, "t_ns")


def test_a_tick_beyond_int64_is_refused() -> None:
    assert TimeGrid(0, Fraction(1, 10**9)).tick_ns(9) == 9 * 10**18
    for rate_hz in (1e-9, 1e-12, 1e-300):
        with pytest.raises(BadInput, match=r"tick 10 at 1e-.* Hz lies outside 64 bits of nanoseconds"):
            TimeGrid(0, rate_hz).tick_ns(10)
