"""Do two streams see the same motion, and how far apart are they in time? Directions and the shift, in turns; then by thirds."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate import CalibrationResult, estimate_offset
from onbeat.evidence.signals import Motion

__all__ = ("Agreement", "Excerpt", "agree")

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

MAX_OFFSET_S = 0.5
# Excerpts are put end to end with such a hole between them, which no shift bridges.
HOLE_NS = 2_000_000_000
FINEST_S, COARSEST_S = 0.01, 0.1
# Of the mean variance: keeps columns of noise from being blown up.
RIDGE = 1e-3
THIRDS = 3
# So far around the offset of all, that of a third is looked for.
THIRD_S = 0.1
TRIES = 3
# Below, a mixture hardly agrees; those above are tried in the order of what they say of the shift.
GOOD_SCORE = 0.85
# More samples of the slower stream say little more, and take time.
MOST_SLOW = 4000
# A mixture that was found beside the shift makes up for some of the distance with columns that happen to go with the motion's
# rate of change. So it is found again at the shift that came out, until that stays.
ROUNDS = 4
SETTLED_S = 5e-5
LEAST_SHARED = 8
# The faster stream is looked at so many times within a period of the slower one.
LOOKS = 5
# A line across a longer hole is invention.
HOLE_PERIODS = 5.0
# Any table may be a mixture of these: what turns the joints turns the picture.
_MIXED = ("joints", "picture")


@dataclass(frozen=True, slots=True, eq=False)
class Excerpt:
    """What two streams saw in one stretch of time.

    Args:
        third: 0, 1 or 2: in which part of the recording it lies.
        a, b: What they saw.
    """

    third: int
    a: Motion
    b: Motion


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """How two streams agree.

    Args:
        result: The offset over all excerpts, ``t_a = t_b + value``, or why there is none.
        thirds: The same of each third.
        what: What was compared: "turn", "joints with picture", "speed of turn".
        a_t_ns, a, b_t_ns, b: The scalar signals that were compared, excerpts end to end.
    """

    result: CalibrationResult
    thirds: tuple[CalibrationResult, ...]
    what: str
    a_t_ns: IntArray
    a: FloatArray
    b_t_ns: IntArray
    b: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class _Pair:
    """Two tables that may show one motion, reduced to the directions in which they agree best.

    Args:
        what: What is compared.
        a_table, b_table: The tables.
        a, b: The signals.
        score: Their correlation.
        sharpness: How much their correlation says about the shift.
    """

    what: str
    a_table: FloatArray
    b_table: FloatArray
    a: FloatArray
    b: FloatArray
    score: float
    sharpness: float


def agree(excerpts: Sequence[Excerpt], max_offset_s: float = MAX_OFFSET_S) -> Agreement | None:
    """Find the directions in which two streams see the same motion, and their shift.

    A sensor has its own frame, its own units and a bias, so each stream is first reduced to the mixture of its columns that goes
    best with a mixture of the other's at some shift (canonical correlation). A bias is only a level then, which the shift of
    least squares leaves free; magnitudes, which a bias bends, are compared only where no mixture agrees.

    Args:
        excerpts: In order of time.
        max_offset_s: Greatest offset looked for, s.

    Returns:
        None where there is nothing to compare.
    """
    if not excerpts:
        return None
    excerpts = _thinned(excerpts)
    a_ns, b_ns, a_third, b_third = _end_to_end(excerpts)
    pairs = _pairs(excerpts, a_ns, b_ns, max_offset_s)
    refused: Agreement | None = None
    for pair in sorted(pairs, key=_last)[:TRIES]:
        pair, result = _settled(pair, a_ns, b_ns, max_offset_s)
        found = Agreement(result, (), pair.what, a_ns, pair.a, b_ns, pair.b)
        if result.accepted:
            thirds = tuple(
                _of_third(result, a_ns[x], pair.a[x], b_ns[y], pair.b[y])
                for x, y in ((a_third == k, b_third == k) for k in range(THIRDS))
                if min(x.sum(), y.sum()) > 1
            )
            return Agreement(result, thirds, pair.what, a_ns, pair.a, b_ns, pair.b)
        refused = refused or found
    return refused


def _settled(pair: _Pair, a_ns: IntArray, b_ns: IntArray, max_offset_s: float) -> tuple[_Pair, CalibrationResult]:
    """Estimate the offset, and the mixtures again at that offset, until it stays."""
    result = estimate_offset(a_ns, pair.a, b_ns, pair.b, max_offset_s)
    if pair.a_table.shape[1] == pair.b_table.shape[1] == 1:
        return pair, result
    for _ in range(ROUNDS):
        found_s = result.conditions.get("imprecise_s") if result.value is None else result.value
        if found_s is None:
            break
        a, b = _side_by_side(a_ns, pair.a_table, b_ns + round(found_s * 1e9), pair.b_table)
        if len(a) < THIRDS * LEAST_SHARED:
            break
        u, v, _, _ = _directions(a - a.mean(axis=0), b - b.mean(axis=0), 0)
        mixed = replace(pair, a=pair.a_table @ u, b=pair.b_table @ v)
        again = estimate_offset(a_ns, mixed.a, b_ns, mixed.b, max_offset_s)
        if again.value is None:
            break
        moved_s = abs(again.value - found_s)
        pair, result = mixed, again
        if moved_s < SETTLED_S:
            break
    return pair, result


def _side_by_side(a_ns: IntArray, a: FloatArray, b_ns: IntArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give both tables at the stamps of the slower one, the faster one averaged over a period of it, where neither has a hole."""
    if _period_s(a_ns) > _period_s(b_ns):
        b, a = _side_by_side(b_ns, b, a_ns, a)
        return a, b
    half_ns = _period_s(b_ns) * 5e8
    first_ns = int(min(a_ns[0], b_ns[0]))  # subtracted before anything is a float
    at, times = (b_ns - first_ns).astype(np.float64), (a_ns - first_ns).astype(np.float64)
    before = np.searchsorted(times, at - half_ns, side="right") - 1
    after = np.searchsorted(times, at + half_ns, side="left")
    inside = (before >= 0) & (after < len(times))
    holes = np.concatenate([[0], np.cumsum(np.diff(times) > HOLE_PERIODS * float(np.median(np.diff(times))))])
    inside[inside] = holes[before[inside]] == holes[after[inside]]
    looks = at[inside][:, None] + half_ns * (np.arange(LOOKS) - (LOOKS - 1) / 2) * 2 / LOOKS
    seen = np.stack([np.interp(looks, times, column).mean(axis=1) for column in a.T], axis=1)
    return seen, b[inside]


