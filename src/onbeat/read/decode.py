"""How the bytes of a message become what it says, for each encoding: CDR, ROS 1, protobuf, JSON.

The stamp of a ROS message whose first field is a header lies at its front and is read without decoding the rest. What cannot be
decoded keeps its log time.
"""

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from onbeat.read.layout import Layouts
from onbeat.read.ros_messages import Content, digest, is_motion, samples, short, wants_values

__all__ = ("Decoder", "Description", "decoder_of", "onbeat_reading", "picture_of")

Decoder = Callable[[bytes], Sequence[Content]]

_TIMES_ONLY = (Content(),)
_DIGESTED = ("Image", "CompressedImage", "CompressedVideo", "RawImage", "PointCloud2", "PointCloud", "LaserScan")
_MOVING = ("joints", "action", "pose", "rotation", "image")
_MOST_UNROLLED = 10_000
_TIME_KEYS = ("header", "timestamp", "stamp", "stamp_ns", "timestamp_ns", "capture_ns", "t_ns", "time_ns", "seq", "receive_ns")
# What a message that is not what its type says makes of the code that rosbags generates for the type, and of `samples`.
_UNREADABLE = (
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    IndexError,
    OverflowError,
    struct.error,
    RecursionError,
    MemoryError,
)


@dataclass(frozen=True, slots=True, eq=False)
class Description:
    """What a file says of the messages of a topic, compared by identity.

    Args:
        topic: Where they were sent.
        encoding: "cdr", "ros1", "protobuf", "json"; of anything else only log times are known.
        type_name: Like sensor_msgs/msg/Imu, sensor_msgs/Imu, foxglove.FrameTransform; "" for none.
        language: Of the schema: "ros2msg", "ros2idl", "ros1msg", "protobuf", "jsonschema", "".
        schema: The definition of the type, as the file has it.
    """

    topic: str
    encoding: str
    type_name: str
    language: str = ""
    schema: bytes = b""


def decoder_of(what: Description) -> tuple[Decoder, str]:
    """Give what decodes the messages of a topic, and what it cannot tell of them, "" for nothing."""
    if what.encoding in ("cdr", "ros1"):
        return _ros(what)
    if what.encoding == "protobuf":
        return _protobuf(what)
    if what.encoding == "json":
        return _json(what), ""
    named = f"encoded as {what.encoding!r}" if what.encoding else "of no encoding that the file names"
    return _times_only, f"its messages are {named}: only their log times are known"


def onbeat_reading(data: bytes) -> Sequence[Content]:
    """Decode a reading that onbeat's `Recorder` wrote; nothing where it is none. Its log time is when it was in hand."""
    reading = _json_object(data)
    try:
        value, span = reading["value"], int(reading["span_ns"])
        values = tuple(float(number) for number in value or ())
        columns = tuple(str(k) for k in range(len(values)))
        kind = "image" if value is None else "numbers"
        return (Content(kind, "", columns, values, int(reading["capture_ns"]), int(reading["seq"]), span or None),)
    except _UNREADABLE:
        return ()


def picture_of(what: Description) -> Callable[[bytes], Any]:
    """Give what decodes whole messages of a topic of pictures; it gives None for one that is broken."""
    if what.encoding == "json":
        return _json_object
    if what.encoding == "protobuf":
        from google.protobuf.message import DecodeError

        make = _protobuf_class(what)

        def parsed(data: bytes) -> Any:
            message = make()
            try:
                message.ParseFromString(data)
            except DecodeError:
                return None
            return message

        return parsed
    from rosbags.serde import SerdeError

    store, _ = _ros_store(what)
    full = _full(what.type_name)
    read = store.deserialize_ros1 if what.encoding == "ros1" else store.deserialize_cdr

    def decoded(data: bytes) -> Any:
        try:
            return read(data, full)
        except (SerdeError, *_UNREADABLE):
            return None

    return decoded


