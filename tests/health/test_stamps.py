import numpy as np
import pytest

from onbeat.health import Timeline, Verdict
from onbeat.health.stamps import histogram_plot, judge_stamps, rounding
from tests.health.made import START_NS, evidence, findings, healthy, line


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


@pytest.mark.parametrize(("step", "hz"), [(10_000_000, 30), (1_000_000, 210), (4_000_000, 200), (1_000_000_000, 25)])
@pytest.mark.parametrize("logged", [True, False])
def test_rounded_stamps(step: int, hz: float, logged: bool) -> None:
    stamp, log = healthy(np.random.default_rng(3), hz, 60)
    more = {"log_ns": log} if logged else {}
    (verdict,) = said(line("x", stamp_ns=stamp // step * step, **more))
    assert verdict.fault == "quantised_stamps"
    assert verdict.figures["step"].value == step / 1e9


def test_stamps_of_a_32_bit_float() -> None:
    stamp, log = healthy(np.random.default_rng(4), 100, 60)
    seconds = ((stamp - stamp[0]) / 1e9 + 40_000).astype(np.float32).astype(np.float64)
    (verdict,) = said(line("x", stamp_ns=np.rint(seconds * 1e9).astype(np.int64), log_ns=log))
    assert verdict.figures["step"].value == 1 / 256
    assert "32-bit float" in verdict.sentence


def test_rounding_that_does_not_matter_is_no_finding() -> None:
    stamp, _ = healthy(np.random.default_rng(5), 200, 60)
    assert said(line("x", stamp_ns=stamp // 10_000 * 10_000)) == []
    (note,) = said(line("x", stamp_ns=stamp // 100_000 * 100_000))
    assert note.level == "note"


def test_exact_grid_is_not_rounded_also_where_samples_are_missing() -> None:
    grid = START_NS // 20_000_000 * 20_000_000 + np.arange(3000) * 20_000_000
    keep = np.random.default_rng(6).random(3000) > 0.05
    assert said(line("x", stamp_ns=grid)) == []
    assert said(line("x", stamp_ns=grid[keep])) == []


def test_steps_of_simulated_time_are_a_note() -> None:
    stamp, _ = healthy(np.random.default_rng(7), 30, 60)
    clock = line("/clock", log_ns=stamp)
    assert findings(said(line("x", stamp_ns=stamp // 10_000_000 * 10_000_000), clock)) == []


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


def test_rounding_is_found_once() -> None:
    stamp, _ = healthy(np.random.default_rng(11), 30, 60)
    one = line("x", stamp_ns=stamp // 10_000_000 * 10_000_000)
    all_of_it = evidence(one)
    assert rounding(all_of_it, one) is rounding(all_of_it, one)
    assert len(histogram_plot(one, "x").curves[0].x) == 160
