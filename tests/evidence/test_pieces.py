import numpy as np
import pytest

from onbeat.evidence.pieces import fit, hinge, jump, refine, segments


def noisy(values: np.ndarray, noise: float, seed: int = 0) -> np.ndarray:
    return values + np.random.default_rng(seed).normal(0, noise, len(values))


def test_line_is_one_piece() -> None:
    t = np.linspace(0, 60, 300)
    for seed in range(50):
        assert segments(t, noisy(1e-3 + 50e-6 * t, 1e-4, seed), 1e-4) == []


def test_jump_and_kink_are_found_where_they_are() -> None:
    t = np.linspace(0, 60, 300)
    cuts = segments(t, noisy(jump(t, 20.0) * 5e-3 + hinge(t, 45.0) * 2e-3, 1e-4), 1e-4)
    assert len(cuts) == 2
    assert t[cuts[0]] == pytest.approx(20.0, abs=0.3)
    assert t[cuts[1]] == pytest.approx(45.0, abs=1.0)


def test_outlier_does_not_pull_a_line() -> None:
    t = np.linspace(0, 60, 300)
    y = noisy(50e-6 * t, 1e-4)
    y[280:283] += 1.0
    found = fit([np.ones(300), t], y, 1e-4)
    assert found.theta[1] == pytest.approx(50e-6, abs=3 * found.std(1))
    assert found.std(1) < 2e-6


def test_noise_that_is_alike_from_point_to_point_widens_the_interval() -> None:
    rng = np.random.default_rng(3)
    t = np.linspace(0, 60, 300)
    white = rng.normal(0, 1e-4, 300)
    red = np.convolve(rng.normal(0, 1e-4, 310), np.ones(11) / np.sqrt(11), "valid")
    assert fit([np.ones(300), t], red, 1e-5).std(1) > 2 * fit([np.ones(300), t], white, 1e-5).std(1)


def test_kink_moves_to_its_place() -> None:
    t = np.linspace(0, 100, 300)
    found, at = refine(t, noisy(hinge(t, 41.3) * 100e-6, 1e-5), 1e-5, [], [35.0])
    assert at[0] == pytest.approx(41.3, abs=0.2)
    assert found.theta[2] == pytest.approx(100e-6, rel=0.01)
    assert abs(at[0] - 41.3) < 4 * found.std(3)


def test_few_points_have_no_pieces() -> None:
    assert segments(np.arange(5.0), np.arange(5.0) ** 3, 1e-6) == []
