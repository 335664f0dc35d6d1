"""When exactly an offset changed, and whether at once or along a ramp: told on the rows themselves."""

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

__all__ = ("Change", "change")

_MARGIN = 120  # rows on either side, at most
_FEWEST = 4
_GRID = 24
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of level.

    Args:
        row: Number of the first row after it began.
        start, end: Instants of the last row before and the first row after it; of a ramp its two ends, s.
        low, high: Between these instants it began with 95 %, s.
        ramp: Whether it took time.
        size: How far, s.
    """

    row: int
    start: float
    end: float
    low: float
    high: float
    ramp: bool
    size: float


def change(t: _Floats, d: _Floats, since: float, until: float, rate: float) -> Change | None:
    """Find a change of level that lies in a window.

    Least absolute deviations, since delay has heavy tails; a ramp is said only where it fits clearly better than a step.

    Args:
        t: Instants of the rows, not decreasing, s. Shape (n,).
        d: Offset, s. Shape (n,).
        since, until: The window, s.
        rate: Slope of the offset outside of the change, s/s.

    Returns:
        The change, or None where there are fewer than 4 rows on one of its sides.
    """
    first, last = int(np.searchsorted(t, since)), int(np.searchsorted(t, until, side="right"))
    wide = min(_MARGIN, max(last - first, 12))
    a, b = max(first - wide, 0), min(last + wide, len(t))
    if first - a < _FEWEST or b - last < _FEWEST:
        return None
    x = t[a:b]
    r = d[a:b] - rate * (x - x[0])
    before, after = float(np.median(r[: first - a])), float(np.median(r[last - a :]))
    left, right = np.abs(r - before), np.abs(r - after)
    total = np.concatenate([[0.0], np.cumsum(left)]) + right.sum() - np.concatenate([[0.0], np.cumsum(right)])
    rows = np.arange(max(first - a, 1), min(last - a, len(x) - 1) + 1)
    costs = total[rows]
    best = int(rows[np.argmin(costs)])
    unit = max(float(costs.min()) / len(x), 1e-9)
    likely = rows[(costs - costs.min()) / unit < 3.0]
    step = Change(
        best + a, float(x[best - 1]), float(x[best]), float(x[likely[0] - 1]), float(x[likely[-1]]), False, after - before
    )
    ramp = _ramp(x, r, before, after, float(x[rows[0] - 1]), float(x[rows[-1]]))
    tick = float(np.median(np.diff(x)))
    gain = len(x) * log(max(float(costs.min()), 1e-12) / max(ramp[0], 1e-12))
    within = int(np.sum((x > ramp[1]) & (x < ramp[2])))
    if ramp[2] - ramp[1] > 2.5 * tick and within >= 3 and gain > 3 * log(len(x)) + 6:
        row = int(np.searchsorted(x, ramp[1], side="right"))
        return Change(row + a, ramp[1], ramp[2], ramp[1] - tick, ramp[1] + tick, True, after - before)
    return step


def _ramp(x: _Floats, r: _Floats, before: float, after: float, since: float, until: float) -> tuple[float, float, float]:
    """Least sum of absolute deviations of a ramp, and its ends: a grid that is narrowed."""
    low = np.array([since, since])
    high = np.array([until, until])
    best = (np.inf, since, until)
    for _ in range(5):
        starts, ends = (np.linspace(lo, hi, _GRID) for lo, hi in zip(low, high, strict=True))
        s, e = (g.ravel() for g in np.meshgrid(starts, ends, indexing="ij"))
        s, e = s[e > s], e[e > s]
        if not len(s):
            break
        share = np.clip((x[None, :] - s[:, None]) / (e - s)[:, None], 0.0, 1.0)
        cost = np.abs(r[None, :] - before - (after - before) * share).sum(axis=1)
        k = int(np.argmin(cost))
        if cost[k] < best[0]:
            best = (float(cost[k]), float(s[k]), float(e[k]))
        around = (high - low) / _GRID * 2
        low = np.maximum(np.array(best[1:]) - around, since)
        high = np.minimum(np.array(best[1:]) + around, until)
    return best
