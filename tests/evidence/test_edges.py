import numpy as np
import pytest

from onbeat.evidence.edges import change


def delays(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).exponential(1e-3, n)


def test_step_is_found_to_the_row() -> None:
    t = np.arange(3000) / 100
    found = change(t, delays(3000, 1) + 0.03 * (t >= 12.345), 11.9, 12.9, 0.0)
    assert found is not None
    assert not found.ramp
    assert found.row == 1235
    assert (found.start, found.end) == (12.34, 12.35)
    assert found.size == pytest.approx(0.03, abs=1e-3)


def test_ramp_is_told_from_a_step() -> None:
    t = np.arange(3000) / 100
    found = change(t, delays(3000, 2) - 83_333e-6 * np.clip(t - 12, 0, 0.6), 11.5, 13.1, 0.0)
    assert found is not None
    assert found.ramp
    assert found.start == pytest.approx(12.0, abs=0.03)
    assert found.end == pytest.approx(12.6, abs=0.03)


def test_hole_in_the_times_is_no_ramp() -> None:
    t = np.arange(3000) / 100
    t[1500:] += 0.4
    found = change(t, delays(3000, 3) + 0.4 * (np.arange(3000) >= 1500), 14.8, 15.8, 0.0)
    assert found is not None
    assert not found.ramp
    assert found.row == 1500


def test_change_at_the_very_end_cannot_be_judged() -> None:
    t = np.arange(100) / 100
    assert change(t, np.zeros(100), 0.9, 1.0, 0.0) is None
