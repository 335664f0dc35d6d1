"""What a robot's message says: its own time, its values and what they are, whether ROS, protobuf or JSON carried it.

The types are known by their last name: ``sensor_msgs/msg/Imu``, ``sensor_msgs/Imu`` and a JSON object of schema ``Imu`` mean the
same. Sources of the fields: the ROS common interfaces and the Foxglove schemas.
"""

import json
import re
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import nan
from typing import Any, NamedTuple

import numpy as np

__all__ = ("Content", "digest", "field", "is_motion", "is_picture", "samples", "short", "stamp_ns", "wants_values")

_WIDEST = 32  # numbers of a message that is no motion; beyond, they are data, not figures
_EARLIEST_NS, _LATEST_NS = -(1 << 63), (1 << 63) - 1
_PICTURES = {"Image", "CompressedImage", "CompressedVideo", "RawImage"}
_SCANS = {"PointCloud2", "PointCloud", "LaserScan"}
# Their numbers are settings, texts and lists, no measurement.
_SPEECHLESS = {"CameraInfo", "CameraCalibration", "Clock", "Log", "OccupancyGrid", "ParameterEvent", "DiagnosticArray"}
_TIMES = ("timestamp", "stamp", "stamp_ns", "timestamp_ns", "capture_ns", "t_ns", "time_ns", "stamp_us", "timestamp_us")
_SCALES = {"_ns": 1, "_us": 1_000, "_ms": 1_000_000}
_PAIRS = (("sec", "nanosec"), ("sec", "nsec"), ("seconds", "nanos"), ("secs", "nsecs"))
_QUATERNION = ("x", "y", "z", "qw", "qx", "qy", "qz")
_ASKED = re.compile(r"(command|commands|cmd|goal|target|desired|reference|action)s?$", re.I)


class Content(NamedTuple):
    """What one message says of one stream.

    Args:
        kind: One of `onbeat.read.streams.KINDS`.
        part: Which of several streams of the topic: a child frame, "desired"; "" for the only one.
        columns: Names of the values.
        values: As many; empty where the message has none.
        stamp_ns: When its source says that it was true; None where it does not.
        seq: The source's own count, None without.
        exposure_ns: How long the sensor looked, None where that is not said.
        digest: Of the content without its times, None where equal content means nothing.
    """

    kind: str = "other"
    part: str = ""
    columns: tuple[str, ...] = ()
    values: tuple[float, ...] = ()
    stamp_ns: int | None = None
    seq: int | None = None
    exposure_ns: int | None = None
    digest: int | None = None


def short(type_name: str) -> str:
    """Give the last name of a type."""
    return re.split(r"[/.:]", type_name)[-1]


def wants_values(type_name: str) -> bool:
    """Say whether a message of that type must be decoded, because it may hold motion or a few numbers."""
    return short(type_name) not in _PICTURES | _SCANS | _SPEECHLESS


def is_motion(type_name: str) -> bool:
    """Say whether messages of that type carry motion, though one of them may be empty."""
    return short(type_name) in _MOTION


def is_picture(type_name: str) -> bool:
    """Say whether messages of that type carry one picture each."""
    return short(type_name) in _PICTURES


def digest(data: bytes | memoryview) -> int:
    """Give 64 bits that differ where the content differs."""
    return zlib.crc32(data) | zlib.adler32(data) << 32


def field(message: Any, *names: str) -> Any:
    """Give a field of a field of a message, be it an object or a mapping; None where there is none."""
    for name in names:
        message = message.get(name) if isinstance(message, dict) else getattr(message, name, None)
        if message is None:
            return None
    return message


def stamp_ns(message: Any) -> int | None:
    """Give when the source of a message says that it was true, ns; None where it does not, or says a time beyond int64."""
    stamp = _instant(field(message, "header", "stamp"), "")
    for name in _TIMES:
        if stamp is not None:
            break
        stamp = _instant(field(message, name), name)
    return stamp if stamp is not None and _EARLIEST_NS <= stamp <= _LATEST_NS else None


