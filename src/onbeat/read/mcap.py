"""Read MCAP files of any program: ROS 2 and ROS 1 messages, protobuf, JSON, and onbeat's own recordings."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from onbeat.errors import BadInput, Damaged
from onbeat.read.decode import Decoder, Description, decoder_of, onbeat_reading, picture_of
from onbeat.read.mcap_records import MAGIC, Channel, McapRecords
from onbeat.read.pictures import gray_of, spread
from onbeat.read.ros_messages import is_picture
from onbeat.read.rows import Rows, Topic
from onbeat.read.streams import Batch, Frame, StreamRecording

__all__ = ("is_mcap", "open_mcap")

_KINDS = {"cdr": "ROS 2", "ros1": "ROS 1", "protobuf": "protobuf", "json": "JSON"}
_ONBEAT = "readings/"


def is_mcap(path: Path) -> bool:
    """Say whether it is an MCAP file, by its first bytes, or else by its name."""
    return path.is_file() and (path.suffix.lower() == ".mcap" or _head(path) == MAGIC)


def open_mcap(path: Path) -> StreamRecording:
    """Open an MCAP file.

    Raises:
        BadInput: it is empty, or no MCAP file. A damaged one is opened; reading it gives what is whole first.
    """
    head = _head(path)
    if not head:
        raise BadInput(f"{path} is empty; nothing of the recording reached the disk")
    if head != MAGIC:
        raise BadInput(f"{path} is not an MCAP file: it begins with {head!r}, not {MAGIC!r}")
    onbeat, kinds = _look(path)
    pictures = None if onbeat else partial(_frames, path)
    return StreamRecording(path, ", ".join(["MCAP", *kinds]), partial(_read, path), pictures, None, onbeat)


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(len(MAGIC))
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); check the path") from None


def _look(path: Path) -> tuple[bool, list[str]]:
    """Read up to the first message: its chunk or what stands before it introduces the channels."""
    with path.open("rb") as stream:
        records = McapRecords(path, stream, os.fstat(stream.fileno()).st_size)
        with suppress(Damaged):
            next(records.messages(), None)
    if "onbeat" in records.metadata:
        return True, ["onbeat"]
    kinds = {_KINDS.get(channel.encoding, channel.encoding) for channel in records.channels.values()}
    return False, sorted(kinds - {""})


def _read(path: Path) -> Iterator[Batch]:
    rows, decoders = Rows(), _Decoders()
    with path.open("rb") as stream:
        records = McapRecords(path, stream, os.fstat(stream.fileno()).st_size)
        try:
            for number, sequence, log_ns, data in records.messages():
                if number in decoders.by_number:
                    known = decoders.by_number[number]
                else:
                    known = decoders.add(number, records.channels[number], "onbeat" in records.metadata)
                if known is not None:
                    topic, decode = known
                    yield from rows.add(topic, log_ns, sequence, decode(data))
        except Damaged:
            yield from rows.rest()
            raise
    yield from rows.rest()


class _Decoders:
    """The topic and the decoder of each channel; several channels may carry one topic. None for what is no stream."""

    def __init__(self) -> None:
        self.by_number: dict[int, tuple[Topic, Decoder] | None] = {}
        self._topics: dict[tuple[str, str, str], tuple[Topic, Decoder] | None] = {}

    def add(self, number: int, channel: Channel, onbeat: bool) -> tuple[Topic, Decoder] | None:
        """Give them for a channel that was not met before."""
        what = _description(channel)
        key = (what.topic, what.encoding, what.type_name)
        if key not in self._topics:
            if not onbeat:
                decode, note = decoder_of(what)
                self._topics[key] = Topic(what.topic, what.type_name, note), decode
            elif what.topic.startswith(_ONBEAT):
                self._topics[key] = Topic(what.topic, what.type_name), onbeat_reading
            else:
                # What became of a plan is no stream; `read_recording` gives it.
                self._topics[key] = None
        self.by_number[number] = self._topics[key]
        return self._topics[key]


def _description(channel: Channel) -> Description:
    schema = channel.schema
    if schema is None:
        return Description(channel.topic, channel.encoding, "")
    return Description(channel.topic, channel.encoding, schema.name, schema.encoding, schema.data)


def _frames(path: Path, name: str, most: int) -> Iterator[Frame]:
    """Give the pictures of a topic: its messages are counted first, then those of some runs are decoded."""
    with path.open("rb") as stream:
        n = sum(1 for _ in _of_topic(path, stream, name))
        runs = spread(n, most)
        stream.seek(0)
        decode: dict[int, Callable[[bytes], Any]] = {}
        for row, (number, channel, data) in enumerate(_of_topic(path, stream, name)):
            if any(first <= row < last for first, last in runs):
                if number not in decode:
                    decode[number] = picture_of(_description(channel))
                gray = gray_of(decode[number](data))
                if gray is not None:
                    yield Frame(row, gray)


def _of_topic(path: Path, stream: BinaryIO, name: str) -> Iterator[tuple[int, Channel, bytes]]:
    """Give the messages of a topic as far as they are whole, and if they carry pictures."""
    records = McapRecords(path, stream, os.fstat(stream.fileno()).st_size)
    with suppress(Damaged):
        for number, _, _, data in records.messages():
            channel = records.channels[number]
            if channel.topic == name and is_picture(channel.schema.name if channel.schema else ""):
                yield number, channel, data
