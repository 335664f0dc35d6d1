"""A box that is told positions and reports them: each command held until the next, behind a dead time and a lag, step by step."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
EPOCH_NS = 1_700_000_000_000_000_000


@dataclass(frozen=True)
class Box:
    """Its truth. Times in s, rates in Hz, angles in rad.

    Args:
        report_s: The two periods between which its reports alternate, as an xArm's do.
        smooth: Whether it draws lines between commands instead of holding each; the mean delay is the same.
    """

    dead_s: float = 0.00454
    lag_s: float = 0.0
    period_s: float = 0.004
    report_s: tuple[float, float] = (0.00967, 0.01075)
    noise: float = 3.5e-5
    gain: float = 1.0
    smooth: bool = False

    @property
    def l_eff_s(self) -> float:
        return self.period_s / 2 + self.dead_s + self.lag_s


def sequence(tones_hz: FloatArray, seconds: float, speed: float, period_s: float = 0.004, largest: float = 0.3) -> FloatArray:
    """Give one sine after the other, each fading in and out, at one peak speed."""
    t = np.arange(round(seconds / period_s)) * period_s
    each = seconds / len(tones_hz)
    out: FloatArray = np.zeros(len(t))
    for k, tone in enumerate(tones_hz):
        along = t - k * each
        fade = np.clip(np.minimum(along, each - along) / 0.5, 0, 1)
        out += min(largest, speed / (2 * np.pi * tone)) * np.sin(2 * np.pi * tone * along) * fade**2 * (3 - 2 * fade)
    return out


def multisine(tones_hz: FloatArray, seconds: float, speed: float, period_s: float = 0.004) -> FloatArray:
    """Give all sines at once, each at the same speed; they begin in motion."""
    t = np.arange(round(seconds / period_s)) * period_s
    phases = np.pi * np.arange(len(tones_hz)) ** 2 / len(tones_hz)
    parts = [speed / (2 * np.pi * f) * np.sin(2 * np.pi * f * t + p) for f, p in zip(tones_hz, phases, strict=True)]
    total: FloatArray = np.sum(parts, axis=0)
    return total


def chirp(low_hz: float, high_hz: float, seconds: float, amplitude: float, period_s: float = 0.004) -> FloatArray:
    """Give a sweep from low to high."""
    t = np.arange(round(seconds / period_s)) * period_s
    out: FloatArray = amplitude * np.sin(2 * np.pi * (low_hz * t + (high_hz - low_hz) * t**2 / (2 * seconds)))
    return out


def run_box(
    box: Box, command: FloatArray, rng: np.random.Generator, send_jitter_s: float = 0.0
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """Give the stamps of sending, and the reports: true stamps and values."""
    n = len(command)
    sent = np.arange(n) * box.period_s + send_jitter_s * rng.uniform(-1, 1, n)
    sent -= sent[0]
    count = int(n * box.period_s / sum(box.report_s)) * 2
    steps = np.where(np.arange(count) % 2 == 0, *box.report_s) + rng.uniform(-2e-4, 2e-4, count)
    t = np.cumsum(steps) + rng.uniform(0, box.period_s)
    t = t[t < sent[-1]]
    early = t - box.dead_s
    if box.smooth:
        y = np.interp(early - box.period_s / 2, sent, command)
    else:
        k = np.maximum(np.searchsorted(sent, early, side="right") - 1, 0)
        y = command[k]
        if box.lag_s:
            state = np.empty(n)
            state[0] = command[0]
            for i in range(1, n):
                decay = np.exp(-(sent[i] - sent[i - 1]) / box.lag_s)
                state[i] = command[i - 1] + (state[i - 1] - command[i - 1]) * decay
            y = y + (state[k] - y) * np.exp(-np.maximum(early - sent[k], 0) / box.lag_s)
    values = 0.1 + box.gain * y + box.noise * rng.normal(size=len(t))
    return EPOCH_NS + np.round(sent * 1e9).astype(np.int64), EPOCH_NS + np.round(t * 1e9).astype(np.int64), values
