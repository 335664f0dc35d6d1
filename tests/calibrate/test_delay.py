import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.calibrate import CalibrationResult, estimate_delay, pool_delays
from onbeat.errors import BadInput
from tests.oracle.correlation import correlation_delay
from tests.oracle.motion import Motion, reach, sine, stamps_ns, teleop

FloatArray = NDArray[np.float64]


def record(
    motion: Motion,
    delay_s: float,
    *,
    rate_hz: float = 100.0,
    duration_s: float = 10.0,
    noise: float = 0.02,
    seed: int = 0,
    gain: float = 1.3,
) -> tuple[NDArray[np.int64], FloatArray, NDArray[np.int64], FloatArray]:
    rng = np.random.default_rng(seed)
    command_s = np.arange(0, duration_s, 1 / rate_hz)
    measured_s = command_s + rng.uniform(0, 1 / rate_hz)
    measured = gain * (motion(measured_s - delay_s) + noise * rng.normal(size=len(measured_s))) + 0.5
    return stamps_ns(command_s), motion(command_s), stamps_ns(measured_s), measured


def accepted(result: CalibrationResult) -> tuple[float, float]:
    assert result.value is not None, result.reason
    assert result.ci95 is not None
    return result.value, result.ci95


@pytest.mark.parametrize("phase", [0.0, 1.0, math.pi / 2, 4.0])
@pytest.mark.parametrize(("frequency_hz", "delay_s"), [(0.25, 0.1), (0.5, 0.42), (1.25, 0.05), (3.0, 0.29)])
def test_steady_sine_of_any_start(frequency_hz: float, delay_s: float, phase: float) -> None:
    result = estimate_delay(*record(sine(frequency_hz, phase), delay_s), max_delay_s=min(0.5, 0.99 / frequency_hz))
    value, ci95 = accepted(result)
    assert abs(value - delay_s) < max(3e-4, 1.5 * ci95)
    assert result.conditions["gain"] == pytest.approx(1.3, rel=0.01)
    assert result.conditions["offset"] == pytest.approx(0.5, abs=0.02)
    assert result.conditions["residual"] == pytest.approx(0.026, rel=0.15)


def test_noiseless_sine_is_exact_to_a_microsecond() -> None:
    value, ci95 = accepted(estimate_delay(*record(sine(0.5, 1.0), 0.1234567, noise=0.0)))
    assert value == pytest.approx(0.1234567, abs=1e-6)
    assert ci95 == pytest.approx(1e-5)


def test_one_reach() -> None:
    value, ci95 = accepted(estimate_delay(*record(reach(2.0, 1.0), 0.1, duration_s=5.0)))
    assert abs(value - 0.1) < 1.5 * ci95
    assert ci95 < 0.006


def test_correlation_is_biased_where_least_squares_is_not() -> None:
    # The wrong version: b = -1.5 / ((T - D) w^2) and up to a third more for a sine that starts at a peak.
    command_ns, command, measured_ns, measured = record(sine(0.5, math.pi / 2), 0.1, noise=0.0)
    start = command_ns[0]
    biased = correlation_delay((command_ns - start) / 1e9, command, (measured_ns - start) / 1e9, measured - 0.5)
    assert biased - 0.1 == pytest.approx(-0.02, abs=0.002)
    value, _ = accepted(estimate_delay(command_ns, command, measured_ns, measured))
    assert abs(value - 0.1) < 1e-6


@pytest.mark.parametrize("rate_hz", [30.0, 100.0])
def test_intervals_cover_on_motion_of_a_hand(rate_hz: float) -> None:
    errors, covered = [], []
    for seed in range(40):
        motion = teleop(np.random.default_rng(seed + 1000), 0.8)
        value, ci95 = accepted(estimate_delay(*record(motion, 0.1, rate_hz=rate_hz, duration_s=20.0, seed=seed)))
        errors.append(value - 0.1)
        covered.append(abs(value - 0.1) <= ci95)
    assert abs(np.mean(errors)) < 3e-4
    assert sum(covered) >= 35


