import numpy as np
import pytest

from onbeat.clock import OneWayEstimator
from onbeat.errors import BadInput, NotSynced

S = 1_000_000_000


def arrivals(seed: int, skew: float, offset_ns: int, floor_ns: int = 2_000_000) -> tuple[list[int], list[int], list[int]]:
    rng = np.random.default_rng(seed)
    stamps = [k * S // 30 for k in range(9_000)]
    delays = floor_ns + np.round(rng.exponential(3e6, len(stamps))).astype(int)
    truth = [t + offset_ns + round(skew * t) for t in stamps]
    return stamps, [t + int(d) for t, d in zip(truth, delays, strict=True)], truth


def test_line_lies_under_all_arrivals_and_floor_is_the_callers() -> None:
    stamps, receipts, truth = arrivals(3, 50e-6, 12_345_678)
    estimator = OneWayEstimator("camera", "robot", floor_s=0.002)
    worst = 0
    for k, (stamp, receipt) in enumerate(zip(stamps, receipts, strict=True)):
        estimator.add(stamp, receipt)
        if k > 3_000:
            worst = max(worst, abs(estimator.map_at(receipt).to_target_ns(stamp) - truth[k]))
    assert worst < 150_000
    assert estimator.map_at(receipts[-1]).skew_ppb == pytest.approx(50_000, abs=500)
    assert OneWayEstimator.floor_observable is False


def test_unknown_floor_stays_in_the_offset() -> None:
    stamps, receipts, truth = arrivals(5, 0.0, 0)
    estimator = OneWayEstimator("camera", "robot")
    for stamp, receipt in zip(stamps, receipts, strict=True):
        estimator.add(stamp, receipt)
    assert estimator.map_at(receipts[-1]).to_target_ns(stamps[-1]) - truth[-1] == pytest.approx(2_000_000, abs=100_000)


def test_few_messages_say_nothing() -> None:
    estimator = OneWayEstimator("camera", "robot")
    for k in range(7):
        estimator.add(k, k)
    with pytest.raises(NotSynced, match="7 messages"):
        estimator.map_at(7)


def test_message_that_is_late_is_refused() -> None:
    estimator = OneWayEstimator("camera", "robot")
    estimator.add(10, 20)
    with pytest.raises(BadInput, match="leave it out"):
        estimator.add(10, 21)
