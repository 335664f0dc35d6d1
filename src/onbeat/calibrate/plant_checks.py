"""What a plant cannot be identified from: an echo, a clipped or unknown motion, wrong tones, reports that come too seldom."""

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate.held import FloatArray, Held
from onbeat.calibrate.plant_model import PlantFit, bands
from onbeat.calibrate.saturation import find_saturation
from onbeat.calibrate.shift import Polyline
from onbeat.calibrate.signals import RefusedError, milliseconds

__all__ = ("check_clipped", "check_echo", "check_rates", "check_tones", "first_delay", "in_step", "stale_share")

# Samples a period of the fastest tone that commands and reports must have.
LEAST_PER_PERIOD = 4.0
# Power at a tone over the greatest power in its neighbourhood, and over the greatest of all.
LEAST_AT_TONE = 0.1
LEAST_OF_ALL = 1e-5
MOST_OUTSIDE = 0.2
LEAST_TONES = 2
# Other delays count as equal when their correlation is that close to the best.
AS_GOOD = 0.97
APART_S = 0.02
MIN_ECHOES = 20
SINGLE = 2.0**-23
ECHO_SHARE = 0.9
CLIP_WINDOW = 1200
GRID_S = 1e-3


def check_rates(tones_hz: FloatArray, held: Held, measured_s: FloatArray, stale: float) -> None:
    """Refuse commands or reports that come too seldom for the fastest tone.

    Raises:
        RefusedError: fewer than four a period; below two they would show another frequency (an alias).
    """
    top = float(tones_hz[-1])
    spacing_s = float(np.median(np.diff(measured_s))) / (1 - stale)
    for what, period_s in (("reports", spacing_s), ("commands", held.spacing_s)):
        per_period = 1 / (top * max(period_s, 1e-12))
        if per_period < LEAST_PER_PERIOD:
            seen = f"; below 2 a tone shows as another one, at {abs(top - round(top * period_s) / period_s):.2f} Hz"
            raise RefusedError(
                f"{what} come every {milliseconds(period_s)}, {per_period:.1f} to a period of the {top:g} Hz tone, and "
                f"{LEAST_PER_PERIOD:g} are needed{seen if per_period < 2 else ''}; "
                f"sweep below {1 / (LEAST_PER_PERIOD * period_s):.2g} Hz or raise the rate"
            )


def check_tones(held: Held, tones_hz: FloatArray) -> None:
    """Refuse tones that the command does not have, and commands that move at other frequencies.

    Raises:
        RefusedError: names the tone, and where the command moves instead.
    """
    frequency = held.omega / (2 * np.pi)
    # Velocity, so that a slow large tone does not hide a fast small one.
    power = np.abs(held.spectrum * held.omega * held.smooth) ** 2
    shares = bands(frequency, tones_hz)
    reach = min(max(len(tones_hz), 2), 16) / (held.times_s[-1] - held.times_s[0])
    greatest = float(power.max())
    for tone, share in zip(tones_hz, shares, strict=True):
        near = np.abs(frequency - tone) <= max(min(reach, 0.1 * tone), float(frequency[1]))
        at, around = float(power[near].max(initial=0.0)), float((power * share).max())
        if at < LEAST_AT_TONE * around or at < LEAST_OF_ALL * greatest:
            peak = float(frequency[int(np.argmax(power * share))])
            raise RefusedError(
                f"the command does not move at {tone:g} Hz; around there it moves most at {peak:.3g} Hz; "
                "name the tones that were sent"
            )
    outside = power * (1 - shares.sum(axis=0)) * (frequency > 0)
    if outside.sum() > MOST_OUTSIDE * power.sum():
        peak = float(frequency[int(np.argmax(outside))])
        raise RefusedError(
            f"{outside.sum() / power.sum():.0%} of the command's motion lies at other frequencies than the tones, most at "
            f"{peak:.3g} Hz; name all tones that were sent"
        )


