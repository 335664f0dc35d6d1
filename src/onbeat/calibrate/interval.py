"""Intervals that stay honest when residuals are correlated in time: what every estimator of this room shares."""

from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

__all__ = ("Z_975", "half_width", "long_run_variance", "t_quantile")

FloatArray = NDArray[np.float64]

# Of a normal variable; the t quantile of many degrees of freedom.
Z_975 = 1.959963984540054
MAX_DEGREES = 24
MIN_DEGREES = 4


def t_quantile(degrees: float) -> float:
    """Give the 97.5 % quantile of Student's t, by the Cornish-Fisher series about the normal; within 0.3 % from 3 degrees up.

    Args:
        degrees: Degrees of freedom, >= 1.
    """
    z, v = Z_975, degrees
    if degrees < MIN_DEGREES - 1:
        return {1: 12.7062, 2: 4.3027}[round(degrees)]
    return (
        z
        + (z**3 + z) / (4 * v)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * v**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * v**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * v**4)
    )


def long_run_variance(scores: FloatArray, weights: FloatArray, most: int = MAX_DEGREES) -> tuple[float, int]:
    """Estimate the variance of the sum of a correlated series, and the degrees of freedom of that estimate.

    Equal-weighted cosine transforms (Lazarus, Lewis, Stock and Watson 2018, "HAR inference: recommendations for
    practice"): the mean square of the first v cosine sums estimates the spectrum at zero frequency, and Student's t with
    v degrees of freedom is then the right quantile. The cosines run along the information instead of along time, because a
    single reach says everything within a second and nothing before and after it.

    Args:
        scores: Series in the order of time. Shape (n,).
        weights: How much each sample says, >= 0, with a positive sum. Shape (n,).
        most: Most degrees of freedom: the more, the wider the band of noise around zero frequency that counts.

    Returns:
        The variance, and v.
    """
    total = float(weights.sum())
    informative = total**2 / float((weights**2).sum())
    degrees = max(MIN_DEGREES, min(most, ceil(0.4 * informative ** (2 / 3))))
    along = (np.cumsum(weights) - weights / 2) / total
    cosines = np.cos(np.pi * np.outer(np.arange(1, degrees + 1), along)) * np.sqrt(2.0)
    return float(((cosines @ scores) ** 2).mean()), degrees


def half_width(influence: FloatArray, residual: FloatArray, variance: FloatArray) -> tuple[float, float]:
    """Give the half-width of the 95 % interval of a least-squares figure, never less than for uncorrelated residuals.

    Args:
        influence: What the figure gains per unit of each sample divided by its column's variance. Shape (n, width).
        residual: Shape (n, width).
        variance: Of the residual, for each column. Shape (width,).

    Returns:
        Half-width, and by how much correlation inflates the variance (at least 1).
    """
    weights = (influence**2 / variance).sum(axis=1)
    plain = float(weights.sum())
    correlated, degrees = long_run_variance((influence * residual / variance).sum(axis=1), weights)
    half = max(t_quantile(degrees) * sqrt(correlated), t_quantile(len(influence)) * sqrt(plain))
    return half, max(correlated / plain, 1.0)
