import numpy as np
import pytest

from onbeat.health import Verdict
from onbeat.health.exposure import judge_exposure, told_by_stamps
from tests.health.made import START_NS, evidence, line

PERIOD = 33_333_333


def said(stamp_at: float, even_at: float, exposure_ms: tuple[float, float] = (2.0, 20.0)) -> list[Verdict]:
    """Judge a camera with automatic exposure.

    Args:
        stamp_at: Where in the exposure the stamp is taken; 0 is its start.
        even_at: Which point of the exposure the frame clock holds even.
        exposure_ms: From and to.
    """
    rng = np.random.default_rng(1)
    n = 1800
    low, high = exposure_ms
    exposure = 1e6 * (low + (high - low) * (0.5 + 0.5 * np.sin(np.arange(n) / 90)))
    start = np.arange(n) * PERIOD - even_at * exposure
    arrival = start + exposure + 9e6 + rng.exponential(4e5, n)
    columns = {"stamp_ns": start + stamp_at * exposure, "log_ns": arrival, "exposure_ns": exposure}
    whole = {name: np.rint(values).astype(np.int64) for name, values in columns.items()}
    whole["stamp_ns"] += START_NS
    whole["log_ns"] += START_NS
    return list(judge_exposure(evidence(line("camera", {"kind": "image"}, **whole))))


@pytest.mark.parametrize("even_at", [0.0, 1.0])
def test_stamps_at_the_start(even_at: float) -> None:
    (verdict,) = said(0.0, even_at)
    assert verdict.fault == "exposure_shift"
    assert verdict.figures["slope"].value == pytest.approx(1.0, abs=0.05)
    assert verdict.figures["shift"].value == pytest.approx(0.009, rel=0.05)
    assert "start of the exposure" in verdict.sentence


@pytest.mark.parametrize("even_at", [0.0, 1.0])
def test_stamps_at_the_end(even_at: float) -> None:
    (verdict,) = said(1.0, even_at)
    assert "at the end" in verdict.sentence


@pytest.mark.parametrize("even_at", [0.0, 1.0])
def test_stamps_in_the_middle_are_right(even_at: float) -> None:
    assert said(0.5, even_at) == []


def test_exposure_that_does_not_vary_says_nothing() -> None:
    assert said(0.0, 0.0, (10.0, 10.1)) == []


def camera(
    stamp_at: float, even_at: float, clock_s: np.ndarray | float = 0.0, follows: float = 1.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give offset (s), stamps and exposures of a camera whose exposure is set in units of 100 us.

    Args:
        stamp_at, even_at: As above.
        clock_s: By how much its clock is ahead. Shape (1800,).
        follows: By which part of the exposure arrivals are late, beside the readout.
    """
    rng = np.random.default_rng(1)
    k = np.arange(1800)
    exposure = 1e5 * np.rint(80 + 50 * np.sin(k / 150) + 10 * np.sin(k / 47))
    start = k * PERIOD - even_at * exposure + rng.normal(0, 2e3, len(k))
    stamp = np.rint(start + stamp_at * exposure + 1e9 * clock_s).astype(np.int64)
    arrival = np.rint(start + follows * exposure + 9e6 + rng.exponential(4e5, len(k))).astype(np.int64)
    return (arrival - stamp) / 1e9, START_NS + stamp, exposure / 1e9


@pytest.mark.parametrize("even_at", [0.0, 1.0])
@pytest.mark.parametrize("rate_ppm", [0.0, 120.0, -600.0])
def test_stamps_tell_an_exposure_beside_their_clock(even_at: float, rate_ppm: float) -> None:
    clock = 1e-6 * rate_ppm * np.maximum(np.arange(1800) / 30 - 25, 0)
    d, stamp, exposure = camera(0.5, even_at, clock)
    part = told_by_stamps(d, stamp)
    assert part is not None
    assert np.abs(part - part.mean() - (exposure - exposure.mean()) / 2).max() < 1e-4


def test_stamps_at_the_end_of_a_triggered_exposure_move_as_arrivals_do() -> None:
    d, stamp, _ = camera(1.0, 0.0)
    part = told_by_stamps(d, stamp)
    assert part is not None
    assert not part.any()


def test_even_stamps_tell_no_exposure_though_arrivals_follow_it() -> None:
    d, stamp, _ = camera(0.0, 0.0)
    assert told_by_stamps(d, stamp) is None


def test_share_that_no_exposure_has_is_not_believed() -> None:
    d, stamp, _ = camera(0.5, 0.0, follows=3.0)
    assert told_by_stamps(d, stamp) is None
