"""The records of a ROS 1 bag in the order of the file, chunk by chunk, up to the first byte that cannot be right.

The format is the one of http://wiki.ros.org/Bags/Format/2.0. Its index is not needed: a bag whose recorder died has none. No
length is trusted.
"""

import bz2
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from onbeat.errors import Damaged
from onbeat.read.decode import Description
from onbeat.read.stored import Stored

__all__ = ("MAGIC", "bag_messages")

MAGIC = b"#ROSBAG V2.0\n"

_MOST = 1 << 28  # bytes of a record or of a chunk's content
_LENGTH = struct.Struct("<I")
_MESSAGE, _HEADER, _CHUNK, _CONNECTION = 2, 3, 5, 7
_Fields = dict[bytes, bytes]


class _BagError(Exception):
    pass


def bag_messages(path: Path, stream: BinaryIO, size: int) -> Iterator[Stored]:
    """Give all messages of a bag.

    Args:
        path: Its name, for sentences.
        stream: Opened at its beginning.
        size: Bytes of the file.

    Raises:
        Damaged: after the last message that could be read; the sentence says where, why and how much that was.
    """
    connections: dict[bytes, Description] = {}
    seen: set[bytes] = set()
    count, newest_ns, at, unfinished = 0, 0, len(MAGIC), False
    stream.seek(at)
    try:
        while at < size:
            begin = at
            fields, at = _fields(_sized(stream, at, size)), stream.tell()
            data, at = _sized(stream, at, size), stream.tell()
            for inner, inner_data in _content(fields, data) if _op(fields) == _CHUNK else ((fields, data),):
                if _op(inner) == _CONNECTION:
                    connections.setdefault(_field(inner, b"conn"), _description(inner, inner_data))
                elif _op(inner) == _MESSAGE:
                    number, time = _field(inner, b"conn"), _field(inner, b"time")
                    if number not in connections:
                        raise _BagError("has a message of a connection that it never introduced,")
                    seconds, nanos = struct.unpack("<II", time)
                    log_ns = seconds * 1_000_000_000 + nanos
                    count, newest_ns = count + 1, max(newest_ns, log_ns)
                    seen.add(number)
                    yield Stored(connections[number], 0, log_ns, inner_data)
            # A bag whose recorder died still has the header that it began with, which names no index.
            unfinished = fields.get(b"index_pos") == bytes(8) if _op(fields) == _HEADER else unfinished
        if unfinished:
            begin = size
            raise _BagError("was never closed and ends")
    except (_BagError, struct.error) as error:
        why = str(error) if isinstance(error, _BagError) else "has a record with a field of the wrong length"
        read = "none of its messages could be read"
        if count:
            read = f"{count} messages of {len(seen)} connections up to log time {newest_ns / 1e9:.3f} s could be read"
        raise Damaged(f"{path} {why} at byte {begin} of {size}; {read}; rosbag reindex mends what is whole") from None


def _sized(stream: BinaryIO, at: int, size: int) -> bytes:
    """Read what has its length before it."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise _BagError("ends early")
    (length,) = _LENGTH.unpack(head)
    if length > size - at - _LENGTH.size:
        raise _BagError("ends early")
    if length > _MOST:
        raise _BagError(f"has a record of {length} bytes")
    content = stream.read(length)
    if len(content) < length:
        raise _BagError("ends early")
    return content


def _fields(header: bytes | memoryview) -> _Fields:
    """Read name=value pairs, each with its length before it."""
    fields: _Fields = {}
    at = 0
    while at < len(header):
        (length,) = _LENGTH.unpack_from(header, at)
        end = at + _LENGTH.size + length
        name, equals, value = bytes(header[at + _LENGTH.size : end]).partition(b"=")
        if end > len(header) or not equals:
            raise _BagError("has a header that is none")
        fields[name], at = value, end
    return fields


def _field(fields: _Fields, name: bytes) -> bytes:
    if name not in fields:
        raise _BagError(f"has a record without {name.decode()}")
    return fields[name]


def _op(fields: _Fields) -> int:
    return int.from_bytes(_field(fields, b"op"), "little")


def _content(fields: _Fields, data: bytes) -> Iterator[tuple[_Fields, bytes]]:
    """Give the records of a chunk."""
    (size,) = _LENGTH.unpack(_field(fields, b"size"))
    content = memoryview(_unpacked(data, _field(fields, b"compression"), size))
    if len(content) != size:
        raise _BagError(f"has a chunk of {len(content)} bytes that should have {size}")
    at = 0
    while at < size:
        parts = []
        for _ in range(2):
            (length,) = _LENGTH.unpack_from(content, at)
            at += _LENGTH.size
            if length > size - at:
                raise _BagError("has a record that reaches beyond its chunk")
            parts.append(content[at : at + length])
            at += length
        yield _fields(parts[0]), bytes(parts[1])


def _unpacked(data: bytes, compression: bytes, size: int) -> bytes:
    if size > _MOST:
        raise _BagError(f"has a chunk of {size} bytes")
    if compression == b"none":
        return data
    try:
        if compression == b"bz2":
            return bz2.BZ2Decompressor().decompress(data, max_length=size)
        if compression == b"lz4":
            from lz4.frame import LZ4FrameDecompressor

            return bytes(LZ4FrameDecompressor().decompress(data, max_length=size))
    except (OSError, ValueError, RuntimeError, EOFError, MemoryError) as error:
        raise _BagError(f"has a chunk that {compression.decode()} cannot unpack ({error})") from None
    raise _BagError(f"has a chunk packed by {compression!r}, which onbeat does not know,")


def _description(fields: _Fields, data: bytes) -> Description:
    about = _fields(data)
    topic = about.get(b"topic") or _field(fields, b"topic")
    return Description(
        topic.decode(errors="replace"),
        "ros1",
        _field(about, b"type").decode(errors="replace"),
        "ros1msg",
        about.get(b"message_definition", b""),
    )
