"""Cells of a block of text: where each one stands, to the byte, and what number it holds, exactly.

All cells of a column are read at once, digit by digit: tables of millions of rows are read in seconds, and a stamp never passes
through a float.
"""

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.record.tables import exact_instant

__all__ = ("ISO", "Cells", "instants", "numbers", "split_cells", "texts", "wholes")

ISO = "iso"  # the "unit" of instants written as 2026-05-01T12:00:00.123Z
_NEWLINE, _RETURN, _SPACE, _TAB, _QUOTE, _HASH = b'\n\r \t"#'
_BLANK = np.isin(np.arange(256), (_SPACE, _TAB, _RETURN))
_WIDEST = 64  # bytes of a number
_DATE = re.compile(
    r"(?P<date>(?P<year>\d{4})-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,9})?)?)?)"
    r"(?:Z|(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))?"
)
_YEARS = (1678, 2261)  # that int64 nanoseconds hold
_DIGITS = 19  # of them uint64 holds any; instants since 1970 have as many in nanoseconds
_PLACES = 18
_TENS = 10.0 ** np.arange(23)  # exact as floats, so that a quotient of exact numbers is rounded once
_WHOLE_TENS = 10 ** np.arange(19, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """The cells of some whole lines.

    Args:
        data: The bytes; uint8, ends with a newline.
        starts, ends: Where each cell begins and ends, without blanks and quotes around it. Shape (rows, columns).
        lines: Number of the line of each row, from 0. Shape (rows,).
        odd_lines: Lines that have another number of cells. Comments and empty lines are none.
        odd_counts: How many cells they have.
        odd_starts: Where they begin.
        line_count: Lines that are rows, odd or not; `lines` and `odd_lines` count these only.
    """

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]
    lines: NDArray[np.int64]
    odd_lines: NDArray[np.int64]
    odd_counts: NDArray[np.int64]
    odd_starts: NDArray[np.int64]
    line_count: int

    def __len__(self) -> int:
        return len(self.lines)

    def empty(self, column: int) -> NDArray[np.bool_]:
        """Say which cells of a column hold nothing."""
        empty: NDArray[np.bool_] = self.starts[:, column] >= self.ends[:, column]
        return empty

    def text(self, row: int, column: int) -> str:
        """Give a cell as text, at most 40 characters of it."""
        first, last = int(self.starts[row, column]), int(self.ends[row, column])
        return self.data[first : max(first, min(last, first + 40))].tobytes().decode("utf-8", "replace")


def split_cells(data: NDArray[np.uint8], delimiter: str | None, columns: int) -> Cells:
    """Find the cells of whole lines.

    Args:
        data: Bytes; the last one is a newline.
        delimiter: What separates cells; None is any run of blanks.
        columns: How many cells a row has.

    Raises:
        BadInput: the last byte is no newline.
    """
    if not len(data) or data[-1] != _NEWLINE:
        raise BadInput("cells are found in whole lines; end the last one with a newline")
    line_ends = np.flatnonzero(data == _NEWLINE)
    line_starts = np.concatenate([[0], line_ends[:-1] + 1])
    if delimiter is None:
        blank = _BLANK[data] | (data == _NEWLINE)
        edges = np.flatnonzero(np.diff(blank))
        starts = edges[blank[edges]] + 1
        starts = starts if blank[0] else np.concatenate([[0], starts])
        ends = edges[~blank[edges]] + 1
    else:
        marks = data == ord(delimiter)
        if (data == _QUOTE).any() or (data == ord("[")).any():
            marks &= ~_inside(data, line_starts)
        ends = np.flatnonzero(marks | (data == _NEWLINE))
        starts = np.concatenate([[0], ends[:-1] + 1])
    counts = np.diff(np.searchsorted(starts, np.append(line_starts, len(data))))
    heads = _first_byte(data, line_starts, line_ends)
    said = (heads != _HASH) & (heads != _NEWLINE)
    good = said & (counts == columns)
    chosen = np.repeat(good, counts)
    starts, ends = starts[chosen].reshape(-1, columns), ends[chosen].reshape(-1, columns)
    if delimiter is not None:
        starts, ends = _trimmed(data, starts, ends)
    number = np.cumsum(said) - 1
    odd = said & ~good
    return Cells(data, starts, ends, number[good], number[odd], counts[odd], line_starts[odd], int(said.sum()))


def numbers(cells: Cells, column: int) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Read a column as numbers.

    Returns:
        Values, correctly rounded, NaN where there is none; and which cells hold a finite number.
    """
    mantissa, places, plain = _decimals(cells, column)
    plain &= (np.abs(mantissa) < 2**53) & (places < len(_TENS))
    values = mantissa / _TENS[np.where(plain, places, 0)]
    values[~plain] = np.nan
    for row in np.flatnonzero(~plain & ~cells.empty(column)).tolist():
        values[row] = _float(cells.data[cells.starts[row, column] : cells.ends[row, column]][: _WIDEST + 1].tobytes())
    return values, np.isfinite(values)


def wholes(cells: Cells, column: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Read a column as whole numbers, "7" or "7.0"; and say which cells hold one."""
    mantissa, places, good = _decimals(cells, column)
    scale = _WHOLE_TENS[np.where(good, places, 0)]
    values = mantissa // scale
    return values, good & (values * scale == mantissa)


