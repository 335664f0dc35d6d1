import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.motion.tick import Tick, find_tick

START = 1_700_000_000_000_000_000
PERIOD = 10_040_123.4


def reports(rng: np.random.Generator, n: int = 600, jitter_ns: float = 200_000, lost: float = 0.0) -> NDArray[np.int64]:
    t = START + np.round(np.arange(n) * PERIOD + jitter_ns * rng.normal(size=n)).astype(np.int64)
    kept: NDArray[np.int64] = t[rng.uniform(size=n) >= lost]
    return kept


@pytest.mark.parametrize("lost", [0.0, 0.2])
def test_beat_is_found_also_where_reports_are_lost(lost: float) -> None:
    tick = find_tick(reports(np.random.default_rng(0), lost=lost))
    assert tick.period_ns == pytest.approx(PERIOD, rel=1e-5)
    off = (tick.t_ns - START) / PERIOD
    assert abs(off - round(off)) * PERIOD < 3 * tick.ci95_ns


def test_interval_holds_the_tick_as_often_as_it_says() -> None:
    inside = 0
    for seed in range(200):
        tick = find_tick(reports(np.random.default_rng(seed)))
        off = (tick.t_ns - START) / PERIOD
        inside += abs(off - round(off)) * PERIOD <= tick.ci95_ns
    assert 0.90 <= inside / 200 <= 0.995


def test_late_outliers_do_not_move_the_beat() -> None:
    t = reports(np.random.default_rng(0))
    t[::25] += 3_000_000
    tick = find_tick(np.sort(t))
    off = (tick.t_ns - START) / PERIOD
    assert abs(off - round(off)) * PERIOD < 60_000


def test_command_is_there_a_margin_before_the_tick() -> None:
    tick = find_tick(reports(np.random.default_rng(0)))
    now = START + 12_345_678_901
    at = tick.send_at(now, 2_000_000, 300_000)
    assert now <= at < now + tick.period_ns + 1
    assert tick.after(at + 300_000) - (at + 300_000) == pytest.approx(2_000_000, abs=2)


def test_half_a_millisecond_of_jitter_misses_no_tick_with_the_margin_and_a_fifth_without() -> None:
    rng = np.random.default_rng(1)
    tick = find_tick(reports(rng, jitter_ns=20_000), per_report=2)
    jitter = 500_000 * rng.normal(size=2000)

    def missed(margin_ns: int) -> float:
        sent = tick.send_at(START, margin_ns) + np.arange(2000) * tick.period_ns + jitter
        ticks = tick.send_at(START, margin_ns) + margin_ns + np.arange(2000) * tick.period_ns
        return float((sent > ticks).mean())

    assert missed(tick.margin_for(500_000)) < 0.002
    assert missed(200_000) > 0.2


def test_reports_on_every_second_tick() -> None:
    assert find_tick(reports(np.random.default_rng(0)), per_report=2).period_ns == pytest.approx(PERIOD / 2, rel=1e-5)


def test_no_beat_too_few_or_unsorted_reports_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(BadInput, match="no beat"):
        find_tick(np.cumsum(rng.exponential(1e7, 400)).astype(np.int64))
    with pytest.raises(BadInput, match="do not show a beat"):
        find_tick(np.arange(5))
    with pytest.raises(BadInput, match="not increasing"):
        find_tick(np.zeros(50, dtype=np.int64))


@pytest.mark.parametrize(
    ("loop_ms", "tick_ms", "beat_ms"), [(4.0, 4.001, 4.001), (4.0, 1.0, 1.0), (4.0, 8.004, 4.002), (10.0, 5.0, 5.0)]
)
def test_beat_that_a_loop_can_keep(loop_ms: float, tick_ms: float, beat_ms: float) -> None:
    assert Tick(0, tick_ms * 1e6, 0.0, 0.0, 100).beat_ns(loop_ms * 1e6) == pytest.approx(beat_ms * 1e6, rel=1e-12)


def test_periods_without_a_common_beat_are_refused() -> None:
    for tick_ms in (10.04, 4.005, 2.6):
        with pytest.raises(BadInput, match="no beat in common; run the loop at"):
            Tick(0, tick_ms * 1e6, 0.0, 0.0, 100).beat_ns(4e6)


def test_margins_that_cannot_hold_are_refused() -> None:
    tick = find_tick(reports(np.random.default_rng(0)))
    with pytest.raises(BadInput, match="inside the tick"):
        tick.send_at(START, 20_000_000)
    with pytest.raises(BadInput, match="known only"):
        tick.send_at(START, 10)
    with pytest.raises(BadInput, match="steadier"):
        tick.margin_for(3_000_000)


@pytest.mark.parametrize(
    ("period_ns", "jitter_ns", "ci95_ns"),
    [(0.0, 0.0, 0.0), (-4e6, 0.0, 0.0), (np.nan, 0.0, 0.0), (np.inf, 0.0, 0.0), (4e6, np.nan, 0.0), (4e6, 0.0, -1.0)],
)
def test_a_tick_without_a_period_is_refused(period_ns: float, jitter_ns: float, ci95_ns: float) -> None:
    with pytest.raises(BadInput, match="tick's"):
        Tick(0, period_ns, jitter_ns, ci95_ns, 20)
