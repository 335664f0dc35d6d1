"""Write any recording as an MCAP file of ROS 2 messages, so that other programs can be asked what they make of it."""

import json
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import shake_128
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from onbeat.errors import BadInput
from onbeat.read.streams import StreamInfo, StreamRecording

__all__ = ("write_mcap",)

_SECOND_NS = 1_000_000_000
_METADATA = "realsense2_camera_msgs/msg/Metadata"
_METADATA_TEXT = "std_msgs/Header header\nstring json_data\n"


class _Row(NamedTuple):
    stamp_ns: int
    log_ns: int
    seq: int
    exposure_ns: int
    digest: int
    value: Sequence[float]


class _Form(NamedTuple):
    """How the rows of a stream become messages: the name of their type, and the message of a row."""

    type: str
    message: Callable[[_Row], Any]


def write_mcap(recording: StreamRecording, path: str | Path, image_bytes: int = 0, exposure: bool = True) -> None:
    """Write the streams of a recording, each as messages of a type that has what its rows have, with headers and log times.

    Joints and actions become JointState, rotations Imu, poses PoseStamped, images CompressedImage whose few bytes carry the
    digest, and what has a stamp only, TimeReference. Exposures follow each image on a topic of metadata beside it, under the same
    header, as RealSense's driver gives them. Rows without a log time are logged at their stamp; rows without a stamp become
    messages without a header. MCAP's sequence is the row's count.

    Args:
        recording: Gone through once.
        path: The new file; one that is there is replaced.
        image_bytes: Bytes of each image beside the digest, which they follow from; they cannot be compressed, as in real ones.
        exposure: Whether exposures are written; most drivers give none.

    Raises:
        BadInput: a time does not fit into the format.
    """
    from mcap.writer import CompressionType, Writer

    store = _store()
    with Path(path).open("wb") as file:
        writer: Any = Writer(file, compression=CompressionType.ZSTD)
        writer.start(profile="ros2", library="onbeat")
        forms: dict[str, list[tuple[str, _Form]]] = {}
        schemas: dict[str, int] = {}
        channels: dict[str, int] = {}
        for batch in recording.read():
            fields = batch.rows.dtype.names or ()
            for name, form in _parts(forms, store, batch.info, fields, image_bytes, exposure):
                if name in channels:
                    continue
                if form.type not in schemas:
                    text = store.generate_msgdef(form.type, ros_version=2)[0].encode()
                    schemas[form.type] = writer.register_schema(form.type, "ros2msg", text)
                channels[name] = writer.register_channel(name, "cdr", schemas[form.type])
            parts = forms[batch.info.name]
            for row in _rows(batch.rows):
                if row.log_ns < 0 or not -(2**31) <= row.stamp_ns // _SECOND_NS < 2**31:
                    raise BadInput(
                        f"{batch.info.name}: a row at {row.stamp_ns} ns, logged at {row.log_ns} ns, is beyond what ROS 2 can say"
                    )
                for name, form in parts:
                    data = bytes(store.serialize_cdr(form.message(row), form.type))
                    writer.add_message(channels[name], row.log_ns, data, row.log_ns, row.seq & 0xFFFFFFFF)
        writer.finish()


def _parts(
    forms: dict[str, list[tuple[str, _Form]]],
    store: Any,
    info: StreamInfo,
    fields: tuple[str, ...],
    image_bytes: int,
    exposure: bool,
) -> list[tuple[str, _Form]]:
    """Give the topics of a stream with their forms: its own, and that of the exposures where there are any."""
    if info.name not in forms:
        forms[info.name] = [(info.name, _form(store, info, fields, image_bytes))]
        if exposure and info.kind == "image" and {"stamp_ns", "exposure_ns"} <= set(fields):
            forms[info.name].append((f"{info.name.rsplit('/', 1)[0]}/metadata", _metadata(store)))
    return forms[info.name]