def first_delay(held: Held, measured_s: FloatArray, measured: FloatArray, max_delay_s: float) -> float:
    """Find the delay roughly, by the correlation of the two velocities.

    Raises:
        RefusedError: the response is inverted, or several delays fit.
    """
    grid = np.arange(measured_s[0], measured_s[-1], GRID_S)
    size = 1 << int(np.ceil(np.log2(2 * len(grid))))
    omega = 2 * np.pi * np.fft.rfftfreq(size, GRID_S)
    tail = held.through(held.smooth, grid) + held.offset[1] * grid
    spectra = [np.fft.rfft(np.diff(x, prepend=x[0]), size) for x in (np.interp(grid, measured_s, measured), tail)]
    keep = omega < 2 * np.pi * 0.5 / max(held.spacing_s, GRID_S)
    product = np.fft.irfft(spectra[0] * np.conj(spectra[1]) * keep, size)
    lead, reach = round(0.03 / GRID_S), round(max_delay_s / GRID_S)
    lags = np.arange(-lead, min(reach, len(grid) // 2) + 1)
    # A long lag has fewer samples in common; without the weight short lags would win.
    scores = product[lags] * len(grid) / (len(grid) - np.abs(lags))
    best = int(np.argmax(scores))
    if scores[best] <= 0 or -scores.min() > scores[best] * 1.2:
        raise RefusedError("the measured motion is the command's mirror image or does not follow it; check sign and columns")
    inner = (scores[1:-1] >= scores[:-2]) & (scores[1:-1] >= scores[2:]) & (scores[1:-1] > AS_GOOD * scores[best])
    others = [float(lags[k + 1]) * GRID_S for k in np.flatnonzero(inner) if abs(k + 1 - best) * GRID_S > APART_S]
    if others:
        listed = ", ".join(milliseconds(delay) for delay in sorted([*others, float(lags[best]) * GRID_S]))
        raise RefusedError(
            f"the motion repeats itself, and delays of {listed} fit alike; add a slower tone, or narrow max_delay_s",
            tuple(others),
        )
    return float(lags[best]) * GRID_S


def check_echo(command: FloatArray, command_s: FloatArray, t_s: FloatArray, measured: FloatArray, l_s: float) -> None:
    """Refuse feedback that repeats commands bit for bit: it says how late the box answers, and nothing of the motion.

    Raises:
        RefusedError: nine of ten moving samples are commands of that time.
    """
    quantum = _quantum(measured)
    spacing_s = float(np.median(np.diff(command_s)))
    reach = l_s + 4 * spacing_s
    low = np.searchsorted(command_s, t_s - reach)
    high = np.searchsorted(command_s, t_s + spacing_s)
    # A wire in single precision keeps that much of a value.
    alike = SINGLE * float(np.abs(command).max())
    moving = repeated = 0
    for k in np.linspace(0, len(t_s) - 1, min(len(t_s), 600)).astype(int):
        window = command[low[k] : high[k]]
        if len(window) < 2 or np.ptp(window) / len(window) < 4 * quantum:
            continue
        moving += 1
        repeated += bool(np.abs(window - measured[k]).min() <= alike)
    if moving >= MIN_ECHOES and repeated > ECHO_SHARE * moving:
        raise RefusedError(
            f"{repeated} of {moving} measured values are commands, bit for bit, of {milliseconds(l_s)} before: the "
            "feedback repeats what was commanded and was not measured; read the actual positions (on an xArm, port 30000)"
        )


def _quantum(values: FloatArray) -> float:
    """Give the smallest step between values: an encoder's count, or nearly nothing."""
    steps = np.diff(np.unique(values))
    return float(steps.min()) if len(steps) else 0.0


def check_clipped(path: Polyline, fit: PlantFit, t_s: FloatArray, measured: FloatArray, l_s: float) -> None:
    """Refuse a motion whose range or speed was cut off.

    Raises:
        RefusedError: says which limit, and how often it was met.
    """
    # The liveliest stretch: that is where a limit binds, and the search costs by the sample.
    moved = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(fit.predicted)))])
    size = min(CLIP_WINDOW, len(t_s) - 1)
    first = int(np.argmax(moved[size:] - moved[:-size]))
    for part in (slice(first, first + size), slice(0, len(t_s))):
        found = find_saturation(path, t_s[part], measured[part], 0, l_s)
        if found is not None:
            unit = " a second" if found.kind == "speed" else ""
            raise RefusedError(
                f"the motion is clipped: its {found.kind} stops at {found.limit:.4g}{unit} for {found.share:.0%} of the time, "
                f"which explains it {found.unexplained:.1f} times as well as a delay; sweep slower or smaller"
            )


def in_step(command_s: FloatArray, measured_s: FloatArray, spacing_s: float) -> float:
    """Say how firmly the samples keep one place between commands: 0 not at all, 1 always the same.

    In step, a sample of a staircase always has the same age of the command in it, and half of the hold cannot be told from it.
    """
    before = command_s[np.clip(np.searchsorted(command_s, measured_s, side="right") - 1, 0, None)]
    turns = 2j * np.pi * (measured_s - before) / spacing_s
    # Two places in turn are half as bad as one, and so on.
    return max(float(np.abs(np.exp(k * turns).mean())) / k for k in range(1, 7))


def stale_share(predicted: FloatArray, measured: FloatArray) -> float:
    """Give the share of samples that repeat the one before although the motion went on: polls that came before a new report."""
    quantum = _quantum(measured)
    went_on = np.abs(np.diff(predicted)) > 2 * quantum
    if int(went_on.sum()) < MIN_ECHOES:
        return 0.0
    repeated: NDArray[np.bool_] = np.diff(measured) == 0
    return float(repeated[went_on].mean())
