"""Where the numbers of a ROS message lie, learned from one message, so that the next ones of the same shape need no decoding.

A text or a list moves what stands behind it. Two messages of one length whose bytes agree up to the end of the last text or list
before the numbers have them in the same place.
"""

import struct
from collections.abc import Mapping
from typing import Any

from onbeat.read.ros_messages import Content, short

__all__ = ("Layouts",)

_STAMP = 12  # bytes at the front that hold the stamp, in CDR and in ROS 1
_MOST = 8  # shapes of one topic that are kept
# The field at which the numbers begin, and how many they are; None: a list says that.
_BEGIN: Mapping[str, tuple[str, int | None]] = {
    "Imu": ("angular_velocity", 3),
    "JointState": ("position", None),
    "Odometry": ("pose", 7),
    "PoseStamped": ("pose", 7),
    "PoseWithCovarianceStamped": ("pose", 7),
    "TransformStamped": ("transform", 7),
    "TwistStamped": ("twist", 6),
}
_BASE, _NAME, _SEQUENCE = 1, 2, 4  # kinds of fields, as rosbags numbers them
_SIZES = {"bool": 1, "byte": 1, "char": 1, "octet": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4}
_SIZES |= {"float32": 4, "int64": 8, "uint64": 8, "float64": 8}


class Layouts:
    """The shapes that the messages of one topic have had.

    Args:
        store: The types, as `rosbags` has them.
        type_name: Of the messages; they begin with a header.
        ros1: Whether they are serialised as ROS 1 does it, else CDR.
    """

    def __init__(self, store: Any, type_name: str, ros1: bool) -> None:
        self._store = store
        self._type = type_name
        self._ros1 = ros1
        self._wanted = _BEGIN.get(short(type_name))
        self._known: dict[int, list[tuple[bytes, int, struct.Struct, Content]]] = {}
        self._head = b"" if ros1 else b"\0\1"  # CDR with the low end first
        self._count = 0

    def values(self, data: bytes) -> tuple[Content, tuple[float, ...]] | None:
        """Give a message of the same shape that was learned, and the values of this one; None where there was none."""
        for prefix, at, numbers, like in self._known.get(len(data), ()):
            if data.startswith(prefix, _STAMP) and data.startswith(self._head):
                return like, _ordered(like, numbers.unpack_from(data, at))
        return None

    def learn(self, data: bytes, content: Content) -> None:
        """Learn the shape of a message from what decoding it gave; a shape that does not give the same is forgotten.

        Zeros stand in many places: a message without another number shows nothing.
        """
        if self._wanted is None or not any(content.values) or self._count >= _MOST or not data.startswith(self._head):
            return
        name, count = self._wanted
        try:
            fixed, at = _Walk(self._store, data, self._ros1).find(self._type, name)
            numbers = struct.Struct(f"<{len(content.values) if count is None else count}d")
            found = _ordered(content, numbers.unpack_from(data, at))
        except (struct.error, KeyError, ValueError, TypeError):
            return
        if struct.pack(f"<{len(found)}d", *found) == struct.pack(f"<{len(content.values)}d", *content.values):
            self._known.setdefault(len(data), []).append((data[_STAMP:fixed], at, numbers, content))
            self._count += 1


def _ordered(like: Content, values: tuple[float, ...]) -> tuple[float, ...]:
    """Put w first in a pose."""
    return (*values[:3], values[6], *values[3:6]) if like.kind == "pose" else values


class _Walk:
    """Goes through one message as its type says."""

    def __init__(self, store: Any, data: bytes, ros1: bool) -> None:
        self._store = store
        self._data = data
        self._aligned = not ros1
        self._start = 0 if ros1 else 4
        self._at = self._start
        self._fixed = _STAMP

    def find(self, type_name: str, field: str) -> tuple[int, int]:
        """Give where the last text or list before a field ends, and where its numbers begin."""
        for name, (node, inner) in self._store.fielddefs[type_name][1]:
            if name == field:
                if node == _SEQUENCE:
                    self._length()
                self._align(8)
                return self._fixed, self._at
            self._skip(node, inner)
        raise KeyError(field)

    def _skip(self, node: int, inner: Any) -> None:
        if node == _BASE:
            if inner[0] in ("string", "wstring"):
                length = self._length()
                self._at += length
                self._fixed = self._at
            else:
                self._align(_SIZES[inner[0]])
                self._at += _SIZES[inner[0]]
        elif node == _NAME:
            for _, (child, deeper) in self._store.fielddefs[inner][1]:
                self._skip(child, deeper)
        else:
            (child, deeper), count = inner
            for _ in range(self._length() if node == _SEQUENCE else count):
                if self._at > len(self._data):
                    raise ValueError
                self._skip(child, deeper)

    def _length(self) -> int:
        self._align(4)
        (length,) = struct.unpack_from("<I", self._data, self._at)
        self._at += 4
        self._fixed = self._at
        return int(length)

    def _align(self, size: int) -> None:
        if self._aligned:
            self._at += -(self._at - self._start) % size
