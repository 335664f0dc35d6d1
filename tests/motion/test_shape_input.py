from typing import Any

import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.motion import Limits, Profile, input_shaper, point_to_point, stop_ramp
from onbeat.motion.shape_input import residual_vibration, shaped, shaped_stop

LIMITS = Limits(max_speed=3.1, max_acceleration=20.0, max_jerk=400.0)
KINDS = ("zv", "zvd", "zvdd", "ei")


def swing(profile: Profile, frequency_hz: float, damping: float = 0.0) -> float:
    """Give how far a load on a spring still swings when the motion ends, of a fine simulation."""
    omega, dt = 2 * np.pi * frequency_hz, 2e-4
    where = profile.at_many(np.arange(0, profile.duration_s, dt / 2))[0][:, 0]
    where = where - where[-1]
    velocity = profile.velocity[0, 0]
    # At the beginning it moves with the hand.
    x, v = where[0], velocity

    def pull(x: float, v: float, u: float) -> float:
        return float(-omega * omega * (x - u) - 2 * damping * omega * v)

    for u0, u1, u2 in zip(where[:-2:2], where[1:-1:2], where[2::2], strict=False):
        k1 = pull(x, v, u0)
        k2 = pull(x + dt / 2 * v, v + dt / 2 * k1, u1)
        k3 = pull(x + dt / 2 * (v + dt / 2 * k1), v + dt / 2 * k2, u1)
        k4 = pull(x + dt * (v + dt / 2 * k2), v + dt * k3, u2)
        x, v = x + dt * v + dt * dt / 6 * (k1 + k2 + k3), v + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return float(np.hypot(x, v / omega))


@pytest.mark.parametrize(
    ("kind", "amplitudes", "delay_ms"),
    [
        ("zv", [1 / 2, 1 / 2], 485.4),
        ("zvd", [1 / 4, 1 / 2, 1 / 4], 970.9),
        ("zvdd", [1 / 8, 3 / 8, 3 / 8, 1 / 8], 1456.3),
        ("ei", [1.05 / 4, 0.95 / 2, 1.05 / 4], 970.9),
    ],
)
def test_textbook_impulses_at_1_03_hz(kind: Any, amplitudes: list[float], delay_ms: float) -> None:
    times, sizes = input_shaper(kind, 1.03)
    assert sizes.tolist() == pytest.approx(amplitudes)
    assert 1e3 * times[-1] == pytest.approx(delay_ms, abs=0.05)
    assert np.diff(times) == pytest.approx(1 / (2 * 1.03))


def test_damped_impulses_decay() -> None:
    decay = np.exp(-0.1 * np.pi / np.sqrt(0.99))
    times, sizes = input_shaper("zvd", 2.0, damping=0.1)
    assert sizes.tolist() == pytest.approx((np.array([1, 2 * decay, decay**2]) / (1 + decay) ** 2).tolist())
    assert times[2] == pytest.approx(1 / (2 * np.sqrt(0.99)))


@pytest.mark.parametrize(("kind", "left"), [("zv", 0.156), ("zvd", 0.024), ("zvdd", 0.004), ("ei", 0.024)])
def test_residual_ten_percent_off_the_frequency(kind: Any, left: float) -> None:
    impulses = input_shaper(kind, 1.03)
    for ratio in (0.9, 1.1):
        assert residual_vibration(*impulses, 1.03 * ratio) == pytest.approx(left, abs=0.001)


@pytest.mark.parametrize(("kind", "width"), [("zv", 0.06), ("zvd", 0.29), ("zvdd", 0.48), ("ei", 0.40)])
def test_width_of_the_band_below_five_percent(kind: Any, width: float) -> None:
    impulses = input_shaper(kind, 1.0)
    ratios = np.linspace(0.5, 1.5, 2001)
    below = [residual_vibration(*impulses, ratio) <= 0.05 + 1e-9 for ratio in ratios]
    assert np.mean(below) == pytest.approx(width, abs=0.01)


@pytest.mark.parametrize("damping", [0.0, 0.02, 0.1, 0.2])
@pytest.mark.parametrize("allowed", [0.02, 0.05, 0.1])
def test_ei_leaves_what_it_is_allowed_and_has_a_wider_band(damping: float, allowed: float) -> None:
    impulses = input_shaper("ei", 1.5, damping, allowed)
    assert residual_vibration(*impulses, 1.5, damping) == pytest.approx(allowed, rel=1e-9)
    assert impulses[1].sum() == pytest.approx(1.0)
    assert (impulses[1] > 0).all()
    ratios = 1.5 * np.linspace(0.6, 1.4, 801)

    def band(kind: Any) -> float:
        shaper = input_shaper(kind, 1.5, damping, allowed)
        return float(np.mean([residual_vibration(*shaper, f, damping) <= allowed * (1 + 1e-9) for f in ratios]))

    assert band("ei") > 1.1 * band("zvd")