def test_correlated_residuals_widen_the_interval() -> None:
    command_ns, command, measured_ns, measured = record(teleop(np.random.default_rng(3), 0.8), 0.1, duration_s=20.0, noise=0.0)
    rng = np.random.default_rng(4)
    drift = np.zeros(len(measured))
    for k, noise in enumerate(rng.normal(size=len(drift) - 1), 1):
        drift[k] = 0.95 * drift[k - 1] + noise
    drift *= 0.03 / drift.std()
    _, wide = accepted(estimate_delay(command_ns, command, measured_ns, measured + drift))
    _, narrow = accepted(estimate_delay(command_ns, command, measured_ns, measured + rng.permutation(drift)))
    assert wide > 2 * narrow


def test_columns_share_the_delay_and_keep_their_gains() -> None:
    command_ns, a, measured_ns, b = record(sine(0.7), 0.1)
    command = np.stack([a, 2 * a, np.zeros_like(a)], axis=1)
    measured = np.stack([b, -0.2 + 4 * b, np.zeros_like(b)], axis=1)
    result = estimate_delay(command_ns, command, measured_ns, measured)
    value, ci95 = accepted(result)
    assert abs(value - 0.1) < 1.5 * ci95
    assert result.conditions["columns"] == (0, 1)
    assert result.conditions["gain"] == pytest.approx((1.3, 2.6), rel=0.01)


def test_time_against_an_obstacle_is_left_out() -> None:
    motion = teleop(np.random.default_rng(5), 0.4)
    command_ns, command, measured_ns, measured = record(motion, 0.12, duration_s=30.0, noise=0.002, seed=1)
    first = int(np.argmax(measured))
    held = slice(max(first - 100, 0), first + 100)
    measured[held] = measured[held].min()
    result = estimate_delay(command_ns, command, measured_ns, measured)
    value, _ = accepted(result)
    assert abs(value - 0.12) < 3e-3
    assert 0.02 < result.conditions["stalled_share"] < 0.2


def refused(result: CalibrationResult, start: str) -> CalibrationResult:
    assert result.verdict == "refused"
    assert result.reason.startswith(start), result.reason
    return result


def test_constant_command_is_refused() -> None:
    command_ns, command, measured_ns, measured = record(sine(0.5), 0.1)
    refused(estimate_delay(command_ns, np.ones_like(command), measured_ns, measured), "the command is constant")


def test_constant_measurement_is_refused() -> None:
    command_ns, command, measured_ns, measured = record(sine(0.5), 0.1)
    refused(estimate_delay(command_ns, command, measured_ns, np.ones_like(measured)), "the measured motion is constant")


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_values_that_are_not_finite_are_refused(bad: float) -> None:
    command_ns, command, measured_ns, measured = record(sine(0.5), 0.1)
    measured[7] = bad
    refused(estimate_delay(command_ns, command, measured_ns, measured), "measured has 1 values that are not finite, of 1000")


def test_unsorted_stamps_are_refused() -> None:
    command_ns, command, measured_ns, measured = record(sine(0.5), 0.1)
    command_ns[[4, 5]] = command_ns[[5, 4]]
    refused(
        estimate_delay(command_ns, command, measured_ns, measured), "stamps of command are not sorted: sample 5 comes 10.000 ms"
    )


def test_short_records_are_refused() -> None:
    refused(estimate_delay(*record(sine(1.0), 0.1, duration_s=0.6)), "too short: 4 measured samples")
    refused(estimate_delay([0], [1.0], [0], [1.0]), "command has 1 samples")


def test_inverted_axis_is_refused() -> None:
    refused(estimate_delay(*record(sine(0.4, 1.0), 0.1, gain=-1.0)), "inverted")


def test_measurement_that_leads_is_refused() -> None:
    refused(estimate_delay(*record(sine(0.5, 1.0), -0.01)), "the measured motion leads the command by")
    refused(estimate_delay(*record(sine(0.5, 1.0), -0.2)), "the measured motion leads the command by 30.0 ms or more")


