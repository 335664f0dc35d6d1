import numpy as np
import pytest

from onbeat.health import Timeline, Verdict
from onbeat.health.judge import CHECKS, judge
from onbeat.health.rounding import judge_rounding, rounding, stamp_step
from onbeat.health.stamps import judge_stamps
from tests.health.made import START_NS, evidence, findings, healthy, line


def said(*lines: Timeline) -> list[Verdict]:
    return list(judge_stamps(evidence(*lines)))


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


@pytest.mark.parametrize("seconds", [30, 120, 400])
def test_seconds_since_1970_in_a_32_bit_float(seconds: float) -> None:
    stamp, log = healthy(np.random.default_rng(4), 100, seconds)
    rounded = (stamp / 1e9).astype(np.float32).astype(np.int64) * 10**9
    one = line("x", {"kind": "joints"}, stamp_ns=rounded, log_ns=log)
    (verdict,) = judge(evidence(one), CHECKS)
    assert (verdict.fault, verdict.level) == ("quantised_stamps", "finding")
    assert verdict.figures["step"].value == 128
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


def test_steps_of_simulated_time_are_no_fault() -> None:
    stamp, _ = healthy(np.random.default_rng(7), 30, 60)
    clock = line("/clock", log_ns=stamp)
    assert findings(said(line("x", stamp_ns=stamp // 10_000_000 * 10_000_000), clock)) == []
    since_start = (stamp - START_NS) // 3_000_000 * 3_000_000
    odometry = line("odom", stamp_ns=np.arange(50) * 36_000_000, log_ns=START_NS + np.arange(50) * 36_000_000)
    scan = line("scan", stamp_ns=since_start, log_ns=stamp)
    assert findings(said(scan, odometry)) == []
    assert findings(said(scan)) == ["quantised_stamps"]


@pytest.mark.parametrize("step", [1_000_000_000, 10_000_000, 4_000_000, 1_000_000, 10_000])
def test_decimal_step(step: int) -> None:
    stamp, _ = healthy(np.random.default_rng(5), 20, 60, 0.05)
    found = stamp_step(stamp // step * step)
    assert found is not None
    assert (found.ns, found.binary) == (step, False)


def test_step_of_text_that_went_through_a_float() -> None:
    stamp, _ = healthy(np.random.default_rng(6), 20, 60, 0.05)
    seconds = np.array([float(f"{s / 1e9:.12g}") for s in stamp.tolist()])
    found = stamp_step(np.rint(seconds * 1e9).astype(np.int64))
    assert found is not None
    assert found.ns == 10_000_000


def test_step_of_a_32_bit_float_is_the_one_at_the_end() -> None:
    stamp, _ = healthy(np.random.default_rng(7), 30, 60, 0.02)
    seconds = ((stamp - stamp[0]) / 1e9 + 130_050).astype(np.float32)  # passes 131072 s, where the step doubles
    found = stamp_step(np.rint(seconds.astype(np.float64) * 1e9).astype(np.int64))
    assert found is not None
    assert found.binary
    assert found.ns == 1e9 / 128


def test_step_of_a_float_that_is_a_whole_number_of_microseconds_is_binary() -> None:
    stamp, _ = healthy(np.random.default_rng(12), 30, 60)
    found = stamp_step(stamp // 15_625_000 * 15_625_000)
    assert found is not None
    assert (found.ns, found.binary) == (15_625_000, True)


def test_stamps_of_nanoseconds_have_no_step() -> None:
    stamp, _ = healthy(np.random.default_rng(8), 30, 60)
    assert stamp_step(stamp) is None


def test_rounding_is_found_once() -> None:
    stamp, _ = healthy(np.random.default_rng(11), 30, 60)
    one = line("x", stamp_ns=stamp // 10_000_000 * 10_000_000)
    all_of_it = evidence(one)
    assert rounding(all_of_it, one) is rounding(all_of_it, one)
    verdict = judge_rounding(all_of_it, one)
    assert verdict is not None
    assert verdict.level == "finding"
