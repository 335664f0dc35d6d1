"""What the columns of a table are: the times, the counts, and which columns together are one stream."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.read.cells import ISO, Cells, instants, numbers, texts, wholes
from onbeat.read.vectors import Values, flat_name, group_values
from onbeat.record.tables import TIME_UNITS, Column, TextTable, time_unit

__all__ = ("COUNTS", "EPISODES", "Layout", "TimeColumn", "plan_columns", "plan_streams", "time_role")

# The source's own time; what may be either; and the recorder's time. The first name counts most.
_STAMPS = (
    *("header_stamp", "stamp", "capture", "capture_time", "captured", "device_time", "device_timestamp", "sensor_time"),
    *("sensor_timestamp", "hardware_time", "hardware_timestamp", "source_time", "t_device", "device"),
)
_TIMES = (
    *("timestamp", "time", "t", "timestamps", "times", "time_stamp", "monotonic", "elapsed", "sec", "secs", "seconds", "date"),
    *("datetime", "date_time"),
)
_LOGS = (
    *("log_time", "receive", "receive_time", "received", "recv", "recv_time", "host_time", "host", "host_timestamp", "arrival"),
    *("arrival_time", "arrived", "log", "logged", "record_time", "bag_time", "write_time", "system_time", "publish_time"),
)
_BESIDE_STAMPS = ("timestamp", "time")  # beside a stamp these are the recorder's: "%time" of a bag printed as text
COUNTS = ("seq", "header_seq", "sequence", "frame", "frame_index", "frame_number", "frame_id", "count", "counter", "index")
EPISODES = ("episode_index", "episode", "episode_id")
_NAMES = ("topic", "sensor", "stream", "topic_name", "sensor_name", "stream_name", "channel")
_UNITS = {**dict.fromkeys(("s", "sec", "secs", "seconds"), "s"), **dict.fromkeys(("ms", "msec", "millis"), "ms")} | {
    **dict.fromkeys(("us", "usec", "micros"), "us"),
    **dict.fromkeys(("ns", "nsec", "nsecs", "nanos", "nanosec", "nanoseconds"), "ns"),
}
_REST = ("nanosec", "nanosecs", "nsec", "nsecs", "nanoseconds", "nanos")
_WHOLE = ("sec", "secs", "seconds")
_HALF = 0.5  # of the filled cells of the head are good: broken ones do not make a column of numbers one of text
_MOSTLY = 0.9  # of the rows in which either of two columns is filled, both are: they are of one stream
_USUAL_HZ = (2.0, 5000.0)  # of rows in robots' tables
_MOST_NAMES = 256
_NONE = ("nan", "inf", "infinity", "null", "none")


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """A column of instants.

    Args:
        column: The column.
        unit: Its unit, or "iso".
        rest: A second column that holds the nanoseconds of the same instant; None where there is none.
    """

    column: Column
    unit: str
    rest: Column | None = None

    def read(self, cells: Cells) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Give the instants of a block of cells, ns; and which cells hold one."""
        t_ns, good = instants(cells, self.column.index, TIME_UNITS.get(self.unit, 0))
        if self.rest is None:
            return t_ns, good
        rest_ns, whole = wholes(cells, self.rest.index)
        return t_ns + rest_ns, good & whole & (rest_ns >= 0) & (rest_ns < 1_000_000_000)


@dataclass(frozen=True, slots=True)
class Layout:
    """What the columns of a table are.

    Args:
        stamp: The time that the file has, the source's where it has two.
        log: The recorder's time beside it.
        seq: The source's count.
        exposure: Exposure times, and their unit in nanoseconds.
        segment: The number of the episode.
        topic: Names the stream of each row.
        values: Columns of numbers that are none of these.
        notes: What a reader of the result should know.
    """

    stamp: TimeColumn
    log: TimeColumn | None
    seq: Column | None
    exposure: tuple[Column, int] | None
    segment: Column | None
    topic: Column | None
    values: tuple[Column, ...]
    notes: tuple[str, ...]

    @property
    def fields(self) -> list[str]:
        """Names of the fields that the rows have, see `onbeat.read.streams.FIELDS`; not `value`."""
        there = {"log_ns": self.log, "seq": self.seq, "exposure_ns": self.exposure, "segment": self.segment}
        return ["stamp_ns", *(name for name, column in there.items() if column is not None)]


