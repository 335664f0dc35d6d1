"""Tables of text as streams: CSV files of any robot, TUM and EuRoC text, tables with a row for each sample of many streams."""

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput, Damaged
from onbeat.read.cells import ISO, Cells, instants, numbers, split_cells, texts, wholes
from onbeat.read.columns import Layout, plan_columns, plan_streams
from onbeat.read.order import OrderWatch
from onbeat.read.streams import Batch, StreamInfo, StreamRecording, row_dtype
from onbeat.read.vectors import Values
from onbeat.record.joint_tables import open_joint_table
from onbeat.record.tables import Column, TextTable, open_table

__all__ = ("TABLE_SUFFIXES", "is_text", "open_text", "table_span_ns")

TABLE_SUFFIXES = (".csv", ".tsv", ".txt", ".tum")
_BLOCK = 1 << 19  # bytes
_LONGEST_LINE = 1 << 20
_HEAD = 1 << 18
_SNIFFED = 256  # bytes; what is broken further on is damage
_MOST_STREAMS = 1000


def is_text(path: Path) -> bool:
    """Say whether a file begins like text."""
    with path.open("rb") as file:
        head = file.read(_SNIFFED)
    strange = sum(byte < 32 and byte not in b"\t\n\r\f" for byte in head)
    return len(head) > 0 and b"\0" not in head and strange <= len(head) // 50


def open_text(path: Path) -> StreamRecording:
    """Open a table of text: commas, semicolons, tabs or blanks; a header, or one in a comment, or none.

    A column called like the source's time is the stamp, one called like the recorder's the log time. Columns of commands that
    pair with measurements are two streams, "action" and "joints"; a position with a quaternion is a pose, three angular rates are
    a rotation; columns that are filled in different rows are different streams; and a column called topic, sensor or stream names
    the stream of each row.

    Raises:
        BadInput: it is empty or binary, or no column holds times; says what was found and the fix.
    """
    table = open_table(path)
    offset = _offset(path, table.skip)
    head = _head(path, table, offset)
    if not len(head):
        raise BadInput(f"{path}: the first rows do not have the {len(table.columns)} columns of the header; correct the header")
    layout = plan_columns(table, head)
    streams = [] if layout.topic else _named(plan_streams(table, layout, head, np.ones(len(head), dtype=bool)), path.stem)
    notes = [*layout.notes, *(f"{info.name!r}: {info.note}" for info, _ in streams if info.note)]
    has_joints = any(info.kind == "action" for info, _ in streams) and any(info.kind == "joints" for info, _ in streams)
    stamp = layout.stamp
    plain = has_joints and stamp.rest is None and stamp.unit != ISO
    return StreamRecording(
        path=path,
        kind=_kind(table, streams),
        read=lambda: _Reader(path, table, layout, offset, streams).read(),
        joints=(lambda: open_joint_table(path, time=str(stamp.column.index), unit=stamp.unit)) if plain else None,
        notes=tuple(notes),
    )