def _ros(what: Description) -> tuple[Decoder, str]:
    from rosbags.serde import SerdeError

    store, trouble = _ros_store(what)
    full, ros1 = _full(what.type_name), what.encoding == "ros1"
    try:
        store.get_msgdef(full)
    except (SerdeError, *_UNREADABLE):
        return _times_only, trouble or f"its type {what.type_name} is not defined in the file: only its log times are known"
    at = _front(store, full, ros1)
    digested, deep, moves = short(full) in _DIGESTED, wants_values(full), is_motion(full)
    layouts = Layouts(store, full, ros1) if at else None
    kind = "image" if "Image" in short(full) or "Video" in short(full) else "other"
    read = store.deserialize_ros1 if ros1 else store.deserialize_cdr

    def shallow(data: bytes) -> Content:
        stamp, seq = _front_stamp(data, ros1) if at else (None, None)
        return Content(kind, stamp_ns=stamp, seq=seq, digest=digest(memoryview(data)[12:] if at else data) if digested else None)

    def decoder(data: bytes) -> Sequence[Content]:
        nonlocal deep
        if not deep:
            return (shallow(data),)
        known = layouts.values(data) if layouts is not None else None
        if known is not None:
            like, values = known
            stamp, seq = _front_stamp(data, ros1)
            rest = digest(memoryview(data)[12:]) if like.kind in _MOVING else None
            return (Content(like.kind, "", like.columns, values, stamp, seq, None, rest),)
        try:
            found = samples(read(data, full), full, what.topic)
        except (SerdeError, *_UNREADABLE):
            return (shallow(data),)
        if len(found) != 1 or found[0].part:
            return found
        (one,) = found
        if one.exposure_ns is not None:  # said beside a frame, in a text or a field that a layout leaves out
            return found
        if layouts is not None:
            layouts.learn(data, one)
        if one.kind in _MOVING:
            return (_with_digest(one, digest(memoryview(data)[12:] if at else data)),)
        # A type without numbers has none in its next message either.
        deep = one.kind != "other" or moves or (one.stamp_ns is not None and not at)
        return found

    return decoder, ""


def _ros_store(what: Description) -> tuple[Any, str]:
    """Give a type as `rosbags` wants it, with all that it is made of, and what could not be understood, "" for nothing.

    What the definition leaves out is taken from ROS itself (Noetic, Humble).
    """
    from rosbags.typesys import Stores, TypesysError, get_types_from_idl, get_types_from_msg, get_typestore

    definition, ros1 = what.schema.decode(errors="replace"), what.encoding == "ros1"
    store, trouble = get_typestore(Stores.EMPTY), ""
    found: dict[str, Any] = {}
    try:
        if what.language == "ros2idl":
            # Several files in one text are parted by lines of "=" and their names.
            for part in definition.split("=" * 80 + "\n"):
                if part.strip():
                    found.update(get_types_from_idl(part.split("\n", 1)[1] if part.startswith("IDL: ") else part))
        elif definition.strip():
            found = get_types_from_msg(definition, what.type_name)
        found = {name: fields for name, fields in found.items() if name not in store.fielddefs}
        known = {**store.fielddefs, **found}
        missing = [_full(what.type_name), *_parts(found)]
        while missing:
            name = missing.pop()
            if name not in known:
                plain = get_typestore(Stores.ROS1_NOETIC if ros1 else Stores.ROS2_HUMBLE).fielddefs
                if name in plain:
                    known[name] = found[name] = plain[name]
                    missing += _parts({name: plain[name]})
        if (count := _unrolled(found)) > _MOST_UNROLLED:
            raise ValueError(f"{count} texts or messages in fixed arrays")
        store.register(found)
    except (TypesysError, SyntaxError, *_UNREADABLE) as error:
        trouble = (
            f"the definition of its type {what.type_name} cannot be understood ({_said(error)}): only its log times are known"
        )
        store = get_typestore(Stores.EMPTY)
    return store, trouble


