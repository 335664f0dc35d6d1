from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from onbeat.errors import BadInput, MissingExtra
from onbeat.motion import Limits, Profile, point_to_point, stop_ramp
from onbeat.motion.shape import instants

LIMITS = Limits(max_speed=3.1, max_acceleration=20.0, max_jerk=400.0)


def check(profile: Profile, limits: Limits, speed: bool = True) -> NDArray[np.float64]:
    """Check that a profile is smooth and within its limits; give its positions on a fine grid."""
    width = profile.position.shape[1]
    position, velocity, acceleration = profile.at_many(np.linspace(0, profile.duration_s, 2000))
    assert (np.abs(profile.jerk) <= limits.required("max_jerk", width) * (1 + 1e-6)).all()
    assert (np.abs(profile.acceleration) <= limits.required("max_acceleration", width) * (1 + 1e-9)).all()
    if speed:
        assert (np.abs(velocity) <= limits.required("max_speed", width) * (1 + 1e-9)).all()
    # Each piece ends where the next one begins.
    for k, (begin, end) in enumerate(zip(profile.times_s, profile.times_s[1:], strict=False)):
        before = profile.at_many([begin, np.nextafter(end, 0.0)])
        for values, knots in zip(before, (profile.position, profile.velocity, profile.acceleration), strict=True):
            np.testing.assert_allclose(values, knots[k : k + 2], atol=1e-7)
    del acceleration
    return position


def test_move_takes_the_time_of_the_textbook() -> None:
    profile = point_to_point([0.0], [1.0], LIMITS)
    assert profile.duration_s == pytest.approx(1 / 3.1 + 3.1 / 20 + 20 / 400, abs=1e-9)
    check(profile, LIMITS)


def test_short_move_reaches_neither_speed_nor_acceleration() -> None:
    # Four pieces of full jerk: D = 2 J t^3.
    profile = point_to_point([0.0], [0.001], LIMITS)
    assert profile.duration_s == pytest.approx(4 * (0.001 / 800) ** (1 / 3), rel=1e-6)
    check(profile, LIMITS)


def test_joints_arrive_together_and_at_rest() -> None:
    start, end = [0.0, 1.0, -0.5], [1.0, 0.9, -0.5]
    profile = point_to_point(start, end, LIMITS)
    positions = check(profile, LIMITS)
    assert positions[0].tolist() == pytest.approx(start)
    for t in (profile.duration_s, profile.duration_s + 10):
        position, velocity, acceleration = profile.at(t)
        assert position.tolist() == end
        assert velocity.tolist() == acceleration.tolist() == [0.0] * 3
    assert abs(profile.at(0.9 * profile.duration_s)[1][1]) > 1e-4
    assert profile.at(-1.0)[0].tolist() == start


def test_move_begins_in_motion() -> None:
    state = [[0.0, 0.2], [1.0, -0.5], [2.0, 0.0]]
    profile = point_to_point(state, [0.1, 0.2], LIMITS)
    check(profile, LIMITS)
    assert np.array(profile.at(0.0)).tolist() == pytest.approx(np.array(state))
    assert profile.at(profile.duration_s)[0].tolist() == [0.1, 0.2]


def test_move_to_where_it_is_takes_no_time() -> None:
    profile = point_to_point([0.3], [0.3], LIMITS)
    assert profile.duration_s == 0
    assert profile.at(0.0)[0].tolist() == profile.at(1.0)[0].tolist() == [0.3]
    assert profile.plan(5).times_ns.tolist() == [5]


def test_each_joint_has_its_own_limits() -> None:
    limits = Limits([1.0, 5.0], [10.0, 50.0], [100.0, 5000.0])
    check(point_to_point([0.0, 0.0], [1.0, 3.0], limits), limits)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(*[st.floats(-3, 3)] * 2), min_size=1, max_size=7))
def test_any_move_is_smooth_and_within_its_limits(joints: list[tuple[float, float]]) -> None:
    start, end = zip(*joints, strict=True)
    positions = check(point_to_point(start, end, LIMITS), LIMITS)
    assert (positions <= np.maximum(start, end) + 1e-9).all()
    assert (positions >= np.minimum(start, end) - 1e-9).all()


def test_plan_is_on_the_move_at_every_sample() -> None:
    profile = point_to_point([0.0, 0.0], [1.0, -0.4], LIMITS)
    plan = profile.plan(1_000_000_000, step_ns=1_000_000, lead_ns=3)
    assert plan.lead_ns == 3
    assert plan.end_ns == 1_000_000_000 + round(profile.duration_s * 1e9)
    assert plan.at_ns(plan.end_ns).tolist() == [1.0, -0.4]
    offsets = np.arange(0, 527_000_000, 137_000)
    between = plan.at_many(1_000_000_000 + offsets) - profile.at_many(offsets * 1e-9)[0]
    assert np.abs(between).max() <= 20 * 1e-6 / 8 * 1.001
    with pytest.raises(BadInput, match="step_ns"):
        profile.plan(0, step_ns=0)


