import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.motion import Chunk, Limits, Trajectory, schedule


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


def test_ranges_of_different_widths_are_refused() -> None:
    with pytest.raises(BadInput, match="lower has 2 numbers and upper has 3"):
        Limits(lower=[0.0, 0.0], upper=[1.0, 1.0, 1.0])


@pytest.mark.parametrize("given", [{"max_speed": []}, {"max_angular_speed": [1.0, 2.0]}, {"lower": [[0.0]]}])
def test_limit_of_another_shape_is_refused(given: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match=f"{next(iter(given))} must be a number"):
        Limits(**given)


def test_rows_of_another_width_are_refused() -> None:
    with pytest.raises(BadInput, match="max_speed has 2 numbers and the targets have width 3"):
        Limits(max_speed=[1.0, 2.0]).shortest_ns(np.zeros((1, 3)), np.ones((1, 3)))
    with pytest.raises(BadInput, match="one end for each start"):
        Limits().shortest_ns(np.zeros((1, 3)), np.ones((2, 3)))
    with pytest.raises(BadInput, match="a pose has 7 numbers"):
        Limits().shortest_ns(np.zeros((1, 3)), np.ones((1, 3)), pose=True)
    with pytest.raises(BadInput, match="of a pose give one"):
        Limits(max_speed=[1.0, 2.0]).shortest_ns(np.zeros((1, 7)), np.ones((1, 7)), pose=True)


def test_range_of_a_pose_is_that_of_its_position() -> None:
    rows = np.array([[0.0, 0.0, 0.5, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.6, 1.0, 0.0, 0.0, 0.0]])
    for upper in (0.5, [1.0, 1.0, 0.5], [1.0, 1.0, 0.5, 0.0, 0.0, 0.0, 0.0]):
        assert Limits(upper=upper).out_of_range(rows, pose=True).tolist() == [False, True]


def test_float_dust_is_no_motion() -> None:
    # 0.3 / 3 s is 100 ms and 1e-8 ns in floating point.
    assert Limits(max_speed=3.0).shortest_ns(np.array([[0.1]]), np.array([[0.1 + 0.3]])).tolist() == [100_000_000]


def test_move_that_never_ends_takes_for_ever() -> None:
    assert Limits(max_speed=1e-300).shortest_ns(np.zeros((1, 1)), np.ones((1, 1))).tolist() == [2**62]


def test_copies_keep_what_was_prepared() -> None:
    limits = Limits(max_speed=[1.0, 2.0], lower=-1.0, max_angular_speed=3.0)
    for other in (pickle.loads(pickle.dumps(limits)), copy.deepcopy(limits), replace(limits)):
        assert other == limits
        assert other.shortest_ns(np.zeros((1, 2)), np.array([[0.5, 3.0]])).tolist() == [1_500_000_000]
        assert other.out_of_range(np.array([[0.0, -1.1]])).tolist() == [True]
    assert replace(limits, max_speed=1.0).shortest_ns(np.zeros((1, 2)), np.array([[0.5, 3.0]])).tolist() == [3_000_000_000]


def test_limits_compare_by_value() -> None:
    assert Limits(max_speed=np.array([1.0, 2.0])) == Limits(max_speed=[1, 2])


def test_limit_that_is_required_is_one_number_for_each_joint() -> None:
    assert Limits(max_jerk=3.0).required("max_jerk", 2).tolist() == [3.0, 3.0]
    assert Limits(max_speed=[1.0, 2.0]).required("max_speed", 2).tolist() == [1.0, 2.0]
    for limits, message in (
        (Limits(), "max_speed is not given"),
        (Limits(max_speed=[1.0, 2.0]), "max_speed has 2 numbers and the width is 3"),
        (Limits(max_speed=np.inf), "max_speed must be finite"),
    ):
        with pytest.raises(BadInput, match=message):
            limits.required("max_speed", 3)


def test_schedule_leaves_acceleration_and_jerk_aside() -> None:
    plan, chunk = Trajectory([0], [[0.0]]), Chunk(0, 100_000_000, np.array([[0.1], [0.3]]))
    plain, shaping = Limits(max_speed=1.0), Limits(max_speed=1.0, max_acceleration=0.1, max_jerk=0.1)
    assert schedule(plan, chunk, 0, plain) == schedule(plan, chunk, 0, shaping)