def _protobuf(what: Description) -> tuple[Decoder, str]:
    try:
        make = _protobuf_class(what)
    except (*_UNREADABLE, _SchemaError) as error:
        return _times_only, f"its protobuf schema cannot be understood ({_said(error)}): only its log times are known"
    from google.protobuf.message import DecodeError

    def decoder(data: bytes) -> Sequence[Content]:
        message = make()
        try:
            message.ParseFromString(data)
            found = samples(message, what.type_name, what.topic)
        except (DecodeError, *_UNREADABLE):
            return _TIMES_ONLY
        if len(found) == 1 and (found[0].kind in _MOVING or short(what.type_name) in _DIGESTED) and found[0].digest is None:
            for name in ("timestamp", "stamp", "header"):
                if name in message.DESCRIPTOR.fields_by_name:
                    message.ClearField(name)
            found = [_with_digest(found[0], digest(message.SerializePartialToString(deterministic=True)))]
        return found

    return decoder, ""


def _json(what: Description) -> Decoder:
    def decoder(data: bytes) -> Sequence[Content]:
        try:
            message = _json_object(data)
            if message is None:
                return _TIMES_ONLY
            found = samples(message, what.type_name, what.topic)
        except _UNREADABLE:
            return _TIMES_ONLY
        if len(found) == 1 and (found[0].kind in _MOVING or short(what.type_name) in _DIGESTED) and found[0].digest is None:
            rest = {key: value for key, value in message.items() if key not in _TIME_KEYS}
            found = [_with_digest(found[0], digest(repr(rest).encode(errors="replace")))]
        return found

    return decoder


def _with_digest(content: Content, value: int) -> Content:
    """Give the content with its digest."""
    return content._replace(digest=value)


class _SchemaError(Exception):
    pass


def _times_only(data: bytes) -> Sequence[Content]:
    return _TIMES_ONLY


def _json_object(data: bytes) -> Any:
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def _parts(fielddefs: Mapping[str, Any]) -> list[str]:
    """Give the types that fields name, also within arrays."""
    from rosbags.interfaces import Nodetype

    names = []
    for _, fields in fielddefs.values():
        for _, (node, inner) in fields:
            while node in (Nodetype.ARRAY, Nodetype.SEQUENCE):
                node, inner = inner[0]
            if node == Nodetype.NAME:
                names.append(inner)
    return names


def _unrolled(fielddefs: Mapping[str, Any]) -> int:
    """Count the elements of fixed arrays for which rosbags writes a line of code each."""
    from rosbags.interfaces import Nodetype

    nodes = [kind for _, fields in fielddefs.values() for _, kind in fields]
    arrays = [inner for node, inner in nodes if node == Nodetype.ARRAY]
    return sum(count for (node, inner), count in arrays if node == Nodetype.NAME or inner[0] in ("string", "wstring"))


def _full(type_name: str) -> str:
    parts = type_name.split("/")
    return f"{parts[0]}/msg/{parts[-1]}" if len(parts) == 2 else type_name


def _front(store: Any, full: str, ros1: bool) -> bool:
    """Say whether a message of the type begins with a header, or (ROS 2) with a time."""
    fields = store.fielddefs[full][1]
    if not fields:
        return False
    first = fields[0][1][1]
    return first == "std_msgs/msg/Header" or (not ros1 and first == "builtin_interfaces/msg/Time")


def _front_stamp(data: bytes, ros1: bool) -> tuple[int | None, int | None]:
    """Read the stamp, and ROS 1's count, at the front of a message."""
    if len(data) < 12:
        return None, None
    if ros1:
        seq, seconds, nanos = struct.unpack_from("<III", data)
        return seconds * 1_000_000_000 + nanos, seq
    # The second byte of CDR's own header says which end comes first.
    seconds, nanos = struct.unpack_from("<iI" if data[1] & 1 else ">iI", data, 4)
    return seconds * 1_000_000_000 + nanos, None


def _protobuf_class(what: Description) -> Any:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import DecodeError
    from google.protobuf.message_factory import GetMessageClass

    try:
        files = {one.name: one for one in FileDescriptorSet.FromString(what.schema).file}
        pool = DescriptorPool()

        def add(name: str) -> None:
            one = files.pop(name, None)
            if one is not None:
                for needed in one.dependency:
                    add(needed)
                pool.Add(one)

        while files:
            add(next(iter(files)))
        return GetMessageClass(pool.FindMessageTypeByName(what.type_name))
    except (DecodeError, KeyError, TypeError, RecursionError) as error:
        raise _SchemaError(_said(error)) from None


def _said(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:100]
