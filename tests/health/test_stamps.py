import numpy as np
import pytest

from onbeat.health import Timeline, Verdict
from onbeat.health.stamps import judge_stamps
from tests.health.made import START_NS, evidence, healthy, line


def said(*lines: Timeline) -> list[Verdict]:
    return list(judge_stamps(evidence(*lines)))


def test_fifo_of_32_at_400_hz_is_77_ms_wrong() -> None:
    n = 32 * 400
    rng = np.random.default_rng(1)
    arrival = START_NS + (np.arange(n) // 32) * 80_000_000 + np.repeat(rng.integers(0, 300_000, n // 32), 32)
    (verdict,) = said(line("imu", {"kind": "rotation"}, stamp_ns=arrival, log_ns=arrival + 50_000))
    assert verdict.fault == "bursts"
    assert verdict.figures["oldest late"].value == pytest.approx(0.0775, rel=1e-3)
    assert verdict.figures["mean late"].value == pytest.approx(0.03875, rel=1e-3)
    assert verdict.figures["true rate"].value == pytest.approx(400, rel=1e-3)
    assert verdict.figures["group"].value == 32


def test_batches_on_the_way_with_stamps_of_the_sensor_are_no_fault() -> None:
    stamp, _ = healthy(np.random.default_rng(2), 400, 30)
    log = START_NS + (np.arange(len(stamp)) // 32 + 1) * 80_000_000
    assert said(line("imu", {"kind": "rotation"}, stamp_ns=stamp, log_ns=log)) == []


def test_groups_of_arrivals_are_a_note() -> None:
    assert [v.level for v in said(line("imu", log_ns=START_NS + (np.arange(4000) // 8) * 20_000_000))] == ["note"]


@pytest.mark.parametrize("kind", ["image", "joints"])
def test_stamps_that_move_like_a_transport_were_taken_at_delivery(kind: str) -> None:
    rng = np.random.default_rng(8)
    capture, _ = healthy(rng, 30, 100, 0.0)
    stamp = np.maximum.accumulate(capture + 8_000_000 + rng.exponential(5e6, len(capture)).astype(np.int64))
    log = stamp + 200_000 + rng.integers(0, 20_000, len(stamp))
    (verdict,) = said(line("x", {"kind": kind}, stamp_ns=stamp, log_ns=log))
    assert verdict.fault == "stamped_at_delivery"
    assert "jitter" in verdict.explains
    assert verdict.figures["log minus stamp"].value == pytest.approx(0.0002, abs=2e-5)


def test_stamps_at_capture_with_an_uneven_transport_are_healthy() -> None:
    stamp, log = healthy(np.random.default_rng(9), 30, 100, transport_s=0.02)
    assert said(line("x", {"kind": "image"}, stamp_ns=stamp, log_ns=log)) == []


def test_uneven_loop_that_stamps_right_is_not_accused_of_delivery() -> None:
    rng = np.random.default_rng(10)
    stamp = START_NS + np.cumsum(1e7 * (0.9 + rng.exponential(0.1, 5000))).astype(np.int64)
    assert said(line("x", {"kind": "joints"}, stamp_ns=stamp, log_ns=stamp + 100_000)) == []