def test_stop_takes_the_time_and_the_way_of_the_textbook() -> None:
    profile = stop_ramp([0.0], [1.0], [0.0], Limits(max_acceleration=2.0, max_jerk=10.0))
    assert profile.duration_s == pytest.approx(0.7)
    assert profile.position[-1, 0] == pytest.approx(0.35)
    assert profile.velocity[-1, 0] == profile.acceleration[-1, 0] == 0.0


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-5, 5), st.floats(-20, 20)), min_size=1, max_size=4))
def test_any_state_comes_to_rest(states: list[tuple[float, float, float]]) -> None:
    position, velocity, acceleration = zip(*states, strict=True)
    profile = stop_ramp(position, velocity, acceleration, LIMITS)
    check(profile, LIMITS, speed=False)
    assert not profile.velocity[-1].any()
    assert not profile.acceleration[-1].any()
    np.testing.assert_allclose(np.array(profile.at(0.0)), [position, velocity, acceleration], atol=1e-12)


def test_stop_is_as_fast_as_the_fastest_that_ruckig_finds() -> None:
    ruckig = pytest.importorskip("ruckig")
    rng = np.random.default_rng(5)
    for _ in range(200):
        velocity, acceleration = rng.uniform(-3, 3), rng.uniform(-20, 20)
        given = ruckig.InputParameter(1)
        given.control_interface = ruckig.ControlInterface.Velocity
        given.current_position, given.current_velocity, given.current_acceleration = [0.0], [velocity], [acceleration]
        given.target_velocity, given.max_acceleration, given.max_jerk = [0.0], [20.0], [400.0]
        best = ruckig.Trajectory(1)
        ruckig.Ruckig(1).calculate(given, best)
        ours = stop_ramp([0.0], [velocity], [acceleration], LIMITS)
        assert ours.duration_s == pytest.approx(best.duration, abs=1e-9)
        assert ours.position[-1, 0] == pytest.approx(best.at_time(best.duration)[0][0], abs=1e-9)


def test_acceleration_above_the_limit_is_brought_back_first() -> None:
    profile = stop_ramp([0.0], [1.0], [50.0], LIMITS)
    assert (np.diff(np.abs(profile.acceleration[:2, 0])) < 0).all()
    assert (np.abs(profile.jerk) <= 400 * (1 + 1e-9)).all()
    assert profile.velocity[-1, 0] == 0


def test_motion_is_continued_by_one_that_begins_where_it_ends() -> None:
    there, back = point_to_point([0.0], [1.0], LIMITS), point_to_point([1.0], [0.0], LIMITS)
    both = there.then(back)
    assert both.duration_s == pytest.approx(2 * there.duration_s)
    assert both.at(there.duration_s)[0][0] == pytest.approx(1.0)
    assert both.at(both.duration_s)[0][0] == 0.0
    with pytest.raises(BadInput, match="the next one begins"):
        there.then(there)


@pytest.mark.parametrize(
    ("start", "end", "limits", "message"),
    [
        ([0.0], [np.nan], LIMITS, "end must be 1 finite"),
        ([0.0], [1.0, 2.0], LIMITS, "end must be 1 finite"),
        ([np.inf], [1.0], LIMITS, "must be finite"),
        ("here", [1.0], LIMITS, "must be numbers"),
        ([[0.0], [0.0]], [1.0], LIMITS, r"\(3, width\) in motion"),
        ([0.0], [1.0], Limits(1.0, 1.0), "max_jerk is not given"),
        ([0.0], [1.0], Limits([1.0, 2.0], 1.0, 1.0), "max_speed has 2 numbers"),
        ([[0.0], [4.0], [0.0]], [1.0], LIMITS, "velocity .* is above the limit"),
        ([[0.0], [0.0], [21.0]], [1.0], LIMITS, "acceleration .* is above the limit"),
        ([0.0], [1.0], Limits(1.0, 1.0, 1.0, upper=0.5), "end .* leaves the range"),
        ([-1.0], [0.0], Limits(1.0, 1.0, 1.0, lower=-0.5), "start .* leaves the range"),
    ],
)
def test_move_that_cannot_be_is_refused(start: Any, end: Any, limits: Limits, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        point_to_point(start, end, limits)


def test_without_ruckig_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ruckig", None)
    with pytest.raises(MissingExtra, match=r"onbeat\[shape\]"):
        point_to_point([0.0], [1.0], LIMITS)


def test_profile_of_another_shape_is_refused() -> None:
    rows = np.zeros((2, 1))
    for times, position in (([0.0, 1.0, 2.0], rows), ([0.5, 1.0], rows), ([0.0, -1.0], rows), ([0.0, 1.0], np.zeros(2))):
        with pytest.raises(BadInput):
            Profile(np.array(times), position, position, position)
    with pytest.raises(BadInput, match="finite"):
        Profile(np.array([0.0, 1.0]), rows, rows, np.full((2, 1), np.nan))
    with pytest.raises(BadInput, match="instants of a profile"):
        Profile(np.array([0.0, 1.0]), rows, rows, rows).at(float("nan"))


def test_instants_that_only_a_rounding_parts_are_one() -> None:
    assert instants([0.3, 0.1 + 0.2, 0.0, 1.0]).tolist() == [0.0, 0.3, 1.0]
    assert instants([0.0, 1e-16]).tolist() == [0.0]