def samples(message: Any, type_name: str, topic: str = "") -> list[Content]:
    """Give what a decoded message says: one content per stream that it speaks of; none for an empty list of transforms.

    Args:
        message: An object of `rosbags`, a protobuf message, or a mapping.
        type_name: Its type, "" where it has none.
        topic: Where it was sent: a JointState sent to a topic of commands is a command.

    Raises:
        TypeError, ValueError, AttributeError, OverflowError: the message is not what its type says.
    """
    kind = short(type_name)
    if kind in _PICTURES:
        return [_content(message, "image")]
    if kind in ("TFMessage", "tfMessage", "FrameTransforms"):
        transforms = field(message, "transforms") or ()
        # What never moves is said once, by many frames at a time: no stream of poses.
        return (
            [Content(stamp_ns=stamp_ns(one)) for one in transforms[:1]]
            if topic.endswith("tf_static")
            else [*map(_transform, transforms)]
        )
    if kind == "FrameTransform":
        return [_transform(message)]
    if kind in ("JointTrajectoryControllerState", "JointControllerState") and field(message, "joint_names") is not None:
        return list(_controller(message))
    read = _MOTION.get(kind)
    found = read(message) if read is not None else None
    if found is None:
        numbers = None if kind in _SPEECHLESS | _SCANS else _numbers(message)
        found = ("numbers", *numbers) if numbers else ("other", (), ())
    what, columns, values = found
    if what == "joints" and kind.startswith("JointState") and _ASKED.search(topic):
        what = "action"
    one = _content(message, what, columns, values)
    beside = _exposure_beside(message, kind)
    return [one if beside is None else one._replace(exposure_ns=beside)]


def _content(message: Any, kind: str, columns: tuple[str, ...] = (), values: tuple[float, ...] = (), part: str = "") -> Content:
    return Content(
        kind,
        part,
        columns,
        values,
        stamp_ns(message),
        _seq(message),
        _exposure_ns(message),
    )


def _seq(message: Any) -> int | None:
    """Give the source's own count; None where it has none that 64 bits hold."""
    seq = field(message, "header", "seq")
    seq = field(message, "seq") if seq is None else seq
    return int(seq) if isinstance(seq, int) and _EARLIEST_NS <= seq <= _LATEST_NS else None


# Times


def _instant(value: Any, name: str) -> int | None:
    """Read a time: a pair of seconds and nanoseconds, or a number whose unit the name says or whose size leaves no doubt."""
    if value is None or isinstance(value, bool | str):
        return None
    if isinstance(value, int | float):
        return _scaled(value, name)
    for whole, rest in _PAIRS:
        seconds, nanos = field(value, whole), field(value, rest)
        if isinstance(seconds, int | float) and isinstance(nanos, int | float):
            return int(seconds) * 1_000_000_000 + int(nanos)
    return None


def _scaled(value: float, name: str) -> int | None:
    if value != value or abs(value) > _LATEST_NS:
        return None
    scale = _SCALES.get(name[-3:])
    if scale is None:
        # Since 2001 a time in ns, us, ms and s has at least 18, 15, 12 and 9 digits: no two of them can be mistaken.
        scale = next((s for least, s in ((1e17, 1), (1e14, 1_000), (1e11, 1_000_000)) if value >= least), 1_000_000_000)
        if scale == 1_000_000_000 and isinstance(value, int) and value < 100_000_000:
            return None
    return value * scale if isinstance(value, int) else round(value * scale)


def _exposure_ns(message: Any) -> int | None:
    for name, scale in (("exposure_ns", 1), ("exposure_time_ns", 1), ("exposure_us", 1_000), ("exposure_ms", 1_000_000)):
        value = field(message, name)
        if isinstance(value, int | float) and 0 <= value * scale <= _LATEST_NS:
            return int(value * scale)
    return None


def _exposure_beside(message: Any, kind: str) -> int | None:
    """Give the exposure that a driver says of a frame in a message beside it, ns; their unit is the microsecond.

    RealSense's Metadata is JSON in a text; FLIR's and Spinnaker's ImageMetaData has a field.
    """
    if kind == "ImageMetaData":
        return _exposure_ns({"exposure_us": field(message, "exposure_time")})
    text = field(message, "json_data") if kind == "Metadata" else None
    if not isinstance(text, str) or "actual_exposure" not in text:
        return None
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return _exposure_ns({"exposure_us": told.get("actual_exposure")}) if isinstance(told, dict) else None


# Motion

_Found = tuple[str, tuple[str, ...], tuple[float, ...]] | None


def _vector(value: Any, names: Iterable[str] = "xyz") -> tuple[float, ...]:
    return tuple(float(field(value, name)) for name in names)


def _pose(position: Any, rotation: Any) -> _Found:
    if position is None or rotation is None:
        return None
    return "pose", _QUATERNION, _vector(position) + _vector(rotation, "wxyz")


def _transform(one: Any) -> Content:
    inner = field(one, "transform") or one
    found = _pose(field(inner, "translation"), field(inner, "rotation"))
    kind, columns, values = found or ("other", (), ())
    parent = field(one, "parent_frame_id") or field(one, "header", "frame_id") or ""
    packed = str(parent).encode() + struct.pack(f"<{len(values)}d", *values)
    child = str(field(one, "child_frame_id") or "")
    return Content(kind, child, columns, values, stamp_ns(one), _seq(one), None, digest(packed))


