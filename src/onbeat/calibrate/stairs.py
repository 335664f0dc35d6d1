"""A device without much inertia shows each step of its commands: then the steps themselves say when they arrived.

Behind a lag, the staircase is solved exactly. Without one, what a dead time leaves unexplained changes only where some sample
passes from one step to the next: between two such edges all dead times fit alike. That range is the interval, not a curvature.
"""

from dataclasses import dataclass

import numpy as np

from onbeat.calibrate.held import FloatArray

__all__ = ("StairFit", "Staircase", "fit_stairs")

# Below this share of a decay nothing is left of a step.
GONE = 1e-17


@dataclass(frozen=True, slots=True)
class StairFit:
    """The dead time that the steps show.

    Args:
        dead_s: Mean of what is possible.
        half_s: Half-width of its 95 % interval.
        sse: Squared residual of the best.
        predicted: Of the best. Shape (m,).
    """

    dead_s: float
    half_s: float
    sse: float
    predicted: FloatArray


class Staircase:
    """tau x' = u - x on each step, from rest: solved exactly.

    Args:
        command_s, command: As they were sent. Shape (n,).
        lag_s: tau, > 0.
    """

    def __init__(self, command_s: FloatArray, command: FloatArray, lag_s: float) -> None:
        self.command_s, self.command, self.lag_s = command_s, command, lag_s
        self._error = _decayed(np.exp(-np.diff(command_s) / lag_s), -np.diff(command))

    def at(self, t_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Give the response without dead time, and its rate of change. Shapes (m,)."""
        k = np.clip(np.searchsorted(self.command_s, t_s, side="right") - 1, 0, None)
        along = np.maximum(t_s - self.command_s[k], 0.0)
        behind = self._error[k] * np.exp(-along / self.lag_s)
        return self.command[k] + behind, -behind / self.lag_s


def _decayed(decay: FloatArray, step: FloatArray) -> FloatArray:
    """Give e with e[0] = 0 and e[k + 1] = decay[k] e[k] + step[k], in runs of doubled length. Shape (n + 1,)."""
    total, left, run = step.copy(), decay.copy(), 1
    while run < len(total) and left[run - 1 :].max() > GONE:
        total[run:] += left[run:] * total[:-run].copy()
        left[run:] *= left[:-run].copy()
        run *= 2
    return np.concatenate([[0.0], total])


def fit_stairs(
    command_s: FloatArray,
    command: FloatArray,
    t_s: FloatArray,
    measured: FloatArray,
    dead_s: float,
    reach_s: float,
    inflation: float = 1.0,
) -> StairFit:
    """Try every dead time around a first one; gain, offset and drift are free at each.

    Args:
        command_s, command: As they were sent. Shape (n,).
        t_s, measured: Samples. Shape (m,).
        dead_s: First estimate, without the hold.
        reach_s: How far to look to each side.
        inflation: Variance of the noise at the motion's frequencies over that of white noise, >= 1.
    """
    free = np.stack([np.ones_like(t_s), t_s - t_s.mean()], axis=1)
    basis, _ = np.linalg.qr(free)
    target = measured - basis @ (basis.T @ measured)
    level = command - command.mean()
    low, high = dead_s - reach_s, dead_s + reach_s
    last = np.clip(np.searchsorted(command_s, t_s - low, side="right") - 1, 0, None)
    first = np.clip(np.searchsorted(command_s, t_s - high, side="right") - 1, 0, None)
    # One edge for each step that a sample goes back over: at the age that the step has in the sample.
    count = last - first
    sample = np.repeat(np.arange(len(t_s)), count)
    step = np.arange(len(sample)) - np.repeat(np.cumsum(count) - last, count) + 1
    ages = t_s[sample] - command_s[step]
    order = np.argsort(ages, kind="stable")
    sample, step, ages = sample[order], step[order], ages[order]
    x, before, after = level[last], level[step], level[step - 1]
    change = after - before

    def along(start: float, changes: FloatArray) -> FloatArray:
        return start + np.concatenate([[0.0], np.cumsum(changes)])

    product = along(float(x @ target), change * target[sample])
    power = along(float(x @ x), after**2 - before**2)
    power -= sum((along(float(x @ column), change * column[sample]) ** 2 for column in basis.T), np.zeros_like(power))
    total = float(target @ target)
    sse = np.maximum(total - product**2 / np.maximum(power, 1e-12 * max(float(x @ x), 1e-300)), 0.0)
    edges = np.concatenate([[low], ages, [high]])
    widths = np.diff(edges)
    best = int(np.argmin(np.where(widths > 0, sse, np.inf)))
    variance = max(float(sse[best]) / max(len(t_s) - 4, 1), 1e-18 * total / len(t_s))
    weight = widths * np.exp(-np.maximum(sse - sse[best], 0.0) / (2 * variance * inflation))
    weight /= weight.sum()
    mean = float(weight @ (edges[:-1] + edges[1:])) / 2
    within = np.concatenate([[0.0], np.cumsum(weight)])
    halves = np.concatenate([[0.0], np.sort(np.abs(edges - mean))])
    inside = np.interp(mean + halves, edges, within) - np.interp(mean - halves, edges, within)
    half = float(np.interp(0.95, inside, halves))
    middle = (edges[best] + edges[best + 1]) / 2
    k = np.clip(np.searchsorted(command_s, t_s - middle, side="right") - 1, 0, None)
    columns = np.concatenate([free, command[k][:, None]], axis=1)
    solved, *_ = np.linalg.lstsq(columns, measured, rcond=None)
    return StairFit(mean, half, float(sse[best]), columns @ solved)