def test_delay_beyond_the_search_is_refused() -> None:
    refused(estimate_delay(*record(sine(0.25, 1.0), 0.7)), "the best shift is pinned at max_delay_s, 500.0 ms; widen")


@pytest.mark.parametrize("noise", [0.0, 0.02])
def test_steady_sine_with_two_shifts_in_range_is_refused(noise: float) -> None:
    result = refused(estimate_delay(*record(sine(3.0, 1.0), 0.1, noise=noise)), "ambiguous")
    assert result.alternatives == pytest.approx((0.1, 0.1 + 1 / 3), abs=1e-3)


def test_delay_near_one_period_is_refused_as_ambiguous() -> None:
    refused(estimate_delay(*record(sine(2.5, 1.0), 0.95 / 2.5)), "ambiguous")


def test_unrelated_motion_does_not_follow() -> None:
    command_ns, command, measured_ns, _ = record(teleop(np.random.default_rng(1), 0.5), 0.1, duration_s=30.0)
    other = teleop(np.random.default_rng(2), 0.5)((measured_ns - measured_ns[0]) / 1e9)
    refused(estimate_delay(command_ns, command, measured_ns, other), "the measured motion does not follow the command")


@pytest.mark.parametrize("noise", [0.002, 0.01])
def test_capped_speed_is_refused(noise: float) -> None:
    command_ns, command, measured_ns, _ = record(sine(0.5), 0.06)
    t = (measured_ns - command_ns[0]) / 1e9
    cap = 0.6 * 2 * np.pi * 0.5
    state, out = 0.0, []
    for target, step in zip(sine(0.5)(t - 0.06).tolist(), np.diff(t, prepend=t[0] - 0.01).tolist(), strict=True):
        state += min(max(target - state, -cap * step), cap * step)
        out.append(state)
    measured = np.array(out) + noise * np.random.default_rng(0).normal(size=len(out))
    refused(estimate_delay(command_ns, command, measured_ns, measured), "saturated: the hardware follows at no more than")


@pytest.mark.parametrize("share", [0.6, 0.8])
def test_clipped_range_is_refused(share: float) -> None:
    command_ns, command, measured_ns, measured = record(sine(0.5), 0.06, noise=0.0, gain=1.0)
    clipped = np.clip(measured, 0.5 - share, 0.5 + share) + 0.005 * np.random.default_rng(0).normal(size=len(measured))
    refused(estimate_delay(command_ns, command, measured_ns, clipped), "saturated: the measured motion")


def test_motion_that_says_too_little_is_refused_with_its_figures() -> None:
    # A reach slow against its noise: the interval is wide, and pooling may use it.
    result = estimate_delay(*record(reach(1.0, 6.0), 0.1, noise=0.08, duration_s=9.0))
    refused(result, "the motion says too little about its delay")
    assert result.conditions["imprecise_ci95_s"] > 0.025


def test_shapes_that_do_not_fit_raise() -> None:
    command_ns, command, measured_ns, measured = record(sine(0.5), 0.1)
    with pytest.raises(BadInput, match="one stamp a sample"):
        estimate_delay(command_ns[:-1], command, measured_ns, measured)
    with pytest.raises(BadInput, match="same columns"):
        estimate_delay(command_ns, np.stack([command, command], axis=1), measured_ns, measured)
    with pytest.raises(BadInput, match="integers of nanoseconds"):
        estimate_delay(command_ns / 1e9, command, measured_ns, measured)
    with pytest.raises(BadInput, match="max_delay_s must be a positive"):
        estimate_delay(command_ns, command, measured_ns, measured, max_delay_s=0.0)


def delay(value: float, ci95: float) -> CalibrationResult:
    return CalibrationResult("delay", value, ci95, 100, "by hand")


