"""Tests of onbeat.read.decode: CDR, ROS 1, protobuf and JSON messages, whole and broken."""

import json
import struct
from typing import Any

import numpy as np
import pytest

from onbeat.read.decode import Description, decoder_of, onbeat_reading, picture_of
from tests.read.ros_build import ROS1, ROS2, START_NS, cdr, definition, image, imu, joint_state

IMU = "sensor_msgs/msg/Imu"


def described(type_name: str, encoding: str = "cdr", schema: bytes | None = None) -> Description:
    return Description("/a", encoding, type_name, "ros2msg", definition(type_name) if schema is None else schema)


def test_type_without_definition_is_looked_up_in_ros() -> None:
    decode, note = decoder_of(described(IMU, schema=b""))
    assert note == ""
    assert decode(cdr(imu(START_NS, (1.0, 2.0, 3.0))))[0].values == (1.0, 2.0, 3.0)


def test_message_of_ros_1_has_its_count() -> None:
    text, _ = ROS1.generate_msgdef(IMU, ros_version=1)
    decode, _ = decoder_of(Description("/a", "ros1", "sensor_msgs/Imu", "ros1msg", text.encode()))
    data = bytes(ROS1.serialize_ros1(imu(START_NS, (1.0, 2.0, 3.0), ros1=True, seq=5), IMU))
    (one,) = decode(data)
    assert (one.seq, one.stamp_ns, one.values) == (5, START_NS, (1.0, 2.0, 3.0))
    later = bytes(ROS1.serialize_ros1(imu(START_NS + 9, (1.0, 2.0, 3.0), ros1=True, seq=6), IMU))
    assert decode(later)[0].digest == one.digest


def test_broken_message_keeps_the_stamp_at_its_front() -> None:
    decode, _ = decoder_of(described(IMU))
    (one,) = decode(cdr(imu(START_NS, (1.0, 2.0, 3.0)))[:40])
    assert (one.stamp_ns, one.values) == (START_NS, ())
    (one,) = decode(b"\0\1")
    assert one.stamp_ns is None


def test_fast_and_slow_paths_agree_when_the_layout_changes() -> None:
    decode, _ = decoder_of(described("sensor_msgs/msg/JointState"))
    states = [
        (("a", "b"), (1.0, 2.0)),
        (("a", "b"), (3.0, 4.0)),
        (("c", "d"), (5.0, 6.0)),
        (("a",), (7.0,)),
        (("a", "b"), (8.0, 9.0)),
    ]
    for names, position in states * 2:
        (one,) = decode(cdr(joint_state(START_NS, names, position)))
        assert (one.kind, one.columns, one.values, one.stamp_ns) == ("joints", names, position, START_NS)


def test_picture_is_not_decoded_but_digested() -> None:
    decode, _ = decoder_of(described("sensor_msgs/msg/Image"))
    picture = np.zeros((4, 4), dtype=np.uint8)
    (one,), (later,) = decode(cdr(image(START_NS, picture))), decode(cdr(image(START_NS + 1, picture)))
    (other,) = decode(cdr(image(START_NS, picture + 1)))
    assert one.kind == "image"
    assert one.digest == later.digest != other.digest
    whole = picture_of(described("sensor_msgs/msg/Image"))
    assert whole(cdr(image(START_NS, picture))).width == 4
    assert whole(b"\0\1\0\0") is None


def test_type_without_numbers_says_its_times() -> None:
    decode, _ = decoder_of(described("std_msgs/msg/String"))
    message = ROS2.types["std_msgs/msg/String"](data="x")
    for _ in range(2):
        (one,) = decode(cdr(message))
        assert (one.kind, one.stamp_ns, one.digest) == ("other", None, None)


