import numpy as np
import pytest

from onbeat.clock import fit_clock
from onbeat.errors import BadInput

S = 1_000_000_000


def test_worked_number_of_the_sources() -> None:
    t = np.arange(1200) * S
    noise = np.random.default_rng(0).normal(0, 2e-5, 1200)
    device = np.round((t / 1e9 * (1 + 46e-6) + 0.0031 + noise) * 1e9).astype(np.int64)
    fit = fit_clock(t, device)
    assert fit.offset_ns == pytest.approx(3.099623e6, abs=2)
    assert fit.skew_ppm == pytest.approx(45.999560, abs=2e-6)
    assert fit.offset_std_ns == pytest.approx(1154, rel=0.05)
    assert fit.skew_std_ppm == pytest.approx(0.001667, rel=0.05)


def test_epoch_stamps_keep_their_nanoseconds() -> None:
    t = 1_700_000_000 * S + np.arange(100) * S
    fit = fit_clock(t, t + 37 * S + 5)
    assert fit.offset_ns == 37 * S + 5
    assert fit.skew_ppm == 0


@pytest.mark.parametrize(
    ("a", "b"), [([1, 2], [1, 2]), ([1, 2, 3], [1, 2]), ([1, 3, 2], [1, 2, 3]), ([1.0, 2.0, 3.0], [1, 2, 3])]
)
def test_pairs_that_make_no_line_are_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(BadInput):
        fit_clock(a, b)
