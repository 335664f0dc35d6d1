"""Read a recording of onbeat back, bit for bit, also one that ends early."""

import json
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from onbeat.device.config import Provenance
from onbeat.errors import BadInput
from onbeat.motion import Chunk, Outcome, Waypoint
from onbeat.record.messages import dtype_of

if TYPE_CHECKING:
    from mcap.records import McapRecord

__all__ = ("LoggedCalibration", "LoggedChunk", "LoggedFigures", "LoggedOutcome", "Readings", "Recording", "read_recording")

_MAGIC = b"\x89MCAP0\r\n"
_FORMATS = ("1",)
_DECISION = np.dtype([("start_ns", "<i8"), ("anchor_ns", "<i8"), ("ready_ns", "<i8")])


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """The readings of one stream, in the order in which they were recorded.

    Args:
        capture_ns: When each was true. Shape (n,), int64, like the other instants.
        receive_ns: When each was in hand.
        seq: The device's own count.
        span_ns: How long each looked at the world.
        bound_ns: Half-width that holds capture_ns.
        corrected: Whether receive_latency had been subtracted. Shape (n,), bool.
        values: Shape (n, width); None where only the stamps were recorded.
    """

    capture_ns: NDArray[np.int64]
    receive_ns: NDArray[np.int64]
    seq: NDArray[np.int64]
    span_ns: NDArray[np.int64]
    bound_ns: NDArray[np.int64]
    corrected: NDArray[np.bool_]
    values: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.capture_ns)


@dataclass(frozen=True, slots=True)
class LoggedChunk:
    """A policy's chunk and when it was in hand."""

    log_ns: int
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class LoggedOutcome:
    """What became of a waypoint, when that was decided, and whether it was a knot of the old plan that lost its place."""

    log_ns: int
    outcome: Outcome
    replaced: bool


@dataclass(frozen=True, slots=True)
class LoggedCalibration:
    """A measurement as it was recorded: its module and the fields of its CalibrationResult."""

    log_ns: int
    module: str
    quantity: str
    value: float | None
    ci95: float | None
    n: int
    method: str
    conditions: Mapping[str, Any] = field(hash=False)
    verdict: str
    reason: str


@dataclass(frozen=True, slots=True)
class LoggedFigures:
    """The figures that a module ran with, and where each came from."""

    log_ns: int
    module: str
    receive_latency: float
    action_latency: float
    max_speed: float | None
    provenance: Mapping[str, Provenance] = field(hash=False)


@dataclass(frozen=True, slots=True, eq=False)
class Recording:
    """What a recording holds. The keys are the names that the robot's user gave to streams and modules.

    Args:
        path: The file.
        clock: Id of the clock of all instants.
        complete: Whether the file was closed properly; else what was written last is missing.
        readings: By stream.
        chunks: By module.
        outcomes: By module.
        decisions: Structured array with start_ns, anchor_ns and ready_ns.
        cycles: By module; structured arrays as the send loop gave them.
        commands: By module; structured arrays as the sink gave them.
        calibration: Measurements.
        figures: What the modules ran with.
        metadata: Facts about the run.
    """

    path: Path
    clock: str
    complete: bool
    readings: Mapping[str, Readings]
    chunks: Mapping[str, tuple[LoggedChunk, ...]]
    outcomes: Mapping[str, tuple[LoggedOutcome, ...]]
    decisions: NDArray[Any]
    cycles: Mapping[str, NDArray[Any]]
    commands: Mapping[str, NDArray[Any]]
    calibration: tuple[LoggedCalibration, ...]
    figures: tuple[LoggedFigures, ...]
    metadata: Mapping[str, Mapping[str, str]]


def read_recording(path: str | Path, *, partial: bool = False) -> Recording:
    """Read a recording that `Recorder` wrote.

    Args:
        path: The file.
        partial: Read what is there of a file that ends early or is damaged, instead of refusing it.

    Raises:
        BadInput: there is no such file, it is empty, no MCAP file, not recorded by onbeat, or ends early; the sentence says how
            much of it could be read.
    """
    path = Path(path)
    try:
        stream = path.open("rb")
    except OSError as error:
        left = path.with_name(f"{path.name}.partial")
        hint = (
            f"; {left} is there: its writer runs or has died, read it with partial=True" if left.exists() else "; check the path"
        )
        raise BadInput(f"{path} cannot be read ({error.strerror}){hint}") from None
    with stream:
        magic = stream.read(len(_MAGIC))
        if not magic:
            raise BadInput(f"{path} is empty; nothing of the recording reached the disk")
        if magic != _MAGIC:
            raise BadInput(f"{path} is not an MCAP file: it begins with {magic!r}, not {_MAGIC!r}")
        stream.seek(0)
        content = _Content(path, stream, path.stat().st_size)
    about = content.metadata.get("onbeat")
    if about is None:
        what = f"its channels are {', '.join(sorted(content.rows)[:5])}" if content.rows else "it holds no messages"
        raise BadInput(f"{path} was not recorded by onbeat; {what}")
    if about.get("format") not in _FORMATS:
        raise BadInput(
            f"{path} has format {about.get('format')!r}, and this onbeat reads {', '.join(_FORMATS)}; install a newer onbeat"
        )
    if content.failure and not partial:
        raise BadInput(
            f"{path} {content.failure} after {content.count} messages up to log time {content.newest_ns * 1e-9:.3f} s; "
            f"read what is there with read_recording(path, partial=True)"
        )
    return content.recording(about["clock"])


