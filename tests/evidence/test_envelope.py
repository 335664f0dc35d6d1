import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.evidence.envelope import envelope, spread


def test_delay_that_only_adds_is_looked_at_from_below() -> None:
    rng = np.random.default_rng(1)
    t = np.arange(20_000) / 100
    d = 2e-3 + 40e-6 * t + rng.exponential(1e-3, len(t))
    found = envelope(t, d)
    assert found.low
    assert found.noise < 60e-6
    assert np.median(np.abs(found.d - (2e-3 + 40e-6 * found.t))) < 60e-6


def test_symmetric_jitter_is_looked_at_in_its_middle() -> None:
    rng = np.random.default_rng(2)
    t = np.arange(20_000) / 100
    found = envelope(t, rng.normal(5e-3, 1e-3, len(t)))
    assert not found.low
    assert found.noise == pytest.approx(1e-3 / np.sqrt(len(t) / len(found.t)), rel=0.4)
    assert found.scatter == pytest.approx(1e-3, rel=0.1)


def test_steep_piece_lies_on_its_line() -> None:
    rng = np.random.default_rng(3)
    t = np.arange(36_000) / 300
    found = envelope(t, 500e-6 * t + rng.exponential(50e-6, len(t)))
    assert np.ptp(found.d - 500e-6 * found.t) < 10e-6


def test_bursts_and_lost_samples_leave_the_baseline_where_it_was() -> None:
    rng = np.random.default_rng(4)
    t = np.arange(6_000) / 100
    d = 1e-3 + rng.exponential(2e-4, len(t))
    d[1000:1080] += rng.exponential(30e-3, 80)
    keep = rng.random(len(t)) > 0.05
    found = envelope(t[keep], d[keep])
    assert np.quantile(np.abs(found.d - 1e-3), 0.95) < 1e-4


def test_no_bucket_spans_a_cut() -> None:
    t = np.arange(1000) / 100
    found = envelope(t, np.where(t < 5.005, 0.0, 1.0), cuts=[501])
    assert set(np.round(found.d, 9).tolist()) == {0.0, 1.0}


def test_few_rows_are_enough() -> None:
    found = envelope(np.arange(50.0), np.zeros(50))
    assert len(found.t) >= 24
    assert found.noise == 1e-6


def test_too_few_rows_are_refused() -> None:
    with pytest.raises(BadInput, match="at least 8 rows"):
        envelope(np.arange(5.0), np.zeros(5))


def test_spread_of_nothing_is_nothing() -> None:
    assert spread(np.zeros(0)) == 0.0
