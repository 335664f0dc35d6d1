"""A clock that was set, seen in stamps alone: they leave their even grid, and stay off it."""

from dataclasses import dataclass

import numpy as np

from onbeat.evidence.envelope import spread
from onbeat.evidence.timeline import Timeline

__all__ = ("Leave", "leaves")

_FEWEST = 50
_MOST = 5  # a clock that is set more often is no clock: the source is not even
# A longer silence is a gap, whose length says nothing of the grid: a source that paused, or was restarted, goes on anywhere.
_LONGEST_PERIODS, _LONGEST_NS = 5, 250_000_000
_AROUND = 5  # intervals on either side that must be usual ones


@dataclass(frozen=True, slots=True)
class Leave:
    """A jump of the stamps off their grid.

    Args:
        row: Number of the first row after it.
        at_ns: Stamp before it.
        size_s: How far the stamps jumped, beyond the one period that was due.
        std_s: From the jitter of the intervals.
        counted: Whether the source's own count shows that no sample was lost.
    """

    row: int
    at_ns: int
    size_s: float
    std_s: float
    counted: bool


def leaves(line: Timeline) -> list[Leave]:
    """Find where the stamps of an even stream were moved: back, or forth by no whole number of periods.

    A jump by whole periods is lost samples, unless the source's count says otherwise; one as long as a gap is a gap. Where the
    log times jump as well, time passed: the source paused. Rates cannot be judged without a second clock.
    """
    if not line.has("stamp_ns") or line.info.counted or line.n < _FEWEST or line.period_ns <= 0:
        return []
    period = line.period_ns
    steps = line.intervals_ns().astype(np.float64)
    if not len(steps):
        return []
    jitter = spread(steps)
    even = np.abs(steps - period) < 0.1 * period
    if jitter > 0.05 * period or even.mean() < 0.8:
        return []
    found = []
    has_count, logged = line.has("seq"), line.has("log_ns")
    for index, before, after in zip(line.breaks.index.tolist(), line.breaks.before, line.breaks.after, strict=True):
        step = int(after["stamp_ns"]) - int(before["stamp_ns"])
        if logged and abs(int(after["log_ns"]) - int(before["log_ns"]) - step) < 0.5 * abs(step - period):
            continue
        kept_count = has_count and int(after["seq"]) - int(before["seq"]) == 1
        if not logged and step >= max(_LONGEST_PERIODS * period, _LONGEST_NS):
            continue
        apart = abs(step - round(step / period) * period)
        limit = max(8 * jitter, 0.1 * period, 1e6)
        off_grid = not has_count and (step < -limit or apart > limit)
        moved = abs(step - period) > limit if kept_count else off_grid
        if moved and _usual_around(line, index):
            found.append(
                Leave(index, int(before["stamp_ns"]), (step - period) / 1e9, max(jitter, 1e3) * 2**0.5 / 1e9, kept_count)
            )
    return found if len(found) <= _MOST else []


def _usual_around(line: Timeline, row: int) -> bool:
    rows = line.series.rows(max(row - _AROUND - 1, 0), row + _AROUND + 1)["stamp_ns"]
    middle = min(row, _AROUND + 1)
    steps = np.delete(np.diff(rows), middle - 1)
    whole = np.round(steps / line.period_ns)
    whole[max(middle - 2, 0) : middle] = 1  # next to it none may be lost: two samples that changed places do that
    return len(steps) >= 2 * _AROUND - 2 and bool(
        np.all(steps > 0.5 * line.period_ns) and np.all(np.abs(steps - whole * line.period_ns) < 0.2 * line.period_ns)
    )