def _metadata(store: Any) -> _Form:
    """Say of a frame what RealSense's driver says: counts, instants in ms, the exposure in us."""
    header_type, time_type = store.types["std_msgs/msg/Header"], store.types["builtin_interfaces/msg/Time"]

    def message(row: _Row) -> Any:
        told = {
            "frame_number": row.seq,
            "clock_domain": "global_time",
            "frame_timestamp": row.stamp_ns / 1e6,
            "actual_exposure": row.exposure_ns // 1000,
            "auto_exposure": 1,
        }
        header = header_type(time_type(row.stamp_ns // _SECOND_NS, row.stamp_ns % _SECOND_NS), "")
        return store.types[_METADATA](header, json.dumps(told))

    return _Form(_METADATA, message)


@cache
def _store() -> Any:
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    store.register(get_types_from_msg(_METADATA_TEXT, _METADATA))
    return store


def _rows(rows: np.ndarray) -> list[_Row]:
    names = rows.dtype.names or ()
    zeros = [0] * len(rows)
    column = {field: rows[field].tolist() if field in names else zeros for field in ("seq", "exposure_ns", "digest")}
    stamp, log = (rows[field if field in names else other].tolist() for field, other in _EITHER)
    values = rows["value"] if "value" in names else np.zeros((len(rows), 0))
    return list(map(_Row, stamp, log, column["seq"], column["exposure_ns"], column["digest"], values))


_EITHER = (("stamp_ns", "log_ns"), ("log_ns", "stamp_ns"))


def _form(store: Any, info: StreamInfo, fields: tuple[str, ...], image_bytes: int) -> _Form:
    types = store.types
    no_numbers, nine = np.zeros(0), np.zeros(9)
    header_type, time_type = types["std_msgs/msg/Header"], types["builtin_interfaces/msg/Time"]

    vector, still = types["geometry_msgs/msg/Vector3"], types["geometry_msgs/msg/Quaternion"](0.0, 0.0, 0.0, 1.0)
    gravity = vector(0.0, 0.0, 9.81)

    def header(row: _Row) -> Any:
        return header_type(time_type(row.stamp_ns // _SECOND_NS, row.stamp_ns % _SECOND_NS), "")

    def joints(row: _Row) -> Any:
        return types["sensor_msgs/msg/JointState"](header(row), list(names), np.array(row.value), no_numbers, no_numbers)

    def imu(row: _Row) -> Any:
        rate = vector(*map(float, row.value))
        return types["sensor_msgs/msg/Imu"](header(row), still, nine, rate, nine, gravity, nine)

    def pose(row: _Row) -> Any:
        x, y, z, qw, qx, qy, qz = map(float, row.value)
        point, turn = types["geometry_msgs/msg/Point"](x, y, z), types["geometry_msgs/msg/Quaternion"](qx, qy, qz, qw)
        return types["geometry_msgs/msg/PoseStamped"](header(row), types["geometry_msgs/msg/Pose"](point, turn))

    def image(row: _Row) -> Any:
        return types["sensor_msgs/msg/CompressedImage"](header(row), "made", _payload(row, image_bytes))

    def numbers(row: _Row) -> Any:
        layout = types["std_msgs/msg/MultiArrayLayout"]([], 0)
        return types["std_msgs/msg/Float64MultiArray"](layout, np.array(row.value))

    def said(row: _Row) -> Any:
        return types["std_msgs/msg/String"](f"said {row.digest:x}")

    def timed(row: _Row) -> Any:
        return types["sensor_msgs/msg/TimeReference"](header(row), time_type(0, 0), f"{row.digest:x}")

    names = info.columns or tuple(f"column_{k}" for k in range(32))
    if "stamp_ns" not in fields:
        return _Form("std_msgs/msg/Float64MultiArray", numbers) if "value" in fields else _Form("std_msgs/msg/String", said)
    if info.kind == "image":
        return _Form("sensor_msgs/msg/CompressedImage", image)
    if "value" not in fields:
        return _Form("sensor_msgs/msg/TimeReference", timed)
    by_kind = {
        "rotation": _Form("sensor_msgs/msg/Imu", imu),
        "pose": _Form("geometry_msgs/msg/PoseStamped", pose),
    }
    return by_kind.get(info.kind, _Form("sensor_msgs/msg/JointState", joints))


def _payload(row: _Row, more: int) -> Any:
    """Give the digest and what follows from it; no decoder takes it for a picture."""
    digest = row.digest.to_bytes(8, "little")
    return np.frombuffer(digest + shake_128(digest).digest(56 + more), dtype=np.uint8)