def _joints(message: Any) -> _Found:
    if field(message, "joints") is not None:
        states = field(message, "joints")
        names = [str(field(state, "name")) for state in states]
        positions = [field(state, "position") for state in states]
        return _named("joints", names, [nan if position is None else position for position in positions])
    names = field(message, "name")
    names = field(message, "names") if names is None else names
    position = field(message, "position")
    return _named("joints", names, field(message, "positions") if position is None else position)


def _named(kind: str, names: Any, values: Any) -> _Found:
    if values is None or not len(values):
        return None
    numbers = tuple(float(value) for value in values)
    listed = tuple(str(name) for name in names) if names is not None and not isinstance(names, str) else ()
    return kind, listed if len(listed) == len(numbers) else tuple(str(k) for k in range(len(numbers))), numbers


def _trajectory(message: Any) -> _Found:
    points = field(message, "points")
    if not points:
        return None
    return _named("action", field(message, "joint_names"), field(points[0], "positions"))


def _controller(message: Any) -> Iterator[Content]:
    for part, kind, names in (("", "joints", ("feedback", "actual")), ("desired", "action", ("reference", "desired"))):
        for name in names:
            found = _named(kind, field(message, "joint_names"), field(message, name, "positions"))
            if found is not None:
                yield _content(message, kind, found[1], found[2], part)
                break


def _twist(message: Any) -> _Found:
    twist = field(message, "twist") or message
    columns = ("linear.x", "linear.y", "linear.z", "angular.x", "angular.y", "angular.z")
    return "numbers", columns, _vector(field(twist, "linear")) + _vector(field(twist, "angular"))


def _imu(message: Any) -> _Found:
    rate = field(message, "angular_velocity")
    return None if rate is None else ("rotation", ("x", "y", "z"), _vector(rate))


def _pose_of(message: Any) -> _Found:
    pose = field(message, "pose") or message
    pose = field(pose, "pose") or pose
    return _pose(field(pose, "position"), field(pose, "orientation"))


def _transform_of(message: Any) -> _Found:
    inner = field(message, "transform") or message
    return _pose(field(inner, "translation"), field(inner, "rotation"))


_MOTION: Mapping[str, Callable[[Any], _Found]] = {
    "Imu": _imu,
    "IMU": _imu,
    "JointState": _joints,
    "JointStates": _joints,
    "JointTrajectory": _trajectory,
    "Odometry": _pose_of,
    "Pose": _pose_of,
    "PoseStamped": _pose_of,
    "PoseInFrame": _pose_of,
    "PoseWithCovariance": _pose_of,
    "PoseWithCovarianceStamped": _pose_of,
    "Transform": _transform_of,
    "TransformStamped": _transform_of,
    "Twist": _twist,
    "TwistStamped": _twist,
}


# Other numbers


def _items(message: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(message, dict):
        yield from ((str(name), value) for name, value in message.items())
    elif hasattr(message, "__dataclass_fields__"):
        yield from ((name, getattr(message, name)) for name in message.__dataclass_fields__ if not name.startswith("_"))
    elif hasattr(message, "DESCRIPTOR"):
        yield from ((one.name, getattr(message, one.name)) for one in message.DESCRIPTOR.fields)


def _numbers(message: Any) -> tuple[tuple[str, ...], tuple[float, ...]] | None:
    """Give the numbers of a message, by name; None where there are none, too many, or lists of anything else."""
    columns: list[str] = []
    values: list[float] = []
    if not _flatten(message, "", columns, values, 0) or not 0 < len(columns) <= _WIDEST:
        return None
    return tuple(columns), tuple(values)


def _flatten(message: Any, prefix: str, columns: list[str], values: list[float], depth: int) -> bool:
    for name, value in _items(message):
        if (name in ("header", "layout", "seq", *_TIMES) and depth == 0) or isinstance(value, str | bytes) or value is None:
            continue
        if isinstance(value, int | float):
            columns.append(prefix + name)
            values.append(float(value))
        elif isinstance(value, np.ndarray) or (hasattr(value, "__len__") and not isinstance(value, dict)):
            if len(value) + len(columns) > _WIDEST or not all(isinstance(one, int | float | np.number) for one in value):
                return False
            columns += [f"{prefix}{name}[{k}]" for k in range(len(value))]
            values += [float(one) for one in value]
        elif depth > 3 or (_instant(value, "") is None and not _flatten(value, f"{prefix}{name}.", columns, values, depth + 1)):
            return False
    return True
