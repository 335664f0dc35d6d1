"""Tests of onbeat.read.ros_messages: what messages say, as objects, as mappings."""

from typing import Any

import numpy as np
import pytest

from onbeat.read.ros_messages import digest, field, samples, short, stamp_ns, wants_values
from tests.read.ros_build import ROS2, START_NS, header, imu, joint_state, quaternion, transforms, xyz

NAMES = ROS2.types


def test_types_are_known_by_their_last_name() -> None:
    assert [short(name) for name in ("sensor_msgs/msg/Imu", "sensor_msgs/Imu", "foxglove.Imu", "a::Imu", "Imu")] == ["Imu"] * 5


def test_pictures_and_scans_need_no_decoding() -> None:
    assert not wants_values("sensor_msgs/msg/Image")
    assert not wants_values("sensor_msgs/msg/LaserScan")
    assert wants_values("my/msg/Thing")


def test_field_reaches_into_objects_and_mappings() -> None:
    assert field({"a": {"b": 3}}, "a", "b") == 3
    assert field(imu(7, (0.0, 0.0, 0.0)), "header", "stamp", "nanosec") == 7
    assert field({"a": None}, "a", "b") is None


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"header": {"stamp": {"secs": 3, "nsecs": 4}}}, 3_000_000_004),
        ({"timestamp": {"seconds": 3, "nanos": 4}}, 3_000_000_004),
        ({"timestamp": 1_700_000_000.5}, 1_700_000_000_500_000_000),
        ({"timestamp": 1_700_000_000_500}, 1_700_000_000_500_000_000),
        ({"timestamp": 1_700_000_000_500_000}, 1_700_000_000_500_000_000),
        ({"timestamp_us": 12}, 12_000),
        ({"stamp_ns": 12}, 12),
        ({"timestamp": 12.5}, 12_500_000_000),
        ({"timestamp": 12}, None),  # of what?
        ({"stamp_ns": 2**70}, None),
        ({"timestamp": {"seconds": 2**62, "nanos": 0}}, None),
        ({"timestamp": float("nan")}, None),
        ({"timestamp": "2026-01-01"}, None),
        ({"x": 1}, None),
    ],
)
def test_stamp_of_what_unit_it_states(message: dict[str, Any], expected: int | None) -> None:
    assert stamp_ns(message) == expected


def test_imu_gives_its_rate_alone() -> None:
    (one,) = samples(imu(START_NS, (1.0, 2.0, 3.0)), "sensor_msgs/msg/Imu")
    assert (one.kind, one.columns, one.values, one.stamp_ns) == ("rotation", ("x", "y", "z"), (1.0, 2.0, 3.0), START_NS)


def test_pose_is_position_and_quaternion_with_w_first() -> None:
    pose = NAMES["geometry_msgs/msg/Pose"](position=xyz(1.0, 2.0, 3.0, "Point"), orientation=quaternion(0.5))
    stamped = NAMES["geometry_msgs/msg/PoseStamped"](header=header(START_NS), pose=pose)
    twist = NAMES["geometry_msgs/msg/Twist"](linear=xyz(0, 0, 0), angular=xyz(0, 0, 0))
    odometry = NAMES["nav_msgs/msg/Odometry"](
        header=header(START_NS),
        child_frame_id="base",
        pose=NAMES["geometry_msgs/msg/PoseWithCovariance"](pose=pose, covariance=np.zeros(36)),
        twist=NAMES["geometry_msgs/msg/TwistWithCovariance"](twist=twist, covariance=np.zeros(36)),
    )
    for message in (stamped, odometry):
        (one,) = samples(message, message.__msgtype__)
        assert one.kind == "pose"
        assert one.columns == ("x", "y", "z", "qw", "qx", "qy", "qz")
        assert one.values == (1.0, 2.0, 3.0, 0.5, 0.0, 0.0, 0.0)


def test_transforms_are_one_content_each() -> None:
    found = samples(transforms(START_NS, "a", "b"), "tf2_msgs/msg/TFMessage", "/tf")
    assert [(one.part, one.stamp_ns) for one in found] == [("a", START_NS), ("b", START_NS)]


