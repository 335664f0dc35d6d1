"""Delay by the peak of a cross-correlation: as robot calibration scripts commonly have it, and as well as it can be done.

In the common one a finite record pulls the peak towards zero lag, the more the slower the motion. Neither has an interval, and
neither refuses anything.
"""

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
GRID_S = 1e-3
COARSE = 10


def correlation_delay(command_s: FloatArray, command: FloatArray, measured_s: FloatArray, measured: FloatArray) -> float:
    """Estimate a delay in s: common grid of 1 ms, joint z-score, lag of the greatest correlation."""
    grid = np.arange(max(command_s[0], measured_s[0]), min(command_s[-1], measured_s[-1]), 1e-3)
    both = np.stack([np.interp(grid, command_s, command), np.interp(grid, measured_s, measured)])
    both = (both - both.mean()) / both.std()
    size = 2 * len(grid)
    spectrum = np.fft.rfft(both[1], size) * np.conj(np.fft.rfft(both[0], size))
    lag = int(np.argmax(np.fft.irfft(spectrum, size)))
    return (lag if lag < len(grid) else lag - size) * 1e-3


def windowed_delay(
    command_s: FloatArray, command: FloatArray, measured_s: FloatArray, measured: FloatArray, max_lag_s: float = 0.3
) -> float:
    """Estimate a delay in s as well as a cross-correlation can: the peer to be compared with.

    One window of the measured motion, the command under it at each lag, each pair with its own means and scales (so neither an
    offset nor the end of the record pulls), lags of 1 ms, and a parabola through the peak. What is left is its own: it gives the
    phase delay of the frequency that has most power, which for a lag tau is atan(w tau) / w and not tau, and lines drawn between
    samples smooth most halfway between them.

    Raises:
        ValueError: the peak lies at an end.
    """
    reach = round(max_lag_s / GRID_S)
    grid = np.arange(max(command_s[0], measured_s[0]), min(command_s[-1], measured_s[-1]), GRID_S)
    # Lines between commands are as late as steps are on average, less half a period: the delay found contains the hold.
    x, y = np.interp(grid, command_s, command), np.interp(grid, measured_s, measured)[reach:-reach]
    y = (y - y.mean()) / y.std()
    n = len(y)
    # Means and scales of every window at once.
    sums, squares = (np.concatenate([[0.0], np.cumsum(values)]) for values in (x - x.mean(), (x - x.mean()) ** 2))

    def score(lag: int) -> float:
        first = reach - lag
        mean = (sums[first + n] - sums[first]) / n
        scale = np.sqrt((squares[first + n] - squares[first]) / n - mean**2)
        return float(x[first : first + n] @ y / n / scale)

    coarse = max(range(-reach, reach + 1, COARSE), key=score)
    lags = range(max(coarse - COARSE, -reach), min(coarse + COARSE, reach) + 1)
    return (_vertex(np.array([score(lag) for lag in lags]), 0) + lags[0]) * GRID_S


def common_grid_offset(
    late_s: FloatArray, late: FloatArray, early_s: FloatArray, early: FloatArray, max_lag_s: float, rate_hz: float = 400.0
) -> float:
    """Estimate an offset in s, positive where the first stream is late: common grid, one normalised product a lag, parabola.

    Drawing lines between the samples of the slow stream pulls the peak by up to 0.2 ms, and any peak is believed.

    Raises:
        ValueError: the peak lies at an end.
    """
    trim = round(max_lag_s * rate_hz)
    grid = np.arange(max(late_s[0], early_s[0]) + max_lag_s, min(late_s[-1], early_s[-1]) - max_lag_s, 1 / rate_hz)
    y, x = (np.interp(grid, t, values) for t, values in ((late_s, late), (early_s, early)))
    y, x = y - y.mean(), x - x.mean()
    n = len(grid)
    scores = np.array([y[max(k, 0) : n + min(k, 0)] @ x[max(-k, 0) : n + min(-k, 0)] for k in range(-trim, trim + 1)])
    return _vertex(scores, trim) / rate_hz


def fixed_window_offset(late: FloatArray, early: FloatArray, rate_hz: float, max_lag: int = 40, guard: int = 50) -> float:
    """Estimate an offset in s of streams on one grid: products over a window of fixed length, parabola; any peak is believed."""
    y, x = late - late.mean(), early - early.mean()
    n = len(x)
    scores = np.array([x[guard : n - guard] @ y[guard + k : n - guard + k] for k in range(-max_lag, max_lag + 1)])
    return _vertex(scores, max_lag) / rate_hz


def _vertex(scores: FloatArray, middle: int) -> float:
    k = int(np.argmax(scores))
    if k in (0, len(scores) - 1):
        raise ValueError("the peak lies at an end of the lags")
    before, at, after = scores[k - 1 : k + 2]
    return float(k - middle + 0.5 * (before - after) / (before - 2 * at + after))
