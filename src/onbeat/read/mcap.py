"""Read MCAP files of any program: ROS 2 and ROS 1 messages, protobuf, JSON, and onbeat's own recordings."""

import os
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path

from onbeat.errors import BadInput, Damaged
from onbeat.read.decode import Description
from onbeat.read.mcap_records import MAGIC, Channel, McapRecords
from onbeat.read.stored import Stored, batches, kinds_of, pictures
from onbeat.read.streams import StreamRecording

__all__ = ("is_mcap", "mcap_messages", "open_mcap")


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
    frames = None if onbeat else partial(pictures, partial(mcap_messages, path))
    return StreamRecording(
        path=path,
        kind=", ".join(["MCAP", *kinds]),
        read=lambda: batches(mcap_messages(path), onbeat),
        frames=frames,
        onbeat=onbeat,
    )


def mcap_messages(path: Path) -> Iterator[Stored]:
    """Give all messages of an MCAP file.

    Raises:
        Damaged: after the last one that could be read.
    """
    described: dict[int, Description] = {}
    with path.open("rb") as stream:
        records = McapRecords(path, stream, os.fstat(stream.fileno()).st_size)
        for number, sequence, log_ns, data in records.messages():
            if number not in described:
                described[number] = _description(records.channels[number])
            yield Stored(described[number], sequence, log_ns, data)


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
    return False, kinds_of(channel.encoding for channel in records.channels.values())


def _description(channel: Channel) -> Description:
    schema = channel.schema
    if schema is None:
        return Description(channel.topic, channel.encoding, "")
    return Description(channel.topic, channel.encoding, schema.name, schema.encoding, schema.data)