def test_trajectory_is_the_position_asked_first() -> None:
    message = {"joint_names": ["a", "b"], "points": [{"positions": [0.1, 0.2]}, {"positions": [0.3, 0.4]}]}
    (one,) = samples(message, "trajectory_msgs/msg/JointTrajectory")
    assert (one.kind, one.columns, one.values) == ("action", ("a", "b"), (0.1, 0.2))


def test_controller_state_is_what_was_asked_beside_what_was_read() -> None:
    message = {"joint_names": ["a"], "reference": {"positions": [0.1]}, "feedback": {"positions": [0.2]}}
    found = samples(message, "control_msgs/msg/JointTrajectoryControllerState")
    assert [(one.kind, one.part, one.values) for one in found] == [("joints", "", (0.2,)), ("action", "desired", (0.1,))]


def test_joints_without_names_are_numbered() -> None:
    (one,) = samples({"position": [0.1, 0.2]}, "JointState")
    assert one.columns == ("0", "1")


def test_joint_states_of_foxglove() -> None:
    (one,) = samples({"joints": [{"name": "a", "position": 0.5}, {"name": "b"}]}, "foxglove.JointStates")
    assert one.columns == ("a", "b")
    np.testing.assert_array_equal(one.values, (0.5, np.nan))


def test_joint_state_without_positions_says_its_time_only() -> None:
    (one,) = samples(joint_state(START_NS, ("a",), ()), "sensor_msgs/msg/JointState")
    assert (one.kind, one.values, one.stamp_ns) == ("other", (), START_NS)


def test_few_numbers_are_named_by_their_fields() -> None:
    (one,) = samples({"header": {"stamp": {"sec": 1, "nanosec": 0}}, "a": {"b": 1}, "c": [2.0, 3.0], "d": "text"}, "")
    assert (one.kind, one.columns, one.values) == ("numbers", ("a.b", "c[0]", "c[1]"), (1.0, 2.0, 3.0))


@pytest.mark.parametrize("message", [{"data": list(range(100))}, {"data": [{"a": 1}]}, {"text": "x"}, {}])
def test_many_numbers_lists_of_things_and_texts_are_no_values(message: dict[str, Any]) -> None:
    (one,) = samples(message, "")
    assert (one.kind, one.values) == ("other", ())


def test_exposure_and_count_of_a_picture() -> None:
    (one,) = samples({"seq": 4, "exposure_us": 1500, "stamp_ns": 9}, "Image")
    assert (one.kind, one.seq, one.exposure_ns, one.stamp_ns) == ("image", 4, 1_500_000, 9)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ({"json_data": '{"frame_number":7,"actual_exposure":8300,"gain_level":16}'}, "realsense2_camera_msgs/msg/Metadata"),
        ({"exposure_time": 8300, "gain": 2.5, "camera_time": 9}, "flir_camera_msgs/msg/ImageMetaData"),
    ],
)
def test_exposure_said_beside_a_frame(message: dict[str, object], kind: str) -> None:
    (one,) = samples({**message, "stamp_ns": 9}, kind)
    assert (one.exposure_ns, one.stamp_ns) == (8_300_000, 9)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"actual_exposure":null}', '{"actual_exposure":"8"}', '["actual_exposure"]', '{"actual_exposure":-1}'],
)
def test_metadata_without_an_exposure_says_none(text: str) -> None:
    (one,) = samples({"json_data": text, "stamp_ns": 9}, "Metadata")
    assert (one.exposure_ns, one.stamp_ns) == (None, 9)


def test_digest_sees_one_bit() -> None:
    assert digest(b"abc") == digest(b"abc") != digest(b"abb")
    assert 0 <= digest(bytes(100)) < 2**64


@pytest.mark.parametrize("seq", [2**70, -(2**64), "7", 1.5])
def test_count_that_64_bits_do_not_hold_is_none(seq: Any) -> None:
    pose = {"translation": {"x": 1, "y": 2, "z": 3}, "rotation": {"x": 0, "y": 0, "z": 0, "w": 1}}
    for kind in ("FrameTransform", "X"):
        (one,) = samples({"header": {"seq": seq}, **pose}, kind)
        assert one.seq is None
