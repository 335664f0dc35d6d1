"""The records of an MCAP file in the order of the file, chunk by chunk; what is damaged is passed over and told at the end.

The specification is the one of MCAP (https://mcap.dev/spec). No length is trusted: what a record claims beyond the
file, or beyond 256 MiB, is damage and never an allocation; what is not looked at, as an attachment, may be longer.
Channels that a damaged chunk introduced are taken from the summary.
"""

import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, NamedTuple

from onbeat.errors import Damaged
from onbeat.read.mcap_framing import CHUNK, DATA_END, HEAD, MESSAGE, MOST, find_record, plausible, summary_start

__all__ = ("MAGIC", "Channel", "McapRecords", "RawMessage", "Schema")

MAGIC = b"\x89MCAP0\r\n"

_PIECE = 1 << 20  # bytes of what is passed over
_HEADER, _FOOTER, _SCHEMA, _CHANNEL, _METADATA = 1, 2, 3, 4, 12
_KNOWN = frozenset((_HEADER, _FOOTER, _SCHEMA, _CHANNEL, MESSAGE, CHUNK, _METADATA, DATA_END))
_LATEST_NS = (1 << 63) - 1
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


@dataclass(slots=True)
class _Loss:
    """The first place that was passed over, and how much that was in all.

    Args:
        at: Its first byte.
        why: What is wrong there.
        after_ns: Newest log time before it, None where no message came before.
        before_ns: Log time of the next message, None where none came.
        size: Bytes passed over there.
        places: How many places were passed over.
        total: Bytes passed over at all of them.
    """

    at: int
    why: str
    after_ns: int | None
    before_ns: int | None = None
    size: int = 0
    places: int = 0
    total: int = 0

    def __str__(self) -> str:
        """Say how much was passed over, and of which span."""
        times = [
            f"{word} log time {t_ns / 1e9:.3f} s"
            for word, t_ns in (("after", self.after_ns), ("before", self.before_ns))
            if t_ns is not None
        ]
        there = f"{self.size} bytes from there on were passed over" + (f", {' and '.join(times)}" if times else "")
        more = self.places - 1
        return there + (f", and {self.total - self.size} bytes in {more} other place{'s' * (more > 1)}" if more else "")


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
        self._at = 0  # of the record that is read
        self._chunked = False
        self._loss: _Loss | None = None
        self._summarised = False

    def messages(self) -> Iterator[RawMessage]:
        """Give all messages that can be read, once.

        Raises:
            Damaged: after the last of them; the sentence says where, why, how much could be read and how much was passed over.
        """
        crc, ended = zlib.crc32(MAGIC), False
        at: int | None = len(MAGIC)
        last = len(MAGIC)  # the last record whose length only the one after it confirms
        while at is not None:
            self._at, end, kind = at, None, 0
            try:
                kind, length = self._head(at)
                end = at + HEAD.size + length
                if kind == _FOOTER:
                    self._check_end(end)
                    break
                self._chunked = self._chunked or kind == CHUNK
                if kind not in _KNOWN:
                    crc = self._passed(length, zlib.crc32(HEAD.pack(kind, length), crc))
                elif not ended:
                    content = self._content(length)
                    if kind == DATA_END:
                        ended = length == _SHORT.size
                        self._check_data(content, crc)
                    yield from self._record(kind, content, end)
                    crc = zlib.crc32(content, zlib.crc32(HEAD.pack(kind, length), crc))
            except (_RecordError, struct.error) as error:
                why = str(error) if isinstance(error, _RecordError) else f"has a record (kind {kind}) that is too short"
                at = self._go_on(why, last, end)
                last = at or last
            else:
                at, last = end, end if kind == CHUNK else at
        if self._loss is not None:
            raise self._damaged(self._loss)

    def _head(self, at: int) -> tuple[int, int]:
        self._stream.seek(at)
        head = self._stream.read(HEAD.size)
        if len(head) < HEAD.size:
            raise _RecordError("ends early")
        kind, length = HEAD.unpack(head)
        if kind == 0:
            raise _RecordError("has no record, only a zero,")
        if length > self._size - at - HEAD.size:
            raise _RecordError("ends early")
        if kind in _KNOWN and length > MOST:
            raise _RecordError(f"has a record of {length} bytes")
        return kind, length

    def _content(self, length: int) -> bytes:
        content = self._stream.read(length)
        if len(content) < length:
            raise _RecordError("ends early")
        return content

    def _check_end(self, at: int) -> None:
        self._stream.seek(at)
        if self._stream.read(len(MAGIC)) != MAGIC:
            raise _RecordError("ends early")

    def _check_data(self, content: bytes, crc: int) -> None:
        if len(content) != _SHORT.size:
            raise _RecordError(f"has an end of data of {len(content)} bytes")
        (stated,) = _SHORT.unpack(content)
        if stated not in (0, crc) and self._loss is None:
            raise _RecordError(f"has data whose checksum is {crc:08x} and should be {stated:08x}")

    def _record(self, kind: int, content: bytes, end: int) -> Iterator[RawMessage]:
        if kind == CHUNK:
            yield from self._chunk(content)
        elif kind == MESSAGE:
            # A length that leads to no other record is wrong, and the message with it.
            if not plausible(self._stream, end, self._size):
                raise _RecordError(f"has a message of {len(content)} bytes that no record follows")
            yield from self._message(content, 0, len(content))
        elif kind != DATA_END:
            self._other(kind, content)

    def _passed(self, length: int, crc: int) -> int:
        """Pass over what is not looked at, however long it is; give the checksum with it."""
        while length:
            piece = self._stream.read(min(length, _PIECE))
            if not piece:
                raise _RecordError("ends early")
            crc, length = zlib.crc32(piece, crc), length - len(piece)
        return crc

    def _go_on(self, why: str, last: int, end: int | None) -> int | None:
        """Note what is damaged, and give where the next record is; None where there is none.

        Args:
            why: What is wrong at `self._at`.
            last: The record that led there, where only its own length says so.
            end: Where the damaged one says that it ends; None where it does not.
        """
        if end is not None and plausible(self._stream, end, self._size):
            found: int | None = end
        else:
            found = find_record(self._stream, last + 1, self._size, chunked=self._chunked)
            if found is not None and found < self._at:
                self._at, why = last, "has a record whose length leads to none"
        self._lose(why, (self._size if found is None else found) - self._at)
        return found

    def _lose(self, why: str, size: int) -> None:
        if self._loss is not None and not size:  # that the file ends early after it, too
            return
        if self._loss is None:
            self._loss = _Loss(self._at, why, self._newest_ns if self._count else None)
        if self._loss.at == self._at:
            self._loss.size += size
        if self._loss.at != self._at or not self._loss.places:
            self._loss.places += 1
        self._loss.total += size

    def _summarise(self) -> None:
        """Take the channels that the summary names, once: the chunk that introduced them may be the damaged one."""
        if self._summarised:
            return
        self._summarised = True
        at = summary_start(self._stream, self._size)
        with suppress(_RecordError, struct.error):
            while at is not None:
                kind, length = self._head(at)
                if kind in (_SCHEMA, _CHANNEL):
                    self._other(kind, self._content(length))
                elif kind == _FOOTER:
                    return
                at += HEAD.size + length

    def _chunk(self, record: bytes) -> Iterator[RawMessage]:
        _, _, size, stated = struct.unpack_from("<QQQI", record)
        compression, at = _text(record, 28)
        (stored,) = _LENGTH.unpack_from(record, at)
        at += _LENGTH.size
        if stored > len(record) - at:
            raise _RecordError("has a chunk that is shorter than it says")
        if size > MOST:
            raise _RecordError(f"has a chunk of {size} bytes")
        content = _unpacked(record[at : at + stored], compression, size)
        if len(content) != size:
            raise _RecordError(f"has a chunk of {len(content)} bytes that should have {size}")
        if stated not in (0, zlib.crc32(content)):
            raise _RecordError(f"has a chunk whose checksum is {zlib.crc32(content):08x} and should be {stated:08x}")
        at = 0
        while at < size:
            kind, length = HEAD.unpack_from(content, at)
            at += HEAD.size
            if kind == 0:
                raise _RecordError("has a chunk with no record in it, only a zero,")
            if length > size - at:
                raise _RecordError(f"has a record (kind {kind}) that reaches beyond its chunk")
            if kind == MESSAGE:
                yield from self._message(content, at, length)
            else:
                self._other(kind, content[at : at + length])
            at += length

    def _message(self, content: bytes, at: int, length: int) -> Iterator[RawMessage]:
        """Give the message at a place; nothing where its channel or its time cannot be, which is noted."""
        if length < _MESSAGE_HEAD.size:
            raise _RecordError("has a message that is too short for its own times")
        channel, sequence, log_ns, _ = _MESSAGE_HEAD.unpack_from(content, at)
        if channel not in self.channels:
            before = self._stream.tell()
            self._summarise()
            self._stream.seek(before)
        if channel not in self.channels:
            self._lose(f"has a message of channel {channel}, which it never introduced,", length)
            return
        if log_ns > _LATEST_NS:
            self._lose(f"has a message logged at {log_ns} ns, which is beyond the year 2262,", length)
            return
        if self._loss is not None and self._loss.before_ns is None:
            self._loss.before_ns = log_ns
        self._count += 1
        self._seen.add(channel)
        self._newest_ns = max(self._newest_ns, log_ns)
        yield RawMessage(channel, sequence, log_ns, content[at + _MESSAGE_HEAD.size : at + length])

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

    def _damaged(self, loss: _Loss) -> Damaged:
        read = "none of its messages could be read"
        if self._count:
            read = (
                f"{self._count} messages of {len(self._seen)} channels up to log time {self._newest_ns / 1e9:.3f} s could be read"
            )
        where = f"{self.path} {loss.why} at byte {loss.at} of {self._size}"
        return Damaged(f"{where}; {read}; {loss}; mcap recover writes a file of what is whole")


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
