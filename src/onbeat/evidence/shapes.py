"""Which shape an offset has over time: constant, line, steps, slew, flipping rates, flat then line, bend, or none of these."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.envelope import Envelope
from onbeat.evidence.pieces import Fit, fit, hinge, jump, refine, segments

__all__ = ("SHAPES", "Edge", "Number", "Shape", "shape")

SHAPES = ("constant", "line", "steps", "slew", "flips", "died", "kink", "bend", "unclear")

_CLOSE = 5  # buckets
_FEWEST = 6  # of them, for a shape
_RUN = 16  # pieces of one detour at most
_NEAR = 30  # buckets on either side of a detour
_CLEAR = 4.0  # standard deviations from which on a break is said to be there
_LEAST_S = 1e-4
_STEEP = 150e-6  # no crystal is off by so much, so a daemon slews; kernels slew at 500 ppm, chrony at up to 100 000 ppm
_SLEWS = (500e-6, 1e5 / 1.2e6)  # the kernel's and chrony's
_SMALL = 0.25  # of the largest change of slope
_STEEPER = 4  # than a corner of the clock's own
_Floats = NDArray[np.float64]
_Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Number:
    """An estimate with its standard deviation, in s, s/s or s/s per s."""

    value: float
    std: float

    @property
    def clear(self) -> bool:
        """Whether it differs from 0 by 4 standard deviations."""
        return abs(self.value) > _CLEAR * self.std


@dataclass(frozen=True, slots=True)
class Edge:
    """Where the offset jumps (size in s) or its slope changes (size in s/s); a jump may take the time of `within` about `at`."""

    at: Number
    size: Number
    within: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """The shape of an offset.

    Args:
        kind: One of `SHAPES`.
        rate: Slope of the line, s/s: of what is common to all pieces; before the kink where there is one.
        edges: Jumps, or changes of slope, in order of time.
        bend: Second derivative, s/s per s: of a bend.
        rates: The two slopes of "flips".
        period: Of "flips", s: until the same rate comes again.
        curve: The shape at the envelope's instants, s. Shape (k,).
        noise: Standard deviation of the envelope about it, s.
        away: Where delay rose above the shape and came back. Shape (k,).
    """

    kind: str
    rate: Number
    curve: _Floats
    noise: float
    edges: tuple[Edge, ...] = ()
    bend: Number = field(default_factory=lambda: Number(0.0, 0.0))
    rates: tuple[Number, Number] | None = None
    period: Number | None = None
    away: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))

    @property
    def change(self) -> float:
        """How far the shape goes from its lowest to its highest, s."""
        return float(np.ptp(self.curve))


def shape(envelope: Envelope) -> Shape:
    """Decide the shape of an offset: the one with the least loss for its number of parameters (BIC), and no more than shows."""
    t, y = envelope.t - envelope.t[0], envelope.d - envelope.d[0]
    noise = max(envelope.noise, 1e-9 * float(np.ptp(y)))
    away = _excursions(t, y, noise)
    keep = ~away & _regular(y, noise)
    trend = fit([np.ones(len(t)), t], y, noise).values
    cuts = segments(t[keep], (y - trend)[keep], noise)
    middle = t - t.mean()
    bent = fit([np.ones(len(t)), middle, middle**2], y, noise).values
    bends = len(cuts) > 3 and 1.4826 * float(np.median(np.abs((y - bent)[keep]))) < 1.5 * noise  # a bend is no row of breaks
    if bends:
        trend = bent
        cuts = segments(t[keep], (y - trend)[keep], noise)
    for _ in range(6):
        detours = _detours(t[keep], (y - trend)[keep], cuts, noise)
        if not detours.any():
            break
        away[np.flatnonzero(keep)[detours]] = True
        keep[np.flatnonzero(keep)[detours]] = False
        cuts = segments(t[keep], (y - trend)[keep], noise)
    spans = [] if bends else _transitions(t[keep], cuts)
    inside = np.zeros(int(keep.sum()), bool)
    for a, b in spans:
        inside |= (t[keep] >= a) & (t[keep] <= b)
    if int(np.count_nonzero(~inside)) < max(_FEWEST, 2 * len(spans)):  # breaks everywhere: nothing between them has a shape
        line = fit([np.ones(len(t)), t], y, noise)
        rate = Number(float(line.theta[1]), line.std(1))
        return Shape("unclear", rate, line.values + envelope.d[0], float(np.sqrt(line.loss)), away=away)
    keep[np.flatnonzero(keep)[inside]] = False
    found = _decide(t[keep], y[keep], noise, envelope.t[0], spans)
    curve = np.interp(t, t[keep], found.curve) + envelope.d[0]
    return Shape(found.kind, found.rate, curve, found.noise, found.edges, found.bend, found.rates, found.period, away)


def _transitions(t: _Floats, cuts: list[int]) -> list[tuple[float, float]]:
    """Give where breaks lie, from - until: the buckets in which they may be; breaks close together are one."""
    found: list[tuple[int, int]] = []
    tick = float(np.median(np.diff(t)))
    for cut in cuts:
        first, last = cut - 1, cut
        near = found and first - found[-1][1] <= _CLOSE and t[last] - t[found[-1][1]] <= 2 * _CLOSE * tick
        if near:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return [(float(t[a]), float(t[b])) for a, b in found if a >= 3 and b < len(t) - 3]


def _decide(t: _Floats, y: _Floats, noise: float, t0: float, spans: list[tuple[float, float]]) -> Shape:
    one = np.ones(len(t))
    level, line = fit([one], y, noise), fit([one, t], y, noise)
    middle = t - t.mean()
    bend = fit([one, middle, middle**2], y, noise)
    plain: list[tuple[str, Fit]] = [("constant", level), ("line", line), ("bend", bend)]
    plain.append(("bend", fit([one, middle, middle**2, middle**3], y, noise)))
    span = max(t[-1], t[-1] - t[0])  # a stream's own times may end before the origin
    plain += [("bend", fit([one, t, np.exp(-t / (share * span))], y, noise, places=1)) for share in (0.08, 0.15, 0.3, 0.6)]
    broken: list[tuple[Fit, list[float], list[float]]] = []
    cuts = [(a + b) / 2 for a, b in spans]
    if cuts:
        broken = [_prune(t, y, noise, cuts, []), _prune(t, y, noise, [], cuts), _prune(t, y, noise, cuts, cuts)]
    richest = min([f for _, f in plain] + [f for f, _, _ in broken], key=lambda f: f.loss)
    n = len(t) * (1 - richest.memory) / (1 + richest.memory)

    def score(f: Fit) -> float:
        return n * log(max(f.loss, 0.25 * noise**2)) + 1.5 * f.free * log(len(t))

    kind, best = min(plain, key=lambda p: score(p[1]))
    usable = [b for b in broken if b[1] or b[2]]
    if usable:
        chosen = min(usable, key=lambda b: score(b[0]))
        if score(chosen[0]) < score(best) - 6:
            within = {(a + b) / 2: (b - a) / 2 for a, b in spans}
            found = _broken(t, chosen, t0, within)
            _, jumps, hinges = chosen
            while found.kind == "unclear" and not jumps and len(hinges) > 2:
                # A small bend beside large ones is delay's, and two close ones are one; without it there may be a shape.
                sizes, apart = np.abs(chosen[0].theta[2 : 2 + len(hinges)]), np.diff(hinges)
                weak, close = int(np.argmin(sizes)), int(np.argmin(apart))
                if apart[close] > _CLOSE * float(np.median(np.diff(t))) and sizes[weak] > _SMALL * sizes.max():
                    break
                drop = close if apart[close] <= _CLOSE * float(np.median(np.diff(t))) else weak
                chosen = _moved(t, y, noise, [h for k, h in enumerate(hinges) if k != drop])
                hinges = chosen[2]
                found = _broken(t, chosen, t0, within)
            return found
    rate = Number(0.0, line.std(1)) if kind == "constant" else Number(float(line.theta[1]), line.std(1))
    residual = float(np.sqrt(best.loss))
    if kind == "bend":
        return Shape("bend", rate, best.values, residual, bend=Number(2 * float(bend.theta[2]), 2 * bend.std(2)))
    return Shape(kind, rate, best.values, residual)


def _moved(t: _Floats, y: _Floats, noise: float, hinges: Sequence[float]) -> tuple[Fit, list[float], list[float]]:
    """Fit changes of slope alone, wherever they fit best."""
    now, places = refine(t, y, noise, [], hinges)
    return now, [], places


def _prune(
    t: _Floats, y: _Floats, noise: float, jumps: Sequence[float], hinges: Sequence[float]
) -> tuple[Fit, list[float], list[float]]:
    """Fit, and drop the least clear break until all are clear."""
    jumps, hinges = list(jumps), list(hinges)
    while True:
        loose = [h for h in hinges if h not in jumps]
        fixed = [h for h in hinges if h in jumps]
        if fixed:
            columns = [np.ones(len(t)), t, *(jump(t, j) for j in jumps), *(hinge(t, h) for h in hinges)]
            now = fit(columns, y, noise, places=len(set(jumps) | set(hinges)))
        else:
            now, moved = refine(t, y, noise, jumps, loose)
            hinges = moved
        count = len(jumps) + len(hinges)
        clear = [abs(float(now.theta[2 + k])) / max(now.std(2 + k), 1e-300) for k in range(count)]
        for k in range(count):  # what moves nothing is no break, however clear it is
            lever = 1.0 if k < len(jumps) else min(hinges[k - len(jumps)], t[-1] - hinges[k - len(jumps)])
            if abs(float(now.theta[2 + k])) * lever < _LEAST_S:
                clear[k] = 0.0
        if not clear or min(clear) >= _CLEAR:
            return now, jumps, hinges
        worst = int(np.argmin(clear))
        if worst < len(jumps):
            jumps.pop(worst)
        else:
            hinges.pop(worst - len(jumps))


def _broken(t: _Floats, chosen: tuple[Fit, list[float], list[float]], t0: float, within: dict[float, float]) -> Shape:
    """Name the shape of a line with breaks."""
    now, jumps, hinges = chosen
    theta = now.theta
    first = Number(float(theta[1]), now.std(1))
    residual = float(np.sqrt(now.loss))
    tick = float(np.median(np.diff(t)))
    if not hinges:
        edges = tuple(
            Edge(Number(j + t0, tick / 4), Number(float(theta[2 + k]), now.std(2 + k)), within[j]) for k, j in enumerate(jumps)
        )
        return Shape("steps", first, now.values, residual, edges)
    if jumps:
        return Shape("unclear", first, now.values, residual)
    m = len(hinges)
    edges = tuple(
        Edge(
            Number(h + t0, max(now.std(2 + m + k), tick / 10) if len(now.cov) > 2 + m + k else tick),
            Number(float(theta[2 + k]), now.std(2 + k)),
        )
        for k, h in enumerate(hinges)
    )
    slopes = [_slope(now, k, m) for k in range(m + 1)]
    if m == 1:
        flat = abs(slopes[0].value) < max(_CLEAR * slopes[0].std, 0.2 * abs(slopes[1].value))
        steepest = max(abs(n.value) for n in slopes)
        daemon = steepest > 1e-3 or any(abs(steepest / known - 1) < 0.05 for known in _SLEWS)
        steep = daemon or (steepest > 2 * _STEEP and not flat)
        kind = "slew" if steep else "died" if flat else "kink"
        return Shape(kind, slopes[0], now.values, residual, edges)
    return _repeated(t, now, slopes, edges, residual)


def _repeated(t: _Floats, now: Fit, slopes: list[Number], edges: tuple[Edge, ...], residual: float) -> Shape:
    """Tell slews (steep pieces between ordinary ones) from two rates that take turns."""
    even, odd = slopes[::2], slopes[1::2]
    a, b = _together(even), _together(odd)
    gap = abs(a.value - b.value)
    places = [e.at.value for e in edges]
    spans = np.diff(places)
    regular = all(float(np.ptp(w)) <= 0.25 * float(np.mean(w)) for w in (spans[::2], spans[1::2]) if len(w))
    alike = _alike(even, gap) and _alike(odd, gap)
    mirrored = abs(a.value + b.value) < 0.5 * gap
    if alike and ((len(edges) >= 3 and regular) or (len(edges) == 2 and mirrored)) and (gap < 4 * _STEEP or mirrored):
        periods = np.array(places[2:]) - np.array(places[:-2]) if len(edges) > 2 else 2 * spans
        std = float(np.mean([e.at.std for e in edges])) * (2 / len(periods)) ** 0.5 + float(np.std(periods)) / len(periods) ** 0.5
        rates = (a, b) if a.value > b.value else (b, a)
        period = Number(float(np.mean(periods)), std)
        return Shape("flips", a, now.values, residual, edges, rates=rates, period=period)
    least = min(abs(n.value - a.value) for n in odd)
    if len(slopes) % 2 == 1 and least > _STEEP and _alike(even, least):
        return Shape("slew", a, now.values, residual, edges)
    return Shape("unclear", slopes[0], now.values, residual, edges)


def _slope(now: Fit, k: int, m: int) -> Number:
    pick = np.zeros(len(now.cov))
    pick[1 : 2 + k] = 1.0
    return Number(float(np.sum(now.theta[1 : 2 + k])), float(np.sqrt(max(float(pick @ now.cov @ pick), 0.0))))


def _together(numbers: Sequence[Number]) -> Number:
    weight = np.array([1 / max(n.std, 1e-12) ** 2 for n in numbers])
    values = np.array([n.value for n in numbers])
    return Number(float(weight @ values / weight.sum()), float(weight.sum() ** -0.5))


def _alike(numbers: Sequence[Number], gap: float) -> bool:
    mean = _together(numbers).value
    return all(abs(n.value - mean) <= 0.15 * gap + _CLEAR * n.std for n in numbers)


def _regular(y: _Floats, noise: float) -> NDArray[np.bool_]:
    """Say which points are no lonely outliers against both of their neighbourhoods."""
    if len(y) < 7:
        return np.ones(len(y), bool)
    padded = np.concatenate([y[:1].repeat(3), y, y[-1:].repeat(3)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 7)
    left, right = np.median(windows[:, :3], axis=1), np.median(windows[:, 4:], axis=1)
    low, high = np.minimum(left, right) - 8 * noise, np.maximum(left, right) + 8 * noise
    ok: NDArray[np.bool_] = (y >= low) & (y <= high)
    for lone, near, far in ((0, 1, 3), (-1, -2, -4)):  # the outermost one goes on as its neighbours do
        step = (y[near] - y[far]) / 2
        ok[lone] = abs(y[lone] - y[near] - step) <= 8 * noise + 2 * abs(step)
    return ok


def _detours(t: _Floats, y: _Floats, cuts: list[int], noise: float) -> NDArray[np.bool_]:
    """Find short runs of pieces that lie above the line on either side of them, or at an end above the only one: delay."""
    found = np.zeros(len(t), bool)
    edges = [0, *cuts, len(t)]
    last_piece = len(edges) - 2
    for k in range(last_piece + 1):
        for m in range(k, min(k + _RUN, last_piece + 1)):
            first, last = edges[k], edges[m + 1]
            at_end = k == 0 or m == last_piece
            if (k == 0 and m == last_piece) or last - first > (0.15 if at_end else 0.2) * len(t):
                break
            left = np.arange(max(edges[k - 1], first - _NEAR), first) if k else np.zeros(0, int)
            right = np.arange(last, min(edges[m + 2], last + _NEAR)) if m < last_piece else np.zeros(0, int)
            if len(left) + len(right) < 8 or (not at_end and min(len(left), len(right)) < 4):
                continue
            inside = np.arange(first, last)
            for base in (_one_line(t, y, left, right, inside, noise), _corner(t, y, left, right, inside, noise)):
                if base is not None and np.mean(y[inside] - base < -3 * noise) < 0.1:
                    found[inside] |= y[inside] - base > 4 * noise
    return found


def _one_line(t: _Floats, y: _Floats, left: _Ints, right: _Ints, inside: _Ints, noise: float) -> _Floats | None:
    """Give the line through both sides of a run, where there is one."""
    near = np.concatenate([left, right])
    around = fit([np.ones(len(near)), t[near]], y[near], noise)
    wide = np.sqrt(np.mean(np.minimum((y[near] - around.values) ** 2, (5 * noise) ** 2)))
    line: _Floats = around.theta[0] + around.theta[1] * t[inside]
    return line if wide < 2 * noise else None


def _corner(t: _Floats, y: _Floats, left: _Ints, right: _Ints, inside: _Ints, noise: float) -> _Floats | None:
    """Give the two lines on the sides of a run, where they meet within it and it rises far more steeply than they do."""
    if min(len(left), len(right)) < 6:
        return None
    before, after = (fit([np.ones(len(side)), t[side]], y[side], noise) for side in (left, right))
    bend = float(after.theta[1] - before.theta[1])
    meet = float(before.theta[0] - after.theta[0]) / bend if bend else np.inf
    if not t[inside[0]] <= meet <= t[inside[-1]]:
        return None
    at = t[inside]
    base: _Floats = np.where(at < meet, before.theta[0] + before.theta[1] * at, after.theta[0] + after.theta[1] * at)
    rise = float(np.max(y[inside] - base)) / max(float(at[-1] - at[0]) / 2, 1e-9)
    return base if rise > _STEEPER * abs(bend) else None


def _excursions(t: _Floats, y: _Floats, noise: float) -> NDArray[np.bool_]:
    """Find where a line that holds at both ends is left upwards for a while: delay that rose and came back."""
    none = np.zeros(len(t), bool)
    edge = max(len(t) // 7, 3)
    if len(t) < 4 * edge:
        return none
    left, right = np.arange(edge), np.arange(len(t) - edge, len(t))
    i, j = (g.ravel() for g in np.meshgrid(left, right, indexing="ij"))
    if len(i) > 900:
        i, j = i[:: len(i) // 900 + 1], j[:: len(j) // 900 + 1]
    i, j = i[t[j] > t[i]], j[t[j] > t[i]]  # instants may be one, where a log stood still
    if not len(i):
        return none
    slope = (y[j] - y[i]) / (t[j] - t[i])
    residual = y[None, :] - (y[i, None] + slope[:, None] * (t[None, :] - t[i, None]))
    near = np.abs(residual) <= 4 * noise
    best = int(np.argmax(near.sum(axis=1) - 3 * (residual < -4 * noise).sum(axis=1)))
    kept = near[best]
    for _ in range(3):
        line = fit([np.ones(int(kept.sum())), t[kept]], y[kept], noise).theta
        apart = y - line[0] - line[1] * t
        kept = np.abs(apart) <= 4 * noise
        if kept.sum() < 4:
            return none
    above, below = apart > 4 * noise, apart < -4 * noise
    returns = kept[:edge].mean() > 0.5 and kept[-edge:].mean() > 0.5
    return above if returns and kept.mean() >= 0.5 and below.mean() <= 0.02 and above.mean() >= 0.02 else none