def plan_columns(table: TextTable, head: Cells) -> Layout:
    """Tell what the columns are, by their names and their first cells.

    Args:
        table: The table.
        head: Cells of its first rows.

    Raises:
        BadInput: no column holds times, or their unit cannot be told.
    """
    notes: list[str] = []
    stamp, log = _times(table, head, notes)
    taken = {column.index for time in (stamp, log) if time for column in (time.column, time.rest) if column}
    left = [column for column in table.columns if column.index not in taken]

    def whole(words: Sequence[str]) -> Column | None:
        named = [(words.index(plain), c.index) for c in left if (plain := _plain(c.name)) in words]
        hits = [table.columns[index] for _, index in sorted(named)]
        return next((c for c in hits if _share(head, c, lambda i: wholes(head, i)[1]) >= _HALF), None)

    segment = whole(EPISODES)
    left = [c for c in left if c != segment]
    seq = whole(COUNTS)
    left = [c for c in left if c != seq]
    numeric = [c for c in left if _share(head, c, lambda i: numbers(head, i)[1]) >= _HALF]
    counted = {c.index for c in numeric}
    topic = next((c for c in left if c.index not in counted and _plain(c.name) in _NAMES), None)
    if topic is not None and len(set(texts(head, topic.index).tolist())) > _MOST_NAMES:
        topic = None
    exposure = next(((c, scale) for c in numeric if (scale := _exposure(c))), None)
    values = tuple(c for c in numeric if exposure is None or c != exposure[0])
    empty = [c.name for c in left if bool(head.empty(c.index).all())]
    if empty and len(head):
        notes.append(f"left out, because they are empty in the first {len(head)} rows: {', '.join(empty[:8])}")
    broken = [
        c.name
        for c in left
        if c.index not in counted and head.text(_first_filled(head, c), c.index).lower().lstrip("+-") in _NONE
    ]
    if broken:
        notes.append(f"left out, because hardly a cell of them is a number: {', '.join(broken[:8])}")
    return Layout(stamp, log, seq, exposure, segment, topic, values, tuple(notes))


def plan_streams(table: TextTable, layout: Layout, head: Cells, rows: NDArray[np.bool_]) -> list[Values]:
    """Tell which columns of values together are one stream: those that are filled in the same rows, by what they mean.

    Args:
        table: The table.
        layout: Its columns.
        head: Cells of some rows.
        rows: Which of them to look at: those of one name, where a column names the stream of each row. Shape (len(head),).

    Returns:
        At least one; without columns where the table has times only.
    """
    groups: list[tuple[NDArray[np.bool_], list[Column]]] = []
    for column in layout.values:
        filled = ~head.empty(column.index)[rows]
        if not filled.any():
            continue
        for mask, members in groups:
            if int((mask & filled).sum()) >= _MOSTLY * int((mask | filled).sum()):
                members.append(column)
                break
        else:
            groups.append((filled, [column]))
    if not groups:
        return [Values("", "other", (), (), (), "")]
    found: list[Values] = []
    for mask, members in groups:
        sample = np.stack([numbers(head, c.index)[0][rows][mask] for c in members], axis=-1)
        found += group_values(table, members, sample)
    return found


def time_role(name: str) -> tuple[str, str, str] | None:
    """Tell by its name what an array of times is: "imu_timestamps_ns" is ("stamp", "imu", "ns").

    Returns:
        "stamp" or "log", what stands before it, and its unit or ""; None where it is not called like a time.
    """
    words = flat_name(name).split("_")
    unit = _UNITS[words[-1]] if len(words) > 1 and words[-1] in _UNITS else ""
    words = words[:-1] if unit else words
    for length in range(len(words), 0, -1):
        last, prefix = "_".join(words[-length:]), "_".join(words[:-length])
        if last in _LOGS:
            return "log", prefix, unit
        if last in (*_STAMPS, *_TIMES, "stamps"):
            return "stamp", prefix, unit
    return None


def _times(table: TextTable, head: Cells, notes: list[str]) -> tuple[TimeColumn, TimeColumn | None]:
    named: dict[str, tuple[Column, Column | None]] = {}
    for column in table.columns:
        plain, rest = _plain(column.name, units=True), None
        words = flat_name(column.name).split("_")
        if words[-1] in _REST and _rest_of(table, column, _WHOLE) is not None:
            continue
        if words[-1] in _WHOLE and (rest := _rest_of(table, column, _REST)) is not None:
            plain = "_".join(words[:-1]) or "time"
        if _is_decimal(head, column) or _is_date(head, column):
            named.setdefault(plain, (column, rest))
    stamps = [n for word in _STAMPS for n in named if n == word or (word == "header_stamp" and n.endswith("_header_stamp"))]
    times, logs = ([n for n in words if n in named] for words in (_TIMES, _LOGS))
    first = next(iter([*stamps, *times, *logs]), None)
    if first is None:
        first = _unnamed(table, head, named)
    second = next((n for n in logs if n != first), None)
    if second is None and first in stamps:
        second = next((n for n in _BESIDE_STAMPS if n in named), None)
    one = _timed(table, head, *named[first], notes)
    two = _timed(table, head, *named[second], notes) if second else None
    return one, two


