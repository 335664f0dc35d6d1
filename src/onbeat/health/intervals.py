"""What the intervals of a stream look like: its true period, whether it has one, and whether samples come in groups."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.timeline import Timeline
from onbeat.health.check import Evidence, Figure

__all__ = ("Burst", "Rhythm", "off_line", "rhythm", "rhythms", "wilson")

_FEWEST = 20  # intervals, below which nothing is said of a rate
_NEAR = 0.3  # of a period: what counts as an interval of one period
# Intervals of a Poisson process lie within 30 % of their median in 21 % of the cases, uniform ones in 30 %: no period.
_PERIODIC = 0.45
_PERIODIC_IF_CATCHING_UP = 0.25
_CATCHING_UP = -0.35  # lag-1 autocorrelation; -1/2 for independent delays of a periodic source, 0 for a loop that just varies
_BLOCKS = 12
_UNEVEN = 0.2  # spread of single intervals, of the period
_SMALL = 0.35  # of the mean interval: what counts as "together"


@dataclass(frozen=True, slots=True)
class Burst:
    """Samples that come in groups: equal or nearly equal stamps, then a wait.

    Args:
        size: Samples of a usual group.
        wait_ns: From one group to the next.
        inside_ns: Usual interval within a group.
        steady: Share of the groups that have the usual size, to one sample.
    """

    size: int
    wait_ns: float
    inside_ns: float
    steady: float


@dataclass(frozen=True, slots=True)
class Rhythm:
    """The intervals of one stream.

    Args:
        periodic: There is one period, and most samples keep it. The other fields mean little where this is False.
        period_ns: Of the source, also where samples are missing, late or in groups; 0 where there are too few.
        low_ns, high_ns: Its 95 % interval, from blocks of the recording.
        intervals: Between neighbours.
        spread: Half of the width that holds 68 % of the single intervals, of the period.
        catching_up: Lag-1 autocorrelation of the intervals: near -1/2 where late samples are followed by short intervals.
        burst: Groups, None where samples come one by one.
    """

    periodic: bool
    period_ns: float
    low_ns: float
    high_ns: float
    intervals: int
    spread: float
    catching_up: float
    burst: Burst | None

    @property
    def hz(self) -> float:
        """The true rate; 0 where there is none."""
        return 1e9 / self.period_ns if self.period_ns > 0 else 0.0

    def rate(self) -> Figure:
        """Give the true rate with its interval; only where there is a period."""
        low = 1e9 / self.high_ns if self.high_ns > 0 else self.hz
        high = 1e9 / self.low_ns if self.low_ns > 0 else 2 * self.hz
        return Figure(self.hz, "Hz", min(low, self.hz), max(high, self.hz))


def rhythms(evidence: Evidence) -> dict[str, Rhythm]:
    """Give the rhythm of every stream whose stamps were taken, not counted; found once for all checks."""
    found: dict[str, Rhythm] | None = evidence.shared.get("rhythms")
    if found is None:
        found = {name: rhythm(line) for name, line in evidence.timelines.items() if not line.info.counted}
        evidence.shared["rhythms"] = found
    return found


def rhythm(line: Timeline, field: str | None = None) -> Rhythm:
    """Look at the intervals of a stream.

    Args:
        line: The stream.
        field: "stamp_ns" or "log_ns"; its stamps where it has them, else its log times.
    """
    times = line.t_ns if field is None else line.column(field)
    joined = line.neighbours
    steps = np.diff(times)
    single = steps[joined]
    positive = single[single > 0]
    if len(single) < _FEWEST or len(positive) < 2:
        return Rhythm(False, 0.0, 0.0, 0.0, len(single), 0.0, 0.0, None)
    burst, period, low, high = _burst(times, joined)
    if burst is not None:
        return Rhythm(True, period, low, high, len(single), 0.0, 0.0, burst)
    period = _refined(single, float(np.median(positive)))
    low, high = _interval([_refined(block, period) for block in _split(single)], period)
    relative = single / period
    near = float(np.mean(np.abs(relative - 1) < _NEAR))
    both = joined[1:] & joined[:-1]
    left, right = steps[:-1][both] / period - 1, steps[1:][both] / period - 1
    catching_up = _correlation(np.clip(left, -1, 1), np.clip(right, -1, 1))
    periodic = near >= _PERIODIC or (near >= _PERIODIC_IF_CATCHING_UP and catching_up < _CATCHING_UP and len(single) >= 100)
    ones = relative[np.abs(relative - 1) < 0.5]
    spread = float(np.diff(np.quantile(ones, (0.16, 0.84)))[0] / 2) if len(ones) else 0.0
    return Rhythm(periodic, period, low, high, len(single), spread, catching_up, None)


def _refined(single: NDArray[np.int64], period: float) -> float:
    """Give time over whole periods.

    First each interval by itself: a late sample counts two and the short interval after it none. Then more and more together,
    whose sums feel a late sample less and less.
    """
    relative = single / period
    ones = relative[np.abs(relative - 1) < 0.5]
    if len(ones) > 0.6 * len(single) and float(np.diff(np.quantile(ones, (0.16, 0.84)))[0]) > 2 * _UNEVEN:
        return float(single[relative < 8].mean())  # whole periods cannot be told; nor could lost samples
    for together in (1, 4, 16, 64):
        size = min(together, len(single))
        sums = single[: len(single) // size * size].reshape(-1, size)
        sums = sums[np.all(np.abs(sums) <= 8 * period, axis=1)].sum(axis=1)
        for _ in range(4):
            # Half a period off tells nothing; stamps in steps of half a period are off by just that.
            told = sums[np.abs(sums / period - np.floor(sums / period) - 0.5) > 0.05]
            total = float(np.rint(told / period).sum())
            if total <= 0 or float(told.sum()) <= 0:
                break
            period = float(told.sum()) / total
    return period


def _split(single: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    return np.array_split(single, max(2, min(_BLOCKS, len(single) // 10)))


def _interval(values: list[float], value: float) -> tuple[float, float]:
    """Give the 95 % interval of a value from those of its blocks."""
    # 2.2: Student's t for 11 degrees of freedom; fewer blocks are of short recordings, about which little is claimed.
    half = 2.2 * float(np.std(values, ddof=1)) / len(values) ** 0.5
    return value - half, value + half


def _correlation(left: NDArray[np.float64], right: NDArray[np.float64]) -> float:
    if len(left) < 10 or left.std() == 0 or right.std() == 0:
        return 0.0
    return float(np.mean((left - left.mean()) * (right - right.mean())) / (left.std() * right.std()))


def _burst(times: NDArray[np.int64], joined: NDArray[np.bool_]) -> tuple[Burst | None, float, float, float]:
    none = None, 0.0, 0.0, 0.0
    steps = np.diff(times)
    single = steps[joined]
    mean = float(np.median([block.mean() for block in _split(single)]))
    small = joined & (steps >= 0) & (steps < _SMALL * mean)
    if mean <= 0 or small.sum() < 0.4 * len(single):
        return none
    edges = np.flatnonzero(~small)  # steps from one group to the next
    if len(edges) < 6:
        return none
    size, first = np.diff(edges), edges[:-1] + 1
    whole = joined[edges[:-1]] & joined[edges[1:]]
    # The group in which the median sample sits: a stray single sample between groups does not make the usual group smaller.
    order = np.argsort(size)
    usual = int(size[order][np.searchsorted(np.cumsum(size[order]), size.sum() / 2)])
    steady = float(np.mean(np.abs(size[whole] - usual) <= max(1, usual // 8))) if whole.any() else 0.0
    waits = (times[edges[1:] + 1] - times[first])[whole]
    inside = float(np.median(steps[small]))
    if usual < 2 or steady < 0.7 or len(waits) < 5 or inside > 0.1 * mean:
        return none
    wait = float(np.median(waits))
    if wait <= 0 or float(np.mean(np.abs(waits / wait - 1) < 0.5)) < 0.8:
        return none
    # Only groups of the usual size: a lost sample or a gap then does not change the rate.
    good = whole.copy()
    good[whole] = (np.abs(waits / wait - 1) < 0.5) & (np.abs(size[whole] - usual) <= max(1, usual // 8))
    spans, counts = (times[edges[1:] + 1] - times[first])[good], size[good]
    cut = [part for part in np.array_split(np.arange(len(spans)), max(2, min(_BLOCKS, len(spans) // 3))) if len(part)]
    period = float(spans.sum() / counts.sum())
    low, high = _interval([float(spans[part].sum() / counts[part].sum()) for part in cut], period)
    return Burst(usual, wait, inside, steady), period, low, high


def wilson(hits: int, n: int) -> tuple[float, float]:
    """Give the 95 % interval of a share, hits of n (Wilson, JASA 22, 1927)."""
    if n <= 0:
        return 0.0, 1.0
    z, p = 1.96, hits / n
    middle, half = p + z * z / (2 * n), z * (p * (1 - p) / n + z * z / (4 * n * n)) ** 0.5
    scale = 1 + z * z / n
    return min(max((middle - half) / scale, 0.0), p), max(min((middle + half) / scale, 1.0), p)


def off_line(line: Timeline) -> NDArray[np.float64]:
    """Give how far the stamps are from a line through each 64 neighbours, ns; an even source's, against their count."""
    times, size = line.t_ns, 64
    count = np.arange(size) - (size - 1) / 2
    parts = [np.zeros(1)]
    for first in range(0, len(times) - size + 1, size):
        block = (times[first : first + size] - times[first]).astype(np.float64)
        block -= block.mean()
        parts.append(block - count * float(count @ block) / float(count @ count))
    return np.concatenate(parts)
