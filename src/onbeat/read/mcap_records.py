"""The records of an MCAP file in the order of the file, chunk by chunk, up to the first byte that cannot be right.

The specification is the one of MCAP (https://mcap.dev/spec). No length is trusted: what a record claims beyond the
file, or beyond 256 MiB, is damage and never an allocation; what is not looked at, as an attachment, may be longer.
"""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from onbeat.errors import Damaged

__all__ = ("MAGIC", "Channel", "McapRecords", "RawMessage", "Schema")

MAGIC = b"\x89MCAP0\r\n"

_MOST = 1 << 28  # bytes of a record or of a chunk's content
_PIECE = 1 << 20  # bytes of what is passed over
_HEADER, _FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _METADATA, _DATA_END = 1, 2, 3, 4, 5, 6, 12, 15
_KNOWN = frozenset((_HEADER, _FOOTER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _METADATA, _DATA_END))
_LATEST_NS = (1 << 63) - 1
_HEAD = struct.Struct("<BQ")
_MESSAGE_HEAD = struct.Struct("<HIQQ")
_LENGTH = struct.Struct("<Q")
_SHORT = struct.Struct("<I")


class Schema(NamedTuple):
    """How the messages of a channel are described: the type's name, the language and the description itself."""

    name: str
    encoding: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Channel:
    """One channel: its topic, how its messages are encoded, and their schema, None where it has none."""

    topic: str
    encoding: str
    schema: Schema | None


class RawMessage(NamedTuple):
    """A message as it is stored: number of its channel, its count, when the recorder had it, and its bytes."""

    channel: int
    sequence: int
    log_ns: int
    data: bytes


