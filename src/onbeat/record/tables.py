"""Tables of numbers: CSV files of any robot, with whatever header their recorder gave them.

An instant goes from its digits to int64 nanoseconds in exact arithmetic: an epoch stamp never passes through a float.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput

__all__ = ("TIME_UNITS", "Column", "TextTable", "exact_instant", "find_time", "open_table", "time_unit")

# Robots are logged faster than this; decimals that advance by more are more likely milliseconds.
_SLOWEST_GUESS_S = 0.5
TIME_UNITS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_TIME_NAMES = (
    "timestamp",
    "time",
    "t",
    "stamp",
    "receive",
    "capture",
    "log_time",
    "monotonic",
    "elapsed",
    "host_time",
    "time_stamp",
    "sec",
    "secs",
    "seconds",
)
_UNIT_WORDS = {
    "s": "s",
    "sec": "s",
    "secs": "s",
    "seconds": "s",
    "ms": "ms",
    "msec": "ms",
    "us": "us",
    "usec": "us",
    "ns": "ns",
    "nsec": "ns",
    "nanoseconds": "ns",
}
_HEAD_LINES = 200
_LONGEST_LINE = 1 << 20  # characters; a line beyond this is no row of a table
_BINARY = 256  # bytes at the beginning that tell text from binary; zeros further on are damage
_STEP_ROWS = 1000  # rows that tell by how much a column advances


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name as the file writes it, without the unit in brackets, and that unit ("" where there is none)."""

    index: int
    name: str
    unit: str


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table whose head has been read: its columns are known, its rows still on disk.

    Args:
        path: The file.
        columns: Its columns.
        delimiter: What separates them; None is white space.
        skip: Lines before the first row.
        first: Cells of the first row, as text.
    """

    path: Path
    columns: tuple[Column, ...]
    delimiter: str | None
    skip: int
    first: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    def column(self, name: str) -> Column:
        """Find a column by its name, by its name without its unit suffix, or by its number from 0.

        Raises:
            BadInput: there is none, or more than one.
        """
        for same in (lambda c: c.name == name, lambda c: c.name.lower() == name.lower(), lambda c: str(c.index) == name):
            hits = [c for c in self.columns if same(c)]
            if len(hits) == 1:
                return hits[0]
            if hits:
                raise BadInput(
                    f"{self.path} has {len(hits)} columns named {name!r}; name the one you mean by its number (from 0)"
                )
        raise BadInput(f"{self.path} has no column {name!r}; it has {_listed(self.names)}")

    def floats(self, columns: Sequence[Column]) -> NDArray[np.float64]:
        """Read columns as numbers. Shape (n, len(columns)).

        Raises:
            BadInput: a cell is empty, no number, or not finite; says in which row.
        """
        values = self._load([c.index for c in columns], np.dtype(np.float64)).reshape(-1, len(columns))
        if not np.all(np.isfinite(values)):
            row, k = (int(i) for i in np.argwhere(~np.isfinite(values))[0])
            raise BadInput(
                f"{self.path}: {columns[k].name!r} is {values[row, k]} in row {row + 1}; remove the rows that were not measured"
            )
        return values

    def instants(self, column: Column, unit: str, rows: int | None = None) -> NDArray[np.int64]:
        """Read a column of instants as whole nanoseconds, exactly.

        Args:
            column: The column.
            unit: "s", "ms", "us" or "ns".
            rows: Read this many only; None reads all.

        Raises:
            BadInput: a cell is no number, or does not fit int64 nanoseconds.
        """
        scale = TIME_UNITS[unit]
        if re.fullmatch(r"[+-]?\d+", self.first[column.index]):
            try:
                ticks = np.asarray(self._load([column.index], np.dtype(np.int64), rows).reshape(-1))
                if len(ticks) and max(int(ticks.max()), -int(ticks.min())) <= (2**63 - 1) // scale:
                    return ticks * scale
            except BadInput:
                pass  # whole numbers at first, decimals later
        texts = self._load([column.index], np.dtype("U40"), rows).reshape(-1)
        try:
            return np.fromiter(
                (int((_decimal(str(text)) * scale).to_integral_value()) for text in texts), dtype=np.int64, count=len(texts)
            )
        except (OverflowError, ValueError) as error:
            bad = next((k for k, text in enumerate(texts) if exact_instant(str(text), scale) is None), 0)
            raise BadInput(
                f"{self.path}: {column.name!r} is {str(texts[bad])!r} in row {bad + 1}, no time in {unit}; correct that row"
            ) from error

    def _load(self, indices: list[int], dtype: Any, rows: int | None = None) -> NDArray[Any]:
        try:
            with self.path.open(encoding="utf-8-sig", errors="replace") as file:
                return np.loadtxt(
                    file,
                    dtype=dtype,
                    delimiter=self.delimiter,
                    skiprows=self.skip,
                    max_rows=rows,
                    usecols=indices,
                    comments="#",
                    quotechar='"',
                    ndmin=2,
                )
        except ValueError as error:
            raise BadInput(f"{self.path}: {self._explain(str(error), indices)}") from error

    def _explain(self, error: str, indices: list[int]) -> str:
        """Say in our words what numpy could not read."""
        if cell := re.search(r"could not convert string '(.*?)' to \S+ at row (\d+), column (\d+)", error):
            column = int(cell[3]) - 1
            name = self.columns[column].name if column < len(self.columns) else str(column)
            what = f"is {cell[1]!r}" if cell[1] else "is empty"
            return f"{name!r} {what} in row {int(cell[2]) + 1}, not a number; correct or remove that row"
        if short := re.search(r"at row (\d+) with (\d+) columns", error):
            return f"row {short[1]} has {short[2]} columns, the header {len(self.columns)}; it may be cut off, so remove that row"
        return f"columns {_listed([self.columns[i].name for i in indices])} do not hold numbers ({error.splitlines()[0][:80]})"


def open_table(path: Path) -> TextTable:
    """Read the head of a text table: comma, semicolon, tab or white space; a header row, or one in a comment.

    Raises:
        BadInput: the file is empty, binary, or has no rows of numbers.
    """
    with path.open("rb") as raw:
        if b"\0" in raw.read(_BINARY):
            raise BadInput(f"{path} is not a text file; onbeat reads CSV files and LeRobot data sets here")
    header: list[str] | None = None
    comment = ""
    delimiter: str | None = None
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        for number, line in enumerate(iter(lambda: file.readline(_LONGEST_LINE), "")):
            if number >= _HEAD_LINES:
                break
            if len(line) == _LONGEST_LINE:
                raise BadInput(f"{path} has a line of more than {_LONGEST_LINE} characters, so it is no table; name another")
            text = line.strip()
            if not text:
                continue
            if text.startswith("#"):
                comment = text.lstrip("#").strip()
                continue
            cells = _split(text, delimiter := _delimiter(text))
            if (
                header is None
                and not all(_is_number(cell) for cell in cells)
                and not any(_is_number(cell) for cell in cells if cell)
            ):
                header = cells
                continue
            if header is None and comment:
                said = _split(comment, _delimiter(comment))
                header = said if len(said) == len(cells) else None
            names = header or [f"column_{k}" for k in range(len(cells))]
            if len(names) != len(cells):
                raise BadInput(
                    f"{path}: the header names {len(names)} columns and the first row has {len(cells)}; correct the header"
                )
            return TextTable(path, tuple(_column(k, name) for k, name in enumerate(names)), delimiter, number, tuple(cells))
    if header is None:
        raise BadInput(f"{path} is empty; record again, or name the right file")
    raise BadInput(f"{path} has a header and no rows; record again, or name the right file")


def find_time(table: TextTable, name: str | None = None) -> Column:
    """Find the column of instants: the one named, else the one that is called like a time.

    Raises:
        BadInput: there is none, or several look like one.
    """
    if name is not None:
        return table.column(name)
    rank = {word: k for k, word in enumerate(_TIME_NAMES)}
    hits = sorted((rank[bare], column.index) for column in table.columns if (bare := _bare(column.name)) in rank)
    if not hits:
        raise BadInput(
            f"{table.path} has no column that is called like a time (it has {_listed(table.names)}); name it with --time"
        )
    if len(hits) > 1 and hits[0][0] == hits[1][0]:
        names = [table.columns[index].name for kind, index in hits if kind == hits[0][0]]
        raise BadInput(f"{table.path} has several columns of time ({_listed(names)}); name the one to take with --time")
    return table.columns[hits[0][1]]


def _step_s(table: TextTable, column: Column) -> float:
    """Give by how much a column advances from row to row, in the middle; 0 where it cannot be read, which is said later."""
    try:
        instants_ns = table.instants(column, "s", _STEP_ROWS)
    except BadInput:
        return 0.0
    return float(np.median(np.diff(instants_ns))) * 1e-9 if len(instants_ns) > 1 else 0.0


def time_unit(table: TextTable, column: Column, asked: str | None = None) -> str:
    """Tell the unit of a column of instants: as asked, as its header says, else as its numbers show.

    Decimals that advance by less than half a second a row are seconds. Whole numbers are nanoseconds, microseconds,
    milliseconds or seconds since 1970 when they lie between the years 2001 and 2100 in exactly that unit.

    Raises:
        BadInput: the unit asked for is unknown, or it cannot be told.
    """
    if asked is not None:
        if asked not in TIME_UNITS:
            raise BadInput(f"{asked!r} is no unit of time here; take one of {', '.join(TIME_UNITS)}")
        return asked
    if column.unit in _UNIT_WORDS:
        return _UNIT_WORDS[column.unit]
    last = re.split(r"[_.\s]", column.name.lower())[-1]
    if (last in _UNIT_WORDS and last != column.name.lower()) or last in ("sec", "secs", "seconds", "ns", "ms", "us"):
        return _UNIT_WORDS[last]
    text = table.first[column.index]
    value = abs(_decimal(text))
    if not value <= 2**63:
        raise BadInput(
            f"{table.path}: {column.name!r} begins with {text!r}, which is no time; name the column of time with --time"
        )
    for unit, scale in TIME_UNITS.items():
        seconds = value * scale / 1_000_000_000
        if 978_307_200 <= seconds <= 4_102_444_800:  # 2001 to 2100: the four ranges do not meet
            return unit
    if "." in text and value < 1_000_000_000:
        step_s = _step_s(table, column)
        if step_s <= _SLOWEST_GUESS_S:
            return "s"
        raise BadInput(
            f"{table.path}: {column.name!r} advances by {step_s:g} a row, which could be seconds or ms; "
            "say which with --time-unit"
        )
    raise BadInput(
        f"{table.path}: {column.name!r} begins at {text}, which could be seconds, ms, us or ns; say which with --time-unit"
    )


def _bare(name: str) -> str:
    """Give a name without its unit and its capitals: "Time_ns" is "time"."""
    words = name.lower().split("_")
    return "_".join(words[:-1]) if len(words) > 1 and words[-1] in _UNIT_WORDS else name.lower()


def _column(index: int, text: str) -> Column:
    """Take "p_RS_R_x [m]" or "time(ns)" apart."""
    match = re.fullmatch(r"(.*?)\s*[\[(]\s*([^\])]*)\s*[\])]", text)
    return Column(index, match[1].strip(), match[2].strip().lower()) if match and match[1].strip() else Column(index, text, "")


def _delimiter(text: str) -> str | None:
    counts = {mark: text.count(mark) for mark in (",", ";", "\t")}
    best = max(counts, key=lambda mark: counts[mark])
    return best if counts[best] else None


def _split(text: str, delimiter: str | None) -> list[str]:
    if delimiter is None:
        return text.split()
    # commas inside quotes or brackets belong to their cell
    cells = re.findall(rf'(?:^|{re.escape(delimiter)})((?:"[^"]*"|\[[^\]]*\]|[^{re.escape(delimiter)}"\[]|["\[])*)', text)
    return [cell.strip().strip('"').strip() for cell in cells]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _decimal(text: str) -> Decimal:
    """Read a cell exactly; what is no number, NaN or too large to reckon with comes back as infinity."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return Decimal("Infinity")
    return value if value.is_finite() and value.adjusted() < 40 else Decimal("Infinity")


def exact_instant(text: str, scale: int) -> int | None:
    """Read one cell as whole nanoseconds, exactly; half a nanosecond goes to the even one.

    Args:
        text: A decimal number.
        scale: Nanoseconds in its unit.

    Returns:
        None where it is no number, or beyond int64 nanoseconds.
    """
    t_ns = _decimal(text) * scale
    return int(t_ns.to_integral_value()) if abs(t_ns) < 2**63 - 1 else None


def _listed(names: Sequence[str], most: int = 8) -> str:
    """Write out names, the first few where they are many."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
