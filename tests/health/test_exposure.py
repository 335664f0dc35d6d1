import numpy as np
import pytest

from onbeat.health import Verdict
from onbeat.health.exposure import judge_exposure
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
