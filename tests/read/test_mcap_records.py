"""Tests of onbeat.read.mcap_records: the records of small files made byte by byte."""

import struct
import zlib
from io import BytesIO
from pathlib import Path

import pytest

from onbeat.errors import Damaged
from onbeat.read.mcap_records import MAGIC, McapRecords


def record(kind: int, content: bytes) -> bytes:
    return struct.pack("<BQ", kind, len(content)) + content


def text(value: str) -> bytes:
    return struct.pack("<I", len(value)) + value.encode()


HEADER = record(1, text("ros2") + text("test"))
CHANNEL = record(4, struct.pack("<HH", 1, 0) + text("/a") + text("json") + struct.pack("<I", 0))
MESSAGE = record(5, struct.pack("<HIQQ", 1, 7, 1_500_000_000, 4) + b"data")
END = record(15, bytes(4)) + record(2, bytes(20)) + MAGIC


def chunk(content: bytes, compression: str = "", size: int | None = None, crc: int | None = None) -> bytes:
    size = len(content) if size is None else size
    crc = zlib.crc32(content) if crc is None else crc
    return record(6, struct.pack("<QQQI", 0, 0, size, crc) + text(compression) + struct.pack("<Q", len(content)) + content)


def records(content: bytes) -> McapRecords:
    return McapRecords(Path("a.mcap"), BytesIO(content), len(content))


def test_messages_of_and_outside_chunks() -> None:
    found = records(MAGIC + HEADER + CHANNEL + MESSAGE + chunk(MESSAGE + MESSAGE) + END)
    assert [tuple(message) for message in found.messages()] == [(1, 7, 1_500_000_000, b"data")] * 3
    assert (found.profile, found.channels[1].topic, found.channels[1].encoding) == ("ros2", "/a", "json")


def test_unknown_records_are_passed_over() -> None:
    assert len(list(records(MAGIC + HEADER + CHANNEL + record(200, b"?") + MESSAGE + END).messages())) == 1


def test_metadata_is_kept_by_name() -> None:
    pairs = text("k") + text("v")
    found = records(MAGIC + record(12, text("onbeat") + struct.pack("<I", len(pairs)) + pairs) + END)
    assert list(found.messages()) == []
    assert found.metadata == {"onbeat": {"k": "v"}}


START = MAGIC + HEADER + CHANNEL + MESSAGE


@pytest.mark.parametrize(
    ("rest", "why"),
    [
        (b"", "ends early"),
        (MESSAGE[:-1], "ends early"),
        (record(15, bytes(4)), "ends early"),
        (END[:-1], "ends early"),
        (bytes(9), "has no record, only a zero,"),
        (HEADER + struct.pack("<BQ", 5, 2**62), "ends early"),
        (record(5, b"short"), "has a message that is too short"),
        (record(5, struct.pack("<HIQQ", 9, 0, 0, 0)), "has a message of channel 9"),
        (record(5, struct.pack("<HIQQ", 1, 0, 2**64 - 1, 0)), "has a message logged at 18446744073709551615 ns"),
        (record(4, b"\0"), r"has a record \(kind 4\) that is too short"),
        (record(4, struct.pack("<HHI", 2, 0, 2**31)), "has a text that reaches beyond"),
        (chunk(MESSAGE, crc=5), "has a chunk whose checksum"),
        (chunk(MESSAGE, size=2**40), "has a chunk of 1099511627776 bytes"),
        (chunk(MESSAGE, size=3), "has a chunk of 35 bytes that should have 3"),
        (chunk(MESSAGE[:-1]), r"has a record \(kind 5\) that reaches beyond its chunk"),
        (chunk(MESSAGE, "brotli"), "has a chunk packed by 'brotli'"),
        (chunk(MESSAGE, "zstd"), "has a chunk that zstd cannot unpack"),
        (chunk(MESSAGE, "lz4"), "has a chunk that lz4 cannot unpack"),
        (record(15, struct.pack("<I", 5)), "has data whose checksum"),
    ],
    ids=range(19),
)
def test_damage_is_named_after_what_could_be_read(rest: bytes, why: str) -> None:
    found = records(START + rest)
    messages = found.messages()
    assert next(messages).data == b"data"
    with pytest.raises(Damaged, match=rf"a\.mcap {why}.* at byte \d+ of \d+; 1 messages of 1 channels up to log time 1\.500 s"):
        list(messages)


