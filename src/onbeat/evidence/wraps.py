"""Counters of few bits that wrapped: stamps that jump by a power of two of a tick."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.timeline import Timeline

__all__ = ("Wrap", "unwrapped", "wraps")

# Ticks that sensors and their drivers count in, s.
_TICKS = {
    "1 ns": 1e-9,
    "62.5 ns": 62.5e-9,
    "100 ns": 1e-7,
    "1 us": 1e-6,
    "10 us": 1e-5,
    "1/90 000 s": 1 / 90_000,
    "100 us": 1e-4,
    "1 ms": 1e-3,
}
_BITS = (15, 16, 23, 24, 31, 32)  # one less: a counter taken for a signed one
_SMALLEST_S = 0.01
_LONE_S = 1.0  # a jump that does not come back every turn is said to be a wrap only where it is as long as that
_BY_CHANCE = 1e-6  # of a turn
_RELATIVE = 3e-3


@dataclass(frozen=True, slots=True, eq=False)
class Wrap:
    """A counter that wrapped.

    Args:
        bits, tick: Of the counter.
        turn_s: How long it counts, s.
        rows: Numbers of the rows before which the stamp jumped. Shape (k,).
        jumps_ns: By how much, ns: below 0 where the stamp fell back. Shape (k,).
        at_ns: The last time before the first jump, on the log or else the stamp.
        slack_s: How exactly a jump is seen, s.
    """

    bits: int
    tick: str
    turn_s: float
    rows: NDArray[np.int64]
    jumps_ns: NDArray[np.int64]
    at_ns: int
    slack_s: float


def wraps(line: Timeline) -> Wrap | None:
    """Find the counter whose wraps a stream's stamps show, None where there is none.

    A stamp falls back by the turn and, where the recording is long enough, again after each turn; or it jumps by a turn of a
    second or more, back or forth (a driver that unwraps wrongly).
    """
    breaks = line.breaks
    if not line.has("stamp_ns") or line.info.counted or not len(breaks.index) or line.period_ns <= 0:
        return None
    stamped = breaks.after["stamp_ns"] - breaks.before["stamp_ns"]
    if line.has("log_ns"):
        passed = breaks.after["log_ns"] - breaks.before["log_ns"]
        steady = (line.intervals_ns("log_ns") - line.intervals_ns("stamp_ns")) / 1e9
        off = np.abs(steady - np.median(steady))
        slack = 1e-4 + (4 * float(np.quantile(off, 0.8)) if len(off) else 0.0)
        clock = "log_ns"
    else:
        passed = np.full(len(stamped), round(line.period_ns))
        slack = 1e-4 + 0.6 * line.period_ns / 1e9
        clock = "stamp_ns"
    jumps = (stamped - passed) / 1e9
    found: list[tuple[float, Wrap]] = []
    for tick, length in _TICKS.items():
        for bits in _BITS:
            turn = length * 2**bits
            apart = np.abs(np.abs(jumps) - turn)
            hits = np.flatnonzero(apart <= max(slack, min(0.1, 0.02 * turn)))
            # The one arrival at the jump may be late by more than most; a long turn is not met by chance so nearly.
            late = min(0.5 * line.period_ns / 1e9, _BY_CHANCE * turn)
            if len(hits) and np.median(apart[hits]) > min(slack + late, _RELATIVE * turn) + 1e-7:
                continue
            times = breaks.before[clock][hits] / 1e9
            if turn < max(_SMALLEST_S, 8 * slack) or not len(hits) or not _plausible(jumps[hits], times, turn, line):
                continue
            back = (np.where(jumps[hits] < 0, -1, 1) * round(turn * 1e9)).astype(np.int64)
            one = Wrap(bits, tick, turn, breaks.index[hits], back, int(breaks.before[clock][hits[0]]), slack)
            found.append((float(np.median(apart[hits])), one))
    return min(found, key=lambda f: f[0])[1] if found else None


def unwrapped(line: Timeline, wrap: Wrap) -> NDArray[np.int64]:
    """Give the stamps of the rows here as if the counter had more bits, ns. Shape (m,)."""
    total = np.concatenate([[0], np.cumsum(wrap.jumps_ns)])
    stamps: NDArray[np.int64] = line.column("stamp_ns") - total[np.searchsorted(wrap.rows, line.index, side="right")]
    return stamps


def _plausible(jumps: NDArray[np.float64], times: NDArray[np.float64], turn: float, line: Timeline) -> bool:
    """Say whether jumps come as a counter's wraps do: back, as often as it turns; or rarely, but by a long turn."""
    clock = "log_ns" if line.has("log_ns") else ""
    back = times[jumps < 0]
    if not clock or not len(back):  # without a second clock the times themselves wrap
        expected = line.n * line.period_ns / 1e9 / turn
        regular = len(back) > 0 and abs(len(back) - expected) <= 1
    else:
        first, last = int(line.rows["log_ns"][0]) / 1e9, int(line.rows["log_ns"][-1]) / 1e9
        waits = np.diff([first, *back, last])
        slack = 0.02 * turn + 2 * line.period_ns / 1e9
        regular = bool(waits[0] <= turn + slack and waits[-1] <= turn + slack and np.all(np.abs(waits[1:-1] - turn) <= slack))
    return regular if turn < _LONE_S else regular or len(jumps) <= 4
