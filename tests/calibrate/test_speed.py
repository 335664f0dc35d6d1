import math

import numpy as np
import pytest

from onbeat.calibrate import SpeedTrial, check_sweep, max_speed, peak_speed_of_sine
from onbeat.errors import BadInput

CAP = 1.5
STEP = 2 * math.pi / 4096


def trial(
    demanded: float, *, way: float = 2.0, rate_hz: float = 100.0, seed: int = 0, cap: float = CAP, lag_s: float = 0.05
) -> SpeedTrial:
    """A run behind 30 ms of dead time, a lag, a capped speed, an encoder of 4096 steps and stamps that jitter by 0.5 ms."""
    rng = np.random.default_rng(seed)
    run_s = abs(way) / demanded
    fine = 1e-4
    t = np.arange(-0.2, abs(way) / min(demanded, cap) + 1.0, fine)
    target = way * np.clip((t - 0.03) / run_s, 0, 1)
    state, out = 0.0, np.empty_like(t)
    for k, goal in enumerate(target.tolist()):
        state += min(max((goal - state) / lag_s, -cap), cap) * fine
        out[k] = state
    polled = np.arange(-0.15, t[-1], 1 / rate_hz)
    measured = np.round(np.interp(polled, t, out) / STEP) * STEP
    stamps = np.sort(polled + rng.uniform(-5e-4, 5e-4, len(polled)))
    return SpeedTrial(
        np.array([0, round(run_s * 1e9)]), np.array([0.0, way]), np.round(stamps * 1e9).astype(np.int64), measured, demanded
    )


@pytest.mark.parametrize("rate_hz", [50.0, 100.0, 500.0])
@pytest.mark.parametrize("demanded", [2.0, 3.0])
def test_run_that_is_not_followed_shows_the_limit(demanded: float, rate_hz: float) -> None:
    result = max_speed([trial(demanded, rate_hz=rate_hz)])
    assert result.value is not None, result.reason
    assert result.ci95 is not None
    assert abs(result.value - CAP) <= max(result.ci95, 0.01 * CAP)


def test_hardware_that_keeps_up_gives_only_a_lower_bound() -> None:
    result = max_speed([trial(0.5), trial(1.0), trial(1.3)])
    assert result.reason.startswith("only a lower bound: the hardware kept up with 1.3 a second")
    assert result.conditions["lower_bound"] == 1.3
    assert result.value is None


def test_rising_demand_ends_at_the_limit() -> None:
    result = max_speed([trial(0.5), trial(1.0), trial(2.0), trial(3.0, seed=1)])
    assert result.value == pytest.approx(CAP, rel=0.02)
    assert result.conditions["kept_up"] == 1.0
    assert len(result.conditions["speeds"]) == 2


def test_slower_direction_counts() -> None:
    result = max_speed([trial(3.0), trial(3.0, way=-2.0, cap=1.2)])
    assert result.value == pytest.approx(1.2, rel=0.02)


def test_plateaus_that_disagree_are_refused() -> None:
    assert max_speed([trial(3.0), trial(4.0, cap=2.0)]).reason.startswith("runs that fell behind disagree: plateaus from 1.5")


def test_runs_without_a_plateau_are_refused() -> None:
    assert max_speed([]).reason.startswith("there are no runs")
    blocked = trial(3.0)
    blocked = SpeedTrial(blocked.command_t_ns, blocked.command, blocked.measured_t_ns, 0.1 * np.asarray(blocked.measured), 3.0)
    assert max_speed([blocked]).reason.startswith("no run shows a speed: the hardware moved 0.2 where 2 was asked for")
    assert max_speed([trial(3.0, way=0.05, rate_hz=50.0)]).reason.startswith("no run shows a speed")


def test_bad_trials_raise() -> None:
    with pytest.raises(BadInput, match="demanded_speed must be positive"):
        max_speed([SpeedTrial([0, 1], [0.0, 1.0], [0, 1], [0.0, 1.0], 0.0)])
    with pytest.raises(BadInput, match="do not fit"):
        max_speed([SpeedTrial([0, 1], [0.0, 1.0], [0, 1], [0.0], 1.0)])


def test_sweep_is_checked_before_it_moves() -> None:
    # Seed 0's own figures: 0.02 m at 1.25 Hz peak at 0.157 m/s.
    assert peak_speed_of_sine(0.02, 1.25) == pytest.approx(0.15708, abs=1e-5)
    check_sweep(0.02, 1.25, 0.16)
    with pytest.raises(BadInput, match=r"peaks at 0.1571 a second, above max_speed 0.15; lower the amplitude to 0.0191"):
        check_sweep(0.02, 1.25, 0.15)
    with pytest.raises(BadInput, match="positive amplitude"):
        check_sweep(-0.02, 1.25, 0.15)
    with pytest.raises(BadInput, match="measured before a sweep"):
        check_sweep(0.02, 1.25, math.nan)