class _Content:
    """The records of a file, sorted by channel, as far as they can be read."""

    def __init__(self, path: Path, stream: BinaryIO, size: int) -> None:
        self.path = path
        self.metadata: dict[str, dict[str, str]] = {}
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.dtypes: dict[str, np.dtype[Any]] = {}
        self.count = 0
        self.newest_ns = 0
        self.failure = ""
        self._topics: dict[int, str] = {}
        self._read(stream, size)

    def _read(self, stream: BinaryIO, size: int) -> None:
        from mcap.exceptions import McapError, RecordLengthLimitExceeded
        from mcap.stream_reader import StreamReader
        from zstandard import ZstdError

        # A record that is longer than the file was cut off, and must not become an attempt to allocate it.
        reader = StreamReader(stream, validate_crcs=True, record_size_limit=size)
        try:
            for record in reader.records:
                self._take(record)
        except (McapError, ZstdError, struct.error, ValueError, KeyError, MemoryError) as error:
            at = stream.tell()
            cut = isinstance(error, RecordLengthLimitExceeded) or not stream.read(1)
            self.failure = "ends early" if cut else f"is damaged before byte {at} ({type(error).__name__})"

    def _take(self, record: "McapRecord") -> None:
        from mcap.records import Channel, Message, Metadata

        if isinstance(record, Message):
            topic = self._topics[record.channel_id]
            if "onbeat" in self.metadata:
                self.rows[topic].append(json.loads(record.data))
            self.count += 1
            self.newest_ns = max(self.newest_ns, record.log_time)
        elif isinstance(record, Channel):
            self._topics[record.id] = record.topic
            self.rows.setdefault(record.topic, [])
            if "dtype" in record.metadata:
                self.dtypes[record.topic] = dtype_of(record.metadata["dtype"])
        elif isinstance(record, Metadata):
            self.metadata[record.name] = dict(record.metadata)

    def recording(self, clock: str) -> Recording:
        """Give all of it as values."""
        return Recording(
            path=self.path,
            clock=clock,
            complete=not self.failure,
            readings=MappingProxyType({name: _readings(rows) for name, rows in self._channels("readings")}),
            chunks=MappingProxyType({name: tuple(map(_chunk, rows)) for name, rows in self._channels("chunks")}),
            outcomes=MappingProxyType({name: tuple(map(_outcome, rows)) for name, rows in self._channels("outcomes")}),
            decisions=_table(self.rows.get("decisions", []), _DECISION),
            cycles=self._tables("cycles"),
            commands=self._tables("commands"),
            calibration=tuple(_calibration(row) for row in self.rows.get("calibration", [])),
            figures=tuple(_figures(row) for row in self.rows.get("config", [])),
            metadata=MappingProxyType(self.metadata),
        )

    def _channels(self, kind: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
        for topic, rows in self.rows.items():
            if topic.startswith(f"{kind}/"):
                yield topic.removeprefix(f"{kind}/"), rows

    def _tables(self, kind: str) -> Mapping[str, NDArray[Any]]:
        return MappingProxyType({name: _table(rows, self.dtypes[f"{kind}/{name}"]) for name, rows in self._channels(kind)})


def _column(rows: list[dict[str, Any]], name: str, dtype: Any = np.int64) -> NDArray[Any]:
    return np.array([row[name] for row in rows], dtype=dtype)


def _readings(rows: list[dict[str, Any]]) -> Readings:
    numbers = bool(rows) and rows[0]["value"] is not None
    return Readings(
        capture_ns=_column(rows, "capture_ns"),
        receive_ns=_column(rows, "receive_ns"),
        seq=_column(rows, "seq"),
        span_ns=_column(rows, "span_ns"),
        bound_ns=_column(rows, "bound_ns"),
        corrected=_column(rows, "corrected", np.bool_),
        values=_column(rows, "value", np.float64) if numbers else None,
    )


def _chunk(row: dict[str, Any]) -> LoggedChunk:
    targets = np.array(row["targets"], dtype=np.float64)
    return LoggedChunk(row["log_ns"], Chunk(row["anchor_ns"], row["step_ns"], targets, row["first_step"]))


def _outcome(row: dict[str, Any]) -> LoggedOutcome:
    waypoint = Waypoint(row["t_ns"], np.array(row["target"], dtype=np.float64))
    return LoggedOutcome(row["log_ns"], Outcome(waypoint, row["kind"], row["by_ns"], row["due_ns"]), row["replaced"])


def _calibration(row: dict[str, Any]) -> LoggedCalibration:
    return LoggedCalibration(**row)


def _figures(row: dict[str, Any]) -> LoggedFigures:
    provenance = {key: Provenance(**block) for key, block in row["provenance"].items()}
    return LoggedFigures(**{**row, "provenance": MappingProxyType(provenance)})


def _table(rows: list[dict[str, Any]], dtype: np.dtype[Any]) -> NDArray[Any]:
    table = np.empty(len(rows), dtype=dtype)
    for name in dtype.names or ():
        table[name] = _column(rows, name, dtype[name].base).reshape(table[name].shape)
    return table
