import numpy as np
import pytest

from onbeat.health.intervals import Rhythm, off_line, rhythm, rhythms, wilson
from tests.health.made import START_NS, evidence, healthy, line


def of(stamps: np.ndarray) -> Rhythm:
    return rhythm(line("x", stamp_ns=stamps))


@pytest.mark.parametrize("hz", [1.5, 30.0, 402.3, 1000.0])
def test_true_period_of_an_even_source(hz: float) -> None:
    stamp, _ = healthy(np.random.default_rng(1), hz, 3000 / hz, 0.05)
    found = of(stamp)
    assert found.periodic
    assert found.burst is None
    assert found.hz == pytest.approx(hz, rel=1e-4)
    assert found.low_ns <= found.period_ns <= found.high_ns


def test_true_period_where_a_fifth_is_missing() -> None:
    rng = np.random.default_rng(2)
    stamp, _ = healthy(rng, 50, 100, 0.02)
    assert of(stamp[rng.random(len(stamp)) > 0.2]).hz == pytest.approx(50, rel=2e-3)


def test_true_period_under_a_transport_as_uneven_as_a_third_of_it() -> None:
    rng = np.random.default_rng(3)
    stamp, _ = healthy(rng, 30, 120, 0.0)
    found = of(np.sort(stamp + rng.exponential(0.3e9 / 30, len(stamp)).astype(np.int64)))
    assert found.hz == pytest.approx(30, rel=1e-3)
    assert found.catching_up < -0.4


def test_true_period_of_stamps_rounded_to_10_ms() -> None:
    stamp, _ = healthy(np.random.default_rng(4), 30, 60, 0.0)
    assert of(stamp // 10_000_000 * 10_000_000).hz == pytest.approx(30, rel=1e-3)


def test_groups_of_32_at_400_hz() -> None:
    n = np.arange(32 * 300)
    found = of(START_NS + (n // 32) * 80_000_000)
    assert found.burst is not None
    assert (found.burst.size, found.burst.wait_ns, found.burst.inside_ns) == (32, 80e6, 0)
    assert found.hz == pytest.approx(400)


@pytest.mark.parametrize("seed", range(5))
def test_events_have_no_period(seed: int) -> None:
    rng = np.random.default_rng(seed)
    steps = rng.exponential(1e8, 2000) if seed % 2 else 1e6 * np.exp(rng.normal(0, 1.5, 2000))
    assert not of(START_NS + np.cumsum(steps).astype(np.int64)).periodic


def test_nothing_is_said_of_ten_samples() -> None:
    assert of(START_NS + np.arange(10) * 1000).period_ns == 0
    assert of(START_NS + np.arange(10) * 1000).hz == 0


def test_counted_stamps_have_no_rhythm_and_the_rest_is_found_once() -> None:
    stamps = START_NS + np.arange(100) * 10_000_000
    both = evidence(line("a", {"counted": True}, stamp_ns=stamps), line("b", stamp_ns=stamps))
    assert list(rhythms(both)) == ["b"]
    assert rhythms(both) is rhythms(both)


def test_interval_of_a_share() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    low, high = wilson(10, 100)
    assert (round(low, 4), round(high, 4)) == (0.0552, 0.1744)  # Brown, Cai, DasGupta 2001: formula (4)


def test_even_stamps_lie_on_a_line() -> None:
    stamp, _ = healthy(np.random.default_rng(9), 100, 60, 0.0)
    assert np.abs(off_line(line("x", stamp_ns=stamp))).max() < 10
