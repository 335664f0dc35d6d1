import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.motion import Limits


def test_slowest_joint_decides_how_long_a_move_takes() -> None:
    limits = Limits(max_speed=[1.0, 2.0])
    shortest = limits.shortest_ns(np.array([[0.0, 0.0]]), np.array([[0.5, 3.0]]))
    assert shortest.tolist() == [1_500_000_000]


def test_scalar_speed_applies_to_every_joint() -> None:
    assert Limits(max_speed=2.0).shortest_ns(np.zeros((1, 3)), np.array([[0.1, -0.4, 0.2]])).tolist() == [200_000_000]


def test_pose_takes_the_longer_of_moving_and_turning() -> None:
    start = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    quarter = np.array([[0.3, 0.4, 0.0, np.cos(np.pi / 4), 0.0, 0.0, np.sin(np.pi / 4)]])
    assert Limits(max_speed=1.0).shortest_ns(start, quarter, pose=True).tolist() == [500_000_000]
    turning = Limits(max_speed=1.0, max_angular_speed=np.pi / 2).shortest_ns(start, quarter, pose=True)
    assert turning[0] == pytest.approx(1_000_000_000, abs=2)


def test_opposite_quaternion_is_no_turn() -> None:
    start = np.array([[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]])
    same = np.array([[0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0]])
    assert Limits(max_angular_speed=1.0).shortest_ns(start, same, pose=True).tolist() == [0]


def test_no_limit_takes_no_time() -> None:
    assert Limits().shortest_ns(np.zeros((2, 3)), np.ones((2, 3))).tolist() == [0, 0]


def test_range_is_judged_row_by_row() -> None:
    limits = Limits(lower=-1.0, upper=[1.0, 2.0])
    assert limits.out_of_range(np.array([[0.0, 2.0], [1.1, 0.0], [0.0, -1.2]])).tolist() == [False, True, True]


@pytest.mark.parametrize("speed", [0.0, -1.0, float("nan"), [1.0, 0.0]])
def test_speed_that_is_not_positive_is_refused(speed: object) -> None:
    with pytest.raises(BadInput, match="max_speed"):
        Limits(max_speed=speed)  # type: ignore[arg-type]


def test_range_upside_down_is_refused() -> None:
    with pytest.raises(BadInput, match="lower"):
        Limits(lower=1.0, upper=0.0)


def test_limits_compare_by_value() -> None:
    assert Limits(max_speed=np.array([1.0, 2.0])) == Limits(max_speed=[1, 2])
