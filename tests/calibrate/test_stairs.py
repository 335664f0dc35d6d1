from typing import Any

import numpy as np
import pytest

from onbeat.calibrate.stairs import Staircase, fit_stairs

T: Any = np.arange(2500) * 0.004
U = 0.2 * np.sin(2 * np.pi * T)


def test_staircase_without_lag_is_the_newest_command() -> None:
    assert Staircase(T, U, 0.0).at(np.array([0.0, 0.0041, 1.0001])) == pytest.approx([U[0], U[1], U[250]])


def test_lag_follows_small_steps_of_an_integration() -> None:
    x, step, out = 0.0, 1e-5, []
    for k in range(20_000):
        x += step * (U[int(k * step / 0.004 + 1e-9)] - x) / 0.02
        out.append(x)
    at = np.array([0.05, 0.11, 0.19])
    assert Staircase(T, U, 0.02).at(at) == pytest.approx([out[round(t / step) - 1] for t in at], abs=1e-4)


def test_steps_tell_the_dead_time_to_a_microsecond() -> None:
    rng = np.random.default_rng(0)
    t: Any = np.sort(rng.uniform(0.1, 9.9, 3000))
    y = Staircase(T, U, 0.0).at(t - 0.0123) + 1e-5 * rng.normal(size=len(t))
    found = fit_stairs(T, U, t, y, 0.0131, (0.0, 0.002), 0.004)
    assert found.lag_s == 0
    assert found.dead_s == pytest.approx(0.0123, abs=2e-5)
    assert abs(found.dead_s - 0.0123) < max(2 * found.half_s, 5e-6)


def test_samples_in_step_leave_a_range() -> None:
    t: Any = 0.5 + np.arange(2000) * 0.004 + 0.001
    found = fit_stairs(T, U, t, Staircase(T, U, 0.0).at(t - 0.012), 0.012, (0.0,), 0.004)
    assert found.half_s > 0.001
