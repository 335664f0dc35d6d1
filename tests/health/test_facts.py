import numpy as np
import pytest

from onbeat.evidence.timeline import timeline
from onbeat.health.facts import StreamFacts, stream_facts
from onbeat.read import Series, StreamInfo, row_dtype


def facts(**columns: np.ndarray) -> StreamFacts:
    dtype = row_dtype(tuple(columns))
    rows = np.zeros(len(next(iter(columns.values()))), dtype=dtype)
    for name, values in columns.items():
        rows[name] = values
    series = Series(StreamInfo("imu", "rotation", declared_hz=100.0), dtype)
    series.append(rows)
    return stream_facts(timeline(series))


def test_rate_is_intervals_over_span_and_the_longest_gap_is_found() -> None:
    stamps = np.arange(101) * 10_000_000
    stamps[60:] += 500_000_000
    one = facts(stamp_ns=stamps)
    assert one.span_s == 1.5
    assert one.rate_hz == pytest.approx(100 / 1.5)
    assert one.longest_gap_s == pytest.approx(0.51)
    assert (one.n, one.declared_hz, one.log, one.log_minus_stamp_s) == (101, 100.0, None, None)


def test_dates_are_told_from_counts_from_a_start() -> None:
    stamps = np.arange(10) * 33_333_333
    one = facts(stamp_ns=stamps, log_ns=stamps + 1_700_000_000_000_000_000)
    assert one.stamp is not None
    assert one.log is not None
    assert (one.stamp.dated, one.log.dated) == (False, True)
    assert one.log_minus_stamp_s == 1.7e9


@pytest.mark.parametrize(("step", "said"), [(10_000_000, 10_000_000), (30_000, 10_000), (7, 0), (100, 0)])
def test_rounding_is_the_power_of_ten_that_all_intervals_share(step: int, said: int) -> None:
    one = facts(stamp_ns=np.cumsum(np.random.default_rng(0).integers(1, 9, 200)) * step)
    assert one.stamp is not None
    assert one.stamp.step_ns == said


def test_episodes_are_summed_and_not_bridged() -> None:
    one = facts(stamp_ns=np.array([0, 10, 20, 0, 10, 20]) * 1_000_000, segment=np.array([0, 0, 0, 1, 1, 1]))
    assert (one.segments, one.span_s) == (2, 0.04)
    assert one.rate_hz == pytest.approx(100)
    assert one.longest_gap_s == 0.01


@pytest.mark.parametrize("stamps", [[5], [5, 5, 5], [9, 5, 1]])
def test_streams_without_a_rate_have_none(stamps: list[int]) -> None:
    one = facts(stamp_ns=np.array(stamps))
    assert one.rate_hz is None or one.rate_hz > 0
    assert one.n == len(stamps)


def test_a_steady_beat_is_no_rounding() -> None:
    one = facts(stamp_ns=np.arange(50) * 10_000_000)
    assert one.stamp is not None
    assert one.stamp.step_ns == 0


@pytest.mark.parametrize("logged", [True, False])
@pytest.mark.parametrize("changes", [[100], [100, 250, 400]])
@pytest.mark.parametrize("jump_s", [1.7e9, -65.536])
def test_clock_that_changes_midway_leaves_rate_span_and_gap(jump_s: float, changes: list[int], logged: bool) -> None:
    true = np.arange(501) * 10_000_000
    stamp = true.copy()
    for row in changes:
        stamp[row:] += round(jump_s * 1e9)
    one = facts(stamp_ns=stamp, **({"log_ns": true + 2_000_000} if logged else {}))
    assert one.span_s == pytest.approx(5.0)
    assert one.rate_hz == pytest.approx(100.0)
    assert one.longest_gap_s == pytest.approx(0.01)
