"""What is a planted fault made of: what is known of the stream beforehand, what is drawn, and how its rows change."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import Damaged
from onbeat.read.streams import StreamInfo, StreamRecording

__all__ = ("Change", "Fault", "Parameters", "Seen", "survey")

_SAMPLED = 20_000  # rows that medians are taken of

Parameters = dict[str, float]
# Rows of the stream and the number of the first of them -> rows as the faulty system would have recorded them.
Change = Callable[[NDArray[Any], int], NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Seen:
    """One stream as it is before anything is planted.

    Args:
        info: The stream.
        fields: Of its rows.
        n: Rows.
        first_ns, last_ns: The time of its first and its last row: the stamp, or the log time where there is no stamp.
        period_ns: Median interval, over the first rows.
        latency_ns: Median of log time minus stamp, 0 where there are not both.
        steady: Whether it comes at a rate, rather than now and then.
        exposed: Whether its exposure time changes.
    """

    info: StreamInfo
    fields: tuple[str, ...]
    n: int
    first_ns: int
    last_ns: int
    period_ns: float
    latency_ns: float
    steady: bool
    exposed: bool

    @property
    def span_s(self) -> float:
        """Time from the first row to the last, s."""
        return (self.last_ns - self.first_ns) / 1e9

    @property
    def period_s(self) -> float:
        """Median interval, s."""
        return self.period_ns / 1e9

    @property
    def time(self) -> str:
        """The field that says when a row was true."""
        return "stamp_ns" if "stamp_ns" in self.fields else "log_ns"

    def elapsed_s(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Give the time of rows since the first row of the stream, s. Shape (n,)."""
        return np.asarray((rows[self.time] - self.first_ns) / 1e9)


@dataclass(frozen=True, slots=True)
class Fault:
    """How one fault is planted.

    Args:
        draw: Gives its parameters, SI, sized so that the fault can be seen in that stream.
        begin: Gives the change for one reading of the stream; the generator is its own, and the same for every reading.
        needs: Fields without which it cannot be.
        kinds: Kinds of streams that it can be in; none named: all.
        best: Kinds that are taken first where no stream is named.
        told: Further truths that follow from the parameters: counts, medians.
        declare: What the file then says of the stream.
    """

    draw: Callable[[Seen, np.random.Generator], Parameters]
    begin: Callable[[Seen, Parameters, np.random.Generator], Change]
    needs: tuple[str, ...] = ("stamp_ns", "log_ns")
    kinds: tuple[str, ...] = ()
    best: tuple[str, ...] = ()
    told: Callable[[Seen, Parameters, np.random.Generator], Mapping[str, float]] = lambda seen, given, rng: {}
    declare: Callable[[StreamInfo, Parameters], StreamInfo] = lambda info, given: info

    def missing(self, seen: Seen) -> str:
        """Say what a stream lacks for this fault, "" where it can be planted there."""
        lacking = [need for need in self.needs if need not in seen.fields]
        if lacking:
            return f"its rows have no {' and no '.join(lacking)}"
        if self.kinds and seen.info.kind not in self.kinds:
            return f"it is of kind {seen.info.kind!r} and the fault is one of {', '.join(self.kinds)}"
        if "exposure_ns" in self.needs and not seen.exposed:
            return "its exposure time never changes"
        if seen.n < 20 or seen.period_ns <= 0:
            return f"it has {seen.n} rows; a fault needs at least 20 at intervals above 0"
        return ""


def survey(recording: StreamRecording) -> dict[str, Seen]:
    """Go through a recording once and see its streams, by name; of a damaged one what can be read."""
    seen: dict[str, _Survey] = {}
    try:
        for batch in recording.read():
            if len(batch.rows):
                seen.setdefault(batch.info.name, _Survey(batch.info)).add(batch.rows)
    except Damaged:
        if not seen:
            raise
    return {name: one.result() for name, one in seen.items()}


class _Survey:
    def __init__(self, info: StreamInfo) -> None:
        self.info = info
        self.fields: tuple[str, ...] = ()
        self.n = 0
        self.ends: list[int] = []
        self.intervals: list[NDArray[np.int64]] = []
        self.latencies: list[NDArray[np.int64]] = []
        self.exposures: set[int] = set()

    def add(self, rows: NDArray[Any]) -> None:
        self.fields = rows.dtype.names or ()
        t_ns = rows["stamp_ns" if "stamp_ns" in self.fields else "log_ns"]
        if self.n < _SAMPLED:
            self.intervals.append(np.diff(t_ns, prepend=self.ends[1:]))
            if {"stamp_ns", "log_ns"} <= set(self.fields):
                self.latencies.append(rows["log_ns"] - rows["stamp_ns"])
        if "exposure_ns" in self.fields:
            self.exposures |= {int(rows["exposure_ns"].min()), int(rows["exposure_ns"].max())}
        self.ends = [self.ends[0] if self.ends else int(t_ns[0]), int(t_ns[-1])]
        self.n += len(rows)

    def result(self) -> Seen:
        intervals = np.concatenate(self.intervals)
        intervals = intervals[intervals > 0]
        period = float(np.median(intervals)) if len(intervals) else 0.0
        steady = len(intervals) > 0 and bool(np.quantile(intervals, 0.8) < 2 * np.quantile(intervals, 0.2))
        latency = float(np.median(np.concatenate(self.latencies))) if self.latencies else 0.0
        exposed = len(self.exposures) > 1
        return Seen(self.info, self.fields, self.n, self.ends[0], self.ends[1], period, latency, steady, exposed)