class McapRecords:
    """The records of one file; what was read so far is known by its attributes.

    Args:
        path: Its name, for sentences.
        stream: Opened, at its beginning, and long enough for the magic that `onbeat.read.mcap` has looked at.
        size: Bytes of the file.

    Attributes:
        profile: What its writer says of its kind: "ros2", "ros1", "".
        channels: By number.
        metadata: By name.
    """

    def __init__(self, path: Path, stream: BinaryIO, size: int) -> None:
        self.path = path
        self.profile = ""
        self.channels: dict[int, Channel] = {}
        self.metadata: dict[str, MappingProxyType[str, str]] = {}
        self._stream = stream
        self._size = size
        self._schemas: dict[int, Schema] = {}
        self._count = 0
        self._seen: set[int] = set()
        self._newest_ns = 0

    def messages(self) -> Iterator[RawMessage]:
        """Give all messages, once.

        Raises:
            Damaged: after the last message that could be read; the sentence says where, why and how much that was.
        """
        self._stream.seek(len(MAGIC))
        at, crc, ended = len(MAGIC), zlib.crc32(MAGIC), False
        while True:
            head = self._stream.read(_HEAD.size)
            if len(head) < _HEAD.size:
                raise self._damaged(at, "ends early")
            kind, length = _HEAD.unpack(head)
            begin = at + _HEAD.size
            if kind == 0:
                raise self._damaged(at, "has no record, only a zero,")
            if length > self._size - begin:
                raise self._damaged(at, "ends early")
            if kind not in _KNOWN:
                crc = self._passed(length, zlib.crc32(head, crc), at)
                at = begin + length
                continue
            if length > _MOST:
                raise self._damaged(at, f"has a record of {length} bytes")
            content = self._stream.read(length)
            if len(content) < length:
                raise self._damaged(at, "ends early")
            try:
                if kind == _FOOTER:
                    break
                if ended:
                    pass
                elif kind == _MESSAGE:
                    yield self._message(content, 0, length)
                elif kind == _CHUNK:
                    yield from self._chunk(content)
                elif kind == _DATA_END:
                    ended = True
                    stated = _SHORT.unpack_from(content)[0]
                    if stated not in (0, crc):
                        raise _RecordError(f"has data whose checksum is {crc:08x} and should be {stated:08x}")
                else:
                    self._other(kind, content)
            except _RecordError as error:
                raise self._damaged(at, str(error)) from None
            except struct.error:
                raise self._damaged(at, f"has a record (kind {kind}) that is too short") from None
            crc = zlib.crc32(content, zlib.crc32(head, crc))
            at = begin + length
        if self._stream.read(len(MAGIC)) != MAGIC:
            raise self._damaged(at, "ends early")

    def _passed(self, length: int, crc: int, at: int) -> int:
        """Pass over what is not looked at, however long it is; give the checksum with it."""
        while length:
            piece = self._stream.read(min(length, _PIECE))
            if not piece:
                raise self._damaged(at, "ends early")
            crc, length = zlib.crc32(piece, crc), length - len(piece)
        return crc

    def _chunk(self, record: bytes) -> Iterator[RawMessage]:
        _, _, size, stated = struct.unpack_from("<QQQI", record)
        compression, at = _text(record, 28)
        (stored,) = _LENGTH.unpack_from(record, at)
        at += _LENGTH.size
        if stored > len(record) - at:
            raise _RecordError("has a chunk that is shorter than it says")
        if size > _MOST:
            raise _RecordError(f"has a chunk of {size} bytes")
        content = _unpacked(record[at : at + stored], compression, size)
        if len(content) != size:
            raise _RecordError(f"has a chunk of {len(content)} bytes that should have {size}")
        if stated not in (0, zlib.crc32(content)):
            raise _RecordError(f"has a chunk whose checksum is {zlib.crc32(content):08x} and should be {stated:08x}")
        at = 0
        while at < size:
            kind, length = _HEAD.unpack_from(content, at)
            at += _HEAD.size
            if kind == 0:
                raise _RecordError("has a chunk with no record in it, only a zero,")
            if length > size - at:
                raise _RecordError(f"has a record (kind {kind}) that reaches beyond its chunk")
            if kind == _MESSAGE:
                yield self._message(content, at, length)
            else:
                self._other(kind, content[at : at + length])
            at += length

    def _message(self, content: bytes, at: int, length: int) -> RawMessage:
        if length < _MESSAGE_HEAD.size:
            raise _RecordError("has a message that is too short for its own times")
        channel, sequence, log_ns, _ = _MESSAGE_HEAD.unpack_from(content, at)
        if channel not in self.channels:
            raise _RecordError(f"has a message of channel {channel}, which it never introduced,")
        if log_ns > _LATEST_NS:
            raise _RecordError(f"has a message logged at {log_ns} ns, which is beyond the year 2262,")
        self._count += 1
        self._seen.add(channel)
        self._newest_ns = max(self._newest_ns, log_ns)
        return RawMessage(channel, sequence, log_ns, content[at + _MESSAGE_HEAD.size : at + length])

    def _other(self, kind: int, content: bytes) -> None:
        if kind == _HEADER:
            self.profile, _ = _text(content, 0)
        elif kind == _SCHEMA:
            (number,) = struct.unpack_from("<H", content)
            name, at = _text(content, 2)
            encoding, at = _text(content, at)
            (length,) = _SHORT.unpack_from(content, at)
            self._schemas[number] = Schema(name, encoding, content[at + 4 : at + 4 + length])
        elif kind == _CHANNEL:
            number, schema = struct.unpack_from("<HH", content)
            topic, at = _text(content, 4)
            encoding, at = _text(content, at)
            if number not in self.channels:
                self.channels[number] = Channel(topic, encoding, self._schemas.get(schema))
        elif kind == _METADATA:
            name, at = _text(content, 0)
            (length,) = _SHORT.unpack_from(content, at)
            end, at, pairs = at + 4 + length, at + 4, {}
            while at < min(end, len(content)):
                key, at = _text(content, at)
                pairs[key], at = _text(content, at)
            self.metadata[name] = MappingProxyType(pairs)

    def _damaged(self, at: int, why: str) -> Damaged:
        read = "none of its messages could be read"
        if self._count:
            read = (
                f"{self._count} messages of {len(self._seen)} channels up to log time {self._newest_ns / 1e9:.3f} s could be read"
            )
        return Damaged(f"{self.path} {why} at byte {at} of {self._size}; {read}; mcap recover writes a file of what is whole")


class _RecordError(Exception):
    pass


def _text(content: bytes, at: int) -> tuple[str, int]:
    """Read a string with its length before it; give it and where it ends."""
    (length,) = _SHORT.unpack_from(content, at)
    end = at + _SHORT.size + length
    if end > len(content):
        raise _RecordError("has a text that reaches beyond its record")
    return content[at + _SHORT.size : end].decode(errors="replace"), end


def _unpacked(data: bytes, compression: str, size: int) -> bytes:
    if not compression:
        return data
    if compression == "zstd":
        import zstandard

        try:
            # A frame that states a size of its own would be given room for it, whatever the chunk says.
            if zstandard.frame_content_size(data) > size:
                raise _RecordError("has a chunk that holds more than it says")
            return zstandard.ZstdDecompressor().decompress(data, max_output_size=size) if size else b""
        except (zstandard.ZstdError, MemoryError) as error:
            raise _RecordError(f"has a chunk that zstd cannot unpack ({error})") from None
    if compression == "lz4":
        from lz4.frame import LZ4FrameDecompressor

        try:
            return bytes(LZ4FrameDecompressor().decompress(data, max_length=size)) if size else b""
        except (RuntimeError, EOFError, MemoryError) as error:
            raise _RecordError(f"has a chunk that lz4 cannot unpack ({error})") from None
    raise _RecordError(f"has a chunk packed by {compression!r}, which onbeat does not know,")