def instants(cells: Cells, column: int, scale: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Read a column as instants in whole nanoseconds, exactly.

    Args:
        cells: The cells.
        column: Which.
        scale: Nanoseconds in its unit, a power of ten; 0 for ISO 8601 dates.

    Returns:
        Instants, half a nanosecond going to the even one; and which cells hold one within int64.
    """
    if scale == 0:
        return _dates(cells, column)
    mantissa, places, good = _decimals(cells, column)
    exponent = len(str(scale)) - 1 - places
    up = _WHOLE_TENS[np.clip(exponent, 0, 18)]
    plain = good & (np.abs(mantissa) <= (2**63 - 1) // up)
    t_ns = np.where(plain & (exponent >= 0), mantissa * np.where(plain, up, 0), 0)
    below = plain & (exponent < 0)
    if below.any():
        down = _WHOLE_TENS[np.clip(-exponent[below], 0, 18)]
        quotient, rest = np.divmod(mantissa[below], down)
        t_ns[below] = quotient + ((rest > down // 2) | ((rest == down // 2) & (quotient & 1 == 1)))
    good = plain
    for row in np.flatnonzero(~plain & ~cells.empty(column)).tolist():
        exact = exact_instant(cells.text(row, column), scale)
        if exact is not None:
            t_ns[row], good[row] = exact, True
    return t_ns, good


def texts(cells: Cells, column: int) -> NDArray[np.str_]:
    """Read a column as text, at most 64 bytes of each cell."""
    chars, width = _characters(cells, column)
    return np.char.decode(chars.view(f"S{width}")[:, 0], "utf-8", "replace")


def _decimals(cells: Cells, column: int) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Read plain decimals: all digits as one whole number, how many stand behind the point, and which cells are plain."""
    data, ends = cells.data, cells.ends[:, column]
    starts = cells.starts[:, column]
    sign = data.take(starts, mode="clip")
    negative = (sign == ord("-")) & (starts < ends)
    starts = starts + (negative | ((sign == ord("+")) & (starts < ends)))
    n = len(starts)
    mantissa = np.zeros(n, dtype=np.uint64)
    places, digits = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    points, good = np.zeros(n, dtype=np.int8), ends - starts <= _WIDEST
    longest = int(np.clip((ends - starts).max(initial=0), 0, _WIDEST))
    for k in range(longest):
        at = starts + k
        inside = at < ends
        byte = data.take(at, mode="clip")
        digit = byte - np.uint8(ord("0"))
        is_digit = (digit < 10) & inside
        is_point = (byte == ord(".")) & inside
        good &= is_digit | is_point | ~inside
        mantissa = np.where(is_digit & (digits < _DIGITS), mantissa * np.uint64(10) + digit, mantissa)
        digits += is_digit & ((mantissa > 0) | (digits > 0))
        places += is_digit & (points > 0)
        points += is_point
    some = (ends - starts) > points
    good &= some & (points <= 1) & (digits <= _DIGITS) & (places <= _PLACES) & (mantissa < 2**63)
    whole = np.where(good, mantissa, 0).astype(np.int64)
    return np.where(negative, -whole, whole), places, good


def _dates(cells: Cells, column: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    dates = [_date(str(word)) for word in texts(cells, column)]
    good = np.array([date is not None for date in dates], dtype=bool)
    return np.array([date or 0 for date in dates], dtype=np.int64), good


def _date(text: str) -> int | None:
    """Read a date of ISO 8601 as nanoseconds since 1970; without a zone it is in UTC. None where it is none."""
    match = _DATE.fullmatch(text)
    if match is None or not _YEARS[0] <= int(match["year"]) <= _YEARS[1]:
        return None
    try:
        # NumPy knows no zones.
        t_ns = int(np.datetime64(match["date"].replace(",", "."), "ns").astype(np.int64))
    except ValueError:
        return None
    minutes = int(match["hours"] or 0) * 60 + int(match["minutes"] or 0)
    return t_ns - (-minutes if match["sign"] == "-" else minutes) * 60_000_000_000


def _characters(cells: Cells, column: int) -> tuple[NDArray[np.uint8], int]:
    starts, ends = cells.starts[:, column], cells.ends[:, column]
    width = int(np.clip((ends - starts).max(initial=1), 1, _WIDEST))
    places = np.arange(width)
    chars = cells.data.take(starts[:, None] + places, mode="clip")
    chars[places >= (ends - starts)[:, None]] = 0
    return chars, width


def _float(cell: bytes) -> float:
    if len(cell) > _WIDEST or b"_" in cell:
        return float("nan")
    try:
        return float(cell)
    except ValueError:
        return float("nan")


def _inside(data: NDArray[np.uint8], line_starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which bytes stand inside quotes or brackets of their line: a comma there belongs to its cell."""
    lengths = np.diff(np.append(line_starts, len(data)))

    def depth(change: NDArray[np.int64]) -> NDArray[np.int64]:
        total = np.cumsum(change)
        return total - np.repeat(total[line_starts] - change[line_starts], lengths)

    quotes = depth((data == _QUOTE).astype(np.int64)) % 2 == 1
    brackets = depth((data == ord("[")).astype(np.int64) - (data == ord("]"))) > 0
    inside: NDArray[np.bool_] = quotes | brackets
    return inside


def _first_byte(data: NDArray[np.uint8], line_starts: NDArray[np.int64], line_ends: NDArray[np.int64]) -> NDArray[np.uint8]:
    """Give the first byte of each line that is no blank; a newline for an empty one."""
    at = line_starts.copy()
    while (blank := _BLANK[data[at]] & (at < line_ends)).any():
        at += blank
    first: NDArray[np.uint8] = data[at]
    return first


def _trimmed(
    data: NDArray[np.uint8], starts: NDArray[np.int64], ends: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Leave out blanks and then quotes around cells."""
    for marks in (_BLANK, np.arange(256) == _QUOTE, _BLANK):
        while (left := marks[data.take(starts, mode="clip")] & (starts < ends)).any():
            starts = starts + left
        while (right := marks[data.take(ends - 1, mode="clip")] & (starts < ends)).any():
            ends = ends - right
    return starts, ends
