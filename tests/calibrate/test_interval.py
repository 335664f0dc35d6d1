import numpy as np
import pytest
from scipy.stats import t as student

from onbeat.calibrate.interval import half_width, long_run_variance, t_quantile


@pytest.mark.parametrize("degrees", [1, 2, 3, 4, 6, 10, 24, 1000])
def test_quantile_of_student(degrees: int) -> None:
    assert t_quantile(degrees) == pytest.approx(student.ppf(0.975, degrees), rel=3e-3)


def test_white_series_has_the_variance_of_its_sum() -> None:
    rng = np.random.default_rng(1)
    found = [long_run_variance(rng.normal(size=400), np.ones(400))[0] for _ in range(200)]
    assert np.mean(found) == pytest.approx(400, rel=0.05)


def test_correlated_series_has_a_larger_variance() -> None:
    rng = np.random.default_rng(2)
    series = np.zeros(4000)
    for k, noise in enumerate(rng.normal(size=3999), 1):
        series[k] = 0.8 * series[k - 1] + noise
    # Of an autoregression with 0.8 the long-run variance is 1 / (1 - 0.8)^2 = 25 a sample.
    found, degrees = long_run_variance(series, np.ones(4000))
    assert degrees == 24
    assert found / 4000 == pytest.approx(25, rel=0.6)


def test_interval_never_narrower_than_for_white_residuals() -> None:
    residual = np.tile([1.0, -1.0], 50)[:, None]  # cancels in every sum
    half, inflation = half_width(np.full((100, 1), 0.01), residual, np.array([1.0]))
    assert half == pytest.approx(1.984 * 0.1, rel=1e-3)
    assert inflation == 1.0
