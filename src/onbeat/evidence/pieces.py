"""Lines with breaks, by penalised least squares: where a series jumps or bends, and no more often than it shows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ("Fit", "fit", "hinge", "jump", "refine", "segments")

_SHORTEST = 3  # points of a piece
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A least-squares fit that outliers do not move.

    Args:
        theta: The coefficients. Shape (p,).
        cov: Their covariance, wide enough for noise that is alike from point to point. Shape (p, p).
        values: Of the model. Shape (n,).
        loss: Mean of the squared residuals, each cut off at 5 noises.
        free: How many parameters, places of breaks among them.
        memory: Correlation of neighbouring residuals, 0 to 0.95.
    """

    theta: _Floats
    cov: _Floats
    values: _Floats
    loss: float
    free: int
    memory: float

    def std(self, k: int) -> float:
        """Give the standard deviation of a coefficient."""
        return float(np.sqrt(max(self.cov[k, k], 0.0)))


def segments(t: _Floats, y: _Floats, noise: float, most: int = 48) -> list[int]:
    """Split a series into lines: numbers of the points where a piece begins, but the first.

    The best partition of all, by dynamic programming; a piece costs 3 parameters (two of its line, one of its place).
    """
    n = len(t)
    if n < 2 * _SHORTEST:
        return []
    sums = [_running(v) for v in (np.ones(n), t, y, t * t, t * y, y * y)]
    price = 4.5 * noise**2 * np.log(n)
    while True:
        cuts = _partition(sums, n, price)
        if len(cuts) <= most:
            return cuts
        price *= 2


def jump(t: _Floats, at: float) -> _Floats:
    """Give the column of a jump: 0 before, 1 from there on."""
    column: _Floats = (t >= at).astype(np.float64)
    return column


def hinge(t: _Floats, at: float) -> _Floats:
    """Give the column of a change of slope: 0 before, t - at from there on."""
    column: _Floats = np.maximum(t - at, 0.0)
    return column


def fit(columns: Sequence[_Floats], y: _Floats, noise: float, places: int = 0) -> Fit:
    """Fit y by a sum of columns; residuals beyond 3 robust standard deviations pull no more than one of 3 does.

    Args:
        columns: Each of shape (n,).
        y: Shape (n,).
        noise: Standard deviation of one point.
        places: How many parameters were spent on the columns themselves.
    """
    x = np.column_stack(columns)
    scale = np.maximum(np.abs(x).max(axis=0), 1e-150)  # whose square is a float, too
    x = x / scale
    weight = np.ones(len(y))
    theta = np.zeros(x.shape[1])
    residual = y
    ridge = 1e-11 * len(y) * np.eye(x.shape[1])  # two equal columns share, instead of failing
    for _ in range(4):
        gram = x.T @ (x * weight[:, None])
        theta = np.linalg.solve(gram + ridge, x.T @ (y * weight))
        residual = y - x @ theta
        limit = 3 * max(1.4826 * float(np.median(np.abs(residual))), noise)
        weight = limit / np.maximum(np.abs(residual), limit)
    memory = _memory(residual * weight, noise)
    variance = max(float(np.sum((weight * residual) ** 2)) / max(len(y) - x.shape[1], 1), noise**2)
    wide = variance * (1 + memory) / (1 - memory)
    cov = np.linalg.pinv(x.T @ (x * weight[:, None])) * wide / np.outer(scale, scale)
    loss = float(np.mean(np.minimum(residual**2, (5 * noise) ** 2)))
    return Fit(theta / scale, cov, x @ theta, loss, x.shape[1] + places, memory)


def refine(t: _Floats, y: _Floats, noise: float, jumps: Sequence[float], hinges: Sequence[float]) -> tuple[Fit, list[float]]:
    """Fit a line with jumps and changes of slope, and move the latter to where they fit best.

    Returns:
        The fit with coefficients [level, slope, jumps ..., changes of slope ..., their places ...] (the last ones only for their
        standard deviations), and the places.
    """
    at = list(hinges)
    base = [np.ones(len(t)), t, *(jump(t, j) for j in jumps)]
    first = 2 + len(jumps)
    reach = (t[-1] - t[0]) / 8
    for _ in range(12):
        columns = [*base, *(hinge(t, a) for a in at)]
        change = fit(columns, y, noise).theta[first:]
        full = [*columns, *(-c * jump(t, a) for c, a in zip(change, at, strict=True))]
        if not at:
            break
        move = fit(full, y, noise).theta[first + len(at) :]
        bounds = [float(t[1]), *at, float(t[-2])]
        new = [
            float(np.clip(a + np.clip(m, -reach, reach), (bounds[k] + a) / 2, (bounds[k + 2] + a) / 2))
            for k, (a, m) in enumerate(zip(at, move, strict=True))
        ]
        done = max(abs(a - b) for a, b in zip(new, at, strict=True)) < 1e-4 * (t[-1] - t[0]) / len(t)
        at = new
        if done:
            break
    columns = [*base, *(hinge(t, a) for a in at)]
    plain = fit(columns, y, noise, places=len(at) + len(jumps))
    if not at:
        return plain, at
    full = [*columns, *(-c * jump(t, a) for c, a in zip(plain.theta[first:], at, strict=True))]
    cov = fit(full, y, noise).cov
    return replace(plain, cov=cov), at


def _running(values: _Floats) -> _Floats:
    return np.concatenate([[0.0], np.cumsum(values)])


def _partition(sums: Sequence[_Floats], n: int, price: float) -> list[int]:
    best = np.full(n + 1, np.inf)
    best[0] = 0.0
    origin = np.zeros(n + 1, dtype=int)
    for last in range(_SHORTEST, n + 1):
        first = np.arange(0, last - _SHORTEST + 1)
        c, st, sy, stt, sty, syy = (s[last] - s[first] for s in sums)
        vt, vty, vy = stt - st * st / c, sty - st * sy / c, syy - sy * sy / c
        slope = np.divide(vty, vt, out=np.zeros(len(first)), where=vt > 0)
        total = best[first] + np.maximum(vy - slope * vty, 0.0) + price
        k = int(np.argmin(total))
        best[last], origin[last] = total[k], first[k]
    cuts = []
    at = n
    while origin[at] > 0:
        at = int(origin[at])
        cuts.append(at)
    return cuts[::-1]


def _memory(residual: _Floats, noise: float) -> float:
    """Correlation of neighbours; of residuals within the noise, which is never known that well, it is taken to be less."""
    if len(residual) < 4:
        return 0.0
    power = float(residual @ residual) + 0.5 * len(residual) * noise**2
    return float(np.clip(residual[1:] @ residual[:-1] / max(power, 1e-300), 0.0, 0.95))
