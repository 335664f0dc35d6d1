"""From the messages that a container stores, whatever container it is, to rows and to pictures."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from onbeat.errors import Damaged
from onbeat.read.decode import Decoder, Description, decoder_of, onbeat_reading, picture_of
from onbeat.read.pictures import gray_of, spread
from onbeat.read.ros_messages import is_picture
from onbeat.read.rows import Rows, Topic
from onbeat.read.streams import Batch, Frame

__all__ = ("Stored", "batches", "kinds_of", "pictures")

_KINDS = {"cdr": "ROS 2", "ros1": "ROS 1", "protobuf": "protobuf", "json": "JSON"}
_READINGS = "readings/"


class Stored(NamedTuple):
    """A message as it is stored.

    Args:
        what: Its topic and type; the same object for all messages of a channel.
        sequence: The container's count, 0 where it has none.
        log_ns: When the recorder had it.
        data: Its bytes.
    """

    what: Description
    sequence: int
    log_ns: int
    data: bytes


def kinds_of(encodings: Iterator[str]) -> list[str]:
    """Give what people call the encodings."""
    return sorted({_KINDS.get(encoding, encoding) for encoding in encodings} - {""})


def batches(messages: Iterator[Stored], onbeat: bool = False) -> Iterator[Batch]:
    """Give all rows.

    Args:
        messages: In the order of the file.
        onbeat: Whether onbeat recorded them: then the readings are streams, and what became of a plan is none.

    Raises:
        Damaged: after all rows that could be read, when the messages end so.
    """
    rows = Rows()
    known: dict[Description, tuple[Topic, Decoder] | None] = {}
    topics: dict[tuple[str, str, str], tuple[Topic, Decoder] | None] = {}
    try:
        for what, sequence, log_ns, data in messages:
            if what not in known:
                # Several channels may carry one topic.
                key = (what.topic, what.encoding, what.type_name)
                if key not in topics:
                    topics[key] = _topic(what, onbeat)
                known[what] = topics[key]
            found = known[what]
            if found is not None:
                yield from rows.add(found[0], log_ns, sequence, found[1](data))
    except Damaged:
        yield from rows.rest()
        raise
    yield from rows.rest()


def pictures(messages: Callable[[], Iterator[Stored]], name: str, most: int) -> Iterator[Frame]:
    """Give the pictures of a topic: its messages are counted first, then those of some runs of neighbours are decoded.

    Args:
        messages: Goes through the file from its beginning.
        name: The topic.
        most: How many to give.

    Raises:
        MissingExtra: they are compressed, and nothing that decodes them is installed.
    """
    runs = spread(sum(1 for _ in _of_topic(messages(), name)), most)
    decode: dict[Description, Callable[[bytes], object]] = {}
    for row, (what, _, _, data) in enumerate(_of_topic(messages(), name)):
        if any(first <= row < last for first, last in runs):
            if what not in decode:
                decode[what] = picture_of(what)
            gray = gray_of(decode[what](data))
            if gray is not None:
                yield Frame(row, gray)
        elif row >= runs[-1][1]:
            return


def _topic(what: Description, onbeat: bool) -> tuple[Topic, Decoder] | None:
    if not onbeat:
        decode, note = decoder_of(what)
        return Topic(what.topic, what.type_name, note), decode
    return (Topic(what.topic, what.type_name), onbeat_reading) if what.topic.startswith(_READINGS) else None


def _of_topic(messages: Iterator[Stored], name: str) -> Iterator[Stored]:
    """Give the pictures of a topic as far as the file is whole."""
    try:
        for message in messages:
            if message.what.topic == name and is_picture(message.what.type_name):
                yield message
    except Damaged:
        return
