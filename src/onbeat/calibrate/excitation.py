"""How to move a joint so that its plant shows: sines one after another, a multisine, a chirp; from rest to rest, within limits.

Each frequency goes as far as amplitude, speed and acceleration allow at it, so that a fast sine is small and a slow one is not
lost. Everything is sampled as it will be planned, and judged on those samples before anything moves.
"""

from dataclasses import dataclass
from math import isfinite, pi
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.errors import BadInput

__all__ = ("MOTIONS", "TONES_HZ", "Excitation", "ExcitationLimits", "Motion", "check_place", "make_excitation")

FloatArray = NDArray[np.float64]
Motion = Literal["sines", "multisine", "chirp"]
MOTIONS: tuple[Motion, ...] = get_args(Motion)

# Four samples a period of the fastest tone are the least that the estimator takes.
TONES_HZ = (0.3, 0.5, 0.8, 1.2, 1.8, 2.5)
STEP_NS = 4_000_000
# Half a period of a slow sine, or its fade would be faster than the sine.
FADE_S, FADE_PERIODS = 0.5, 0.5
# Where all frequencies begin at once, a short fade alone would be the fastest part of the motion.
LONG_FADE_S = 1.5
LEAST_PERIODS = 2.0
# A chirp runs a little beyond its first and last tone, which then have both sides.
BEYOND = 0.9, 1.1
# Of a multisine's phases.
HUM_S, HUM_SAMPLES = 20.0, 2000
ROUNDS, PHASES = 3, 16
# Sampled peaks lie a little below the true ones.
MARGIN = 0.999


@dataclass(frozen=True, slots=True)
class ExcitationLimits:
    """What a motion stays within, in the joint's unit and seconds.

    Args:
        amplitude: How far to each side at most.
        speed: At most, a second.
        acceleration: At most, a second squared.

    Raises:
        BadInput: one of them is not a positive number.
    """

    amplitude: float
    speed: float
    acceleration: float

    def __post_init__(self) -> None:
        for name in ("amplitude", "speed", "acceleration"):
            value = getattr(self, name)
            if not (isfinite(value) and value > 0):
                raise BadInput(f"{name} must be a number above 0, not {value}")

    def reach(self, frequency_hz: ArrayLike) -> FloatArray:
        """Give how far a sine goes at a frequency: up to the amplitude, the speed or the acceleration, whichever comes first."""
        omega = 2 * pi * np.asarray(frequency_hz, dtype=np.float64)
        return np.asarray(np.minimum(self.amplitude, np.minimum(self.speed / omega, self.acceleration / omega**2)))


@dataclass(frozen=True, slots=True, eq=False)
class Excitation:
    """A motion of one joint around where it stands, from rest to rest.

    Args:
        motion: Its kind.
        tones_hz: Frequencies that it has; of a chirp, some that it runs through.
        step_ns: Time between its samples.
        offsets: Distance from where the joint stands; the first and the last are 0. Shape (n,).
    """

    motion: Motion
    tones_hz: tuple[float, ...]
    step_ns: int
    offsets: FloatArray

    @property
    def duration_s(self) -> float:
        """How long it takes."""
        return (len(self.offsets) - 1) * self.step_ns * 1e-9

    @property
    def reach(self) -> tuple[float, float]:
        """The lowest and the highest offset."""
        return float(self.offsets.min()), float(self.offsets.max())

    @property
    def peak_speed(self) -> float:
        """The highest speed between two samples, a second."""
        return float(np.abs(np.diff(self.offsets)).max()) / (self.step_ns * 1e-9)

    @property
    def peak_acceleration(self) -> float:
        """The greatest change of speed from sample to sample, a second squared; the first and the last begin and end at rest."""
        speeds = np.diff(self.offsets, prepend=self.offsets[0], append=self.offsets[-1])
        return float(np.abs(np.diff(speeds)).max()) / (self.step_ns * 1e-9) ** 2


def make_excitation(
    motion: Motion, seconds: float, limits: ExcitationLimits, tones_hz: ArrayLike = TONES_HZ, step_ns: int = STEP_NS
) -> Excitation:
    """Make a motion of a joint.

    Args:
        motion: "sines" has one frequency after another, each from rest to rest; "multisine" all at once, with the phases that
            keep the sum flat; "chirp" runs from the lowest to the highest.
        seconds: How long.
        limits: What it stays within; its own peaks are known afterwards.
        tones_hz: Frequencies, two or more.
        step_ns: Time between samples.

    Raises:
        BadInput: no such motion, too little time for two periods of the slowest tone, or frequencies that the samples do not
            show.
    """
    if motion not in MOTIONS:
        raise BadInput(f"motion must be one of {', '.join(MOTIONS)}, not {motion!r}")
    tones: FloatArray = np.unique(np.asarray(tones_hz, dtype=np.float64))
    if len(tones) < 2 or not (np.isfinite(tones).all() and tones[0] > 0):
        raise BadInput(f"a motion needs two or more different frequencies above 0 Hz, not {tones_hz!r}")
    if step_ns <= 0 or tones[-1] * step_ns * 1e-9 > 0.05:
        raise BadInput(f"{tones[-1]:g} Hz needs samples at most {0.05 / tones[-1] * 1e3:.3g} ms apart, not {step_ns * 1e-6:g} ms")
    least = float(_turns_s(tones).sum()) if motion == "sines" else LEAST_PERIODS / float(tones[0]) + 2 * LONG_FADE_S
    if not (isfinite(seconds) and seconds >= least):
        raise BadInput(
            f"{motion} from {tones[0]:g} to {tones[-1]:g} Hz need {np.ceil(least):g} s or more, not {seconds:g} s; give more "
            "time, or begin at a higher frequency"
        )
    count = int(seconds / (step_ns * 1e-9))
    t_s: FloatArray = (np.arange(count + 1) * (step_ns * 1e-9)).astype(np.float64)
    offsets = {"sines": _sines, "multisine": _multisine, "chirp": _chirp}[motion](t_s, tones, limits)
    # Its ends are 0 but for rounding.
    offsets[0] = offsets[-1] = 0.0
    # Fading and summing raise the peaks above those of the sines.
    if (over := _over(offsets, step_ns * 1e-9, limits)) > MARGIN:
        offsets *= MARGIN / over
    offsets.flags.writeable = False
    return Excitation(motion, tuple(tones.tolist()), step_ns, offsets)


