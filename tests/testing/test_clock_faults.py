import numpy as np
import pytest

from onbeat.testing.clock_faults import CLOCK_FAULTS
from tests.testing.plain import LATENCY_NS, PERIOD_NS, START_NS, planted

SECONDS = np.arange(6001) / 100


def offset_s(fault: str, **parameters: float) -> tuple[np.ndarray, dict[str, float]]:
    """How much the stamps are ahead of the good clock; all else is as it was."""
    before, after, truth = planted(fault, 0, "rotation", **parameters)
    for field in ("log_ns", "seq", "digest", "value"):
        np.testing.assert_array_equal(after[field], before[field])
    return (after["stamp_ns"] - before["stamp_ns"]) / 1e9, dict(truth.parameters)


def test_every_fault_of_clocks_moves_stamps_only_and_draws_its_own_figures() -> None:
    for fault in CLOCK_FAULTS:
        moved, truth = offset_s(fault)
        assert np.any(moved != 0), fault
        assert truth, fault


def test_skew_is_a_line_through_the_first_stamp() -> None:
    moved, _ = offset_s("skew", skew_ppm=50.0)
    np.testing.assert_allclose(moved, 50e-6 * SECONDS, atol=1e-9)


def test_step_jumps_once_and_stays() -> None:
    moved, _ = offset_s("step", step_s=-0.03, at_s=20.0)
    np.testing.assert_allclose(moved, np.where(SECONDS >= 20, -0.03, 0), atol=1e-9)


def test_slew_runs_and_ends() -> None:
    moved, truth = offset_s("slew", slew_ppm=500.0, from_s=10.0, for_s=8.0)
    assert truth["slewed_s"] == pytest.approx(0.004)
    assert moved[[0, 1000, 1400, 1800, 6000]] == pytest.approx([0, 0, 0.002, 0.004, 0.004], abs=1e-9)


def test_flipping_rate_runs_up_and_down_and_never_away() -> None:
    moved, _ = offset_s("rate_flips", rate_ppm=140.0, every_s=10.0, phase_s=0.0)
    assert moved[[0, 1000, 2000, 3000, 4500]] == pytest.approx([0, 1.4e-3, 0, 1.4e-3, 0.7e-3], abs=1e-9)
    rates = np.diff(moved) / 0.01
    assert set(np.round(rates * 1e6).tolist()) == {140.0, -140.0}


def test_dead_reference_is_flat_and_then_a_line() -> None:
    moved, _ = offset_s("reference_died", rate_ppm=-40.0, at_s=30.0)
    assert moved[[0, 3000, 6000]] == pytest.approx([0, 0, -40e-6 * 30], abs=1e-9)


def test_drift_is_a_parabola() -> None:
    moved, _ = offset_s("drift", drift_ppm_per_s=2.0)
    np.testing.assert_allclose(moved, 1e-6 * SECONDS**2, atol=1e-9)


def test_stamps_of_another_epoch_begin_at_the_uptime() -> None:
    _, after, _ = planted("two_clocks", uptime_s=5000.0)
    assert after["stamp_ns"][0] == 5_000_000_000_000
    assert np.all(np.diff(after["stamp_ns"]) == PERIOD_NS)
    assert np.all(np.diff(after["log_ns"]) == PERIOD_NS)


def test_leap_seconds_are_whole() -> None:
    _, after, truth = planted("tai_utc")
    assert abs(truth.parameters["leap_s"]) in (37, 18)
    assert np.all(after["stamp_ns"] - after["log_ns"] == int(truth.parameters["leap_s"]) * 10**9 - LATENCY_NS)


def test_counter_of_32_bits_of_us_falls_by_4295_s_once() -> None:
    moved, truth = offset_s("wrap", bits=32.0, tick_s=1e-6, at_s=30.004)
    assert truth["jump_s"] == 4294.967296
    assert np.all(moved[SECONDS < 30.004] == 0)
    np.testing.assert_allclose(moved[SECONDS >= 30.004], -4294.967296, atol=1e-6)


def test_counter_of_32_bits_of_ns_falls_again_each_4_3_s() -> None:
    before, after, _ = planted("wrap", bits=32.0, tick_s=1e-9, at_s=1.0)
    turns = (before["stamp_ns"] - START_NS - 10**9) // 2**32 + 1
    assert turns.max() == 14
    np.testing.assert_array_equal(before["stamp_ns"] - after["stamp_ns"], turns * 2**32)
    assert np.ptp(after["stamp_ns"][100:].astype(np.float64)) < 2**32


def test_stamps_ahead_are_after_their_log_times() -> None:
    _, after, truth = planted("future_stamps", ahead_s=0.05)
    assert np.all(after["stamp_ns"] - after["log_ns"] == 46_000_000)
    assert truth.parameters["after_log_s"] == pytest.approx(0.046)
