import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.testing.faults import plant
from tests.testing.plain import LATENCY_NS, PERIOD_NS, START_NS, plain, plain_rows, planted


def test_stamps_at_delivery_follow_the_log_times_and_carry_the_transport() -> None:
    before, after, truth = planted("stamped_at_delivery", delay_s=0.08, jitter_s=0.003)
    assert np.all(after["log_ns"] - after["stamp_ns"] == 50_000)
    late = (after["stamp_ns"] - before["stamp_ns"]) / 1e9
    assert late.min() >= 0.0839
    assert np.median(late) == pytest.approx(truth.parameters["late_s"], abs=3e-4)
    assert np.all(np.diff(after["log_ns"]) >= 0)
    np.testing.assert_array_equal(after["value"], before["value"])


def test_burst_arrives_at_once_and_is_stamped_then() -> None:
    before, after, truth = planted("bursts", samples=8.0, apart_s=0.0, jitter_s=1e-5)
    assert truth.parameters["every_s"] == pytest.approx(0.08)
    _, sizes = np.unique(after["stamp_ns"], return_counts=True)
    assert np.median(sizes) == 8
    assert np.all(np.diff(after["log_ns"]) > 0)
    assert np.all(after["stamp_ns"] > before["log_ns"])
    age = (after["stamp_ns"] - before["log_ns"]) / PERIOD_NS
    assert age.min() < 1
    assert 7 < age.max() < 9
    np.testing.assert_array_equal(after["value"], before["value"])


def test_burst_whose_samples_are_stamped_one_by_one() -> None:
    _, after, _ = planted("bursts", samples=4.0, apart_s=2e-5, jitter_s=0.0)
    steps = np.diff(after["stamp_ns"])
    assert np.count_nonzero(steps == 20_000) == pytest.approx(0.75 * len(steps), abs=3)
    assert np.count_nonzero(steps > 30_000_000) == pytest.approx(0.25 * len(steps), abs=3)


def test_content_that_moves_on_by_one_is_one_period_late() -> None:
    before, after, truth = planted("one_period_late", periods=1.0)
    assert truth.parameters["late_s"] == pytest.approx(0.01)
    np.testing.assert_array_equal(after["stamp_ns"], before["stamp_ns"][1:])
    np.testing.assert_array_equal(after["log_ns"], before["log_ns"][1:])
    np.testing.assert_array_equal(after["value"], before["value"][:-1])
    np.testing.assert_array_equal(after["seq"], before["seq"][:-1])


def test_stamp_of_the_sample_before_is_one_period_early() -> None:
    before, after, _ = planted("one_period_late", periods=-1.0)
    np.testing.assert_array_equal(after["stamp_ns"], before["stamp_ns"][:-1])
    np.testing.assert_array_equal(after["log_ns"], before["log_ns"][1:])
    np.testing.assert_array_equal(after["value"], before["value"][1:])


@pytest.mark.parametrize(("nearest", "low", "high"), [(0.0, -4_000_000, 0), (1.0, -2_000_000, 2_000_000)])
def test_rounded_stamps_are_whole_ticks(nearest: float, low: int, high: int) -> None:
    before, after, _ = planted("quantised_stamps", tick_s=0.004, nearest=nearest, uptime_s=0.0)
    assert np.all(after["stamp_ns"] % 4_000_000 == 0)
    moved = after["stamp_ns"] - before["stamp_ns"]
    assert low <= moved.min() < moved.max() <= high
    np.testing.assert_array_equal(after["log_ns"], before["log_ns"])


def test_float_of_32_bits_has_ticks_of_its_size() -> None:
    before, after, truth = planted("quantised_stamps", uptime_s=50_000.0, nearest=1.0)
    assert truth.parameters["tick_s"] == 2.0**-8
    since = after["stamp_ns"] - START_NS + 50_000 * 10**9
    ticks = since / (1e9 / 256)
    np.testing.assert_allclose(ticks, np.round(ticks), atol=1e-6)
    assert np.abs(after["stamp_ns"] - before["stamp_ns"]).max() <= 1e9 / 512 + 1


def test_drawn_ticks_are_below_the_period() -> None:
    for seed in range(20):
        _, truth = plant(plain(), "quantised_stamps", np.random.default_rng(seed), "s")
        assert 0.0009 < truth.parameters["tick_s"] < 0.01


@pytest.mark.parametrize("place", [-0.5, 0.5])
def test_stamp_at_an_end_of_the_exposure_moves_with_it(place: float) -> None:
    before, after, _ = planted("exposure_shift", place=place)
    np.testing.assert_array_equal(after["stamp_ns"] - before["stamp_ns"], place * before["exposure_ns"])
    slope = np.polyfit(before["exposure_ns"], after["log_ns"] - after["stamp_ns"] - LATENCY_NS, 1)[0]
    assert slope == pytest.approx(-place)


def test_exposure_that_never_changes_shifts_nothing() -> None:
    rows = plain_rows()
    rows["exposure_ns"] = 5_000_000
    with pytest.raises(BadInput, match="never changes"):
        plant(plain(rows), "exposure_shift", np.random.default_rng(0), "s")
