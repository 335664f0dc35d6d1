import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.calibrate import CalibrationResult, estimate_offset
from onbeat.errors import BadInput
from tests.oracle.correlation import common_grid_offset, fixed_window_offset
from tests.oracle.motion import Motion, reach, shake, sine, stamps_ns, teleop

FloatArray = NDArray[np.float64]
Stamps = NDArray[np.int64]


def pair(
    motion: Motion,
    offset_s: float,
    *,
    a_hz: float = 200.0,
    b_hz: float = 30.0,
    duration_s: float = 20.0,
    noise: float = 0.05,
    gain: float = 2.5,
    jitter: float = 0.0,
    seed: int = 0,
) -> tuple[Stamps, FloatArray, Stamps, FloatArray]:
    """Two sensors of one motion: stamps of a are late by the offset, its readings are gain times those of b, and 0.3 more."""
    rng = np.random.default_rng(seed)
    streams = []
    for rate_hz, late_s in ((a_hz, offset_s), (b_hz, 0.0)):
        t = np.arange(0, duration_s, 1 / rate_hz)
        t = t + (rng.uniform() + jitter * rng.uniform(-1, 1, len(t))) / rate_hz
        streams.append((stamps_ns(t), motion(t - late_s) + noise * rng.normal(size=len(t))))
    (a_t_ns, a), (b_t_ns, b) = streams
    return a_t_ns, gain * a + 0.3, b_t_ns, b


def accepted(result: CalibrationResult) -> tuple[float, float]:
    assert result.value is not None, result.reason
    assert result.ci95 is not None
    return result.value, result.ci95


def refused(result: CalibrationResult, start: str) -> CalibrationResult:
    assert result.verdict == "refused"
    assert result.reason.startswith(start), result.reason
    return result


def test_drill_of_12_ms_is_12_000_ms() -> None:
    # A gyro at 400 Hz and a camera at 30 Hz whose stamps are late. The usual estimator makes 11.848 ms of it.
    gyro_s, camera_s = np.arange(0, 20, 1 / 400), np.arange(0, 20, 1 / 30)
    gyro, camera = shake(gyro_s), shake(camera_s - 0.012)
    assert common_grid_offset(camera_s, camera, gyro_s, gyro, 0.1) == pytest.approx(0.011848, abs=1e-6)
    value, ci95 = accepted(estimate_offset(stamps_ns(camera_s), camera, stamps_ns(gyro_s), gyro, 0.1))
    assert value == pytest.approx(0.012, abs=5e-7)
    assert ci95 < 2e-5


def test_drill_of_two_rates_on_one_grid() -> None:
    t = np.arange(2000) / 200
    late, early = (np.sin(2 * np.pi * 1.7 * u) + 0.6 * np.sin(2 * np.pi * 4.1 * u) for u in (t - 0.012, t))
    assert fixed_window_offset(late, early, 200.0) == pytest.approx(0.012009, abs=1e-6)
    value, _ = accepted(estimate_offset(stamps_ns(t), late, stamps_ns(t), early, 0.2))
    assert value == pytest.approx(0.012, abs=5e-7)


@pytest.mark.parametrize("noise", [0.004, 0.002, 0.001])
def test_drill_of_a_creeping_robot_is_refused(noise: float) -> None:
    # With the drill's noise, 0.004 rad/s, the wrong version answers -149.340 ms; truth is 12 ms.
    t = np.arange(2000) / 200
    rng = np.random.default_rng(7)
    early, late = (0.30 + 0.02 * np.sin(2 * np.pi * 0.05 * u) + rng.normal(0, noise, t.shape) for u in (t, t - 0.012))
    if noise == 0.004:
        assert fixed_window_offset(late, early, 200.0) == pytest.approx(-0.149340, abs=1e-6)
    result = estimate_offset(stamps_ns(t), late, stamps_ns(t), early, 0.2)
    refused(
        result, "unrelated: the best shift explains R2 0." if noise == 0.004 else "the motion says too little about the offset"
    )


@pytest.mark.parametrize("offset_s", [-0.43, -0.012, 0.0, 0.3])
@pytest.mark.parametrize(("a_hz", "b_hz"), [(200.0, 30.0), (30.0, 200.0), (100.0, 100.0)])
def test_sign_gain_and_level(offset_s: float, a_hz: float, b_hz: float) -> None:
    motion = teleop(np.random.default_rng(1), 1.5)
    result = estimate_offset(*pair(motion, offset_s, a_hz=a_hz, b_hz=b_hz, noise=0.02))
    value, ci95 = accepted(result)
    assert abs(value - offset_s) < 1.5 * ci95
    assert ci95 < 2e-3
    assert result.conditions["gain"] == pytest.approx(2.5, rel=0.02)
    assert result.conditions["level"] == pytest.approx(0.3, abs=0.02)
    assert result.conditions["fast"] == ("a" if a_hz > b_hz else "b" if b_hz > a_hz else result.conditions["fast"])


