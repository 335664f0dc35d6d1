"""Messages and files of other programs, written by their own libraries: what the tests of the readers read."""

import struct
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from mcap.writer import CompressionType, Writer
from rosbags.typesys import Stores, get_typestore

START_NS = 1_700_000_000_000_000_000
ROS2 = get_typestore(Stores.ROS2_HUMBLE)
ROS1 = get_typestore(Stores.ROS1_NOETIC)


def header(t_ns: int, ros1: bool = False, seq: int = 0) -> Any:
    types = (ROS1 if ros1 else ROS2).types
    stamp: Any = types["builtin_interfaces/msg/Time"](sec=t_ns // 10**9, nanosec=t_ns % 10**9)
    fields = {"seq": seq} if ros1 else {}
    return types["std_msgs/msg/Header"](stamp=stamp, frame_id="base", **fields)


def xyz(x: float, y: float, z: float, name: str = "Vector3") -> Any:
    return ROS2.types[f"geometry_msgs/msg/{name}"](x=x, y=y, z=z)


def quaternion(w: float = 1.0) -> Any:
    return ROS2.types["geometry_msgs/msg/Quaternion"](x=0.0, y=0.0, z=0.0, w=w)


def imu(t_ns: int, rate: Sequence[float], ros1: bool = False, seq: int = 0) -> Any:
    return ROS2.types["sensor_msgs/msg/Imu"](
        header=header(t_ns, ros1, seq),
        orientation=quaternion(),
        orientation_covariance=np.zeros(9),
        angular_velocity=xyz(rate[0], rate[1], rate[2]),
        angular_velocity_covariance=np.zeros(9),
        linear_acceleration=xyz(0.0, 0.0, 9.81),
        linear_acceleration_covariance=np.zeros(9),
    )


def joint_state(t_ns: int, names: Sequence[str], position: Sequence[float]) -> Any:
    empty = np.zeros(0)
    return ROS2.types["sensor_msgs/msg/JointState"](
        header=header(t_ns), name=list(names), position=np.array(position), velocity=empty, effort=empty
    )


def transforms(t_ns: int, *children: str) -> Any:
    inner = ROS2.types["geometry_msgs/msg/Transform"](translation=xyz(1.0, 2.0, 3.0), rotation=quaternion())
    stamped = ROS2.types["geometry_msgs/msg/TransformStamped"]
    listed: Any = [stamped(header=header(t_ns), child_frame_id=child, transform=inner) for child in children]
    return ROS2.types["tf2_msgs/msg/TFMessage"](transforms=listed)


def image(t_ns: int, picture: Any, encoding: str = "mono8") -> Any:
    height, width = picture.shape[:2]
    return ROS2.types["sensor_msgs/msg/Image"](
        header=header(t_ns),
        height=height,
        width=width,
        encoding=encoding,
        is_bigendian=0,
        step=picture.nbytes // height,
        data=np.frombuffer(picture.tobytes(), dtype=np.uint8),
    )


def cdr(message: Any, little_endian: bool = True) -> bytes:
    return bytes(ROS2.serialize_cdr(message, message.__msgtype__, little_endian=little_endian))


def definition(type_name: str) -> bytes:
    text, _ = ROS2.generate_msgdef(type_name, ros_version=2)
    return text.encode()


def write_mcap(
    path: Path,
    messages: Iterable[tuple[str, str, str, bytes, int, bytes]],
    profile: str = "",
    compression: CompressionType = CompressionType.ZSTD,
    chunk_size: int = 4096,
    metadata: Any = None,
    idl: bool = False,
    **options: Any,
) -> Path:
    """Write messages given as topic, encoding, type, schema, log time and data."""
    languages = {"cdr": "ros2idl" if idl else "ros2msg", "ros1": "ros1msg", "protobuf": "protobuf", "json": "jsonschema"}
    stream = BytesIO()
    writer: Any = Writer(stream, compression=compression, chunk_size=chunk_size, enable_data_crcs=True, **options)
    writer.start(profile=profile, library="test")
    for name, pairs in (metadata or {}).items():
        writer.add_metadata(name, pairs)
    channels: dict[tuple[str, str, str], int] = {}
    for topic, encoding, type_name, schema, log_ns, data in messages:
        key = (topic, encoding, type_name)
        if key not in channels:
            number = writer.register_schema(type_name, languages.get(encoding, encoding), schema) if type_name else 0
            channels[key] = writer.register_channel(topic, encoding, number)
        writer.add_message(channels[key], log_ns, data, log_ns)
    writer.finish()
    path.write_bytes(stream.getvalue())
    return path


def ros2_mcap(path: Path, messages: Iterable[tuple[str, int, Any]], **options: Any) -> Path:
    """Write ROS 2 messages given as topic, log time and message."""
    rows = ((topic, "cdr", one.__msgtype__, definition(one.__msgtype__), log_ns, cdr(one)) for topic, log_ns, one in messages)
    return write_mcap(path, rows, profile="ros2", **options)


def imus(n: int, period_ns: int = 5_000_000, late_ns: int = 1_000_000) -> Iterable[tuple[str, int, Any]]:
    for k in range(n):
        t_ns = START_NS + k * period_ns
        yield "/imu", t_ns + late_ns, imu(t_ns, (0.1 * k, -0.1, k % 7))


def mcap_head() -> bytes:
    """Give a magic and a header record."""
    return b"\x89MCAP0\r\n" + struct.pack("<BQII", 1, 8, 0, 0)