def transform_schema() -> tuple[bytes, Any]:
    """Build foxglove.FrameTransform and foxglove.CompressedImage as far as they are read; give the set and a maker."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2

    kinds = descriptor_pb2.FieldDescriptorProto
    stamp = descriptor_pb2.FileDescriptorProto()
    timestamp_pb2.DESCRIPTOR.CopyToProto(stamp)
    file = descriptor_pb2.FileDescriptorProto(name="f.proto", package="foxglove", syntax="proto3", dependency=[stamp.name])

    def add(name: str, *fields: tuple[str, int, str]) -> None:
        message = file.message_type.add(name=name)
        for number, (field, kind, inner) in enumerate(fields, 1):
            message.field.add(name=field, number=number, type=kind, type_name=inner or None, label=kinds.LABEL_OPTIONAL)

    time = ("timestamp", kinds.TYPE_MESSAGE, ".google.protobuf.Timestamp")
    add("Vector3", *((axis, kinds.TYPE_DOUBLE, "") for axis in "xyz"))
    add("Quaternion", *((axis, kinds.TYPE_DOUBLE, "") for axis in "xyzw"))
    parts = [("translation", kinds.TYPE_MESSAGE, ".foxglove.Vector3"), ("rotation", kinds.TYPE_MESSAGE, ".foxglove.Quaternion")]
    add("FrameTransform", time, ("child_frame_id", kinds.TYPE_STRING, ""), *parts)
    add("CompressedImage", time, ("data", kinds.TYPE_BYTES, ""), ("format", kinds.TYPE_STRING, ""))
    # The dependency stands behind what needs it, as some writers have it.
    pool = descriptor_pool.DescriptorPool()
    pool.Add(stamp)
    pool.Add(file)
    classes = {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"foxglove.{name}"))
        for name in ("FrameTransform", "CompressedImage")
    }
    return descriptor_pb2.FileDescriptorSet(file=[file, stamp]).SerializeToString(), classes


def test_protobuf_of_foxglove() -> None:
    schema, classes = transform_schema()
    decode, note = decoder_of(Description("/tf", "protobuf", "foxglove.FrameTransform", "protobuf", schema))
    assert note == ""
    message = classes["FrameTransform"](child_frame_id="hand")
    message.timestamp.FromNanoseconds(START_NS)
    message.translation.x = 2.0
    message.rotation.w = 1.0
    (one,) = decode(message.SerializeToString())
    assert (one.kind, one.part, one.stamp_ns) == ("pose", "hand", START_NS)
    assert one.values == (2.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
    assert decode(b"\xff\xff")[0].stamp_ns is None


def test_protobuf_picture_has_a_digest_without_its_time() -> None:
    schema, classes = transform_schema()
    what = Description("/c", "protobuf", "foxglove.CompressedImage", "protobuf", schema)
    decode, _ = decoder_of(what)
    digests = []
    for k, data in enumerate((b"a", b"a", b"b")):
        message = classes["CompressedImage"](data=data)
        message.timestamp.FromNanoseconds(START_NS + k)
        (one,) = decode(message.SerializeToString())
        assert (one.kind, one.stamp_ns) == ("image", START_NS + k)
        digests.append(one.digest)
    assert digests[0] == digests[1] != digests[2]
    assert picture_of(what)(classes["CompressedImage"](data=b"x").SerializeToString()).data == b"x"


@pytest.mark.parametrize("schema", [b"", b"\xff\xff", b"\x0a\x02\x0a\x00"])
def test_protobuf_without_its_descriptor_has_log_times_only(schema: bytes) -> None:
    decode, note = decoder_of(Description("/a", "protobuf", "x.Y", "protobuf", schema))
    assert "its protobuf schema cannot be understood" in note
    assert decode(b"")[0].stamp_ns is None


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[1]", b"\xff", b"[" * 100_000, b'{"header": 3, "position": 7}', b'{"t_ns": 1e999}']
)
def test_json_that_is_broken_keeps_its_log_time(data: bytes) -> None:
    decode, _ = decoder_of(Description("/a", "json", "JointState"))
    (one,) = decode(data)
    assert one.stamp_ns is None


def test_json_picture_has_a_digest_without_its_time() -> None:
    decode, _ = decoder_of(Description("/a", "json", "foxglove.CompressedImage"))
    frames = [{"timestamp": {"sec": k, "nsec": 0}, "data": data} for k, data in enumerate("aab")]
    digests = [decode(json.dumps(frame).encode())[0].digest for frame in frames]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("data", [b"", b"{}", b'{"value": [1], "span_ns": null}', struct.pack("<I", 7)])
def test_what_is_no_reading_of_onbeat_gives_nothing(data: bytes) -> None:
    assert onbeat_reading(data) == ()


def test_fixed_array_too_long_to_be_unrolled_leaves_log_times() -> None:
    schema = b"foo/Part[400000000] parts\n" + b"=" * 80 + b"\nMSG: foo/Part\nuint8 a\n"
    decode, note = decoder_of(described("foo/msg/Whole", schema=schema))
    assert "400000000 texts or messages in fixed arrays" in note
    assert [one.stamp_ns for one in decode(bytes(200))] == [None]