def test_exchanging_the_streams_changes_the_sign() -> None:
    a_t_ns, a, b_t_ns, b = pair(shake, 0.05)
    value, ci95 = accepted(estimate_offset(a_t_ns, a, b_t_ns, b))
    back, back_ci95 = accepted(estimate_offset(b_t_ns, b, a_t_ns, a))
    assert back == pytest.approx(-value, abs=2e-8)
    assert back_ci95 == pytest.approx(ci95, rel=1e-3)


def test_offset_added_to_b_makes_the_streams_agree() -> None:
    a_t_ns, a, b_t_ns, b = pair(shake, -0.08)
    value, _ = accepted(estimate_offset(a_t_ns, a, b_t_ns, b))
    again, ci95 = accepted(estimate_offset(a_t_ns, a, b_t_ns + round(value * 1e9), b))
    assert abs(again) < ci95 / 10


@pytest.mark.parametrize(("a_hz", "b_hz", "noise"), [(200.0, 30.0, 0.05), (100.0, 100.0, 0.1), (400.0, 60.0, 0.2)])
def test_intervals_cover_with_noise_in_both_streams(a_hz: float, b_hz: float, noise: float) -> None:
    errors, halves = [], []
    for seed in range(24):
        motion = teleop(np.random.default_rng(seed + 1000), 2.0)
        streams = pair(motion, 0.012, a_hz=a_hz, b_hz=b_hz, noise=noise, jitter=0.3, seed=seed, duration_s=12.0)
        value, ci95 = accepted(estimate_offset(*streams, 0.2))
        errors.append(value - 0.012)
        halves.append(ci95)
    assert abs(np.mean(errors)) < max(3e-4, float(np.mean(halves)) / 2)
    assert sum(abs(e) <= h for e, h in zip(errors, halves, strict=True)) >= 21


def test_a_noisy_fast_stream_does_not_feign_precision() -> None:
    # Each sample's noise makes it steeper than the motion; a slope taken from it would narrow the interval as much.
    errors, halves = [], []
    for seed in range(12):
        a_t_ns, a, b_t_ns, b = pair(teleop(np.random.default_rng(seed), 1.0), 0.012, a_hz=400.0, noise=0.02, seed=seed)
        a = a + 2.5 * 0.3 * np.random.default_rng(seed + 50).normal(size=len(a))
        value, ci95 = accepted(estimate_offset(a_t_ns, a, b_t_ns, b, 0.2))
        errors.append(value - 0.012)
        halves.append(ci95)
    assert 0.25 < np.std(errors) / np.mean(halves) < 0.8


def test_correlated_noise_widens_the_interval() -> None:
    a_t_ns, a, b_t_ns, b = pair(teleop(np.random.default_rng(3), 0.8), 0.012, noise=0.0)
    rng = np.random.default_rng(4)
    drift = np.zeros(len(b))
    for k, noise in enumerate(rng.normal(size=len(drift) - 1), 1):
        drift[k] = 0.95 * drift[k - 1] + noise
    drift *= 0.03 / drift.std()
    _, wide = accepted(estimate_offset(a_t_ns, a, b_t_ns, b + drift))
    _, narrow = accepted(estimate_offset(a_t_ns, a, b_t_ns, b + rng.permutation(drift)))
    assert wide > 2 * narrow


def test_holes_of_the_fast_stream_are_not_bridged() -> None:
    a_t_ns, a, b_t_ns, b = pair(shake, 0.012, noise=0.001)
    kept = (np.arange(len(a)) % 1000 < 600) | (np.arange(len(a)) < 20) | (np.arange(len(a)) >= len(a) - 20)
    result = estimate_offset(a_t_ns[kept], a[kept], b_t_ns, b)
    value, ci95 = accepted(result)
    assert abs(value - 0.012) < max(1.5 * ci95, 1e-5)
    assert result.conditions["gap_share"] == pytest.approx(0.4, abs=0.05)
    assert result.conditions["r2"] > 0.9999


