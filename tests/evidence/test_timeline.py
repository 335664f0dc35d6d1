import numpy as np

from onbeat.evidence.timeline import MOST_ROWS
from onbeat.health import Timeline, timeline
from onbeat.read import Series, StreamInfo, row_dtype


def built(stamp_ns: np.ndarray, **more: np.ndarray) -> Timeline:
    dtype = row_dtype(("stamp_ns", *more))
    rows = np.zeros(len(stamp_ns), dtype=dtype)
    rows["stamp_ns"] = stamp_ns
    for name, values in more.items():
        rows[name] = values
    series = Series(StreamInfo("x"), dtype)
    for first in range(0, len(rows), 50_000):
        series.append(rows[first : first + 50_000])
    return timeline(series)


def test_short_stream_is_here_whole() -> None:
    line = built(np.array([0, 10, 20, 50, 60]))
    assert line.whole
    assert line.n == 5
    assert line.period_ns == 10
    assert line.intervals_ns().tolist() == [10, 10, 30, 10]
    assert line.breaks.index.tolist() == [3]
    assert (line.breaks.before["stamp_ns"][0], line.breaks.after["stamp_ns"][0]) == (20, 50)


def test_every_break_of_a_long_stream_is_found_also_at_the_seam_of_blocks() -> None:
    steps = np.full(400_000, 10)
    odd = [7, 65_536, 131_071, 399_999]
    steps[odd] = 40
    line = built(np.cumsum(steps))
    assert line.n == 400_000
    assert len(line.rows) <= MOST_ROWS
    assert not line.whole
    assert line.breaks.index.tolist() == odd
    assert line.breaks.total == 4
    assert line.index[0] == 0
    assert line.index[-1] == 399_999
    assert set(line.intervals_ns().tolist()) <= {10, 40}


def test_no_interval_spans_two_segments() -> None:
    line = built(np.array([0, 10, 20, 0, 10, 25]), segment=np.array([0, 0, 0, 1, 1, 1]))
    assert line.intervals_ns().tolist() == [10, 10, 10, 15]
    assert line.breaks.total == 0
    assert line.segments() == [(0, 3), (3, 6)]
    assert line.span_s == 45e-9


def test_count_that_jumps_is_a_break() -> None:
    line = built(np.array([0, 10, 20, 30]), seq=np.array([1, 2, 5, 6]))
    assert line.breaks.index.tolist() == [2]


def test_place_is_since_the_first_row_or_within_the_episode() -> None:
    assert built(np.arange(5, 10) * 10**9).place(3, "stamp_ns") == "3 s"
    episodes = built(np.array([5, 6, 7, 0, 1, 2]) * 10**9, segment=np.array([0, 0, 0, 4, 4, 4]))
    assert episodes.place(5, "stamp_ns") == "2 s of episode 4"
