from typing import Any

import numpy as np
import pytest

from onbeat.errors import OnbeatError
from onbeat.motion.clip import turntable
from onbeat.motion.kinematics import forward
from onbeat.policy.demonstration import DemonstratedGrasp, Demonstration
from onbeat.stream import Observation

S = 1_000_000_000


class Picture:
    """Stands for a Sample: the policy takes its value only."""

    def __init__(self, value: Any) -> None:
        self.value = value


def observation(t_ns: int, place: tuple[float, float] | None) -> Observation:
    return Observation(t_ns, {"camera": Picture(place)}, {}, "manual")  # type: ignore[dict-item]


@pytest.fixture
def demonstration() -> Demonstration:
    return Demonstration(turntable((0.3, 0.0, 0.05), 0.08, 0.25, 7.0), round(3.4 * S))


def test_hand_is_at_the_cup_when_the_jaws_are_half_closed(demonstration: Demonstration) -> None:
    close = np.array([demonstration.close_ns])
    assert demonstration.height_at_many(close)[0] == pytest.approx(0.0, abs=1e-12)
    middle = (demonstration.open_m + demonstration.closed_m) / 2
    assert demonstration.opening_at_many(close)[0, 0] == pytest.approx(middle)
    assert np.allclose(demonstration.tool_at_many(close), demonstration.cup.at_many(close))


def test_hand_comes_down_without_a_corner(demonstration: Demonstration) -> None:
    phase = np.arange(0, 5 * S, S // 1000)
    height = demonstration.height_at_many(phase)
    assert (np.diff(height) <= 1e-12).all()
    assert np.abs(np.diff(height, 2)).max() * 1e6 <= 0.5 + 1e-6  # m/s2: 0.2 m/s over 0.4 s
    assert height[0] == pytest.approx(0.110)
    assert height[-1] == pytest.approx(-0.010)


def test_policy_answers_with_what_followed_the_moment_that_it_sees(demonstration: Demonstration) -> None:
    policy = DemonstratedGrasp(demonstration, lambda place: place, S // 10)
    # Its clock has nothing to do with the demonstration's: only the images tell the moment.
    for k in range(30):
        phase = k * S // 10
        x, y, _ = demonstration.cup.at_many(np.array([phase]))[0]
        answer = policy(observation(987 * S + phase, (x, y)))
    following = phase + (S // 10) * np.arange(1, 17)
    tool, _ = forward(answer["arm"])
    assert np.abs(tool - demonstration.tool_at_many(following)).max() < 1e-4
    assert np.abs(answer["gripper"] - demonstration.opening_at_many(following)).max() < 1e-4
    assert answer["arm"].shape == (16, 6)
    assert answer["gripper"].shape == (16, 1)


def test_noise_of_the_detector_is_averaged(demonstration: Demonstration) -> None:
    rng = np.random.default_rng(5)
    policy = DemonstratedGrasp(demonstration, lambda place: place, S // 10)
    errors = []
    for k in range(30):
        phase = k * S // 10 + 37_000_000
        x, y, _ = demonstration.cup.at_many(np.array([phase]))[0] + rng.normal(0, 5e-4, 3)
        answer = policy(observation(phase, (x, y)))
        tool, _ = forward(answer["arm"][0])
        errors.append(np.linalg.norm(tool - demonstration.tool_at_many(np.array([phase + S // 10]))[0]))
    assert np.median(errors) < 5e-4


def test_cup_out_of_view_stops_with_the_reason(demonstration: Demonstration) -> None:
    policy = DemonstratedGrasp(demonstration, lambda place: place, S // 10)
    with pytest.raises(OnbeatError, match="not in the camera's view"):
        policy(observation(0, None))
