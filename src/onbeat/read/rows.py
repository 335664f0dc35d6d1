"""From messages in the order of the file to batches of rows: which streams a topic carries, and which times they truly have."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.read.ros_messages import Content
from onbeat.read.streams import FIELDS, Batch, StreamInfo, row_dtype

__all__ = ("Rows", "Topic")

_BATCH = 2_000
_RISING = 0.75  # of the steps of a count, below which it is not a count of this stream
_ABSENT = {"stamp_ns": 0, "seq": 0, "exposure_ns": 0, "digest": 0}


class Topic:
    """What the rows of one topic have in common.

    Args:
        name: How the file calls it.
        type_name: Its type.
        note: What a reader of the result should know of it.
    """

    def __init__(self, name: str, type_name: str = "", note: str = "") -> None:
        self.name = name
        self.type_name = type_name
        self.note = note
        self.streams: dict[Any, _Stream] = {}


class Rows:
    """Sorts messages by stream and gives their rows in batches of 2000.

    A topic carries several streams where its messages speak of several things: the child frames of ``/tf``, the joints of two
    arms that share ``/joint_states``.
    """

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._streams: list[_Stream] = []

    def add(self, topic: Topic, log_ns: int, sequence: int, contents: Sequence[Content]) -> Iterator[Batch]:
        """Take what a message says; give the batches that are full."""
        for content in contents:
            # Joints are told apart by their names; of anything else the first message says how wide the stream is.
            key = (content.part, content.columns if content.kind in ("joints", "action") else ())
            stream = topic.streams.get(key) or self._stream(topic, content, key)
            seq = sequence if content.seq is None else content.seq
            stream.rows.append((content.stamp_ns, log_ns, seq, content.exposure_ns, content.digest, content.values))
            if len(stream.rows) >= _BATCH:
                yield stream.batch()

    def rest(self) -> Iterator[Batch]:
        """Give what waits for more."""
        for stream in self._streams:
            if stream.rows:
                yield stream.batch()

    def _stream(self, topic: Topic, content: Content, key: Any) -> "_Stream":
        same = [one for (part, _), one in topic.streams.items() if part == content.part]
        # A message that says nothing of its values is still one of its topic.
        if same and not content.values:
            topic.streams[key] = same[0]
        else:
            topic.streams[key] = _Stream(self._name(topic, content, bool(same)), topic, content)
            self._streams.append(topic.streams[key])
        return topic.streams[key]

    def _name(self, topic: Topic, content: Content, again: bool) -> str:
        name = f"{topic.name} {content.part}" if content.part else topic.name
        if again:
            name = f"{name} {content.columns[0]}"
        elif name in self._names and topic.type_name:
            name = f"{name} ({topic.type_name})"
        first, count = name, 1
        while name in self._names:
            count += 1
            name = f"{first} #{count}"
        self._names.add(name)
        return name


class _Stream:
    """One stream: its first batch decides which fields it has."""

    def __init__(self, name: str, topic: Topic, first: Content) -> None:
        self.rows: list[tuple[Any, ...]] = []
        self._kind = first.kind
        self.columns = first.columns
        self._name = name
        self._topic = topic
        self._info: StreamInfo | None = None
        self._fields: tuple[str, ...] = ()

    def batch(self) -> Batch:
        rows, self.rows = self.rows, []
        stamps, logs, counts, exposures, digests, values = zip(*rows, strict=True)
        columns = {"stamp_ns": stamps, "log_ns": logs, "seq": counts, "exposure_ns": exposures, "digest": digests}
        info = self._info or self._begin(columns)
        width = len(self.columns)
        table = np.empty(len(rows), dtype=row_dtype(self._fields, width))
        for name in self._fields:
            column = columns[name]
            filled = column if None not in column else [_ABSENT[name] if one is None else one for one in column]
            table[name] = np.array(filled, dtype=FIELDS[name])
        if width:
            lost = (np.nan,) * width
            table["value"] = np.array([one if len(one) == width else lost for one in values], dtype=np.float64)
        return Batch(info, table)

    def _begin(self, columns: dict[str, tuple[Any, ...]]) -> StreamInfo:
        has = {name: any(one is not None for one in column) for name, column in columns.items()}
        notes = [self._topic.note] if self._topic.note else []
        if has["stamp_ns"] and not any(columns["stamp_ns"]):
            has["stamp_ns"] = False
            notes.append("its header stamps are all 0: only its log times are known")
        # A file without log times writes zeros.
        has["log_ns"] = any(columns["log_ns"]) or not has["stamp_ns"]
        has["seq"] = _counts(np.array(columns["seq"], dtype=np.int64))
        self._fields = tuple(name for name in FIELDS if has.get(name))
        self._info = StreamInfo(self._name, self._kind, self._topic.type_name, self.columns, note="; ".join(notes))
        return self._info


def _counts(seq: NDArray[np.int64]) -> bool:
    """Say whether these are counts of one source: several sources on one topic have counts that jump between theirs."""
    steps = np.diff(seq)
    return bool(seq.any()) and (len(steps) == 0 or float(np.mean(steps > 0)) >= _RISING)
