import numpy as np
import pytest

from onbeat.evidence.timeline import Timeline, timeline
from onbeat.health.offsets import offset
from onbeat.read import Series, StreamInfo, row_dtype


def built(**columns: np.ndarray) -> Timeline:
    dtype = row_dtype(tuple(columns))
    rows = np.zeros(len(next(iter(columns.values()))), dtype=dtype)
    for name, values in columns.items():
        rows[name] = values
    series = Series(StreamInfo("x"), dtype)
    series.append(rows)
    return timeline(series)


STAMP = np.arange(200) * 10_000_000 + 1_750_000_000 * 10**9


def test_offset_is_log_minus_stamp() -> None:
    found = offset(built(stamp_ns=STAMP, log_ns=STAMP + 3_000_000), int(STAMP[0]))
    assert found is not None
    assert found.base_ns == 3_000_000
    assert found.period == 0.01
    assert found.span == pytest.approx(1.99)
    assert not found.d.any()


def test_stream_with_one_time_or_few_rows_has_none() -> None:
    assert offset(built(stamp_ns=STAMP), 0) is None
    assert offset(built(stamp_ns=STAMP[:10], log_ns=STAMP[:10]), 0) is None


def test_log_that_goes_back_leaves_time_to_the_stamps() -> None:
    log = STAMP + 1_000_000
    log[100:] -= 500_000_000
    found = offset(built(stamp_ns=STAMP, log_ns=log), int(STAMP[0]))
    assert found is not None
    assert np.all(np.diff(found.t) > 0)


def test_rounded_stamps_have_a_floor_and_even_ones_have_none() -> None:
    true = np.arange(300) * 33_333_333
    rounded = built(stamp_ns=true // 10_000_000 * 10_000_000, log_ns=true + 20_000_000)
    found = offset(rounded, 0)
    assert found is not None
    assert found.floor == pytest.approx(10e-3 / 3)
    even = offset(built(stamp_ns=STAMP, log_ns=STAMP), 0)
    assert even is not None
    assert even.floor == 1e-6


def test_delay_that_follows_the_exposure_is_taken_off() -> None:
    exposure = np.where(np.arange(200) < 100, 2_000_000, 18_000_000)
    found = offset(built(stamp_ns=STAMP, log_ns=STAMP + 5_000_000 + exposure // 2, exposure_ns=exposure), 0)
    assert found is not None
    assert np.ptp(found.d) < 1e-9


def test_longest_segment_is_judged() -> None:
    segment = np.where(np.arange(200) < 50, 0, 1)
    found = offset(built(stamp_ns=STAMP, log_ns=STAMP, segment=segment), int(STAMP[0]))
    assert found is not None
    assert len(found.t) == 150