def test_constant_streams_are_refused() -> None:
    a_t_ns, a, b_t_ns, b = pair(shake, 0.012)
    refused(estimate_offset(a_t_ns, np.ones_like(a), b_t_ns, b), "a is constant; an offset shows only in motion")
    refused(estimate_offset(a_t_ns, a, b_t_ns, np.ones_like(b)), "b is constant; an offset shows only in motion")


@pytest.mark.parametrize("bad", [math.nan, -math.inf])
def test_values_that_are_not_finite_are_refused(bad: float) -> None:
    a_t_ns, a, b_t_ns, b = pair(shake, 0.012)
    b[7] = bad
    refused(estimate_offset(a_t_ns, a, b_t_ns, b), "b has 1 values that are not finite, of 600")


def test_unsorted_and_repeated_stamps_are_refused() -> None:
    a_t_ns, a, b_t_ns, b = pair(shake, 0.012)
    swapped, twice = a_t_ns.copy(), b_t_ns.copy()
    swapped[[4, 5]] = swapped[[5, 4]]
    twice[9] = twice[8]
    refused(estimate_offset(swapped, a, b_t_ns, b), "stamps of a are not sorted: sample 5 comes 5.000 ms before sample 4")
    refused(estimate_offset(a_t_ns, a, twice, b), "stamps of b are not sorted: sample 9 comes 0.000 ms before sample 8")


def test_short_streams_are_refused() -> None:
    refused(estimate_offset([0], [1.0], [0], [1.0]), "b has 1 samples; a shift in time needs a recording of a motion")
    refused(estimate_offset(*pair(shake, 0.0, duration_s=1.0)), "too short: a lasts 995.0 ms, and 1160.0 ms go to the search")
    refused(estimate_offset(*pair(shake, 0.0, duration_s=1.6)), "too short: 13 samples of the slow stream lie inside")


def test_streams_of_different_times_are_refused() -> None:
    a_t_ns, a, b_t_ns, b = pair(shake, 0.0)
    apart = refused(
        estimate_offset(a_t_ns, a, b_t_ns + 30_000_000_000, b), "too little overlap: a and b share 0.0 ms and lie 10.0"
    )
    assert "go to the search alone; give streams of the same time, on clocks that roughly agree" in apart.reason
    refused(estimate_offset(a_t_ns, a, b_t_ns + 19_500_000_000, b), "too little overlap: a and b share 4")


def test_an_inverted_axis_is_refused_unless_allowed() -> None:
    streams = pair(shake, 0.012, gain=-2.5)
    refused(estimate_offset(*streams), "inverted: the streams agree with a negative gain (R2 0.99")
    result = estimate_offset(*streams, allow_inverted=True)
    value, ci95 = accepted(result)
    assert abs(value - 0.012) < 1.5 * ci95
    assert result.conditions["gain"] == pytest.approx(-2.5, rel=0.02)
    assert result.conditions["level"] == pytest.approx(0.3, abs=0.03)


def test_an_offset_beyond_the_search_is_refused() -> None:
    motion = teleop(np.random.default_rng(2), 0.3)
    for offset_s in (-0.6, 0.6):
        refused(estimate_offset(*pair(motion, offset_s)), "the best shift is pinned at an end of the search, 500.0 ms of either")


@pytest.mark.parametrize("swap", [False, True])
def test_a_steady_sine_with_two_shifts_in_range_is_refused(swap: bool) -> None:
    a_t_ns, a, b_t_ns, b = pair(sine(1.5, 1.0), 0.2)
    result = estimate_offset(b_t_ns, b, a_t_ns, a) if swap else estimate_offset(a_t_ns, a, b_t_ns, b)
    refused(result, "ambiguous: the shifts ")
    expected = (-0.2, -0.2 + 1 / 1.5) if swap else (0.2 - 1 / 1.5, 0.2)
    assert result.alternatives == pytest.approx(expected, abs=3e-3)


def test_a_sine_of_either_sign_is_ambiguous_by_half_a_period() -> None:
    streams = pair(sine(0.8, 1.0), 0.2)
    value, ci95 = accepted(estimate_offset(*streams))
    assert abs(value - 0.2) < 1.5 * ci95
    result = refused(estimate_offset(*streams, allow_inverted=True), "ambiguous")
    assert result.alternatives == pytest.approx((0.2 - 0.5 / 0.8, 0.2), abs=5e-3)


def test_unrelated_motions_are_refused() -> None:
    for seed in range(6):
        a_t_ns, a, b_t_ns, _ = pair(teleop(np.random.default_rng(seed), 0.7), 0.0)
        other = teleop(np.random.default_rng(seed + 100), 0.7)((b_t_ns - b_t_ns[0]) / 1e9)
        assert not estimate_offset(a_t_ns, a, b_t_ns, other, allow_inverted=True).accepted
    refused(estimate_offset(a_t_ns, a, b_t_ns, np.random.default_rng(0).normal(size=len(b_t_ns))), "unrelated: the best shift")


