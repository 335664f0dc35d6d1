"""The model of a delayed response: the command's path, shifted, with a free gain and offset for each column."""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

__all__ = ("Polyline", "Record", "Scan", "Shift", "golden_section")

FloatArray = NDArray[np.float64]


class Polyline:
    """A path of straight lines through stamped samples, averaged with a short triangular weight.

    A line between samples smooths most halfway between them, so plain interpolation pulls the shift of a ragged command towards
    half-periods. A triangle of one sample period on each side smooths everywhere alike (for even samples it is the cubic
    B-spline); being symmetric it moves nothing in time.

    Args:
        times_s: Strictly increasing. Shape (n,), n >= 2.
        values: Shape (n, width).
        window_s: Half the base of the triangle, > 0. Averages are right from ``window_s`` inside of both ends.
    """

    def __init__(self, times_s: FloatArray, values: FloatArray, window_s: float) -> None:
        self.times_s = times_s
        self.values = values
        self.window_s = window_s
        steps = np.diff(times_s)[:, None]
        # Centred, so that the integrals stay small beside the differences taken of them.
        self.mean = values.mean(axis=0)
        self.level = values - self.mean
        self.slopes = np.diff(values, axis=0) / steps
        first = (self.level[:-1] + self.slopes * steps / 2) * steps
        self._areas = _running_sum(first)
        self._moments = _running_sum((self._areas[:-1] + steps * (self.level[:-1] / 2 + self.slopes * steps / 6)) * steps)

    def segment(self, t_s: FloatArray) -> tuple[NDArray[np.intp], FloatArray]:
        """Give the line that holds each instant, and how far along it the instant lies; the ends hold. Shapes (m,), (m, 1)."""
        k = np.clip(np.searchsorted(self.times_s, t_s, side="right") - 1, 0, len(self.times_s) - 2)
        return k, np.clip(t_s - self.times_s[k], 0.0, self.times_s[k + 1] - self.times_s[k])[:, None]

    def _area(self, t_s: FloatArray) -> FloatArray:
        k, along = self.segment(t_s)
        result: FloatArray = self._areas[k] + along * (self.level[k] + self.slopes[k] * along / 2)
        return result

    def _moment(self, t_s: FloatArray) -> FloatArray:
        k, along = self.segment(t_s)
        result: FloatArray = self._moments[k] + along * (
            self._areas[k] + along * (self.level[k] / 2 + self.slopes[k] * along / 6)
        )
        return result

    def at(self, t_s: FloatArray) -> FloatArray:
        """Give the averaged path. Shape (m, width)."""
        w = self.window_s
        result: FloatArray = self.mean + (self._moment(t_s + w) - 2 * self._moment(t_s) + self._moment(t_s - w)) / w**2
        return result

    def slope(self, t_s: FloatArray) -> FloatArray:
        """Give the averaged path's rate of change, exactly. Shape (m, width)."""
        w = self.window_s
        result: FloatArray = (self._area(t_s + w) - 2 * self._area(t_s) + self._area(t_s - w)) / w**2
        return result


def _running_sum(steps: FloatArray) -> FloatArray:
    return np.vstack([np.zeros((1, steps.shape[1])), np.cumsum(steps, axis=0)])


@dataclass(frozen=True, slots=True)
class Shift:
    """The best gain and offset at one shift."""

    delay_s: float
    gain: FloatArray
    offset: FloatArray
    predicted: FloatArray
    residual: FloatArray
    sse: FloatArray
    cost: float

    def r2(self, total: FloatArray) -> FloatArray:
        """Give the share of each column's power that is explained."""
        return np.maximum(1 - self.sse / total, 0.0)


@dataclass(frozen=True, slots=True)
class Scan:
    """What a grid of shifts leaves unexplained, with positive and with negative gains.

    Args:
        delays_s: Shape (k,).
        sse: Residual sum of squares with gains >= 0. Shape (k, width).
        inverted_sse: The same with gains <= 0.
    """

    delays_s: FloatArray
    sse: FloatArray
    inverted_sse: FloatArray


class Record:
    """One record: the command's path, and the measured samples that are compared with it at every shift."""

    def __init__(self, path: Polyline, t_s: FloatArray, measured: FloatArray) -> None:
        self.path = path
        self.t_s = t_s
        self.measured = measured
        self.centred = measured - measured.mean(axis=0)
        self.total = (self.centred**2).sum(axis=0)

    def _line(self, delay_s: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Give the centred command, its mean and the gain of either sign at one shift."""
        x = self.path.at(self.t_s - delay_s)
        mean = x.mean(axis=0)
        x = x - mean
        power = (x**2).sum(axis=0)
        gain = np.divide((x * self.centred).sum(axis=0), power, out=np.zeros_like(power), where=power > 0)
        return x, mean, gain

    def cost(self, sse: FloatArray) -> FloatArray:
        """Give the profile likelihood's cost: each column's noise is unknown, so each counts by the logarithm of its residual."""
        result: FloatArray = len(self.t_s) * np.log(np.maximum(sse / self.total, 1e-18)).sum(axis=-1)
        return result

    def fit(self, delay_s: float) -> Shift:
        """Fit gain and offset at one shift; a negative gain counts as zero."""
        x, mean, gain = self._line(delay_s)
        gain = np.maximum(gain, 0.0)
        residual = self.centred - gain * x
        sse = (residual**2).sum(axis=0)
        return Shift(
            delay_s,
            gain,
            self.measured.mean(axis=0) - gain * mean,
            self.measured - residual,
            residual,
            sse,
            float(self.cost(sse)),
        )

    def sensitivity(self, best: Shift) -> FloatArray:
        """Give how much each sample changes with the shift, less what a change of gain and offset can do. Shape (n, width)."""
        x = self.path.at(self.t_s - best.delay_s)
        x = x - x.mean(axis=0)
        slope = best.gain * self.path.slope(self.t_s - best.delay_s)
        slope = slope - slope.mean(axis=0)
        result: FloatArray = slope - x * ((slope * x).sum(axis=0) / np.maximum((x**2).sum(axis=0), 1e-300))
        return result

    def scan(self, delays_s: FloatArray) -> Scan:
        """Fit gain and offset at each of many shifts."""
        sse = np.empty((len(delays_s), self.measured.shape[1]))
        inverted = np.empty_like(sse)
        for k, delay_s in enumerate(delays_s.tolist()):
            x, _, gain = self._line(delay_s)
            explained = ((self.centred - gain * x) ** 2).sum(axis=0)
            sse[k] = np.where(gain > 0, explained, self.total)
            inverted[k] = np.where(gain < 0, explained, self.total)
        return Scan(delays_s, sse, inverted)

    def refine(self, low_s: float, high_s: float) -> Shift:
        """Find the best shift between two others by golden section, to 10 ns."""
        return self.fit(golden_section(lambda d: self.fit(d).cost, low_s, high_s))


def golden_section(cost: Callable[[float], float], low: float, high: float, tolerance: float = 1e-8) -> float:
    """Find the minimum of a cost with one minimum between two bounds."""
    ratio = (sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    cost_a, cost_b = cost(a), cost(b)
    while high - low > tolerance:
        if cost_a <= cost_b:
            high, b, cost_b = b, a, cost_a
            a = high - ratio * (high - low)
            cost_a = cost(a)
        else:
            low, a, cost_a = a, b, cost_b
            b = low + ratio * (high - low)
            cost_b = cost(b)
    return (low + high) / 2