def test_pool_of_equals_by_hand() -> None:
    pooled = pool_delays([delay(0.10, 0.002), delay(0.11, 0.02), delay(0.10, 0.002)])
    value, ci95 = accepted(pooled)
    # Weights 1 : 1/100 : 1; together 2.01 of them.
    assert value == pytest.approx(0.1 + 0.01 * 0.01 / 2.01)
    assert ci95 == pytest.approx(0.002 / math.sqrt(2.01))
    assert pooled.n == 300


def test_pool_of_members_that_scatter_widens() -> None:
    pooled = pool_delays([delay(0.10, 0.001), delay(0.12, 0.001), delay(0.14, 0.001)])
    value, ci95 = accepted(pooled)
    assert value == pytest.approx(0.12, abs=1e-5)
    # Student's t with 2 degrees on a scatter of 20 ms.
    assert ci95 == pytest.approx(4.303 * 0.02 / math.sqrt(3), rel=0.01)
    assert pooled.conditions["between_std_s"] == pytest.approx(0.02, rel=0.01)


def test_pool_leaves_refused_out_but_keeps_the_imprecise() -> None:
    still = CalibrationResult.refuse("delay", "the command is constant", n=0, method="by hand")
    wide = CalibrationResult.refuse("delay", "too little", n=10, method="by hand", imprecise_s=0.11, imprecise_ci95_s=0.03)
    pooled = pool_delays([delay(0.10, 0.002), still, wide])
    assert pooled.conditions["refused"] == 1
    assert pooled.conditions["imprecise"] == 1
    assert accepted(pooled)[0] == pytest.approx(0.1 + 0.01 / (1 + 15**2))
    assert not pool_delays([still]).accepted
    assert not pool_delays([wide]).accepted
    with pytest.raises(BadInput, match="one quantity"):
        pool_delays([])


def columns(path: Path) -> tuple[NDArray[np.int64], FloatArray, FloatArray, NDArray[np.int64]]:
    parquet: Any = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(path, columns=["timestamp", "action", "observation.state", "episode_index"]).to_pydict()
    t_ns = np.round(np.array(table["timestamp"], dtype=np.float64) * 1e9).astype(np.int64)
    return t_ns, np.array(table["action"]), np.array(table["observation.state"]), np.array(table["episode_index"])


@pytest.mark.real_data
def test_real_arm_trails_its_leader_by_138_ms(data_dir: Path) -> None:
    t_ns, action, state, episode = columns(data_dir / "lerobot/so101_v3/data/chunk-000/file-000.parquet")
    arm = []
    for e in range(4):
        rows = episode == e
        for joint in range(5):
            result = estimate_delay(t_ns[rows], action[rows, joint], t_ns[rows], state[rows, joint])
            arm.append(result)
            if result.value is not None:
                assert 0.125 <= result.value <= 0.155
                assert result.conditions["r2"] >= 0.99
        # The gripper runs against what it grasps, and that time is left out.
        gripper = estimate_delay(t_ns[rows], action[rows, 5], t_ns[rows], state[rows, 5])
        value, _ = accepted(gripper)
        assert 0.115 <= value <= 0.132
        assert gripper.conditions["r2"] >= 0.99
        assert gripper.conditions["stalled_share"] > 0.05
    assert sum(r.accepted for r in arm) >= 16
    value, ci95 = accepted(pool_delays(arm))
    assert value == pytest.approx(0.138, abs=0.006)
    assert ci95 < 0.006


@pytest.mark.real_data
def test_real_joints_that_do_not_follow_are_refused(data_dir: Path) -> None:
    t_ns, action, state, _ = columns(data_dir / "lerobot/g1_v21/data/chunk-000/episode_000000.parquet")
    results = [estimate_delay(t_ns, action[:, j], t_ns, state[:, j]) for j in range(action.shape[1])]
    for joint in (1, 2, 4, 5, 6, 18, 24):
        refused(results[joint], "the measured motion does not follow the command")
    good = [r for r in results if r.accepted]
    assert {round(r.conditions["r2"], 2) for r in good} <= {0.97, 0.98, 0.99, 1.0}
    assert all(r.ci95 is not None and r.ci95 < 0.025 for r in good)