@pytest.mark.parametrize("damping", [0.0, 0.05])
@pytest.mark.parametrize("kind", KINDS)
def test_load_rests_after_a_shaped_move(kind: Any, damping: float) -> None:
    move = point_to_point([0.0], [0.5], LIMITS)
    after = shaped(move, *input_shaper(kind, 1.03, damping))
    left = swing(after, 1.03, damping) / swing(move, 1.03, damping)
    assert left == pytest.approx(0.05 if kind == "ei" else 0.0, abs=0.003)


def test_shaped_move_is_the_mean_of_its_delayed_copies_and_keeps_its_limits() -> None:
    move = point_to_point([0.0, 0.2], [1.0, -0.4], LIMITS)
    times, sizes = input_shaper("zvd", 3.0)
    after = shaped(move, times, sizes)
    assert after.duration_s == pytest.approx(move.duration_s + times[-1])
    t = np.linspace(0, after.duration_s, 500)
    mean = sum(a * np.array(move.at_many(t - d)) for d, a in zip(times, sizes, strict=True))
    np.testing.assert_allclose(np.array(after.at_many(t)), mean, atol=1e-9)
    assert after.position[-1].tolist() == pytest.approx([1.0, -0.4])
    assert (np.abs(after.jerk) <= 400 * (1 + 1e-6)).all()
    assert np.abs(after.acceleration).max() <= 20


def test_shaped_stop_goes_on_where_it_is_and_lets_the_load_rest() -> None:
    limits = Limits(max_acceleration=2.0, max_jerk=40.0)
    impulses = input_shaper("zvd", 1.03)
    plain, after = stop_ramp([0.1], [0.6], [0.0], limits), shaped_stop([0.1], [0.6], [0.0], limits, *impulses)
    assert np.array(after.at(0.0)).tolist() == [[0.1], [0.6], [0.0]]
    assert after.duration_s == pytest.approx(plain.duration_s + impulses[0][-1])
    further = float(impulses[0] @ impulses[1]) * 0.6
    assert after.position[-1, 0] == pytest.approx(plain.position[-1, 0] + further)
    assert not after.velocity[-1].any()
    assert swing(after, 1.03) < 0.01 * swing(plain, 1.03)


def test_shaped_stop_releases_an_acceleration_first() -> None:
    after = shaped_stop([0.0, 0.0], [1.0, 1.0], [10.0, -4.0], LIMITS, *input_shaper("ei", 2.0))
    assert np.array(after.at(0.0)).tolist() == [[0.0, 0.0], [1.0, 1.0], [10.0, -4.0]]
    assert (np.abs(after.jerk) <= 400 * (1 + 1e-6)).all()
    assert after.velocity[-1] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert after.at(0.025)[2] == pytest.approx([0.0, 0.0], abs=20.0)


def test_motion_that_begins_with_an_acceleration_is_not_shaped_as_it_is() -> None:
    with pytest.raises(BadInput, match="shaped_stop"):
        shaped(stop_ramp([0.0], [1.0], [5.0], LIMITS), *input_shaper("zv", 1.0))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("zvddd", 1.0), "kind must be"),
        (("zv", 0.0), "frequency_hz"),
        (("zv", float("nan")), "frequency_hz"),
        (("zv", 1.0, 1.0), "damping"),
        (("zv", 1.0, -0.1), "damping"),
        (("ei", 1.0, 0.0, 0.0), "residual"),
        (("ei", 1.0, 0.0, 1.0), "residual"),
        (("ei", 1.0, 0.9, 0.05), "leaves less than 0.05"),
    ],
)
def test_shaper_that_cannot_be_is_refused(given: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        input_shaper(*given)


def test_impulses_that_are_no_shaper_are_refused() -> None:
    move = stop_ramp([0.0], [1.0], [0.0], LIMITS)
    for times, sizes in (([0.0, 1.0], [0.5, 0.6]), ([0.1], [1.0]), ([0.0, 1.0], [1.0]), ([], [])):
        with pytest.raises(BadInput):
            shaped(move, times, sizes)
