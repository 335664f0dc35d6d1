import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.calibrate import DelayLag, estimate_delay_lag
from onbeat.errors import BadInput
from tests.oracle.motion import Motion, chirp, lagged, sine, stamps_ns

FloatArray = NDArray[np.float64]
DURATION_S = 10.0
SWEEP = chirp(DURATION_S, 0.2, 2.0)


def estimate(
    motion: Motion,
    response: Motion,
    delay_s: float,
    *,
    rate_hz: float = 100.0,
    noise: float = 0.005,
    seed: int = 0,
    counts: float = 0.0,
    jitter_s: float = 0.0,
    missing: float = 0.0,
) -> DelayLag:
    rng = np.random.default_rng(seed)
    command_s = np.arange(0, DURATION_S, 0.01)
    measured_s = np.arange(0, DURATION_S, 1 / rate_hz) + rng.uniform(0, 1 / rate_hz)
    measured_s = measured_s[rng.uniform(size=len(measured_s)) >= missing]
    measured = 0.8 * response(measured_s - delay_s) - 0.3 + noise * rng.normal(size=len(measured_s))
    if counts:
        measured = np.round(measured / counts) * counts
    stamped = np.sort(measured_s + jitter_s * rng.uniform(-1, 1, len(measured_s)))
    return estimate_delay_lag(stamps_ns(command_s), motion(command_s), stamps_ns(stamped), measured)


@pytest.mark.parametrize(("delay_s", "lag_s"), [(0.06, 0.05), (0.005, 0.06), (0.04, 0.12)])
def test_chirp_tells_dead_time_from_lag(delay_s: float, lag_s: float) -> None:
    response = lagged(SWEEP, lag_s, DURATION_S)
    for seed in range(5):
        found = estimate(SWEEP, response, delay_s, seed=seed)
        assert found.total.value == pytest.approx(delay_s + lag_s, abs=3e-4), found.total.reason
        assert found.delay.value == pytest.approx(delay_s, abs=1e-3), found.delay.reason
        assert found.lag.value == pytest.approx(lag_s, abs=1e-3)
        for result, truth in ((found.total, delay_s + lag_s), (found.delay, delay_s), (found.lag, lag_s)):
            assert result.ci95 is not None
            assert result.value is not None
            assert abs(result.value - truth) < 1.5 * result.ci95
        assert found.total.quantity == "action_latency"
        assert found.total.conditions["gain"] == pytest.approx(0.8, rel=0.01)
        assert found.total.conditions["offset"] == pytest.approx(-0.3, abs=0.01)


def test_pure_delay_has_no_lag_to_speak_of() -> None:
    found = estimate(SWEEP, SWEEP, 0.06)
    assert found.total.value == pytest.approx(0.06, abs=2e-4)
    assert found.lag.reason.startswith("only the sum is known, 60.0 ms")


def test_counts_jitter_and_missing_polls() -> None:
    response = lagged(SWEEP, 0.05, DURATION_S)
    found = estimate(SWEEP, response, 0.06, noise=0.0, counts=0.005, jitter_s=5e-4, missing=0.15)
    assert found.total.value == pytest.approx(0.11, abs=5e-4)
    assert found.total.ci95 is not None
    assert found.total.ci95 < 1e-3


def test_noise_leaves_only_the_sum() -> None:
    found = estimate(SWEEP, lagged(SWEEP, 0.05, DURATION_S), 0.06, noise=0.05, rate_hz=30.0)
    assert found.total.value == pytest.approx(0.11, abs=3e-3)
    assert found.delay.reason.startswith("only the sum is known")
    assert found.delay.reason == found.lag.reason


def test_phase_of_a_sine_is_not_the_sum() -> None:
    # A steady sine of 1.25 Hz has the phase delay 60 + atan(w tau) / w = 107.6 ms; the sum is 110 ms.
    motion = sine(1.25)
    found = estimate(motion, lagged(motion, 0.05, DURATION_S), 0.06)
    assert not found.delay.accepted
    if found.total.value is not None:
        assert found.total.ci95 is not None
        assert abs(found.total.value - 0.11) < 1.5 * found.total.ci95


def test_refusals_hold_for_all_three() -> None:
    found = estimate(SWEEP, lambda t: -SWEEP(t), 0.06)
    for result in (found.total, found.delay, found.lag):
        assert result.reason.startswith("inverted")
    found = estimate(SWEEP, lambda t: np.zeros_like(t), 0.06, noise=0.0)
    assert found.total.reason.startswith("the measured motion is constant")
    found = estimate(SWEEP, lambda t: SWEEP(t + 0.2), 0.06)
    assert "leads the command" in found.total.reason
    found = estimate(SWEEP, lambda t: np.clip(SWEEP(t), -0.6, 0.6), 0.06)
    assert found.total.reason.startswith("saturated")


def test_bad_input() -> None:
    with pytest.raises(BadInput, match="max_delay_s"):
        estimate_delay_lag([0, 1], [0.0, 1.0], [0, 1], [0.0, 1.0], max_delay_s=-1.0)
