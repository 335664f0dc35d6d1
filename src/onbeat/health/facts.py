"""What one stream is: its rows, its rate, its gaps and its clocks, stated and not judged."""

from dataclasses import dataclass

import numpy as np

from onbeat.evidence.timeline import Timeline

__all__ = ("StreamFacts", "TimeFacts", "stream_facts")

# Nanoseconds since 1970 from September 2001 to December 2099: what lies between is taken for a date.
_DATES_NS = (1_000_000_000_000_000_000, 4_102_444_800_000_000_000)
_BACK_NS, _HOUR_NS, _YEAR_NS = 10**9, 3600 * 10**9, 31_556_952 * 10**9
_FINE_NS = 1_000  # rounding below a microsecond is of no use to anybody


@dataclass(frozen=True, slots=True)
class TimeFacts:
    """One column of time.

    Args:
        first_ns, last_ns: The least and the greatest instant among the rows that were kept.
        dated: Whether the numbers can be dates, counted from 1970; else they count from a start of something.
        step_ns: The power of ten that all intervals are multiples of, 1000 or more; 0 where they are finer or all the same.
    """

    first_ns: int
    last_ns: int
    dated: bool
    step_ns: int


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """One stream.

    Args:
        name, kind, type, note: As its file says.
        n: Rows.
        segments: Episodes, or runs of a clock.
        span_s: From first row to last, summed over the segments.
        rate_hz: Intervals over their sum; None where there is none.
        declared_hz: The rate that the file states.
        longest_gap_s: The longest interval; None where there is none.
        counted: The stamps were computed from a count.
        stamp, log: The two columns of time, where it has them.
        log_minus_stamp_s: Median.
    """

    name: str
    kind: str
    type: str
    note: str
    n: int
    segments: int
    span_s: float
    rate_hz: float | None
    declared_hz: float | None
    longest_gap_s: float | None
    counted: bool
    stamp: TimeFacts | None
    log: TimeFacts | None
    log_minus_stamp_s: float | None


def stream_facts(timeline: Timeline) -> StreamFacts:
    """State what a stream is."""
    info, segments = timeline.info, timeline.segments()
    t_ns = timeline.t_ns
    span_ns = sum(int(t_ns[first:last].max()) - int(t_ns[first:last].min()) for first, last in segments if last > first)
    if len(segments) == 1 and (jumps := _jumps_ns(timeline)):
        span_ns = int(t_ns[-1]) - int(t_ns[0]) - sum(step - went for step, went in jumps)
    intervals = timeline.n - len(segments)
    rate_hz: float | None = None
    if (timeline.whole or len(segments) == 1) and intervals > 0 and span_ns > 0:
        rate_hz = intervals / (span_ns / 1e9)
    elif timeline.period_ns > 0:
        rate_hz = 1e9 / timeline.period_ns
    both = timeline.has("stamp_ns", "log_ns") and timeline.n > 0
    behind_ns = np.median(timeline.column("log_ns") - timeline.column("stamp_ns")) if both else None
    return StreamFacts(
        info.name,
        info.kind,
        info.type,
        info.note,
        timeline.n,
        len(segments),
        span_ns / 1e9,
        rate_hz,
        info.declared_hz,
        _longest_gap_s(timeline),
        info.counted,
        _time_facts(timeline, "stamp_ns"),
        _time_facts(timeline, "log_ns"),
        float(behind_ns) / 1e9 if behind_ns is not None else None,
    )


def _jumps_ns(timeline: Timeline) -> list[tuple[int, int]]:
    """Give the steps of the stamps at which their clock was changed or wrapped, each with the time that passed meanwhile."""
    if not timeline.has("stamp_ns") or timeline.period_ns <= 0:
        return []
    before, after, logged = timeline.breaks.before, timeline.breaks.after, timeline.has("log_ns")
    steps = (after["stamp_ns"] - before["stamp_ns"]).tolist()
    usual = round(timeline.period_ns)
    passed = (after["log_ns"] - before["log_ns"]).tolist() if logged else [usual] * len(steps)
    most_ns = _HOUR_NS if logged else _YEAR_NS
    return [(step, went) for step, went in zip(steps, passed, strict=True) if step < -_BACK_NS or step - went > most_ns]


def _longest_gap_s(timeline: Timeline) -> float | None:
    field = "stamp_ns" if timeline.has("stamp_ns") else "log_ns"
    steps = np.concatenate([timeline.intervals_ns(field), timeline.breaks.after[field] - timeline.breaks.before[field]])
    if jumps := _jumps_ns(timeline):
        changed, passed = np.array(jumps, dtype=np.int64).T
        steps = np.concatenate([steps[~np.isin(steps, changed)], passed])
    return float(steps.max()) / 1e9 if len(steps) else None


def _time_facts(timeline: Timeline, field: str) -> TimeFacts | None:
    if not timeline.has(field) or timeline.n == 0:
        return None
    t_ns = timeline.column(field)
    first, last = int(t_ns.min()), int(t_ns.max())
    steps = np.abs(timeline.intervals_ns(field))
    step_ns = 0
    if len(distinct := np.unique(steps[steps > 0])) > 1:  # one interval only is a steady beat, and no rounding
        common, step_ns = int(np.gcd.reduce(distinct)), 1
        while common % (10 * step_ns) == 0:
            step_ns *= 10
    dated = _DATES_NS[0] <= first <= _DATES_NS[1]
    return TimeFacts(first, last, dated, step_ns if step_ns >= _FINE_NS else 0)
