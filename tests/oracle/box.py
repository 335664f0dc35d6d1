"""A box that is told positions and reports them: each command held until the next, behind a dead time and a lag, step by step."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
EPOCH_NS = 1_700_000_000_000_000_000
# Pieces of a line between two commands.
FINER = 16


@dataclass(frozen=True)
class Box:
    """Its truth. Times in s, rates in Hz, angles in rad.

    Args:
        report_s: The two periods between which its reports alternate, as an xArm's do.
        jitter_s: How far each of these periods strays to either side.
        smooth: Whether it draws lines between commands instead of holding each; the mean delay is the same.
        second_s: A second lag.
        resonance: Frequency in Hz and damping of an oscillation behind the lag; None for none.
        quantum: Step of the feedback; 0 for none.
        play: Half of the play between two directions.
        sag: How far gravity pulls a level joint down.
        speed_limit: How fast it moves at most.
        clock_ppm: How fast its own clock runs ahead of the sender's; its stamps are taken as the sender's.
        tick_s: Period of its own cycle, which commands wait for; half of it is in the truth.
        lost: Share of reports that are not there.
        send_jitter_s: How far each instant of sending strays to either side.
        stamp_noise_s: Standard deviation of the stamps about the truth.
        late_s: From the sample to the stamp of its receipt; 0 for true stamps.
    """

    dead_s: float = 0.00454
    lag_s: float = 0.0
    period_s: float = 0.004
    report_s: tuple[float, float] = (0.00967, 0.01075)
    jitter_s: float = 2e-4
    noise: float = 3.5e-5
    gain: float = 1.0
    smooth: bool = False
    second_s: float = 0.0
    resonance: tuple[float, float] | None = None
    quantum: float = 0.0
    play: float = 0.0
    sag: float = 0.0
    speed_limit: float = np.inf
    clock_ppm: float = 0.0
    tick_s: float = 0.0
    lost: float = 0.0
    send_jitter_s: float = 0.0
    stamp_noise_s: float = 0.0
    late_s: float = 0.0

    @property
    def l_eff_s(self) -> float:
        """How late slow motion is."""
        swing = 2 * self.resonance[1] / (2 * np.pi * self.resonance[0]) if self.resonance else 0.0
        return self.period_s / 2 + self.dead_s + self.lag_s + self.second_s + swing + self.tick_s / 2

    @property
    def lags_s(self) -> list[complex]:
        """Time constants of its poles; two of an oscillation are each other's mirror image."""
        found: list[complex] = [lag for lag in (self.lag_s, self.second_s) if lag]
        if self.resonance:
            frequency, damping = self.resonance
            pole = complex(damping, np.sqrt(1 - damping**2)) * 2 * np.pi * frequency
            found += [1 / pole, 1 / pole.conjugate()]
        return found


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
    """Give the stamps of sending, and the reports: stamps and values."""
    n = len(command)
    sent = np.arange(n) * box.period_s + max(send_jitter_s, box.send_jitter_s) * rng.uniform(-1, 1, n)
    sent -= sent[0]
    count = int(n * box.period_s / sum(box.report_s)) * 2
    steps = np.where(np.arange(count) % 2 == 0, *box.report_s) + box.jitter_s * rng.uniform(-1, 1, count)
    t = np.cumsum(steps) + rng.uniform(0, box.period_s)
    t = t[(t < sent[-1]) & (rng.uniform(size=count) >= box.lost)]
    values = 0.1 + box.gain * respond(box, sent, command, t - box.dead_s, rng) + box.noise * rng.normal(size=len(t))
    if box.quantum:
        values = np.round(values / box.quantum) * box.quantum
    stamps = t * (1 + 1e-6 * box.clock_ppm) + box.stamp_noise_s * rng.normal(size=len(t)) + box.late_s
    return EPOCH_NS + np.round(sent * 1e9).astype(np.int64), EPOCH_NS + np.round(np.sort(stamps) * 1e9).astype(np.int64), values


def respond(box: Box, sent: FloatArray, command: FloatArray, at: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Give the motion without dead time."""
    if box.tick_s:
        # The device looks for a command once in each cycle of its own, which drifts along the sender's.
        first = rng.uniform(0, box.tick_s)
        sent = first + np.ceil((sent - first) / box.tick_s) * box.tick_s
    if box.smooth:
        fine = np.arange(0, sent[-1], box.period_s / FINER)
        # Steps through the middles of short pieces of the lines.
        command = np.interp(fine + box.period_s * (0.5 / FINER - 0.5), sent, command)
        sent = fine
    if not (box.play or np.isfinite(box.speed_limit)):
        y = poles(sent, command, box.lags_s, at)
    else:
        grid = np.arange(0.0, max(at[-1], sent[-1]) + 1e-3, 1e-3)
        path = poles(sent, command, box.lags_s, grid)
        if np.isfinite(box.speed_limit):
            path = follow(path, box.speed_limit * 1e-3, "speed")
        y = np.interp(at, grid, follow(path, box.play, "play") if box.play else path)
    return np.asarray(y - box.sag * np.cos(y))


def follow(y: FloatArray, limit: float, what: str) -> FloatArray:
    """Follow a motion at no more than a step each, or with play."""
    out, state = [], float(y[0])
    for value in y.tolist():
        if what == "speed":
            state += min(max(value - state, -limit), limit)
        else:
            state = min(max(state, value - limit), value + limit)
        out.append(state)
    return np.array(out)


def poles(sent: FloatArray, command: FloatArray, lags_s: list[complex], at: FloatArray) -> FloatArray:
    """Give a staircase behind lags: the sum of what each does alone, by partial fractions."""
    k = np.maximum(np.searchsorted(sent, at, side="right") - 1, 0)
    if not lags_s:
        return np.asarray(command[k], dtype=np.float64)
    total = np.zeros(len(at), dtype=np.complex128)
    for lag in lags_s:
        share = np.prod([lag / (lag - other) for other in lags_s if other != lag])
        state, states = complex(command[0]), [complex(command[0])]
        decays = np.exp(-np.diff(sent) / lag).tolist()
        for value, decay in zip(command.tolist(), decays, strict=False):
            state = value + (state - value) * decay
            states.append(state)
        total += share * (command[k] + (np.array(states)[k] - command[k]) * np.exp(-np.maximum(at - sent[k], 0) / lag))
    return np.asarray(total.real)
