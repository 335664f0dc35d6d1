"""Motions to test estimators on, as functions of time in seconds, so that a delayed one is exact."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Motion = Callable[[FloatArray], FloatArray]

EPOCH_NS = 1_700_000_000_000_000_000


def stamps_ns(t_s: FloatArray) -> NDArray[np.int64]:
    """Put seconds on a clock that began long ago."""
    return EPOCH_NS + np.round(t_s * 1e9).astype(np.int64)


def sine(frequency_hz: float, phase: float = 0.0) -> Motion:
    return lambda t: np.sin(2 * np.pi * frequency_hz * t + phase)


def teleop(rng: np.random.Generator, band_hz: float) -> Motion:
    """A hand's motion: many sines of random phase below a frequency."""
    frequency, amplitude, phase = rng.uniform(0.03, band_hz, 60), rng.normal(size=60) / np.sqrt(30), rng.uniform(0, 2 * np.pi, 60)
    return lambda t: (amplitude * np.sin(2 * np.pi * np.multiply.outer(t, frequency) + phase)).sum(axis=-1)


def reach(start_s: float, duration_s: float) -> Motion:
    """One reach of least jerk, from 0 to 1."""

    def motion(t: FloatArray) -> FloatArray:
        s = np.clip((t - start_s) / duration_s, 0, 1)
        result: FloatArray = 10 * s**3 - 15 * s**4 + 6 * s**5
        return result

    return motion


def chirp(duration_s: float, low_hz: float, high_hz: float) -> Motion:
    """A sweep from a low to a high frequency that starts and ends at rest."""

    def motion(t: FloatArray) -> FloatArray:
        phase = 2 * np.pi * (low_hz * t + (high_hz - low_hz) * t**2 / (2 * duration_s))
        fade = np.clip(np.minimum(t, duration_s - t) / 0.5, 0, 1)
        result: FloatArray = np.sin(phase) * fade**2 * (3 - 2 * fade)
        return result

    return motion


def lagged(motion: Motion, lag_s: float, duration_s: float, step_s: float = 1e-4) -> Motion:
    """What a first-order lag makes of a motion, by a fine recursion on a grid."""
    t = np.arange(-1.0, duration_s + 1.0, step_s)
    values = motion(t)
    decay = np.exp(-step_s / lag_s)
    out = np.empty_like(values)
    state = float(values[0])
    for k, value in enumerate(((values + np.roll(values, 1)) / 2).tolist()):
        state = decay * state + (1 - decay) * (value if k else state)
        out[k] = state
    return lambda q: np.interp(q, t, out)


def shake(t: FloatArray) -> FloatArray:
    """A hand that shakes two sensors, rad/s: three tones, so that no shift looks like another."""
    tones = ((1.9, 1.7, 0.0), (1.1, 4.3, 0.7), (0.6, 9.1, 2.1))
    result: FloatArray = np.sum([size * np.sin(2 * np.pi * hz * t + phase) for size, hz, phase in tones], axis=0)
    return result
