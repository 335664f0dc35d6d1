import numpy as np
import pytest

from onbeat.evidence.timeline import Timeline, timeline
from onbeat.evidence.wraps import unwrapped, wraps
from onbeat.read import Series, StreamInfo, row_dtype

WALL = 1_750_000_000 * 10**9


def built(stamp_ns: np.ndarray, log_ns: np.ndarray | None = None) -> Timeline:
    rows = np.zeros(len(stamp_ns), row_dtype(("stamp_ns",) if log_ns is None else ("stamp_ns", "log_ns")))
    rows["stamp_ns"] = stamp_ns
    if log_ns is not None:
        rows["log_ns"] = log_ns
    series = Series(StreamInfo("x"), rows.dtype)
    series.append(rows)
    return timeline(series)


def times(seed: int, span_s: float = 60.0) -> tuple[np.ndarray, np.ndarray]:
    """True instants at 100 Hz, 1 % of them lost, and their arrivals, ns."""
    rng = np.random.default_rng(seed)
    t = np.arange(int(span_s * 100)) * 10_000_000
    t = t[rng.random(len(t)) > 0.01]
    return t, t + 2_000_000 + rng.exponential(5e5, len(t)).astype(np.int64)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("turn_ns", "bits", "tick"),
    [(2**32, 32, "1 ns"), (2**32 * 1000, 32, "1 us"), (2**16 * 100_000, 16, "100 us"), (2**24 * 1000, 24, "1 us")],
)
def test_counter_that_wraps_is_named(seed: int, turn_ns: int, bits: int, tick: str) -> None:
    t, log = times(seed)
    first = min(turn_ns, 60 * 10**9) * 2 // 5
    fallen = np.where(t >= first, (t - first) // turn_ns + 1, 0) * turn_ns
    line = built(WALL + t - fallen, WALL + log)
    found = wraps(line)
    assert found is not None
    assert (found.bits, found.tick) == (bits, tick)
    assert np.all(found.jumps_ns == -turn_ns)
    assert len(found.rows) == fallen[-1] // turn_ns
    assert np.array_equal(unwrapped(line, found), WALL + t)


def test_a_late_arrival_at_the_jump_does_not_hide_it() -> None:
    t, log = times(0)
    turn = 2**32 * 1000
    at = int(np.searchsorted(t, 30 * 10**9))
    log[at:] = np.maximum(log[at:], log[at] + 3_000_000)
    found = wraps(built(WALL + t - np.where(np.arange(len(t)) >= at, turn, 0), WALL + log))
    assert found is not None
    assert (found.bits, found.tick, found.rows.tolist()) == (32, "1 us", [at])


def test_driver_that_adds_a_turn_too_many_jumps_forth_and_back() -> None:
    t, log = times(1)
    found = wraps(built(WALL + t + 2**32 * 1000 * ((t > 20e9) & (t < 30e9)), WALL + log))
    assert found is not None
    assert np.sign(found.jumps_ns).tolist() == [1, -1]


@pytest.mark.parametrize("size_ns", [65_536_000, 16_777_216, 120_000_000, 500_000_000, 3_000_000_000])
def test_step_is_no_wrap(size_ns: int) -> None:
    t, log = times(2)
    assert wraps(built(WALL + t - size_ns * (t > 30e9), WALL + log)) is None


def test_clean_stream_has_none() -> None:
    t, log = times(3)
    assert wraps(built(WALL + t, WALL + log)) is None


def test_stamps_alone_fall_back_by_the_turn() -> None:
    t, _ = times(4)
    found = wraps(built(t % 2**32))
    assert found is not None
    assert found.turn_s == pytest.approx(4.294967296)
