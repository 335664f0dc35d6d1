"""The baseline of a noisy offset over time: delays only add to it, so it lies low, but jitter may also be symmetric."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput

__all__ = ("MOST_BUCKETS", "Envelope", "envelope", "spread")

MOST_BUCKETS = 360
_ROWS = 6  # of a bucket at least, where there are enough
_FEWEST = 24
_FLOOR = 1e-6  # s: no program's stamps are known better than that against another's

_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Envelope:
    """The baseline of an offset.

    Args:
        t: Instants, increasing, s. Shape (k,).
        d: The baseline there, s. Shape (k,).
        noise: Standard deviation of one of them, from its change from neighbour to neighbour, s.
        scatter: Robust standard deviation of single rows about the baseline, s.
        low: Whether it is the lower edge of the rows (delays that only add), else their middle (symmetric jitter).
    """

    t: _Floats
    d: _Floats
    noise: float
    scatter: float
    low: bool


def envelope(t: _Floats, d: _Floats, cuts: Sequence[int] = (), floor: float = _FLOOR) -> Envelope:
    """Find the baseline of an offset.

    The rows are put into buckets. Of each bucket come three candidates: its lowest row, the mean of its lowest quarter, the mean
    of its middle half. The first is exact where delay only adds (a queue, a busy host), the last where jitter is symmetric; the
    one that changes least from bucket to bucket is taken.

    Args:
        t: Instants, not decreasing, s. Shape (n,), n >= 8.
        d: Offset, s. Shape (n,).
        cuts: Numbers of rows where a bucket must begin, because the offset jumps there.
        floor: Resolution of d, s; the noise is never taken to be below it.

    Raises:
        BadInput: there are fewer than 8 rows.
    """
    n = len(t)
    if n < 8 or len(d) != n:
        raise BadInput(f"an envelope needs at least 8 rows with an offset each, not {n} with {len(d)}")
    size = max(_ROWS if n >= _ROWS * _FEWEST else max(n // _FEWEST, 1), -(-n // MOST_BUCKETS))
    edges = [0]
    for first, last in pairwise([0, *sorted({int(c) for c in cuts if 0 < c < n}), n]):
        edges += np.linspace(first, last, max((last - first) // size, 1) + 1).round().astype(int)[1:].tolist()
    kinds = np.zeros((len(edges) - 1, 3, 2))  # bucket, candidate, (t, d)
    slopes = np.zeros(len(edges) - 1)
    for _ in range(2):  # the second time along the local slope, or the lowest row of a steep piece lies at its bucket's end
        kinds = np.array([_candidates(t[a:b], d[a:b], s) for (a, b), s in zip(pairwise(edges), slopes.tolist(), strict=True)])
        slopes = _local_slopes(kinds[:, 0, 0], kinds[:, 0, 1])
    noises = [_neighbour_noise(kinds[:, c, 0], kinds[:, c, 1]) for c in range(3)]
    best = int(np.argmin(noises))
    order = np.argsort(kinds[:, best, 0], kind="stable")
    times, base = kinds[order, best, 0], kinds[order, best, 1]
    scatter = spread(d - np.interp(t, times, base))
    return Envelope(times, base, max(noises[best], floor), max(scatter, floor), low=best < 2)


def spread(values: _Floats) -> float:
    """Give the robust standard deviation: 1.4826 of the median distance from the median."""
    return float(1.4826 * np.median(np.abs(values - np.median(values)))) if len(values) else 0.0


def _candidates(t: _Floats, d: _Floats, slope: float) -> list[tuple[float, float]]:
    order = np.argsort(d - slope * (t - t[0]), kind="stable")
    n = len(order)
    lowest, quarter, middle = order[:1], order[: max(n // 4, 1)], order[n // 4 : n - n // 4]
    return [(float(t[rows].mean()), float(d[rows].mean())) for rows in (lowest, quarter, middle)]


def _local_slopes(t: _Floats, d: _Floats) -> _Floats:
    """Median of the slopes over two buckets, around each."""
    if len(t) < 8:
        return np.zeros(len(t))
    span = t[2:] - t[:-2]
    steps = np.divide(d[2:] - d[:-2], span, out=np.zeros(len(span)), where=span > 0)
    padded = np.concatenate([steps[:1].repeat(3), steps, steps[-1:].repeat(3)])
    slopes: _Floats = np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1)
    return slopes


def _neighbour_noise(t: _Floats, d: _Floats) -> float:
    """Robust standard deviation of d about the line between its neighbours: blind to lines, and to few jumps."""
    if len(t) < 3:
        return 0.0
    span = t[2:] - t[:-2]
    share = np.divide(t[1:-1] - t[:-2], span, out=np.full(len(span), 0.5), where=span > 0)
    residual = d[1:-1] - (d[:-2] + share * (d[2:] - d[:-2]))
    return float(1.4826 * np.median(np.abs(residual / np.sqrt(1 + share**2 + (1 - share) ** 2))))
