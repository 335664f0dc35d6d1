"""Tests of onbeat.read.layout: numbers at known places are the same as decoded ones."""

import struct
from typing import Any

import numpy as np
import pytest

from onbeat.read.layout import Layouts
from onbeat.read.ros_messages import samples
from tests.read.ros_build import ROS1, ROS2, START_NS, cdr, header, imu, joint_state, quaternion, xyz

IMU = "sensor_msgs/msg/Imu"
JOINTS = "sensor_msgs/msg/JointState"


def learned(message: Any, kind: str, ros1: bool = False) -> tuple[Layouts, bytes]:
    layouts = Layouts(ROS1 if ros1 else ROS2, kind, ros1)
    data = bytes(ROS1.serialize_ros1(message, kind)) if ros1 else cdr(message)
    assert layouts.values(data) is None
    layouts.learn(data, samples(message, kind)[0])
    return layouts, data


@pytest.mark.parametrize("ros1", [False, True])
def test_next_imu_is_read_where_the_first_had_its_rate(ros1: bool) -> None:
    layouts, _ = learned(imu(START_NS, (1.0, 2.0, 3.0), ros1), IMU, ros1)
    later = imu(START_NS + 1, (4.0, 5.0, 6.0), ros1, seq=9)
    data = bytes(ROS1.serialize_ros1(later, IMU)) if ros1 else cdr(later)
    found = layouts.values(data)
    assert found is not None
    assert (found[0].kind, found[1]) == ("rotation", (4.0, 5.0, 6.0))


def test_pose_behind_two_texts_has_w_first() -> None:
    types = ROS2.types
    pose = types["geometry_msgs/msg/Pose"](position=xyz(1.0, 2.0, 3.0, "Point"), orientation=quaternion(0.5))
    still = types["geometry_msgs/msg/Twist"](linear=xyz(0, 0, 0), angular=xyz(0, 0, 0))
    odometry = types["nav_msgs/msg/Odometry"](
        header=header(START_NS),
        child_frame_id="hand",
        pose=types["geometry_msgs/msg/PoseWithCovariance"](pose=pose, covariance=np.zeros(36)),
        twist=types["geometry_msgs/msg/TwistWithCovariance"](twist=still, covariance=np.zeros(36)),
    )
    layouts, data = learned(odometry, "nav_msgs/msg/Odometry")
    found = layouts.values(data)
    assert found is not None
    assert found[1] == (1.0, 2.0, 3.0, 0.5, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("names", [("a", "c"), ("a",), ("abcd", "b"), ("", "bb")])
def test_joints_of_other_names_are_not_taken_for_the_same(names: tuple[str, ...]) -> None:
    layouts, data = learned(joint_state(START_NS, ("a", "b"), (1.0, 2.0)), JOINTS)
    assert layouts.values(data) is not None
    assert layouts.values(cdr(joint_state(START_NS, names, (1.0, 2.0)))) is None


def test_other_end_first_is_not_taken_for_the_same() -> None:
    message = imu(START_NS, (1.0, 2.0, 3.0))
    layouts, _ = learned(message, IMU)
    assert layouts.values(cdr(message, little_endian=False)) is None


def test_missing_number_is_no_difference() -> None:
    layouts, data = learned(imu(START_NS, (float("nan"), 2.0, 3.0)), IMU)
    assert layouts.values(data) is not None


def test_shape_that_gives_other_values_is_not_learned() -> None:
    layouts = Layouts(ROS2, IMU, False)
    message = imu(START_NS, (1.0, 2.0, 3.0))
    data = bytearray(cdr(message))
    data[data.index(struct.pack("<d", 2.0))] ^= 1
    layouts.learn(bytes(data), samples(message, IMU)[0])
    assert layouts.values(bytes(data)) is None


def test_only_some_shapes_are_kept() -> None:
    layouts = Layouts(ROS2, JOINTS, False)
    states = [joint_state(START_NS, tuple("abcdefghijkl"[:n]), (0.5,) * n) for n in range(1, 13)]
    for state in states:
        layouts.learn(cdr(state), samples(state, JOINTS)[0])
    assert sum(layouts.values(cdr(state)) is not None for state in states) == 8


def test_zeros_show_no_shape() -> None:
    layouts, data = learned(imu(START_NS, (0.0, 0.0, 0.0)), IMU)
    assert layouts.values(data) is None
