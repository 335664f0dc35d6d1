from typing import Any

import numpy as np
import pytest

from onbeat.calibrate.stairs import Staircase, fit_stairs

T: Any = np.arange(2500) * 0.004
U = 0.2 * np.sin(2 * np.pi * T)


def test_staircase_without_lag_is_the_newest_command() -> None:
    at, rate = Staircase(T, U, 1e-6).at(np.array([0.0, 0.0041, 1.0001]))
    assert at == pytest.approx([U[0], U[1], U[250]])
    assert rate == pytest.approx([0, 0, 0], abs=1e-12)


def test_lag_follows_small_steps_of_an_integration() -> None:
    x, step, out = 0.0, 1e-5, []
    for k in range(20_000):
        x += step * (U[int(k * step / 0.004 + 1e-9)] - x) / 0.02
        out.append(x)
    at = np.array([0.05, 0.11, 0.19])
    exact, rate = Staircase(T, U, 0.02).at(at)
    assert exact == pytest.approx([out[round(t / step) - 1] for t in at], abs=1e-4)
    ahead, _ = Staircase(T, U, 0.02).at(at + 1e-6)
    assert rate == pytest.approx((ahead - exact) / 1e-6, rel=1e-3)


def test_interval_between_two_edges_holds_the_truth_as_often_as_it_says() -> None:
    # 5 % misses of 400 vary by 1.1 % (one standard deviation).
    inside = 0
    for seed in range(400):
        rng = np.random.default_rng(seed)
        t: Any = np.sort(rng.uniform(0.1, 9.9, 900))
        dead_s = 0.0123 + rng.uniform(0, 1e-4)
        y = U[np.searchsorted(T, t - dead_s, side="right") - 1] + 1e-5 * rng.normal(size=len(t))
        found = fit_stairs(T, U, t, y, 0.0131, 0.004)
        inside += abs(found.dead_s - dead_s) <= found.half_s
        assert found.half_s < 5e-5
    assert 0.91 < inside / 400 < 0.985


def test_noise_larger_than_a_step_still_leaves_an_honest_interval() -> None:
    inside = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        t: Any = np.sort(rng.uniform(0.1, 9.9, 900))
        y = U[np.searchsorted(T, t - 0.0123, side="right") - 1] + 0.01 * rng.normal(size=len(t))
        found = fit_stairs(T, U, t, y, 0.0131, 0.004)
        inside += abs(found.dead_s - 0.0123) <= found.half_s
    assert 0.9 < inside / 200 < 0.995


def test_correlated_noise_widens_the_interval() -> None:
    rng = np.random.default_rng(0)
    t: Any = np.sort(rng.uniform(0.1, 9.9, 900))
    y = U[np.searchsorted(T, t - 0.0123, side="right") - 1] + 0.01 * rng.normal(size=len(t))
    assert fit_stairs(T, U, t, y, 0.0131, 0.004, 4.0).half_s > 1.5 * fit_stairs(T, U, t, y, 0.0131, 0.004).half_s


def test_samples_in_step_leave_a_range() -> None:
    t: Any = 0.5 + np.arange(2000) * 0.004 + 0.001
    y = U[np.searchsorted(T, t - 0.012 + 1e-9, side="right") - 1]
    assert fit_stairs(T, U, t, y, 0.012, 0.004).half_s > 0.001
