from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.motion import Limits, OnlineShaper

DT = 0.004
LIMITS = Limits(max_speed=3.1, max_acceleration=20.0, max_jerk=400.0)


def follow(
    shaper: OnlineShaper, targets: NDArray[np.float64], velocities: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Give the states, shape (n, 3, width)."""
    rates = velocities if velocities is not None else [None] * len(targets)
    return np.array([shaper.step(target, velocity) for target, velocity in zip(targets, rates, strict=True)])


def two_tones(t: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    slow, fast = np.pi, 3 * np.pi
    position = 0.5 * np.sin(slow * t) + 0.1 * np.sin(fast * t)
    return position[:, None], (0.5 * slow * np.cos(slow * t) + 0.1 * fast * np.cos(fast * t))[:, None]


def hold_limits(states: NDArray[np.float64], limits: Limits, dt_s: float) -> None:
    """Check every limit exactly, and that positions and velocities are those of their accelerations."""
    position, velocity, acceleration = np.moveaxis(states, 1, 0)
    assert np.abs(velocity).max() <= limits.required("max_speed", 1)
    assert np.abs(acceleration).max() <= limits.required("max_acceleration", 1)
    jerk = np.diff(acceleration, axis=0) / dt_s
    assert np.abs(jerk).max() <= limits.required("max_jerk", 1) * (1 + 1e-9)
    if limits.lower is not None:
        assert position.min() >= limits.lower
        assert position.max() <= limits.upper
    else:
        mean = (acceleration[1:] + acceleration[:-1]) / 2
        np.testing.assert_allclose(np.diff(velocity, axis=0), mean * dt_s, rtol=0, atol=1e-9 * limits.required("max_speed", 1)[0])


targets = st.lists(
    st.tuples(
        st.sampled_from(["jump", "hold", "run", "noise", "shake"]),
        st.floats(-3, 3, width=32),
        st.integers(1, 120),
        st.floats(-30, 30),
    ),
    min_size=1,
    max_size=12,
)


def stream(pieces: list[tuple[str, float, int, float]], seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    out: list[float] = [0.0]
    for kind, size, n, rate in pieces:
        steps = np.arange(1, n + 1)
        if kind == "jump":
            out.extend([size] * n)
        elif kind == "hold":
            out.extend([out[-1]] * n)
        elif kind == "run":
            out.extend(out[-1] + rate * DT * steps)
        elif kind == "noise":
            out.extend(size + rng.normal(size=n))
        else:
            out.extend(size * np.where(steps % 2 == 0, 1.0, -1.0))
    return np.array(out)[:, None]


@settings(max_examples=150, deadline=None)
@given(targets, st.integers(0, 2**31), st.sampled_from([0.001, 0.004, 0.02]), st.booleans(), st.booleans())
def test_no_stream_of_targets_breaks_a_limit(
    pieces: list[tuple[str, float, int, float]], seed: int, dt_s: float, ranged: bool, told: bool
) -> None:
    limits = Limits(3.1, 20.0, 400.0, lower=-0.7, upper=0.9) if ranged else LIMITS
    places = stream(pieces, seed)
    velocities = np.random.default_rng(seed).normal(scale=5.0, size=places.shape) if told else None
    shaper = OnlineShaper(1, limits, dt_s, start=[0.0])
    hold_limits(follow(shaper, places, velocities), limits, dt_s)


@settings(max_examples=60, deadline=None)
@given(
    st.floats(0.01, 100), st.floats(0.01, 1000), st.floats(0.1, 1e5), st.sampled_from([0.001, 0.004, 0.05]), st.integers(0, 2**31)
)
def test_limits_of_any_size_hold(speed: float, acceleration: float, jerk: float, dt_s: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    limits = Limits(speed, acceleration, jerk, lower=-1.0, upper=1.0)
    places = np.repeat(rng.uniform(-2, 2, size=30), 20)[:, None] + rng.normal(scale=0.01, size=(600, 1))
    hold_limits(follow(OnlineShaper(1, limits, dt_s, start=[0.0]), places), limits, dt_s)


@pytest.mark.parametrize("size", [0.005, 0.02, 0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("dt_s", [0.001, 0.004, 0.01])
@pytest.mark.parametrize("waited", [1, 100])
def test_step_is_reached_without_overshoot(size: float, dt_s: float, waited: int) -> None:
    shaper = OnlineShaper(1, LIMITS, dt_s, start=[0.0])
    follow(shaper, np.zeros((waited, 1)))
    states = follow(shaper, np.full((round(4 / dt_s), 1), size))
    assert states[:, 0].max() <= 1.001 * size
    assert states[-1, 0, 0] == pytest.approx(size, rel=1e-6)


def test_one_radian_takes_hardly_longer_than_the_fastest_move() -> None:
    states = follow(OnlineShaper(1, LIMITS, DT, start=[0.0]), np.ones((250, 1)))
    settled = DT * (1 + np.flatnonzero(np.abs(states[:, 0, 0] - 1) > 0.01)[-1])
    fastest = 1 / 3.1 + 3.1 / 20 + 20 / 400
    assert settled < 1.05 * fastest


def test_moving_target_is_followed_within_milliradians() -> None:
    t = DT * np.arange(1, 2500)
    places, velocities = two_tones(t)
    late = t > 2
    for told, bound in ((None, 0.005), (velocities, 0.001)):
        states = follow(OnlineShaper(1, LIMITS, DT, start=[0.0]), places, told)
        assert np.sqrt(np.mean((states[late, 0] - places[late]) ** 2)) < bound


def test_target_that_is_held_for_eight_periods_is_still_led() -> None:
    t = DT * np.arange(1, 2500)
    places, _ = two_tones(t)
    held = places[np.arange(len(t)) // 8 * 8]
    states = follow(OnlineShaper(1, LIMITS, DT, start=[0.0]), held)
    behind = np.sqrt(np.mean((states[t > 2, 0] - places[t > 2]) ** 2))
    assert behind < np.sqrt(np.mean((held[t > 2] - places[t > 2]) ** 2))


def test_target_that_no_joint_can_follow_is_not_made_larger() -> None:
    t = DT * np.arange(1, 2500)
    for hertz in (3.0, 5.0, 20.0):
        shaken = (0.1 * np.sin(2 * np.pi * hertz * t))[:, None]
        states = follow(OnlineShaper(1, LIMITS, DT, start=[0.0]), shaken)
        assert np.abs(states[t > 3, 0]).max() < 0.1


def test_jump_within_a_stream_is_gone_to_without_overshoot_and_followed_again() -> None:
    t = DT * np.arange(1, 1500)
    places = 0.3 * np.sin(np.pi * t) + np.where(t > 3, 0.8, 0.0)
    states = follow(OnlineShaper(1, LIMITS, DT, start=[0.0]), places[:, None])
    behind = states[:, 0, 0] - places
    assert behind[t > 3].max() < 0.01 * 0.8
    assert np.abs(behind[t > 4]).max() < 0.003


def test_target_that_stops_is_a_place_again() -> None:
    places = np.concatenate([DT * np.arange(200), np.full(400, DT * 199)])[:, None]
    states = follow(OnlineShaper(1, LIMITS, DT, start=[0.0]), places)
    assert states[-1, 0, 0] == pytest.approx(DT * 199, abs=1e-9)
    assert states[-1, 1:, 0] == pytest.approx([0.0, 0.0], abs=1e-6)


def test_target_out_of_range_is_a_place_at_its_end() -> None:
    limits = Limits(3.1, 20.0, 400.0, lower=[-0.1, -5.0], upper=[0.2, 5.0])
    states = follow(OnlineShaper(2, limits, DT, start=[0.2, 0.0]), np.tile([1.0, 1.0], (500, 1)))
    assert states[:, 0, 0].max() == 0.2
    assert states[-1, 0].tolist() == pytest.approx([0.2, 1.0])


def test_joints_keep_limits_of_their_own() -> None:
    shaper = OnlineShaper(2, Limits([1.0, 2.0], 20.0, 400.0), DT, start=[0.0, 0.0])
    states = follow(shaper, np.tile([3.0, 3.0], (300, 1)))
    assert states[:, 1].max(axis=0) == pytest.approx([1.0, 2.0], rel=1e-4)


def test_without_a_start_it_rests_at_the_first_target() -> None:
    shaper = OnlineShaper(2, Limits(3.1, 20.0, 400.0, upper=1.5), DT)
    assert shaper.state is None
    position, velocity, acceleration = shaper.step([0.3, 2.0])
    assert position.tolist() == [0.3, 1.5]
    assert velocity.tolist() == acceleration.tolist() == [0.0, 0.0]


def test_it_takes_over_a_motion_where_it_is() -> None:
    before = follow(OnlineShaper(1, LIMITS, DT, start=[0.0]), np.ones((50, 1)))[-1]
    after = OnlineShaper(1, LIMITS, DT, start=before)
    assert np.array_equal(np.array(after.state), before)
    hold_limits(np.concatenate([before[None], follow(after, np.zeros((200, 1)))]), LIMITS, DT)


def test_two_shapers_with_the_same_targets_agree_to_the_bit() -> None:
    places, _ = two_tones(DT * np.arange(500))
    runs = [follow(OnlineShaper(1, LIMITS, DT), places) for _ in range(2)]
    assert runs[0].tobytes() == runs[1].tobytes()


@pytest.mark.parametrize("bad", [[np.nan, 0.0], [np.inf, 0.0], [0.0], [[0.0, 0.0]], [0.0, 0.0, 0.0]])
def test_bad_target_is_refused_and_nothing_moves(bad: Any) -> None:
    shaper = OnlineShaper(2, LIMITS, DT, start=[0.0, 0.0])
    shaper.step([1.0, 1.0])
    before = np.array(shaper.state)
    with pytest.raises(BadInput):
        shaper.step(bad)
    with pytest.raises(BadInput):
        shaper.step([1.0, 1.0], bad)
    assert np.array_equal(np.array(shaper.state), before)
    twin = OnlineShaper(2, LIMITS, DT, start=[0.0, 0.0])
    twin.step([1.0, 1.0])
    assert np.array_equal(shaper.step([1.0, 2.0]), twin.step([1.0, 2.0]))


def test_largest_numbers_do_no_harm() -> None:
    shaper = OnlineShaper(1, LIMITS, DT, start=[0.0])
    hold_limits(follow(shaper, np.tile([[1.7e308], [-1.7e308]], (100, 1))), LIMITS, DT)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"limits": Limits(1.0, 1.0)}, "max_jerk is not given"),
        ({"limits": Limits(1.0, np.inf, 1.0)}, "max_acceleration must be finite"),
        ({"limits": Limits([1.0, 2.0, 3.0], 1.0, 1.0)}, "max_speed has 3 numbers and the width is 2"),
        ({"limits": Limits(1.0, 1.0, 1.0, lower=[0.0, 0.0, 0.0])}, "lower has 3 numbers and the width is 2"),
        ({"dt_s": 0.0}, "dt_s must be > 0"),
        ({"dt_s": float("nan")}, "dt_s must be > 0"),
        ({"width": 0}, "width >= 1"),
        ({"start": [0.0]}, r"start must have the shape \(2,\)"),
        ({"start": [0.0, np.nan]}, "must be finite"),
        ({"start": [[0.0, 0.0], [4.0, 0.0], [0.0, 0.0]]}, "joint 0 starts at 0 with velocity 4 .* cannot stop"),
        ({"start": [[0.0, 0.0], [0.0, 0.0], [0.0, 21.0]]}, "joint 1 starts at 0 .* cannot stop"),
        ({"start": [0.0, 2.0], "limits": Limits(1.0, 1.0, 1.0, upper=1.0)}, "joint 1 starts at 2"),
        ({"start": [[0.99, 0.0], [1.0, 0.0], [0.0, 0.0]], "limits": Limits(2.0, 1.0, 1.0, upper=1.0)}, "joint 0 .* cannot stop"),
    ],
)
def test_what_cannot_be_shaped_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        OnlineShaper(**{"width": 2, "limits": LIMITS, "dt_s": DT, **given})