def check_place(excitation: Excitation, here: float, lower: float | None, upper: float | None, unit: str, joint: str) -> None:
    """Check that there is room around where a joint stands.

    Raises:
        BadInput: the motion would leave [lower, upper]; the sentence says by how much, and how far there is room.
    """
    low, high = excitation.reach
    room = min(here - lower if lower is not None else np.inf, upper - here if upper is not None else np.inf)
    need = max(-low if lower is not None else 0.0, high if upper is not None else 0.0)
    if lower is not None and here + low < lower:
        where, limit = "lower", lower
    elif upper is not None and here + high > upper:
        where, limit = "upper", upper
    else:
        return
    fix = f"or give --amplitude {0.95 * room:.2g}" if room > 0 else f"{where} is {limit:g} {unit}"
    raise BadInput(
        f"{joint} stands at {here:.4g} {unit}, {abs(here - limit):.3g} {unit} from its {where} limit {limit:g}, and the motion "
        f"goes {need:.3g} {unit} to that side; move it away first, {fix}"
    )


def _fade(along_s: FloatArray, length_s: float, fade_s: float) -> FloatArray:
    """Rise from 0 to 1 and fall again within fade_s at both ends, with speed and acceleration 0 there."""
    u = np.clip(np.minimum(along_s, length_s - along_s) / fade_s, 0.0, 1.0)
    return np.asarray(u**3 * (10 - 15 * u + 6 * u * u))


def _over(offsets: FloatArray, step_s: float, limits: ExcitationLimits) -> float:
    """Give how many times too far, too fast or too hard a motion is."""
    speeds = np.diff(offsets) / step_s
    return float(
        max(
            np.abs(offsets).max() / limits.amplitude,
            np.abs(speeds).max() / limits.speed,
            np.abs(np.diff(speeds, prepend=0.0, append=0.0)).max() / step_s / limits.acceleration,
        )
    )


def _turns_s(tones: FloatArray) -> FloatArray:
    """Give the shortest turn of each sine: its periods and its fades."""
    return np.asarray(LEAST_PERIODS / tones + 2 * _fade_s(tones))


def _fade_s(tones: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(FADE_S, FADE_PERIODS / tones))


def _sines(t_s: FloatArray, tones: FloatArray, limits: ExcitationLimits) -> FloatArray:
    lengths = _turns_s(tones)
    lengths += (float(t_s[-1]) - lengths.sum()) / len(tones)
    offsets = np.zeros_like(t_s)
    begins = np.concatenate([[0.0], np.cumsum(lengths)])
    for tone, begin_s, length_s in zip(tones, begins, lengths, strict=False):
        along = t_s - begin_s
        sine = _fade(along, length_s, float(_fade_s(tone))) * np.sin(2 * pi * tone * along)
        # Each tone is as large as its own fades allow.
        offsets += sine / _over(sine, float(t_s[1]), limits)
    return offsets


def _multisine(t_s: FloatArray, tones: FloatArray, limits: ExcitationLimits) -> FloatArray:
    omega, sizes = 2 * pi * tones, limits.reach(tones)
    # A stretch that holds the slow hum of all tones; it shows the peaks.
    shown_s = np.linspace(0.0, min(float(t_s[-1]), HUM_S), HUM_SAMPLES)
    turns = shown_s[:, None] * omega
    number = np.arange(len(tones))
    phases = pi * number * (number + 1) / len(tones)

    def peak(tried: FloatArray) -> float:
        far = np.abs(np.sin(turns + tried) @ sizes).max() / limits.amplitude
        return float(max(far, np.abs(np.cos(turns + tried) @ (sizes * omega)).max() / limits.speed))

    # From Schroeder's phases on, one tone's phase after another where the sum is flattest.
    lowest = peak(phases)
    for tone in np.tile(number[1:], ROUNDS):
        for phase in np.linspace(0.0, 2 * pi, PHASES, endpoint=False):
            tried = phases.copy()
            tried[tone] = phase
            if (reached := peak(tried)) < lowest:
                phases, lowest = tried, reached
    return np.asarray(_fade(t_s, float(t_s[-1]), LONG_FADE_S) * (np.sin(t_s[:, None] * omega + phases) @ sizes))


def _chirp(t_s: FloatArray, tones: FloatArray, limits: ExcitationLimits) -> FloatArray:
    low, high = BEYOND[0] * float(tones[0]), BEYOND[1] * float(tones[-1])
    seconds, ratio = float(t_s[-1]), high / low
    # The same time for each octave: slow tones need it.
    rate = np.log(ratio) / seconds
    frequency = low * np.exp(rate * t_s)
    phase = 2 * pi * (frequency - low) / rate
    omega = 2 * pi * frequency
    # Smoothly the smallest of the three, so that the size has no corners.
    sizes = (limits.amplitude**-4 + (omega / limits.speed) ** 4 + (omega**2 / limits.acceleration) ** 4) ** -0.25
    return np.asarray(_fade(t_s, seconds, LONG_FADE_S) * sizes * np.sin(phase))
