import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onbeat.clock import ClockMap
from onbeat.errors import BadInput, ClockMismatch

instants = st.integers(-(10**18), 2 * 10**18)
skews = st.floats(-500_000, 500_000)


@given(anchor=instants, offset=st.integers(-(10**18), 10**18), skew=skews, after=st.integers(-(10**15), 10**15))
def test_there_and_back_is_exact_to_a_nanosecond(anchor: int, offset: int, skew: float, after: int) -> None:
    there = ClockMap("a", "b", anchor, offset, skew)
    t = anchor + after
    assert abs(there.inverse().to_target_ns(there.to_target_ns(t)) - t) <= 1


@given(skew=skews, other=skews, after=st.integers(-(10**13), 10**13))
def test_chain_is_one_after_the_other(skew: float, other: float, after: int) -> None:
    first = ClockMap("a", "b", 1000, 5_000_000, skew, bound_ns=10, drift_bound_ppb=200)
    second = ClockMap("b", "c", 77, -9_000, other, bound_ns=3, drift_bound_ppb=100)
    both = first.then(second)
    assert abs(both.to_target_ns(1000 + after) - second.to_target_ns(first.to_target_ns(1000 + after))) <= 1
    assert (both.source, both.target) == ("a", "c")
    assert both.bound_ns >= 13
    assert both.drift_bound_ppb >= 300


def test_arrays_are_mapped_like_single_instants() -> None:
    chart = ClockMap("a", "b", 10, 7, 50_000.0)
    t = np.array([0, 10, 10**12, 1_700_000_000_000_000_000])
    assert chart.to_target_ns(t).tolist() == [chart.to_target_ns(int(x)) for x in t]
    assert chart.to_target_ns(t).dtype == np.int64


def test_worked_numbers_of_a_crystal() -> None:
    chart = ClockMap("device", "robot", 0, 0, 46_000.0)
    assert chart.to_target_ns(60 * 10**9) - 60 * 10**9 == 2_760_000
    assert chart.offset_at_ns(2400 * 10**9) == 110_400_000


def test_bound_grows_with_age_and_holds_what_the_skew_does() -> None:
    chart = ClockMap("a", "b", 0, 1000, 0.0, bound_ns=50, drift_bound_ppb=200_000)
    assert chart.bound_at_ns(0) == 50
    assert chart.bound_at_ns(10**9) == 50 + 200_000
    assert chart.interval_at_ns(-(10**9)) == (1000 - 200_050, 1000 + 200_050)
    skewed = ClockMap("a", "b", 0, 0, 100_000.0, bound_ns=50, drift_bound_ppb=200_000)
    low, high = skewed.interval_at_ns(10**9)
    assert skewed.bound_at_ns(10**9) == max(high - 100_000, 100_000 - low)


def test_model_bound_is_never_wider_than_the_hard_one() -> None:
    chart = ClockMap("a", "b", 0, 0, bound_ns=100, drift_bound_ppb=1000, model_bound_ns=10, model_drift_ppb=20_000.0)
    assert chart.bound_model_at_ns(0) == 10
    assert chart.bound_model_at_ns(10**9) == chart.bound_at_ns(10**9)


def test_inverse_keeps_the_interval_that_is_not_symmetric() -> None:
    back = ClockMap("a", "b", 0, 10, low_ns=0, high_ns=100).inverse()
    assert (back.offset_ns, back.interval_at_ns(back.anchor_ns)) == (-10, (-100, 0))
    assert (back.source, back.target) == ("b", "a")


def test_maps_that_do_not_meet_are_refused() -> None:
    with pytest.raises(ClockMismatch, match="chain"):
        ClockMap("a", "b", 0, 0).then(ClockMap("c", "d", 0, 0))


@pytest.mark.parametrize(
    "bad", [{"bound_ns": -1}, {"drift_bound_ppb": -1.0}, {"skew_ppb": 2e8}, {"low_ns": 5}, {"skew_ppb": float("nan")}]
)
def test_maps_that_cannot_be_are_refused(bad: dict[str, float]) -> None:
    with pytest.raises(BadInput):
        ClockMap("a", "b", 0, 0, **bad)  # type: ignore[arg-type]
