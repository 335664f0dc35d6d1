"""The times of one stream within bounded memory: exact where something unusual happens, blocks of neighbours elsewhere."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.read.spool import Series
from onbeat.read.streams import StreamInfo

__all__ = ("MOST_BREAKS", "MOST_ROWS", "Breaks", "Timeline", "timeline")

MOST_ROWS = 65_536
MOST_BREAKS = 16_384
_BLOCK = 256
_LONG, _SHORT = 1.5, 0.5  # of the usual interval


@dataclass(frozen=True, slots=True, eq=False)
class Breaks:
    """All unusual steps of a stream: an interval above 1.5 or below 0.5 of the usual one, on either clock, or a count that jumps.

    Args:
        total: How many there are.
        index: Numbers of the rows that such a step leads to; the first `MOST_BREAKS`. Shape (k,).
        before: The rows before. Structured array, shape (k,), without values.
        after: The rows themselves.
    """

    total: int
    index: NDArray[np.int64]
    before: NDArray[Any]
    after: NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Timeline:
    """The times of one stream.

    Args:
        info: The stream.
        n: Rows in the recording.
        index: Numbers of the rows that are here, increasing. All of them up to `MOST_ROWS`; beyond, blocks of 256 neighbours
            spread over the whole, the first and the last among them. Shape (m,).
        rows: Those rows, without values. Structured array of shape (m,): see `onbeat.read.streams.FIELDS`.
        period_ns: Median interval of `t_ns`, over positive ones; 0 where there is none.
        breaks: Every unusual step in all n rows.
        series: All rows, with values, on disk: `series.rows(first, last)`.
    """

    info: StreamInfo
    n: int
    index: NDArray[np.int64]
    rows: NDArray[Any]
    period_ns: float
    breaks: Breaks
    series: Series

    @property
    def name(self) -> str:
        """The stream's name."""
        return self.info.name

    @property
    def whole(self) -> bool:
        """Whether all rows are here."""
        return len(self.rows) == self.n

    def has(self, *fields: str) -> bool:
        """Say whether the rows have these fields."""
        return all(field in (self.rows.dtype.names or ()) for field in fields)

    def column(self, field: str) -> NDArray[Any]:
        """Give one field of the rows here. Shape (m,)."""
        return np.ascontiguousarray(self.rows[field])

    @property
    def t_ns(self) -> NDArray[np.int64]:
        """When the rows were true as far as the file says: their stamps, else their log times. Shape (m,)."""
        return self.column("stamp_ns" if self.has("stamp_ns") else "log_ns")

    @property
    def neighbours(self) -> NDArray[np.bool_]:
        """Which of the m - 1 steps between rows here join neighbours of one segment."""
        joined: NDArray[np.bool_] = np.diff(self.index) == 1
        return joined & (np.diff(self.rows["segment"]) == 0) if self.has("segment") else joined

    def intervals_ns(self, field: str | None = None) -> NDArray[np.int64]:
        """Give the intervals between neighbours, of `t_ns` or of a named field."""
        return np.diff(self.t_ns if field is None else self.column(field))[self.neighbours]

    @property
    def span_s(self) -> float:
        """Time from the first row to the last, summed over the segments, s."""
        total = 0
        for first, last in self.segments():
            total += int(self.t_ns[last - 1]) - int(self.t_ns[first])
        return total / 1e9

    def place(self, row: int, field: str) -> str:
        """Say when a row was, on a column of time: "41.2 s" after the first row, or "2.31 s of episode 7"."""
        one = self.series.rows(row, row + 1)[0]
        if not self.has("segment"):
            return f"{(int(one[field]) - int(self.rows[field][0])) / 1e9:.4g} s"
        own = self.rows[self.rows["segment"] == one["segment"]]
        since = (int(one[field]) - int(own[field][0])) / 1e9 if len(own) else 0.0
        return f"{since:.4g} s of episode {int(one['segment'])}"

    def segments(self) -> list[tuple[int, int]]:
        """Give where each segment begins and ends among the rows here."""
        if not self.has("segment"):
            return [(0, len(self.rows))]
        cuts = (np.flatnonzero(np.diff(self.rows["segment"])) + 1).tolist()
        return list(zip([0, *cuts], [*cuts, len(self.rows)], strict=True))


def timeline(series: Series) -> Timeline:
    """Look at all rows of a stream, twice, a block at a time.

    Times that go back, repeat or jump are taken as they are: that is what checks are about.
    """
    n = len(series)
    fields = [name for name in series.dtype.names or () if name != "value"]
    if n <= MOST_ROWS:
        index, rows = np.arange(n), _bare(series.rows(), fields)
    else:
        starts = np.linspace(0, n - _BLOCK, MOST_ROWS // _BLOCK).astype(np.int64).tolist()
        blocks = [_bare(series.rows(start, start + _BLOCK), fields) for start in starts]
        index, kept = np.unique(np.concatenate([np.arange(start, start + _BLOCK) for start in starts]), return_index=True)
        rows = np.concatenate(blocks)[kept]
    joined = np.diff(index) == 1
    usual = {str(name): _median_positive(np.diff(rows[name])[joined]) for name in ("stamp_ns", "log_ns") if name in fields}
    breaks = _breaks(series, fields, usual)
    return Timeline(series.info, n, index.astype(np.int64), rows, next(iter(usual.values())), breaks, series)


def _bare(rows: NDArray[Any], fields: list[str]) -> NDArray[Any]:
    bare = np.empty(len(rows), dtype=np.dtype([(name, rows.dtype[name].str) for name in fields]))
    for name in fields:
        bare[name] = rows[name]
    return bare


def _median_positive(steps: NDArray[np.int64]) -> float:
    positive = steps[steps > 0]
    return float(np.median(positive)) if len(positive) else 0.0


def _breaks(series: Series, fields: list[str], usual: dict[str, float]) -> Breaks:
    total, kept = 0, 0
    index: list[NDArray[np.int64]] = []
    before: list[NDArray[Any]] = []
    after: list[NDArray[Any]] = []
    empty = np.empty(0, dtype=np.dtype([(name, series.dtype[name].str) for name in fields]))
    last, first = empty, 0
    for block in series.blocks():
        rows = np.concatenate([last, _bare(block, fields)])
        odd = np.zeros(max(len(rows) - 1, 0), dtype=bool)
        for name, period in usual.items():
            steps = np.diff(rows[name])
            odd |= (steps > _LONG * period) | (steps < _SHORT * period)
        if "seq" in fields:
            odd |= np.diff(rows["seq"]) != 1
        if "segment" in fields:
            odd &= np.diff(rows["segment"]) == 0
        hits = np.flatnonzero(odd)
        total += len(hits)
        hits = hits[: MOST_BREAKS - kept]
        kept += len(hits)
        index.append(hits + first + 1 - len(last))
        before.append(rows[hits])
        after.append(rows[hits + 1])
        first += len(block)
        last = rows[-1:]
    return Breaks(
        total,
        np.concatenate(index or [np.empty(0, np.int64)]),
        np.concatenate(before or [empty]),
        np.concatenate(after or [empty]),
    )
