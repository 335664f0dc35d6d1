import numpy as np
import pytest

from onbeat.evidence.lone_stamps import leaves
from onbeat.evidence.timeline import Timeline, timeline
from onbeat.read import Series, StreamInfo, row_dtype

PERIOD = 33_333_333


def built(stamp_ns: np.ndarray, seq: np.ndarray | None = None, log_ns: np.ndarray | None = None) -> Timeline:
    columns = {"stamp_ns": stamp_ns, "log_ns": log_ns, "seq": seq}
    given = {name: column for name, column in columns.items() if column is not None}
    rows = np.zeros(len(stamp_ns), row_dtype(tuple(given)))
    for name, column in given.items():
        rows[name] = column
    series = Series(StreamInfo("x"), rows.dtype)
    series.append(rows)
    return timeline(series)


def even(seed: int, n: int = 900, lost: float = 0.02) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    count = np.flatnonzero(rng.random(n) > lost)
    return count * PERIOD + rng.normal(0, 1e5, len(count)).astype(np.int64), count


@pytest.mark.parametrize("seed", range(20))
def test_lost_samples_are_no_step(seed: int) -> None:
    stamp, seq = even(seed)
    assert leaves(built(stamp)) == []
    assert leaves(built(stamp, seq)) == []


@pytest.mark.parametrize("size_ms", [-400, -20, 20, 123, 210])
def test_stamps_that_leave_their_grid_were_set(size_ms: int) -> None:
    stamp, _ = even(1, lost=0.0)
    found = leaves(built(stamp + size_ms * 1_000_000 * (np.arange(len(stamp)) >= 400)))
    assert [leave.row for leave in found] == [400]
    assert found[0].size_s == pytest.approx(size_ms / 1e3, abs=1e-3)


def test_step_by_whole_periods_shows_only_against_a_count() -> None:
    stamp, seq = even(2, lost=0.0)
    moved = stamp + 3 * PERIOD * (np.arange(len(stamp)) >= 400)
    assert leaves(built(moved)) == []
    found = leaves(built(moved, seq))
    assert [leave.size_s for leave in found] == pytest.approx([0.1], abs=1e-3)
    assert found[0].counted


def test_swapped_samples_are_not_a_clock() -> None:
    stamp, _ = even(3, lost=0.0)
    stamp[[400, 401]] = stamp[[401, 400]]
    assert leaves(built(stamp)) == []


def test_uneven_source_is_not_judged() -> None:
    rng = np.random.default_rng(4)
    stamp = np.cumsum(rng.uniform(0.5, 1.5, 900) * PERIOD).astype(np.int64)
    assert leaves(built(stamp)) == []


def test_long_silence_is_a_gap() -> None:
    stamp, _ = even(5, lost=0.0)
    assert leaves(built(stamp + 5_012_000_000 * (np.arange(len(stamp)) >= 400))) == []


@pytest.mark.parametrize("pause_ms", [123, 500, 2000])
def test_source_that_pauses_is_no_step_where_the_log_pauses_too(pause_ms: int) -> None:
    stamp, seq = even(3, lost=0.0)
    late = stamp + pause_ms * 1_000_000 * (np.arange(len(stamp)) >= 400)
    assert leaves(built(late, seq, late + 5_000_000)) == []
    assert [leave.row for leave in leaves(built(late, seq, stamp + 5_000_000))] == [400]


@pytest.mark.parametrize("counted", [True, False])
@pytest.mark.parametrize("pause_ms", [300, 1537, 90_000])
def test_source_that_stops_and_goes_on_anywhere_is_a_gap(pause_ms: int, counted: bool) -> None:
    stamp, seq = even(4, lost=0.0)
    late = stamp + pause_ms * 1_000_000 * (np.arange(len(stamp)) >= 400)
    assert leaves(built(late, seq if counted else None)) == []