def test_chunk_that_claims_little_and_holds_much_is_not_unpacked() -> None:
    zstandard = pytest.importorskip("zstandard")
    bomb = zstandard.ZstdCompressor().compress(bytes(100_000_000))
    with pytest.raises(Damaged, match="holds more than it says"):
        list(records(START + chunk(bomb, "zstd", size=10, crc=0)).messages())


def test_chunk_of_zeros_is_damage_at_its_first_byte() -> None:
    found = records(MAGIC + HEADER + CHANNEL + MESSAGE + chunk(bytes(10_000)) + END)
    with pytest.raises(Damaged, match="has a chunk with no record in it, only a zero"):
        list(found.messages())


def test_message_whose_length_leads_to_no_record_is_refused() -> None:
    long = struct.pack("<BQ", 5, len(MESSAGE) - 9 + 3) + MESSAGE[9:]
    found = records(START + long + MESSAGE * 3 + END)
    messages = found.messages()
    assert [next(messages).data for _ in range(4)] == [b"data"] * 4
    with pytest.raises(Damaged, match=rf"29 bytes.*at byte {len(START)} of .* {len(long)} bytes from there on were passed over"):
        next(messages)


def test_length_that_leads_too_far_is_found_behind_it() -> None:
    index = struct.pack("<BQ", 7, 500) + bytes(10)  # it has 10 bytes
    found = records(START + index + chunk(MESSAGE) + chunk(MESSAGE * 50) + END)
    messages = found.messages()
    assert [next(messages).sequence for _ in range(52)] == [7] * 52
    with pytest.raises(Damaged, match=rf"length leads to none at byte {len(START)} .* 52 messages .* 19 bytes from there on"):
        next(messages)


def test_messages_of_a_channel_that_nothing_introduces_cost_themselves_only() -> None:
    other = record(5, struct.pack("<HIQQ", 9, 0, 0, 0))
    messages = records(START + chunk(MESSAGE + other + MESSAGE + other) + chunk(other + MESSAGE) + END).messages()
    assert [next(messages).channel for _ in range(4)] == [1] * 4
    with pytest.raises(Damaged, match=r"of channel 9.*44 bytes from there on were passed over.*and 22 bytes in 1 other place"):
        next(messages)


def test_channel_of_a_damaged_chunk_is_taken_from_the_summary() -> None:
    before = MAGIC + HEADER + chunk(CHANNEL + MESSAGE, crc=5) + chunk(MESSAGE * 2) + record(15, bytes(4))
    content = before + CHANNEL + record(2, struct.pack("<QQI", len(before), 0, 0)) + MAGIC
    messages = records(content).messages()
    assert [next(messages).data for _ in range(2)] == [b"data"] * 2
    with pytest.raises(Damaged, match=r"checksum.*2 messages.*passed over, before log time 1\.500 s"):
        next(messages)


class Sparse(BytesIO):
    """A file with a hole: so many zeros after its first bytes, which no test has to hold."""

    def __init__(self, before: bytes, hole: int, after: bytes) -> None:
        super().__init__()
        self.parts = ((0, before), (len(before) + hole, after))
        self.at = self.longest = 0

    def seek(self, at: int, whence: int = 0) -> int:
        assert whence == 0
        self.at = at
        return at

    def tell(self) -> int:
        return self.at

    def read(self, size: int | None = -1) -> bytes:
        assert size is not None
        end = self.parts[1][0] + len(self.parts[1][1])
        size = end - self.at if size < 0 else max(min(size, end - self.at), 0)
        self.longest = max(self.longest, size)
        out = bytearray(size)
        for begin, data in self.parts:
            first, last = max(begin, self.at), min(begin + len(data), self.at + size)
            if first < last:
                out[first - self.at : last - self.at] = data[first - begin : last - begin]
        self.at += size
        return bytes(out)


def test_attachment_longer_than_memory_should_hold_is_passed_over() -> None:
    hole = (1 << 28) + 5
    before = MAGIC + HEADER + CHANNEL + struct.pack("<BQ", 9, hole)
    stream = Sparse(before, hole, MESSAGE + END)
    found = McapRecords(Path("a.mcap"), stream, len(before) + hole + len(MESSAGE + END))
    assert len(list(found.messages())) == 1
    assert stream.longest <= 1 << 20
