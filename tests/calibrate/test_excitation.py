import numpy as np
import pytest

from onbeat.calibrate.excitation import MOTIONS, TONES_HZ, ExcitationLimits, Motion, check_place, make_excitation
from onbeat.errors import BadInput

LIMITS = ExcitationLimits(0.25, 1.0, 10.0)


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("limits", [LIMITS, ExcitationLimits(0.02, 3.0, 50.0), ExcitationLimits(1.0, 0.2, 0.7)])
def test_motion_goes_from_rest_to_rest_within_its_limits(motion: Motion, limits: ExcitationLimits) -> None:
    made = make_excitation(motion, 60.0, limits)
    step_s = made.step_ns * 1e-9
    assert made.offsets[0] == made.offsets[-1] == 0.0
    assert made.duration_s == pytest.approx(60.0, abs=step_s)
    far = np.abs(made.offsets).max()
    speeds = np.diff(made.offsets) / step_s
    hard = np.abs(np.diff(speeds)).max() / step_s
    assert far <= limits.amplitude
    assert np.abs(speeds).max() <= limits.speed
    assert hard <= limits.acceleration
    # It begins and ends slowly, and one of the limits is nearly reached.
    assert max(abs(speeds[0]), abs(speeds[-1])) <= limits.acceleration * step_s
    assert max(far / limits.amplitude, np.abs(speeds).max() / limits.speed, hard / limits.acceleration) > 0.98
    assert made.peak_speed == pytest.approx(np.abs(speeds).max())
    assert made.peak_acceleration == pytest.approx(hard, rel=0.01)
    assert made.reach == (made.offsets.min(), made.offsets.max())


@pytest.mark.parametrize("motion", MOTIONS)
def test_motion_moves_at_all_its_tones(motion: Motion) -> None:
    made = make_excitation(motion, 60.0, LIMITS)
    assert made.tones_hz == TONES_HZ
    frequency = np.fft.rfftfreq(len(made.offsets), made.step_ns * 1e-9)
    speed = np.abs(np.fft.rfft(made.offsets)) * frequency
    for tone in TONES_HZ:
        assert speed[np.abs(frequency - tone) < 0.1].max() > 0.02 * speed.max(), tone
    assert speed[frequency > 1.5 * TONES_HZ[-1]].max() < 0.04 * speed.max()


def test_sines_come_one_after_another() -> None:
    made = make_excitation("sines", 60.0, LIMITS)
    t_s = np.arange(len(made.offsets)) * made.step_ns * 1e-9
    crossings = t_s[1:][np.diff(np.sign(made.offsets)) != 0]
    halves = np.diff(crossings)
    assert halves[1] == pytest.approx(1 / (2 * TONES_HZ[0]), rel=0.02)
    assert halves[-2] == pytest.approx(1 / (2 * TONES_HZ[-1]), rel=0.05)


def test_multisine_is_flatter_than_its_sines_in_step() -> None:
    made = make_excitation("multisine", 60.0, ExcitationLimits(100.0, 1.0, 1e6))
    omega = 2 * np.pi * np.array(TONES_HZ)
    t_s = np.arange(5.0, 55.0, 0.004)
    in_step = np.cos(t_s[:, None] * omega).sum(axis=1)
    speeds = np.diff(made.offsets)[1250:-1250]
    crest = np.abs(speeds).max() / np.sqrt((speeds**2).mean())
    assert crest < 0.75 * np.abs(in_step).max() / np.sqrt((in_step**2).mean())


@pytest.mark.parametrize(
    ("motion", "seconds", "tones", "says"),
    [
        ("wobble", 60.0, TONES_HZ, "motion must be one of sines, multisine, chirp, not 'wobble'"),
        ("sines", 10.0, TONES_HZ, "sines from 0.3 to 2.5 Hz need 27 s or more, not 10 s"),
        ("chirp", float("nan"), TONES_HZ, "need 10 s or more, not nan s"),
        ("sines", 60.0, (1.0,), "two or more different frequencies above 0 Hz"),
        ("sines", 60.0, (0.0, 1.0), "two or more different frequencies above 0 Hz"),
        ("sines", 60.0, (1.0, 20.0), "20 Hz needs samples at most 2.5 ms apart, not 4 ms"),
    ],
)
def test_motion_that_cannot_be_made(motion: Motion, seconds: float, tones: tuple[float, ...], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        make_excitation(motion, seconds, LIMITS, tones)


def test_limit_that_is_no_limit() -> None:
    with pytest.raises(BadInput, match="speed must be a number above 0, not 0"):
        ExcitationLimits(0.1, 0.0, 1.0)


@pytest.mark.parametrize(
    ("here", "lower", "upper", "says"),
    [
        (3.0, -3.1, 3.1, r"axis stands at 3 rad, 0.1 rad from its upper limit 3.1, and the motion goes 0.25 rad to that side"),
        (-3.0, -3.1, None, r"0.1 rad from its lower limit -3.1"),
        (3.3, -3.1, 3.1, r"move it away first, upper is 3.1 rad"),
    ],
)
def test_no_room(here: float, lower: float | None, upper: float | None, says: str) -> None:
    made = make_excitation("sines", 60.0, LIMITS)
    with pytest.raises(BadInput, match=says):
        check_place(made, here, lower, upper, "rad", "axis")


def test_the_fix_that_is_named_fits() -> None:
    with pytest.raises(BadInput, match=r"or give --amplitude 0\.095"):
        check_place(make_excitation("sines", 60.0, LIMITS), 3.0, -3.1, 3.1, "rad", "axis")
    check_place(make_excitation("sines", 60.0, ExcitationLimits(0.095, 1.0, 10.0)), 3.0, -3.1, 3.1, "rad", "axis")
    check_place(make_excitation("sines", 60.0, LIMITS), 3.0, None, None, "rad", "axis")