def _of_third(whole: CalibrationResult, a_ns: IntArray, a: FloatArray, b_ns: IntArray, b: FloatArray) -> CalibrationResult:
    """Estimate the offset of a part near that of the whole."""
    near_ns = round((whole.value or 0.0) * 1e9)
    found = estimate_offset(a_ns, a, b_ns + near_ns, b, THIRD_S)
    return found if found.value is None else replace(found, value=found.value + near_ns / 1e9)


def _last(pair: _Pair) -> tuple[bool, bool, bool, float]:
    """Give the place of a pair among those to try: where two points of one body travel differently, its turning is the same."""
    return (pair.score < GOOD_SCORE, "travel" in pair.what, pair.what.startswith("speed"), -pair.sharpness)


def _end_to_end(excerpts: Sequence[Excerpt]) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Give the stamps of both streams with the excerpts one after the other, and the third of each."""
    a, b, at_ns = [], [], 0
    for excerpt in excerpts:
        start_ns = min(int(excerpt.a.t_ns[0]), int(excerpt.b.t_ns[0]))
        a.append(excerpt.a.t_ns - start_ns + at_ns)
        b.append(excerpt.b.t_ns - start_ns + at_ns)
        at_ns = max(int(a[-1][-1]), int(b[-1][-1])) + HOLE_NS
    thirds = [np.concatenate([np.full(len(part), e.third) for part, e in zip(parts, excerpts, strict=True)]) for parts in (a, b)]
    return np.concatenate(a), np.concatenate(b), thirds[0], thirds[1]


def _thinned(excerpts: Sequence[Excerpt]) -> Sequence[Excerpt]:
    """Leave out samples of the stream that has fewer, evenly, where both have very many."""
    count = min(sum(len(e.a) for e in excerpts), sum(len(e.b) for e in excerpts))
    every = -(-count // MOST_SLOW)
    if every == 1:
        return excerpts
    if sum(len(e.a) for e in excerpts) < sum(len(e.b) for e in excerpts):
        return [Excerpt(e.third, e.a.take(slice(None, None, every)), e.b) for e in excerpts]
    return [Excerpt(e.third, e.a, e.b.take(slice(None, None, every))) for e in excerpts]


def _pairs(excerpts: Sequence[Excerpt], a_ns: IntArray, b_ns: IntArray, max_offset_s: float) -> list[_Pair]:
    first = excerpts[0]
    step_s = float(np.clip(max(_period_s(first.a.t_ns), _period_s(first.b.t_ns)), FINEST_S, COARSEST_S))
    lags = int(np.ceil(max_offset_s / step_s))
    pairs = []
    for speeds in (False, True):
        of_a, of_b = (e.speeds if speeds else e.vectors for e in (first.a, first.b))
        for name_a in of_a:
            for name_b in of_b:
                if not speeds and name_a.split()[0] != name_b.split()[0] and not {name_a, name_b} & set(_MIXED):
                    continue
                a = np.concatenate([_table(e.a, name_a, speeds=speeds) for e in excerpts])
                b = np.concatenate([_table(e.b, name_b, speeds=speeds) for e in excerpts])
                u, v, score, sharpness = _directions(_grid(a_ns, a, step_s), _grid(b_ns, b, step_s), lags)
                what = name_a if name_a == name_b else f"{name_a} with {name_b}"
                pairs.append(_Pair(f"speed of {what}" if speeds else what, a, b, a @ u, b @ v, score, sharpness))
    return pairs


def _table(motion: Motion, name: str, *, speeds: bool) -> FloatArray:
    return motion.speeds[name][:, None] if speeds else motion.vectors[name]


def _period_s(t_ns: IntArray) -> float:
    return float(np.median(np.diff(t_ns))) / 1e9


def _grid(t_ns: IntArray, values: FloatArray, step_s: float) -> FloatArray:
    """Give means over the cells of a grid from 0, less the mean of all; 0 in cells without samples. For the first look only."""
    cell = np.round(t_ns / (step_s * 1e9)).astype(np.int64)
    counts = np.bincount(cell)
    centred = values - values.mean(axis=0)
    sums = np.stack([np.bincount(cell, weights=column) for column in centred.T], axis=1)
    result: FloatArray = sums / np.maximum(counts, 1)[:, None]
    return result


def _directions(a: FloatArray, b: FloatArray, lags: int) -> tuple[FloatArray, FloatArray, float, float]:
    """Find the mixtures of columns that go together best over all lags of a grid, their correlation, how sharp it peaks."""
    n = max(len(a), len(b)) + lags
    a, b = (np.vstack([x, np.zeros((n - len(x), x.shape[1]))]) for x in (a, b))
    (to_a, white_a), (to_b, white_b) = _whiten(a), _whiten(b)
    crosses = np.stack(
        [white_a[max(lag, 0) : n + min(lag, 0)].T @ white_b[max(-lag, 0) : n - max(lag, 0)] for lag in range(-lags, lags + 1)]
    )
    u, s, vt = np.linalg.svd(crosses)
    best = int(np.argmax(s[:, 0]))
    left, right, score = u[best, :, 0], vt[best, 0], min(float(s[best, 0]), 1 - 1e-9)
    beside = [float(left @ crosses[int(np.clip(best + side, 0, 2 * lags))] @ right) for side in (-2, 2)]
    # The curvature of the correlation is the power of the motion's rate of change; noise has no part in it.
    sharpness = score * max(score - sum(beside) / 2, 0.0) / (1 - score**2)
    return to_a @ left, to_b @ right, score, sharpness


def _whiten(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    covariance = x.T @ x
    mean = float(np.trace(covariance)) / len(covariance)
    power, axes = np.linalg.eigh(covariance + RIDGE * max(mean, 1e-300) * np.eye(len(covariance)))
    to: FloatArray = axes / np.sqrt(power)
    return to, x @ to
