"""Tests of onbeat.read.rosbag1: the records of small bags made byte by byte."""

import bz2
import struct
from io import BytesIO
from pathlib import Path

import pytest

from onbeat.errors import Damaged
from onbeat.read.rosbag1 import MAGIC, bag_messages
from onbeat.read.stored import Stored


def sized(content: bytes) -> bytes:
    return struct.pack("<I", len(content)) + content


def fields(**named: bytes) -> bytes:
    return b"".join(sized(name.encode() + b"=" + value) for name, value in named.items())


def record(data: bytes = b"", **named: bytes) -> bytes:
    return sized(fields(**named)) + sized(data)


def number(value: int) -> bytes:
    return struct.pack("<I", value)


def head(index: int) -> bytes:
    return record(b" " * 20, op=b"\3", index_pos=struct.pack("<Q", index), conn_count=number(1), chunk_count=number(1))


ABOUT = fields(topic=b"/a", type=b"std_msgs/Empty", md5sum=b"*", message_definition=b"")
CONNECTION = record(ABOUT, op=b"\7", conn=number(0), topic=b"/a")
MESSAGE = record(b"data", op=b"\2", conn=number(0), time=struct.pack("<II", 1, 500_000_000))


def chunk(content: bytes, compression: bytes = b"none", size: int | None = None) -> bytes:
    packed = bz2.compress(content) if compression == b"bz2" else content
    return record(packed, op=b"\5", compression=compression, size=number(len(content) if size is None else size))


def messages(content: bytes) -> list[Stored]:
    return list(bag_messages(Path("a.bag"), BytesIO(content), len(content)))


@pytest.mark.parametrize("compression", [b"none", b"bz2"])
def test_messages_of_a_chunk(compression: bytes) -> None:
    found = messages(MAGIC + head(9) + chunk(CONNECTION + MESSAGE + MESSAGE, compression) + CONNECTION)
    assert [(one.what.topic, one.what.type_name, one.log_ns, one.data) for one in found] == [
        ("/a", "std_msgs/Empty", 1_500_000_000, b"data")
    ] * 2
    assert found[0].what is found[1].what


START = MAGIC + head(9) + chunk(CONNECTION + MESSAGE)


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        (b"\0", "ends early"),
        (chunk(MESSAGE)[:-1], "ends early"),
        (struct.pack("<I", 2**31), "ends early"),
        (bytes(8), "has a record without op"),
        (record(op=b"\5"), "has a record without size"),
        (record(op=b"\5", size=b"\0"), "has a record with a field of the wrong length"),
        (sized(sized(b"no sign")) + sized(b""), "has a header that is none"),
        (chunk(MESSAGE[:-1]), "has a record that reaches beyond its chunk"),
        (chunk(MESSAGE, size=2**31), "has a chunk of 2147483648 bytes"),
        (chunk(MESSAGE, size=5), r"has a chunk of \d+ bytes that should have 5"),
        (chunk(MESSAGE, b"gzip"), "has a chunk packed by b'gzip'"),
        (chunk(MESSAGE, b"lz4"), "has a chunk that lz4 cannot unpack"),
        (record(op=b"\2", conn=number(7), time=bytes(8)), "has a message of a connection that it never introduced,"),
        (record(op=b"\2", conn=number(0), time=bytes(3)), "has a record with a field of the wrong length"),
        (record(op=b"\7", conn=number(1)), "has a record without topic"),
        (head(0), "was never closed and ends"),
    ],
    ids=range(16),
)
def test_damage_is_named_after_what_could_be_read(rest: bytes, why: str) -> None:
    found = bag_messages(Path("a.bag"), BytesIO(START + rest), len(START + rest))
    assert next(found).data == b"data"
    said = (
        rf"a\.bag {why}.* at byte \d+ of \d+; 1 messages of 1 connections up to log time 1\.500 s could be read; rosbag reindex"
    )
    with pytest.raises(Damaged, match=said):
        list(found)
