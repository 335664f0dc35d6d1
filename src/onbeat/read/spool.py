"""All rows of a recording within bounded memory: what is long goes to a temporary file that no crash leaves behind."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from types import MappingProxyType, TracebackType
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput, Damaged
from onbeat.read.streams import Batch, StreamInfo, StreamRecording

__all__ = ("Gathered", "Series", "gather")

_IN_MEMORY = 2_000_000  # bytes of one stream
_FAR = 1 << 62  # ns are 146 years: up to there the difference of two instants is an int64
_HUGE = 1e100  # no sensor gives that, and its square is still a float


class Series:
    """The rows of one stream, in the order of the file. Beyond 2 MB they lie in an unnamed temporary file.

    Args:
        info: The stream.
        dtype: Type of its rows.
    """

    def __init__(self, info: StreamInfo, dtype: np.dtype[Any]) -> None:
        self.info = info
        self.dtype = dtype
        self._count = 0
        self._file: IO[bytes] = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)

    def __len__(self) -> int:
        return self._count

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows at the end.

        Raises:
            BadInput: they have another type.
        """
        if rows.dtype != self.dtype:
            raise BadInput(f"stream {self.info.name!r} changed its rows from {self.dtype} to {rows.dtype}")
        self._file.seek(0, os.SEEK_END)
        self._file.write(np.ascontiguousarray(rows).tobytes())
        self._count += len(rows)

    def rows(self, first: int = 0, last: int | None = None) -> NDArray[Any]:
        """Give rows first to last (not included); structured array."""
        first, last, _ = slice(first, last).indices(self._count)
        self._file.seek(first * self.dtype.itemsize)
        return np.frombuffer(self._file.read(max(last - first, 0) * self.dtype.itemsize), dtype=self.dtype)

    def blocks(self, size: int = 65_536) -> Iterator[NDArray[Any]]:
        """Give all rows, in order, so many at a time."""
        for first in range(0, self._count, size):
            yield self.rows(first, first + size)

    def __del__(self) -> None:
        self._file.close()

    def close(self) -> None:
        """Forget the rows."""
        self._file.close()
        self._count = 0


@dataclass(frozen=True, slots=True)
class Gathered:
    """What could be read of a recording; closing it forgets the rows.

    Args:
        recording: Where it came from.
        series: The streams that have rows, by name, in the order in which the file first spoke of them.
        damage: What could not be read, where, and what could; one sentence, "" for a whole file.
    """

    recording: StreamRecording
    series: MappingProxyType[str, Series]
    damage: str

    def __enter__(self) -> "Gathered":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        _close(self.series)


def gather(recording: StreamRecording, advance: Callable[[int], None] = lambda rows: None) -> Gathered:
    """Read all rows of a recording.

    Args:
        recording: Opened.
        advance: Told of rows as they are read.

    Raises:
        Damaged: nothing at all could be read.
        BadInput: the file cannot be what it says it is.
    """
    series: dict[str, Series] = {}
    damage = ""
    doubts: dict[tuple[str, str], int] = {}
    with ExitStack() as undo:
        undo.callback(_close, series)
        try:
            for batch in recording.read():
                if len(rows := _credible(batch, doubts)):
                    one = series.setdefault(batch.info.name, Series(batch.info, rows.dtype))
                    one.append(rows)
                    advance(len(rows))
        except Damaged as error:
            if not series:
                raise
            damage = str(error)
        if doubts:
            damage = "; ".join(filter(None, [damage, _said(recording, doubts)]))
            if not series:
                raise Damaged(damage)
        undo.pop_all()
    return Gathered(recording, MappingProxyType(series), damage)


def _credible(batch: Batch, doubts: dict[tuple[str, str], int]) -> NDArray[Any]:
    """Leave out rows with a whole number that no clock or counter reaches, and take values that no sensor gives as missing.

    Args:
        batch: As read.
        doubts: Counts what was found, by stream and field.
    """
    rows = batch.rows
    keep = np.ones(len(rows), dtype=bool)
    for name in ("stamp_ns", "log_ns", "seq", "exposure_ns", "segment"):
        if name in (rows.dtype.names or ()):
            far = (rows[name] >= _FAR) | (rows[name] <= -_FAR)
            if far.any():
                doubts[batch.info.name, name] = doubts.get((batch.info.name, name), 0) + int(far.sum())
                keep &= ~far
    if not keep.all():
        rows = rows[keep]
    if "value" in (rows.dtype.names or ()):
        huge = np.abs(rows["value"]) > _HUGE
        if huge.any():
            finite = int(np.isfinite(rows["value"][huge]).sum())  # infinite says "out of range"
            if finite:
                doubts[batch.info.name, "value"] = doubts.get((batch.info.name, "value"), 0) + finite
            rows = rows.copy()
            rows["value"][huge] = np.nan
    return rows


def _said(recording: StreamRecording, doubts: Mapping[tuple[str, str], int]) -> str:
    (stream, name), count = next(iter(doubts.items()))
    what = f"{count} value(s) beyond {_HUGE:g}, which no sensor gives: they were taken as missing"
    if name != "value":
        what = f"{name} beyond 2^62 in {count} row(s), which were left out"
    more = f", and so do {len(doubts) - 1} more streams or fields" if len(doubts) > 1 else ""
    return f"{recording.path}: stream {stream!r} has {what}{more}; look at what wrote them"


def _close(series: Mapping[str, Series]) -> None:
    for one in series.values():
        one.close()