def test_motion_that_says_too_little_is_refused_with_its_figures() -> None:
    result = refused(estimate_offset(*pair(reach(7.0, 6.0), 0.012, noise=0.08)), "the motion says too little about the offset")
    assert result.conditions["imprecise_ci95_s"] > 0.01
    assert abs(result.conditions["imprecise_s"] - 0.012) < 2 * result.conditions["imprecise_ci95_s"]


def test_a_ramp_says_nothing() -> None:
    # A shift of a straight line is a change of level.
    result = estimate_offset(*pair(lambda t: 0.1 * t, 0.012, noise=0.001))
    assert not result.accepted


def test_input_that_does_not_fit_raises() -> None:
    a_t_ns, a, b_t_ns, b = pair(shake, 0.012)
    with pytest.raises(BadInput, match="one stamp a sample"):
        estimate_offset(a_t_ns[:-1], a, b_t_ns, b)
    with pytest.raises(BadInput, match="integers of nanoseconds"):
        estimate_offset(a_t_ns / 1e9, a, b_t_ns, b)
    with pytest.raises(BadInput, match="between scalar streams, not 2 columns"):
        estimate_offset(a_t_ns, np.stack([a, a], axis=1), b_t_ns, np.stack([b, b], axis=1))
    with pytest.raises(BadInput, match="max_offset_s must be a positive"):
        estimate_offset(a_t_ns, a, b_t_ns, b, math.nan)


@pytest.mark.real_data
@pytest.mark.parametrize("room", [1, 3, 6])
def test_real_motion_capture_split_in_two(data_dir: Path, room: int) -> None:
    rows = [line.split(",") for line in (data_dir / f"tum_vi/room{room}.csv").read_text().splitlines()[1:]]
    t_ns = np.array([int(row[0]) for row in rows])
    position = np.array([[float(x) for x in row[1:4]] for row in rows])
    for axis in range(3):
        result = estimate_offset(t_ns[::2] + 12_000_000, position[::2, axis], t_ns[1::2], position[1::2, axis], 0.1)
        value, ci95 = accepted(result)
        assert abs(value - 0.012) < 3e-4
        assert ci95 < 3e-4
        assert 0 < result.conditions["gap_share"] < 0.03


def rates_of_poses(t_ns: Stamps, quat_wxyz: FloatArray) -> tuple[Stamps, FloatArray]:
    """Turn poses into rates in the body's frame, each stamped halfway between its two poses."""
    w0, v0 = quat_wxyz[:-1, :1], quat_wxyz[:-1, 1:]
    w1, v1 = quat_wxyz[1:, :1], quat_wxyz[1:, 1:]
    scalar = w0 * w1 + (v0 * v1).sum(axis=1, keepdims=True)
    vector = w0 * v1 - w1 * v0 - np.cross(v0, v1)
    steps_ns = np.diff(t_ns)
    return t_ns[:-1] + steps_ns // 2, 2 * vector * np.sign(scalar) / (steps_ns / 1e9)[:, None]


@pytest.mark.real_data
def test_real_gyro_against_the_rate_of_its_pose(data_dir: Path) -> None:
    imu = [line.split(",") for line in (data_dir / "euroc_mh01/imu0.csv").read_text().splitlines()[1:]]
    poses = [line.split() for line in (data_dir / "euroc_mh01/groundtruth.txt").read_text().splitlines()[1:]]
    gyro_t_ns = np.array([int(Decimal(row[0])) for row in imu])
    gyro = np.array([[float(x) for x in row[1:4]] for row in imu])
    pose_t_ns = np.array([int(Decimal(row[0]) * 10**9) for row in poses])
    quat_wxyz = np.array([[float(row[k]) for k in (7, 4, 5, 6)] for row in poses])
    told: list[Any] = []
    for every in (5, 10):
        rate_t_ns, rate = rates_of_poses(pose_t_ns[::every], quat_wxyz[::every])
        told += [estimate_offset(gyro_t_ns, gyro[:, axis], rate_t_ns, rate[:, axis], 0.1) for axis in range(3)]
    values = [accepted(result)[0] for result in told]
    assert max(abs(value) for value in values) < 2e-3
    assert all(result.conditions["gain"] == pytest.approx(1.0, abs=0.01) for result in told)
