"""The streams of a recording as a table and as data: what `onbeat info` shows, and `onbeat check` below its findings."""

from collections.abc import Sequence
from typing import Any

from onbeat.health.facts import StreamFacts, TimeFacts
from onbeat.report.document import iso_date
from onbeat.report.words import counted, duration, printable, quantity, short

__all__ = ("clock_sentences", "stream_data", "stream_table")

_HEADER = ("stream", "type", "rows", "rate", "declared", "longest gap", "log - stamp", "stamps")


def stream_table(facts: Sequence[StreamFacts], name: int = 40) -> tuple[list[str], list[list[str]]]:
    """Give the header and the rows, one a stream, without columns that are empty; names are cut to so many characters."""
    rows = [
        (
            short(one.name, name),
            short(one.type.rpartition("/")[2] or one.kind, 28),
            str(one.n),
            _rate(one.rate_hz),
            _rate(one.declared_hz),
            "" if one.longest_gap_s is None else quantity(one.longest_gap_s, "s"),
            "" if one.log_minus_stamp_s is None else _rounded(one.log_minus_stamp_s),
            _stamps(one),
        )
        for one in facts
    ]
    filled = [k for k in range(len(_HEADER)) if k < 3 or any(row[k] for row in rows)]
    return [_HEADER[k] for k in filled], [[row[k] for k in filled] for row in rows]


def clock_sentences(facts: Sequence[StreamFacts]) -> list[str]:
    """Say what the times of a recording are counted from: once for stamps, once for log times."""
    said: list[str] = []
    for what, times in (
        ("stamps", [(one.name, one.stamp) for one in facts]),
        ("log times", [(one.name, one.log) for one in facts]),
    ):
        here = [(name, time) for name, time in times if time is not None]
        dated = [(name, time) for name, time in here if time.dated]
        bare = [(name, time) for name, time in here if not time.dated]
        if dated:
            first, last = min(t.first_ns for _, t in dated), max(t.last_ns for _, t in dated)
            said.append(f"{what} are dates: {iso_date(first)} to {iso_date(last)}{_of(dated, here)}")
        if bare:
            first, last = min(t.first_ns for _, t in bare), max(t.last_ns for _, t in bare)
            said.append(
                f"{what} are no dates but count from a start: {_rounded(first / 1e9)} to {_rounded(last / 1e9)}{_of(bare, here)}"
            )
    return said


def stream_data(one: StreamFacts) -> dict[str, Any]:
    """Give a stream for result.json, in seconds and Hz."""
    return {
        "name": one.name,
        "kind": one.kind,
        "type": one.type,
        "n": one.n,
        "rate_hz": one.rate_hz,
        "declared_hz": one.declared_hz,
        "span_s": one.span_s,
        "longest_gap_s": one.longest_gap_s,
        "segments": one.segments,
        "counted": one.counted,
        "stamp": _time_data(one.stamp),
        "log": _time_data(one.log),
        "log_minus_stamp_s": one.log_minus_stamp_s,
        "note": one.note,
    }


def _time_data(time: TimeFacts | None) -> dict[str, Any] | None:
    if time is None:
        return None
    return {"first_ns": time.first_ns, "last_ns": time.last_ns, "dated": time.dated, "step_ns": time.step_ns}


def _rate(rate_hz: float | None) -> str:
    return "" if rate_hz is None else quantity(float(f"{rate_hz:.4g}"), "Hz")


def _rounded(seconds: float) -> str:
    if abs(seconds) >= 864_000:
        return f"{seconds / 86_400:.0f} days"
    return duration(seconds) if abs(seconds) >= 120 else quantity(float(f"{seconds:.4g}"), "s")


def _stamps(one: StreamFacts) -> str:
    if one.stamp is None:
        return "none"
    words = ["counted"] if one.counted else []
    if one.stamp.step_ns:
        words.append(f"to {quantity(one.stamp.step_ns / 1e9, 's')}")
    if one.segments > 1:
        words.append(counted(one.segments, "segment"))
    return printable(", ".join(words)) or "own"


def _of(some: Sequence[tuple[str, TimeFacts]], all_: Sequence[tuple[str, TimeFacts]]) -> str:
    if len(some) == len(all_):
        return ""
    more = f" and {len(some) - 1} more" if len(some) > 1 else ""
    return f" ({short(some[0][0])}{more})"