def table_span_ns(path: Path) -> tuple[int, int]:
    """Give the earliest and the latest stamp of a table's first and last rows, ns, without reading what lies between.

    Raises:
        BadInput: it is no table, or has no times.
    """
    table = open_table(path)
    offset = _offset(path, table.skip)
    head = _head(path, table, offset)
    layout = plan_columns(table, head)
    with path.open("rb") as file:
        file.seek(max(offset, file.seek(0, os.SEEK_END) - _HEAD // 4))
        data = file.read(_HEAD)
    data = data[data.find(b"\n") + 1 : data.rfind(b"\n") + 1] or b"\n"
    tail = split_cells(np.frombuffer(data, dtype=np.uint8), table.delimiter, len(table.columns))
    stamps = [t_ns[good] for t_ns, good in (layout.stamp.read(head), layout.stamp.read(tail))]
    t_ns = np.concatenate(stamps)
    if not len(t_ns):
        raise BadInput(f"{path} has no times in its first rows; correct column {layout.stamp.column.name!r}")
    return int(t_ns.min()), int(t_ns.max())


def _offset(path: Path, lines: int) -> int:
    """Give where the first row begins, in bytes."""
    with path.open("rb") as file:
        for _ in range(lines):
            file.readline(_LONGEST_LINE)
        if lines == 0 and file.read(3) != b"\xef\xbb\xbf":
            return 0
        return file.tell()


def _head(path: Path, table: TextTable, offset: int) -> Cells:
    with path.open("rb") as file:
        file.seek(offset)
        data = file.read(_HEAD)
    whole = data.rfind(b"\n") + 1
    data = data[:whole] if whole else data[:_HEAD] + b"\n"
    return split_cells(np.frombuffer(data, dtype=np.uint8), table.delimiter, len(table.columns))


def _kind(table: TextTable, streams: list[tuple[StreamInfo, Values]]) -> str:
    if table.delimiter is None and len(table.columns) == 8 and any(info.kind == "pose" for info, _ in streams):
        return "TUM text"
    if any("_RS_" in name for name in table.names):
        return "EuRoC CSV"
    return {",": "CSV", ";": "CSV, semicolons", "\t": "table, tabs", None: "table, blanks"}[table.delimiter]


def _named(groups: list[Values], only: str, prefix: str = "") -> list[tuple[StreamInfo, Values]]:
    """Give each group of columns its stream, with a name of its own."""
    streams: list[tuple[StreamInfo, Values]] = []
    used: set[str] = set()
    for group in groups:
        name = only if len(groups) == 1 else prefix + (group.name or "rows")
        number = 2
        while name in used:
            name, number = f"{prefix}{group.name or 'rows'}_{number}", number + 1
        used.add(name)
        streams.append((StreamInfo(name, group.kind, "", group.names, note=group.note), group))
    return streams


class _Faults:
    """What could not be read: the first place, how many more, and how many rows that cost."""

    def __init__(self) -> None:
        self.first, self.more, self.lost = "", 0, 0
        self._found: list[tuple[int, str]] = []

    def add(self, byte: int, sentence: str, count: int = 1) -> None:
        """Note a fault, the first of so many of its kind in this block."""
        self._found.append((byte, sentence))
        self.more += count

    def settle(self) -> None:
        """Keep the first one of a block that was read."""
        if self._found and not self.first:
            self.first = min(self._found)[1]
            self.more -= 1
        self._found.clear()


class _Rows:
    """The rows of one stream on their way out: held back until they are known to be in order."""

    def __init__(self, info: StreamInfo, values: Values, fields: list[str]) -> None:
        self.info, self.values, self.fields = info, values, fields
        self.dtype = row_dtype(fields, len(values.indices))
        self._clock = "log_ns" if "log_ns" in fields else "stamp_ns"
        self._segment: int | None = None
        self._begin()

    def _begin(self) -> None:
        self._watch, self._given = OrderWatch(), 0
        self._waiting, self._places = np.empty(0, dtype=self.dtype), np.empty((0, 2), dtype=np.int64)

    def push(self, rows: NDArray[Any], places: NDArray[np.int64], last: bool = False) -> tuple[list[NDArray[Any]], str]:
        """Take rows with their numbers and bytes, shape (n, 2); give those that are in order, and say what is not."""
        out: list[NDArray[Any]] = []
        if "segment" in self.fields and len(rows):
            for first, end in pairwise([0, *(np.flatnonzero(np.diff(rows["segment"])) + 1).tolist(), len(rows)]):
                if self._segment is not None and rows["segment"][first] != self._segment:
                    ready, wrong = self._push(rows[:0], places[:0], True)
                    out.append(ready)
                    if wrong:
                        return out, wrong
                self._segment = int(rows["segment"][first])
                ready, wrong = self._push(rows[first:end], places[first:end], False)
                out.append(ready)
                if wrong:
                    return out, wrong
            rows, places = rows[:0], places[:0]
        ready, wrong = self._push(rows, places, last)
        return [*out, ready], wrong

    def _push(self, rows: NDArray[Any], places: NDArray[np.int64], last: bool) -> tuple[NDArray[Any], str]:
        waiting, where = np.concatenate([self._waiting, rows]), np.concatenate([self._places, places])
        done, disorder = self._watch.push(rows[self._clock], last)
        count = done - self._given
        if disorder is not None:
            row, byte = where[count].tolist()
            return waiting[:count], (
                f"row {row} (byte {byte}) is {disorder.back_ns / 1e6:.3f} ms before the row above it, and the times come back to "
                "where they were, so the rows are not in the order of time"
            )
        self._given, self._waiting, self._places = done, waiting[count:], where[count:]
        if last:
            self._begin()
        return waiting[:count], ""


class _Reader:
    """Goes through a table once."""

    def __init__(
        self, path: Path, table: TextTable, layout: Layout, offset: int, streams: list[tuple[StreamInfo, Values]]
    ) -> None:
        self._path, self._table, self._layout = path, table, layout
        self._named = streams
        self._row = 0  # rows before this block
        self._byte = offset  # where this block begins
        self._faults = _Faults()
        self._streams: dict[str, list[_Rows]] = {}
        self._stop = ""
        self._numbers: dict[int, tuple[NDArray[np.float64], NDArray[np.bool_]]] = {}

    def read(self) -> Iterator[Batch]:
        with self._path.open("rb") as file:
            file.seek(self._byte)
            for data, cut in self._blocks(file):
                yield from self._block(data, cut)
                self._faults.settle()
                if self._stop:
                    break
        if not self._stop:
            nothing = np.empty((0, 2), dtype=np.int64)
            for one in [one for streams in self._streams.values() for one in streams]:
                yield from self._give(one, np.empty(0, dtype=one.dtype), nothing, last=True)
        self._finish()

    def _finish(self) -> None:
        what, read = [], self._row - self._faults.lost
        if self._stop:
            what.append(f"{self._stop}; the rows above it were read")
        if first := self._faults.first:
            more = f", and {self._faults.more} more like it" if self._faults.more else ""
            what.append(f"{first}{more}; the other {read} rows were read")
        if what:
            fix = "sort the rows by time" if self._stop.endswith("order of time") else "correct or remove what is broken"
            raise Damaged(f"{self._path}: {'; '.join(what)}; {fix}, or copy the file again")

    def _blocks(self, file: IO[bytes]) -> Iterator[tuple[bytes, bool]]:
        """Give whole lines, some hundred kilobytes at a time, and whether the last one has no end."""
        rest = b""
        while chunk := file.read(_BLOCK):
            data = rest + chunk
            end = data.rfind(b"\n") + 1
            if end:
                yield data[:end], False
            rest = data[end:]
            if len(rest) > _LONGEST_LINE:
                self._stop = f"row {self._row + 1} (byte {self._byte}) does not end within {_LONGEST_LINE} bytes"
                return
        if rest.strip():
            yield rest + b"\n", True

    def _block(self, data: bytes, cut: bool) -> Iterator[Batch]:
        cells = split_cells(np.frombuffer(data, dtype=np.uint8), self._table.delimiter, len(self._table.columns))
        self._numbers.clear()
        lost = np.zeros(cells.line_count, dtype=bool)
        self._odd_lines(cells, cut, lost)
        bad = np.zeros(len(cells), dtype=bool)
        fields = self._fields(cells, bad, cut)
        for name, there in self._names(cells):
            if name not in self._streams:
                self._streams[name] = self._plan(name, cells, there)
            for one in self._streams[name]:
                rows, chosen = self._rows(cells, one, fields, there & ~bad, bad, cut)
                places = np.stack([cells.lines[chosen] + self._row + 1, cells.starts[chosen, 0] + self._byte], axis=-1)
                yield from self._give(one, rows, places)
                if self._stop:
                    return
        lost[cells.lines[bad]] = True
        self._faults.lost += int(lost.sum())
        self._row += cells.line_count
        self._byte += len(data)

    def _give(self, one: _Rows, rows: NDArray[Any], places: NDArray[np.int64], last: bool = False) -> Iterator[Batch]:
        ready, self._stop = one.push(rows, places, last)
        for part in ready:
            if len(part):
                yield Batch(one.info, part)

    def _odd_lines(self, cells: Cells, cut: bool, lost: NDArray[np.bool_]) -> None:
        lost[cells.odd_lines] = True
        width = len(self._table.columns)
        for line, count, start in zip(cells.odd_lines[:1], cells.odd_counts, cells.odd_starts, strict=False):
            row, byte = int(line) + self._row + 1, int(start) + self._byte
            if cut and int(line) == cells.line_count - 1:
                what = f"it ends in the middle of row {row} (byte {byte}), which has {count} of {width} columns"
            else:
                what = f"row {row} (byte {byte}) has {count} columns, not {width}"
            self._faults.add(byte, what, len(cells.odd_lines))

    def _bad_cells(self, cells: Cells, column: Column, wrong: NDArray[np.bool_], cut: bool) -> None:
        rows = np.flatnonzero(wrong)
        if not len(rows):
            return
        k = int(rows[0])
        row, byte = int(cells.lines[k]) + self._row + 1, int(cells.starts[k, column.index]) + self._byte
        text = cells.text(k, column.index)
        said = f"is {text}" if text.lower().lstrip("+-") in ("nan", "inf", "infinity") else f"is {text!r}, not a number,"
        what = f"{column.name!r} {said if text else 'is empty'} in row {row} (byte {byte})"
        if cut and int(cells.lines[k]) == cells.line_count - 1:
            what = f"it ends in the middle of row {row}: {what}"
        self._faults.add(byte, what, len(rows))

    def _fields(self, cells: Cells, bad: NDArray[np.bool_], cut: bool) -> dict[str, tuple[NDArray[np.int64], NDArray[np.bool_]]]:
        """Read the columns that are no values: whole numbers, and which cells hold one."""
        layout = self._layout
        fields: dict[str, tuple[NDArray[np.int64], NDArray[np.bool_]]] = {}
        for name, time in (("stamp_ns", layout.stamp), ("log_ns", layout.log)):
            if time is not None:
                t_ns, good = time.read(cells)
                self._bad_cells(cells, time.column, ~good & ~bad, cut)
                bad |= ~good
                fields[name] = t_ns, good
        for name, column in (("seq", layout.seq), ("segment", layout.segment)):
            if column is not None:
                fields[name] = wholes(cells, column.index)
        if layout.exposure is not None:
            fields["exposure_ns"] = instants(cells, layout.exposure[0].index, layout.exposure[1])
        for name, column in (("seq", layout.seq), ("segment", layout.segment), ("exposure_ns", (layout.exposure or [None])[0])):
            if column is not None:
                wrong = ~fields[name][1] & ~cells.empty(column.index) & ~bad
                self._bad_cells(cells, column, wrong, cut)
                bad |= wrong
        return fields

    def _column(self, cells: Cells, index: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Read a column of this block once, however many streams it serves."""
        if index not in self._numbers:
            self._numbers[index] = numbers(cells, index)
        return self._numbers[index]

    def _names(self, cells: Cells) -> Iterator[tuple[str, NDArray[np.bool_]]]:
        """Give the name of each stream in a block, and which rows are its own."""
        topic = self._layout.topic
        if topic is None:
            yield "", np.ones(len(cells), dtype=bool)
            return
        names, which = np.unique(texts(cells, topic.index), return_inverse=True)
        for k in np.argsort([int(np.argmax(which == k)) for k in range(len(names))], kind="stable").tolist():
            if str(names[k]) not in self._streams and len(self._streams) >= _MOST_STREAMS:
                raise Damaged(
                    f"{self._path}: {topic.name!r} names more than {_MOST_STREAMS} streams by row {self._row + len(cells)}; "
                    "the rows above were read; rename that column if it does not name streams"
                )
            yield str(names[k]), which == k

    def _plan(self, name: str, cells: Cells, there: NDArray[np.bool_]) -> list[_Rows]:
        """Decide what a stream looks like when its first rows are here."""
        layout = self._layout
        streams = self._named
        if layout.topic is not None:
            streams = _named(plan_streams(self._table, layout, cells, there), name, f"{name}/")
        optional = {"seq": layout.seq, "segment": layout.segment, "exposure_ns": (layout.exposure or [None])[0]}
        absent = {f for f, c in optional.items() if c is not None and bool(cells.empty(c.index)[there].all())}
        return [_Rows(info, values, [f for f in layout.fields if f not in absent]) for info, values in streams]

    def _rows(
        self,
        cells: Cells,
        one: _Rows,
        fields: dict[str, tuple[NDArray[np.int64], NDArray[np.bool_]]],
        there: NDArray[np.bool_],
        bad: NDArray[np.bool_],
        cut: bool,
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Put together the rows of a stream that are whole; a row with an empty cell was not recorded."""
        filled = there.copy()
        for name in one.fields:
            filled &= fields[name][1]
        for index in one.values.indices:
            filled &= ~cells.empty(index)
        columns: list[NDArray[np.float64]] = []
        for index, scale in zip(one.values.indices, one.values.scales, strict=True):
            values, good = self._column(cells, index)
            wrong = filled & ~good
            self._bad_cells(cells, self._table.columns[index], wrong, cut)
            bad |= wrong
            columns.append(values * scale)
        chosen = np.flatnonzero(filled & ~bad)
        rows = np.empty(len(chosen), dtype=one.dtype)
        for name in one.fields:
            rows[name] = fields[name][0][chosen]
        if columns:
            rows["value"] = np.stack([values[chosen] for values in columns], axis=-1)
        return rows, chosen
