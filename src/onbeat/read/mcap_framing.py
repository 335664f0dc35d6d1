"""Where may a record of an MCAP file begin? Told by the framing alone, to go on after a place that is damaged.

A record is a kind, a length and so many bytes. No length is trusted: where one leads to nothing that looks like another record,
it is wrong.
"""

import struct
from typing import BinaryIO

import numpy as np

__all__ = ("CHUNK", "DATA_END", "HEAD", "MESSAGE", "MOST", "find_record", "plausible", "summary_start")

MOST = 1 << 28  # bytes of a record, or of a chunk's content
HEAD = struct.Struct("<BQ")
MESSAGE, CHUNK, ATTACHMENT, DATA_END = 5, 6, 9, 15
_FIRST_PRIVATE = 0x80
_PIECE = 1 << 18
_LONGEST_SUMMARY = 1 << 25
_CHAIN = 4  # records in a row, which no content resembles by chance
_CHUNK_TEXT = 28  # bytes before the name of its compression
_COMPRESSIONS = frozenset((b"", b"lz4", b"zstd"))
_LEAST = {MESSAGE: 22, CHUNK: 40, DATA_END: 4}  # bytes of a record's content


def plausible(stream: BinaryIO, at: int, size: int, records: int = 1) -> bool:
    """Say whether so many records may begin at a place one after the other, or whether nothing more was written there.

    The last of them may be cut off, as where a recorder was killed.
    """
    for _ in range(records):
        if at >= size:
            return True
        stream.seek(at)
        head = stream.read(HEAD.size)
        if not any(head):
            return True
        if not _known(head[0]):
            return False
        if len(head) < HEAD.size:
            return True
        kind, length = HEAD.unpack(head)
        if length > MOST and kind != ATTACHMENT:
            return False
        at += HEAD.size + length
    return True


def find_record(stream: BinaryIO, begin: int, size: int, *, chunked: bool) -> int | None:
    """Find the next record that is whole and looked at.

    Args:
        stream: The file.
        begin: The first byte where it may begin.
        size: Bytes of the file.
        chunked: Its messages lie in chunks, so that one outside is none.

    Returns:
        Where it begins; None where there is none.
    """
    kinds = np.array([CHUNK, DATA_END] if chunked else [MESSAGE, CHUNK, DATA_END], dtype=np.uint8)
    for first in range(begin, size, _PIECE):
        stream.seek(first)
        piece = stream.read(_PIECE + HEAD.size - 1)
        if piece.count(0) == len(piece):
            continue
        levels = np.frombuffer(piece, dtype=np.uint8)
        n = len(levels) - HEAD.size + 1
        if n < 1:
            return None
        may = np.isin(levels[:n], kinds) & (levels[4 : n + 4] < MOST >> 24)
        for k in range(5, HEAD.size):
            may &= levels[k : n + k] == 0
        for at in (np.flatnonzero(may) + first).tolist():
            if _begins(stream, at, size) and plausible(stream, at, size, _CHAIN):
                return int(at)
    return None


def summary_start(stream: BinaryIO, size: int) -> int | None:
    """Give where the summary begins: after the last end of data, wherever the footer says that it is; None where there is none.

    What was cut out of the file or put into it has moved the summary.
    """
    first = max(size - _LONGEST_SUMMARY, 0)
    stream.seek(first)
    at = stream.read().rfind(HEAD.pack(DATA_END, _LEAST[DATA_END]))
    return None if at < 0 else first + at + HEAD.size + _LEAST[DATA_END]


def _known(kind: int) -> bool:
    return 1 <= kind <= DATA_END or kind >= _FIRST_PRIVATE


def _begins(stream: BinaryIO, at: int, size: int) -> bool:
    """Say whether a record of a kind that is looked at fits there; of a chunk, whether its own lengths agree."""
    stream.seek(at)
    kind, length = HEAD.unpack(stream.read(HEAD.size))
    if length < _LEAST[kind] or at + HEAD.size + length > size:
        return False
    if kind == DATA_END:
        return bool(length == _LEAST[kind])
    if kind == MESSAGE:
        return True
    content = stream.read(min(length, _LEAST[kind] + 4))  # as far as the longest name of a compression
    (named,) = struct.unpack_from("<I", content, _CHUNK_TEXT)
    name = content[_CHUNK_TEXT + 4 : _CHUNK_TEXT + 4 + named]
    if name not in _COMPRESSIONS:
        return False
    (stored,) = struct.unpack_from("<Q", content, _CHUNK_TEXT + 4 + named)
    return bool(stored == length - _LEAST[kind] - named)
