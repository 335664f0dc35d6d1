"""A device without much inertia shows each step of its commands: then the steps themselves say when they arrived.

The staircase behind a dead time and a lag is solved exactly, and the dead time is judged by how well each candidate explains the
samples. Without a lag the samples between two steps fit a whole range of dead times alike: the range is the interval.
"""

from dataclasses import dataclass
from math import exp

import numpy as np

from onbeat.calibrate.held import FloatArray

__all__ = ("StairFit", "Staircase", "fit_stairs")

COARSE = 60
FINE = 160
# Twice the negative log of what is still counted as possible.
FAR = 40.0
SHORTEST_LAG_S = 1e-5


@dataclass(frozen=True, slots=True)
class StairFit:
    """The dead time that the steps show.

    Args:
        dead_s: Mean of what is possible.
        lag_s: That of the lags tried that explains most.
        half_s: Half-width of its 95 % interval.
        sse: Squared residual of the best.
        predicted: Of the best. Shape (m,).
    """

    dead_s: float
    lag_s: float
    half_s: float
    sse: float
    predicted: FloatArray


class Staircase:
    """tau x' = u - x on each step, from rest: solved exactly.

    Args:
        command_s, command: As they were sent. Shape (n,).
        lag_s: tau; 0 for none.
    """

    def __init__(self, command_s: FloatArray, command: FloatArray, lag_s: float) -> None:
        self.command_s, self.command, self.lag_s = command_s, command, lag_s
        if lag_s < SHORTEST_LAG_S:
            self._error = np.zeros_like(command)
            return
        error, errors = 0.0, []
        steps = np.diff(command, append=command[-1]).tolist()
        for step, gap in zip(steps, [*np.diff(command_s).tolist(), 0.0], strict=True):
            errors.append(error)
            error = error * exp(-gap / lag_s) - step
        self._error = np.array(errors)

    def at(self, t_s: FloatArray) -> FloatArray:
        """Give the response without dead time. Shape (m,)."""
        k = np.clip(np.searchsorted(self.command_s, t_s, side="right") - 1, 0, None)
        if self.lag_s < SHORTEST_LAG_S:
            return self.command[k]
        along = np.maximum(t_s - self.command_s[k], 0.0)
        return self.command[k] + self._error[k] * np.exp(-along / self.lag_s)


def fit_stairs(
    command_s: FloatArray,
    command: FloatArray,
    t_s: FloatArray,
    measured: FloatArray,
    dead_s: float,
    lags_s: tuple[float, ...],
    reach_s: float,
) -> StairFit:
    """Try dead times around a first one, and some small lags.

    Args:
        command_s, command: As they were sent. Shape (n,).
        t_s, measured: Samples. Shape (m,).
        dead_s: First estimate, without the hold.
        lags_s: To be tried.
        reach_s: How far to look to each side.
    """
    free = np.stack([np.ones_like(t_s), t_s - t_s.mean()], axis=1)
    basis, _ = np.linalg.qr(free)
    target = measured - basis @ (basis.T @ measured)

    def sse_at(dead: float, stairs: Staircase) -> float:
        x = stairs.at(t_s - dead)
        x = x - basis @ (basis.T @ x)
        rest = target - x * ((x @ target) / max(float(x @ x), 1e-300))
        return float(rest @ rest)

    tried = np.linspace(dead_s - reach_s, dead_s + reach_s, COARSE)
    stairs, scores = Staircase(command_s, command, 0.0), np.full(COARSE, np.inf)
    for lag_s in lags_s:
        other = Staircase(command_s, command, lag_s)
        others = np.array([sse_at(float(dead), other) for dead in tried])
        if others.min() < scores.min():
            stairs, scores = other, others
    near = np.flatnonzero(scores - scores.min() <= FAR * scores.min() / len(t_s))
    first, last = float(tried[near[0]]), float(tried[near[-1]])
    middle, step = (first + last) / 2, (last - first) / 2 + 2 * float(tried[1] - tried[0])
    for _ in range(3):
        edges = _edges(command_s, t_s, middle, step)
        tried = (edges[:-1] + edges[1:]) / 2
        widths = np.diff(edges)
        scores = np.array([sse_at(float(dead), stairs) for dead in tried])
        best = int(np.argmin(scores))
        variance = max(float(scores[best]) / max(len(t_s) - 5, 1), 1e-300)
        possible = scores - scores[best] < FAR * variance
        # Once the possible ones fill a good part of what was tried, they are seen in detail.
        if possible.sum() >= FINE // 4 or len(tried) < FINE:
            break
        middle, step = float(tried[possible].mean()), float(max(np.ptp(tried[possible]), widths[best]) * 1.5)
    weight = widths * np.exp(-0.5 * (scores - scores[best]) / variance)
    weight /= weight.sum()
    mean = float(weight @ tried)
    inner = np.concatenate([[0.0], np.cumsum(weight)])
    low, high = np.interp([0.025, 0.975], inner, edges)
    x = stairs.at(t_s - float(tried[best]))
    columns = np.concatenate([free, x[:, None]], axis=1)
    solved, *_ = np.linalg.lstsq(columns, measured, rcond=None)
    return StairFit(mean, stairs.lag_s, float(max(high - mean, mean - low)), float(scores[best]), columns @ solved)


def _edges(command_s: FloatArray, t_s: FloatArray, middle: float, step: float) -> FloatArray:
    """Give the dead times around one at which some sample passes from one step to the next, thinned out."""
    low, high = middle - step, middle + step
    k = np.clip(np.searchsorted(command_s, t_s - middle, side="right") - 1, 0, len(command_s) - 1)
    ages = np.concatenate([t_s - command_s[np.clip(k + shift, 0, len(command_s) - 1)] for shift in (-1, 0, 1)])
    inside = np.unique(ages[(ages > low) & (ages < high)])
    if len(inside) > FINE:
        inside = inside[np.linspace(0, len(inside) - 1, FINE).astype(int)]
    return np.concatenate([[low], inside, [high]])
