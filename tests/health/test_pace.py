import numpy as np
import pytest

from onbeat.health import Timeline, Verdict
from onbeat.health.pace import judge_pace
from tests.health.made import START_NS, evidence, healthy, line


def said(one: Timeline) -> list[Verdict]:
    return list(judge_pace(evidence(one)))


def test_declared_30_hz_true_24_and_a_half() -> None:
    stamp, _ = healthy(np.random.default_rng(1), 24.5, 20)
    (verdict,) = said(line("x", {"declared_hz": 30.0}, stamp_ns=stamp))
    assert verdict.fault == "rate_not_held"
    assert verdict.figures["true rate"].value == pytest.approx(24.5, rel=1e-3)
    assert verdict.figures["wrong at the end"].value == pytest.approx(20 * (1 - 24.5 / 30), rel=0.01)
    assert "declared 30 Hz, true 24.5 Hz: the loop is slower" in verdict.sentence


@pytest.mark.parametrize("hz", [30.0, 30.1, 29.9])
def test_rate_that_is_held_to_half_a_percent(hz: float) -> None:
    stamp, _ = healthy(np.random.default_rng(2), hz, 100)
    assert said(line("x", {"declared_hz": 30.0}, stamp_ns=stamp)) == []


def test_lost_samples_are_no_slower_rate() -> None:
    rng = np.random.default_rng(3)
    stamp, _ = healthy(rng, 30, 100)
    assert said(line("x", {"declared_hz": 30.0}, stamp_ns=stamp[rng.random(3000) > 0.1])) == []


def test_jitter_of_a_third_of_the_period() -> None:
    rng = np.random.default_rng(4)
    stamp, _ = healthy(rng, 50, 100, 0.0)
    (verdict,) = said(line("x", stamp_ns=np.sort(stamp + rng.normal(0, 6e6, len(stamp)).astype(np.int64))))
    assert verdict.fault == "jitter"
    assert verdict.figures["jitter"].value == pytest.approx(0.006, rel=0.1)
    assert "transport or scheduling" in verdict.sentence


def test_uneven_loop_is_named_as_the_source() -> None:
    rng = np.random.default_rng(5)
    steps = 2e7 * np.clip(1 + rng.normal(0, 0.35, 4000), 0.2, 2)
    (verdict,) = said(line("x", stamp_ns=START_NS + np.cumsum(steps).astype(np.int64)))
    assert verdict.fault == "jitter"
    assert "the source itself is uneven" in verdict.sentence


@pytest.mark.parametrize("seed", range(6))
def test_usual_jitter_and_rare_spikes_are_silent(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stamp, log = healthy(rng, 100, 60, 0.05)
    stamp = np.sort(stamp + ((rng.random(len(stamp)) < 0.005) * rng.exponential(2e7, len(stamp))).astype(np.int64))
    assert said(line("x", stamp_ns=stamp, log_ns=np.maximum(log, stamp))) == []


def test_arrivals_may_jitter() -> None:
    rng = np.random.default_rng(6)
    stamp, _ = healthy(rng, 50, 100, 0.0)
    assert said(line("x", log_ns=np.sort(stamp + rng.normal(0, 6e6, len(stamp)).astype(np.int64)))) == []


@pytest.mark.parametrize("logged", [True, False])
def test_stretches_that_carry_the_stamp_of_the_sample_before(logged: bool) -> None:
    stamp, log = healthy(np.random.default_rng(7), 100, 60)
    slipped = stamp.copy()
    for first, last in ((1000, 1400), (3000, 3100)):
        slipped[first:last] = stamp[first - 1 : last - 1]
    (verdict,) = said(line("x", stamp_ns=slipped, **({"log_ns": log} if logged else {})))
    assert verdict.fault == "one_period_late"
    assert verdict.figures["late"].value == pytest.approx(0.01, rel=0.01)
    assert verdict.figures["share of samples"].value == pytest.approx(500 / 6000, rel=0.02)


def test_sample_that_came_twice_and_one_that_was_lost_are_no_slip() -> None:
    stamp, log = healthy(np.random.default_rng(8), 100, 60)
    order = np.concatenate([np.arange(2000), np.arange(1999, 4000), np.arange(4001, 6000)])
    assert said(line("x", stamp_ns=stamp[order], log_ns=log[order])) == []


def test_camera_that_halves_its_rate_in_the_dark_does_not_jitter() -> None:
    rng = np.random.default_rng(21)
    steps = np.full(1200, 33_333_333) + rng.integers(-10_000, 10_000, 1200)
    steps[500:800] *= 2
    assert said(line("x", {"kind": "image"}, stamp_ns=np.cumsum(steps))) == []
