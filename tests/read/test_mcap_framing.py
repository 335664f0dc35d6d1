"""Tests of onbeat.read.mcap_framing: files of the library's own writer with one place damaged, its index as the truth."""

import struct
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.reader import make_reader
from mcap.writer import CompressionType

from onbeat.errors import Damaged
from onbeat.read.mcap_framing import find_record, plausible, summary_start
from onbeat.read.mcap_records import McapRecords
from tests.read.ros_build import write_mcap

N = 120


def messages() -> Iterator[tuple[str, str, str, bytes, int, bytes]]:
    for k in range(N):
        yield f"/{'ab'[k % 2]}", "json", "t", b"{}", 10**9 + k, b'{"k": %d, "text": "%s"}' % (k, bytes([97 + k % 26]) * 30)


@cache
def whole(compression: CompressionType) -> tuple[bytes, list[tuple[int, int, int, int]]]:
    """A file, and of each chunk: first byte, past its last, first and last log time."""
    with TemporaryDirectory() as folder:
        path = write_mcap(Path(folder) / "a.mcap", messages(), compression=compression, chunk_size=1000)
        content = path.read_bytes()
    summary = make_reader(BytesIO(content)).get_summary()
    assert summary is not None
    chunks = [
        (one.chunk_start_offset, one.chunk_start_offset + one.chunk_length, one.message_start_time, one.message_end_time)
        for one in summary.chunk_indexes
    ]
    assert len(chunks) > 5
    return content, chunks


def given_by(content: bytes) -> tuple[list[int], str]:
    """Log times of the messages that can be read, and what is said of the others."""
    found: list[int] = []
    try:
        for message in McapRecords(Path("a.mcap"), BytesIO(content), len(content)).messages():
            found.append(message.log_ns)
            assert b'{"k": %d,' % (message.log_ns - 10**9) in message.data
    except Damaged as error:
        return found, str(error)
    return found, ""


@settings(max_examples=300)
@given(st.data())
def test_one_damaged_chunk_costs_no_message_of_another(data: st.DataObject) -> None:
    content, chunks = whole(data.draw(st.sampled_from(list(CompressionType))))
    begin, end, first_ns, last_ns = chunks[data.draw(st.integers(0, len(chunks) - 1))]
    at = data.draw(st.integers(begin, end - 1) | st.integers(begin, begin + 60))
    size = data.draw(st.integers(0, min(end - at, 400)))
    filling = data.draw(st.sampled_from(["zeros", "noise", "nothing", "more"]))
    noise = data.draw(st.randoms(use_true_random=False)).randbytes(max(size, 1))
    new = {"zeros": bytes(size), "noise": noise, "nothing": b"", "more": content[at : at + size] + noise}[filling]
    damaged = content[:at] + new + content[at + size :]
    found, said = given_by(damaged)
    others = [10**9 + k for k in range(N) if not first_ns <= 10**9 + k <= last_ns]
    assert [t_ns for t_ns in found if not first_ns <= t_ns <= last_ns] == others
    assert found == sorted(set(found))
    assert said if damaged != content else not said
    if len(found) < N:
        assert "passed over" in said


def test_what_was_lost_is_told_by_place_and_time() -> None:
    content, chunks = whole(CompressionType.ZSTD)
    begin, end, _, _ = chunks[2]
    _, said = given_by(content[: begin + 50] + bytes(20) + content[begin + 70 :])
    assert f"at byte {begin} of {len(content)}; " in said
    assert f"{end - begin} bytes from there on were passed over, after log time 1.000 s and before log time 1.000 s" in said


def test_two_damaged_chunks_are_both_counted() -> None:
    content, chunks = whole(CompressionType.LZ4)
    spoiled = bytearray(content)
    for begin, end, _, _ in (chunks[1], chunks[4]):
        spoiled[begin + 60 : end - 20] = bytes(end - begin - 80)
    found, said = given_by(bytes(spoiled))
    lost = sum(last - first + 1 for _, _, first, last in (chunks[1], chunks[4]))
    assert len(found) == N - lost
    assert f"and {chunks[4][1] - chunks[4][0]} bytes in 1 other place;" in said


def record(kind: int, content: bytes) -> bytes:
    return struct.pack("<BQ", kind, len(content)) + content


@pytest.mark.parametrize(
    ("content", "may"),
    [
        (record(5, bytes(30)), True),
        (b"", True),
        (bytes(20), True),  # room that was never written
        (record(5, bytes(30))[:12], True),  # cut off
        (record(200, b""), True),  # a kind of its own
        (record(16, b""), False),
        (struct.pack("<BQ", 5, 1 << 40), False),
        (struct.pack("<BQ", 9, 1 << 40), True),  # an attachment
    ],
)
def test_what_may_be_a_record(content: bytes, may: bool) -> None:
    assert plausible(BytesIO(content), 0, len(content), 3) is may


def test_search_passes_over_what_only_resembles_a_record() -> None:
    alike = record(5, bytes(22)) + b"\x77" + record(6, bytes([1] * 40)) + bytes(300_000)
    true = record(5, bytes(22)) * 4
    content = alike + true
    assert find_record(BytesIO(content), 0, len(content), chunked=False) == len(alike)
    assert find_record(BytesIO(content), 0, len(content), chunked=True) is None


def test_summary_is_found_where_the_footer_does_not_say() -> None:
    content, chunks = whole(CompressionType.NONE)
    start = summary_start(BytesIO(content), len(content))
    assert start is not None
    assert content[start] in (3, 4)
    moved = content[: chunks[0][0]] + bytes(7) + content[chunks[0][0] :]
    assert summary_start(BytesIO(moved), len(moved)) == start + 7
    assert summary_start(BytesIO(content[: chunks[3][1]]), chunks[3][1]) is None