def _unnamed(table: TextTable, head: Cells, named: dict[str, tuple[Column, Column | None]]) -> str:
    """Find the time where no column is called like one: one that has the word in its name, or the first column of no names."""
    hits = [name for name in named if "time" in name or "stamp" in name]
    if len(hits) == 1:
        return hits[0]
    if table.columns[0].name == "column_0" and "column_0" in named:
        values, good = numbers(head, 0)
        steps = np.diff(values[good])
        if len(steps) and np.mean(steps >= 0) > _MOSTLY and np.any(steps > 0):
            return "column_0"
    have = ", ".join(table.names[:8]) + (f" and {len(table.names) - 8} more" if len(table.names) > 8 else "")
    several = f"several columns that may be the time ({', '.join(hits)})" if hits else f"no column of times (it has {have})"
    raise BadInput(f"{table.path} has {several}; call the one to take 'timestamp_ns', or _s, _ms, _us")


def _timed(table: TextTable, head: Cells, column: Column, rest: Column | None, notes: list[str]) -> TimeColumn:
    if rest is not None:
        return TimeColumn(column, "s", rest)
    if not _is_decimal(head, column):
        return TimeColumn(column, ISO)
    suffix = flat_name(column.name).split("_")[-1]
    if suffix in _UNITS and (column.unit or suffix) not in TIME_UNITS:
        return TimeColumn(column, _UNITS[suffix])
    try:
        return TimeColumn(column, time_unit(table, column))
    except BadInput as error:
        values, good = numbers(head, column.index)
        steps = np.diff(values[good])
        step = float(np.median(steps[steps > 0])) if np.any(steps > 0) else 0.0
        fits = [u for u, s in TIME_UNITS.items() if step and _USUAL_HZ[0] <= 1e9 / (step * s) <= _USUAL_HZ[1]]
        if len(fits) != 1:
            raise BadInput(
                f"{table.path}: {column.name!r} begins at {table.first[column.index]!r} and advances by {step:g} a row, so its "
                f"unit cannot be told; call the column '{flat_name(column.name)}_s', _ms, _us or _ns"
            ) from error
        hz = 1e9 / (step * TIME_UNITS[fits[0]])
        notes.append(f"{column.name!r} names no unit; it was taken as {fits[0]}, because rows then come at {hz:.4g} Hz")
        return TimeColumn(column, fits[0])


def _share(head: Cells, column: Column, good: Callable[[int], NDArray[np.bool_]]) -> float:
    """Give which part of the cells that are filled is good; 0 where none is filled."""
    filled = ~head.empty(column.index)
    return float(np.mean(good(column.index)[filled])) if filled.any() else 0.0


def _is_decimal(head: Cells, column: Column) -> bool:
    return _share(head, column, lambda i: instants(head, i, 1)[1]) >= _HALF


def _is_date(head: Cells, column: Column) -> bool:
    filled = np.flatnonzero(~head.empty(column.index))
    dated = len(filled) > 0 and re.match(r"\d{4}-\d\d-\d\d", head.text(int(filled[0]), column.index))
    return bool(dated) and _share(head, column, lambda i: instants(head, i, 0)[1]) >= _HALF


def _first_filled(head: Cells, column: Column) -> int:
    return int(np.argmin(head.empty(column.index)))


def _exposure(column: Column) -> int:
    """Give the unit of a column of exposure times in nanoseconds; 0 where it is none, or does not say its unit."""
    if "exposure" not in column.name.lower():
        return 0
    words = [column.unit, flat_name(column.name).split("_")[-1]]
    return next((TIME_UNITS[_UNITS[word]] for word in words if word in _UNITS), 0)


def _rest_of(table: TextTable, column: Column, words: Sequence[str]) -> Column | None:
    """Find the other half of an instant that is written as seconds and nanoseconds."""
    prefix = flat_name(column.name).split("_")[:-1]
    for other in table.columns:
        *before, last = flat_name(other.name).split("_")
        if other != column and before == prefix and last in words:
            return other
    return None


def _plain(name: str, units: bool = False) -> str:
    """Give a name without a unit at its end."""
    words = flat_name(name).split("_")
    return "_".join(words[:-1] if units and len(words) > 1 and words[-1] in _UNITS else words)
