"""A recording of any program as streams of stamped rows: the one form in which every reader gives what it read.

A row has the times that the file states and never a computed one: ``stamp_ns`` is when its source says that it was true
(a header's stamp, the column of time), ``log_ns`` is when the recorder had it. A file with one time only has ``stamp_ns``, except
a message without a header, which has ``log_ns`` only.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput

if TYPE_CHECKING:
    from onbeat.record.joints import JointRecording

__all__ = ("FIELDS", "KINDS", "Batch", "Frame", "StreamInfo", "StreamRecording", "row_dtype")

# What a stream carries. "joints" and "action" are positions asked and read; "pose" is x y z qw qx qy qz in metres; "rotation"
# is an angular rate x y z in rad/s; "image" has no values, but a digest and perhaps frames; "numbers" is anything else that has
# values; "other" has times only.
KINDS = ("joints", "action", "pose", "rotation", "image", "numbers", "other")

FIELDS: dict[str, str] = {
    "stamp_ns": "<i8",
    "log_ns": "<i8",
    "seq": "<i8",  # the source's own count
    "exposure_ns": "<i8",
    "digest": "<u8",  # of the content without its times: equal digests mean equal content
    "segment": "<i8",  # the episode, or the run of a clock that begins anew: no interval spans two segments
}


def row_dtype(fields: Sequence[str], width: int = 0) -> np.dtype[Any]:
    """Give the type of a stream's rows: the named fields of `FIELDS`, and `value` of that width where it is not 0.

    Raises:
        BadInput: a field is unknown, or there is no time among them.
    """
    unknown = [name for name in fields if name not in FIELDS]
    if unknown or not {"stamp_ns", "log_ns"} & set(fields):
        raise BadInput(f"rows have fields {', '.join(FIELDS)} with stamp_ns or log_ns among them, not {', '.join(fields)}")
    columns: list[Any] = [(name, kind) for name, kind in FIELDS.items() if name in fields]
    return np.dtype([*columns, ("value", "<f8", (width,))] if width else columns)


@dataclass(frozen=True, slots=True)
class StreamInfo:
    """What a file says of one stream.

    Args:
        name: Its topic, column or feature, as the file writes it.
        kind: One of `KINDS`.
        type: What the file calls its type: "sensor_msgs/msg/Imu", "video", "".
        columns: Names of the values' columns, as many as the rows are wide.
        declared_hz: The rate that the file states, None where it states none.
        counted: The stamps were computed from a count (frame_index / fps): they cannot show jitter, gaps or a slow loop.
        note: What else a reader of the result should know of it, a sentence or "".
    """

    name: str
    kind: str = "other"
    type: str = ""
    columns: tuple[str, ...] = ()
    declared_hz: float | None = None
    counted: bool = False
    note: str = ""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadInput(f"stream {self.name!r} has kind {self.kind!r}; it must be one of {', '.join(KINDS)}")


@dataclass(frozen=True, slots=True)
class Batch:
    """Some rows of one stream, in the order of the file.

    Args:
        info: The stream; the same for all of its batches.
        rows: Structured array with a type made by `row_dtype`; the same type for all of its batches.
    """

    info: StreamInfo
    rows: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Frame:
    """One picture of a stream.

    Args:
        row: Number of its row in the stream, from 0.
        gray: Luminance, uint8, shape (height, width).
    """

    row: int
    gray: NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class StreamRecording:
    """An opened recording: its head was read, its rows are still on disk.

    Args:
        path: The file or the folder.
        kind: What it is, for people: "MCAP, ROS 2", "LeRobot v3.0", "CSV".
        read: Goes through the file once and gives its rows in batches of a few thousand, in bounded memory. Where the file is
            damaged it gives what could be read first, and then raises `Damaged`, whose sentence says where and how much that was.
        frames: Gives the pictures of a stream (its name, and how many to give at most) in the order of its rows; None where
            there are none.
        joints: Opens the recording as `onbeat delay` does; None where it has no commands beside measurements.
        onbeat: Whether onbeat recorded it, so that `read_recording` knows its waypoints and cycles.
        notes: What else a reader of the result should know, sentences.
    """

    path: Path
    kind: str
    read: Callable[[], Iterator[Batch]]
    frames: Callable[[str, int], Iterator[Frame]] | None = None
    joints: "Callable[[], JointRecording] | None" = None
    onbeat: bool = False
    notes: tuple[str, ...] = ()
