"""The fastest speed that the hardware follows, or only a lower bound; and whether a sweep stays below it."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, isfinite, pi, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.calibrate.interval import t_quantile
from onbeat.calibrate.result import CalibrationResult
from onbeat.errors import BadInput

__all__ = ("SpeedTrial", "check_sweep", "max_speed", "peak_speed_of_sine")

FloatArray = NDArray[np.float64]

METHOD = "plateau speed of a run that was not followed"
# Parts of the way on which the speed may be even, widest first: the lag bends both ends.
PARTS = ((0.2, 0.8), (0.3, 0.8), (0.35, 0.75), (0.4, 0.7), (0.5, 0.75))
MIN_PLATEAU_SAMPLES = 6
EVEN_SHARE = 0.04
FELL_BEHIND_SHARE = 0.95
MAX_CI95_SHARE = 0.05
MIN_TRAVEL_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class SpeedTrial:
    """One run from a place to another at an even speed that was asked for.

    Args:
        command_t_ns: Instants of the command's waypoints. Shape (n,), int64.
        command: Their positions. Shape (n,).
        measured_t_ns: Instants of the measured samples on the same clock, increasing. Shape (m,).
        measured: Measured positions. Shape (m,).
        demanded_speed: Speed that the command asks for, > 0, in the unit of positions a second.
    """

    command_t_ns: ArrayLike
    command: ArrayLike
    measured_t_ns: ArrayLike
    measured: ArrayLike
    demanded_speed: float


@dataclass(frozen=True, slots=True)
class _Plateau:
    speed: float
    ci95: float
    direction: int
    demanded: float

    @property
    def fell_behind(self) -> bool:
        return self.speed + self.ci95 < FELL_BEHIND_SHARE * self.demanded


def max_speed(trials: Sequence[SpeedTrial]) -> CalibrationResult:
    """Estimate the fastest speed that the hardware follows, from runs at rising speed.

    A run that the hardware could not follow shows its speed limit as a plateau: positions on a straight line in the middle of
    the way, whatever was asked for. The line is fitted to as much of the middle as is even to 4 %. Where both directions fell
    behind, the slower one is the answer, since a limit must hold both ways.

    Args:
        trials: Runs of one joint, in any order.

    Returns:
        The speed with the half-width of its 95 % interval, in the unit of positions a second. ``conditions``: demanded (of the
        runs that fell behind), kept_up (the fastest demand that was followed, or 0), speeds (plateau of each that fell behind).
        Refused: no run fell behind ("only a lower bound", the figure in ``conditions["lower_bound"]``), no plateau, plateaus that
        disagree, an interval wider than 5 %.

    Raises:
        BadInput: a trial has a demanded speed that is not positive, or arrays that do not fit.
    """
    plateaus: list[_Plateau] = []
    faults: list[str] = []
    n = 0
    for trial in trials:
        found = _plateau(trial)
        if isinstance(found, str):
            faults.append(found)
        else:
            plateaus.append(found)
            n += len(np.atleast_1d(np.asarray(trial.measured)))
    kept_up = max((p.demanded for p in plateaus if not p.fell_behind), default=0.0)
    behind = [p for p in plateaus if p.fell_behind]
    conditions: dict[str, object] = {
        "kept_up": kept_up,
        "demanded": tuple(p.demanded for p in behind),
        "speeds": tuple(p.speed for p in behind),
    }

    def refuse(reason: str) -> CalibrationResult:
        return CalibrationResult("max_speed", None, None, n, METHOD, conditions, "refused", reason)

    if not plateaus:
        return refuse(f"no run shows a speed: {faults[0]}" if faults else "there are no runs; ask for runs at rising speed")
    if not behind:
        conditions["lower_bound"] = kept_up
        more = f" ({len(faults)} faster or shorter runs show no speed: {faults[-1]})" if faults else ""
        return refuse(
            f"only a lower bound: the hardware kept up with {kept_up:.4g} a second, the fastest that shows{more}; ask for more"
        )
    pooled = [_pool([p for p in behind if p.direction == side]) for side in (1, -1) if any(p.direction == side for p in behind)]
    for speed, _, spread in pooled:
        if spread > 2 * MAX_CI95_SHARE * speed:
            return refuse(
                f"runs that fell behind disagree: plateaus from {min(p.speed for p in behind):.4g} to "
                f"{max(p.speed for p in behind):.4g} a second; "
                "that is no fixed limit of speed (supply, load, or a speed that grows with the error)"
            )
    speed, half, _ = min(pooled)
    if half > MAX_CI95_SHARE * speed:
        return refuse(
            f"the plateau is known too badly: {speed:.4g} +- {half:.2g} a second, wanted {MAX_CI95_SHARE:.0%}; run farther, or "
            "poll faster"
        )
    return CalibrationResult("max_speed", speed, half, n, METHOD, conditions)


def _pool(plateaus: list[_Plateau]) -> tuple[float, float, float]:
    """Give mean, half-width and spread of plateaus of one direction."""
    speeds = np.array([p.speed for p in plateaus])
    weights = np.array([1 / max(p.ci95, 1e-4 * p.speed) ** 2 for p in plateaus])
    mean = float((weights * speeds).sum() / weights.sum())
    half = 1 / sqrt(float(weights.sum()))
    if len(speeds) > 1:
        half = max(half, t_quantile(len(speeds) - 1) * float(speeds.std(ddof=1)) / sqrt(len(speeds)))
    return mean, half, float(np.ptp(speeds))


def _plateau(trial: SpeedTrial) -> _Plateau | str:
    """Find the even middle of a run, or say why there is none."""
    demanded = float(trial.demanded_speed)
    command = np.asarray(trial.command, dtype=np.float64)
    stamps = np.asarray(trial.measured_t_ns)
    values = np.asarray(trial.measured, dtype=np.float64)
    if not isfinite(demanded) or demanded <= 0:
        raise BadInput(f"demanded_speed must be positive, not {trial.demanded_speed}")
    if command.ndim != 1 or values.ndim != 1 or values.shape != stamps.shape or len(command) < 2:
        raise BadInput(
            f"a run needs one command and one measured position a stamp; shapes {command.shape}, {stamps.shape}, "
            f"{values.shape} do not fit"
        )
    if len(values) < MIN_PLATEAU_SAMPLES or not (np.isfinite(values).all() and np.isfinite(command).all()):
        return f"{len(values)} samples, or some that are not finite"
    t = (stamps - stamps[0]) / 1e9
    if (np.diff(t) < 0).any():
        return "stamps are not sorted"
    way = float(command[-1] - command[0])
    direction = 1 if way > 0 else -1
    # Along the run: the ends are medians, so that quantisation and noise do not move them.
    edge = max(1, len(values) // 50)
    along = direction * (values - float(np.median(values[:edge])))
    travel = float(np.median(along[-edge:]))
    if travel < MIN_TRAVEL_SHARE * abs(way):
        return f"the hardware moved {travel:.3g} where {abs(way):.3g} was asked for"
    best: str = "the speed is nowhere even; run farther"
    for low, high in PARTS:
        first = int(np.argmax(along >= low * travel))
        last = int(np.argmax(along >= high * travel))
        if last - first < MIN_PLATEAU_SAMPLES:
            if low == PARTS[0][0]:
                best = f"{last - first} samples halfway, {MIN_PLATEAU_SAMPLES} are needed; run farther, or poll faster"
            continue
        speed, half = _line(t[first:last], along[first:last])
        thirds = [_line(t[part], along[part]) for part in np.array_split(np.arange(first, last), 3) if len(part) >= 2]
        spread = max(s for s, _ in thirds) - min(s for s, _ in thirds)
        # Three short lines scatter by their own noise; a trend beyond it is no plateau.
        if spread <= EVEN_SHARE * speed + 1.5 * max(h for _, h in thirds):
            trend = abs(thirds[-1][0] - thirds[0][0])
            uneven = max(0.0, trend - max(h for _, h in thirds)) / 2
            return _Plateau(speed, hypot(half, uneven), direction, demanded)
    return best


def _line(t: FloatArray, x: FloatArray) -> tuple[float, float]:
    """Give slope and half-width of its 95 % interval."""
    t, x = t - t.mean(), x - x.mean()
    power = float(t @ t)
    if power <= 0:
        return 0.0, float("inf")
    slope = float(t @ x) / power
    if len(t) < 3:
        return slope, abs(slope)
    residual = x - slope * t
    return slope, t_quantile(len(t) - 2) * sqrt(float(residual @ residual) / (len(t) - 2) / power)


def peak_speed_of_sine(amplitude: float, frequency_hz: float) -> float:
    """Give the greatest speed of a sine: 2 pi f A."""
    return 2 * pi * frequency_hz * amplitude


def check_sweep(amplitude: float, frequency_hz: float, max_speed: float) -> None:
    """Check before the hardware is opened that a sweep stays below the speed that the hardware follows.

    Args:
        amplitude: Of the sweep's sine, in the unit of positions.
        frequency_hz: Highest frequency of the sweep.
        max_speed: Measured limit, in the unit of positions a second.

    Raises:
        BadInput: the sweep's peak speed 2 pi f A exceeds the limit: it would measure the limit, not the delay.
    """
    if not (isfinite(amplitude) and amplitude > 0 and isfinite(frequency_hz) and frequency_hz > 0):
        raise BadInput(f"a sweep needs a positive amplitude and frequency, not {amplitude} and {frequency_hz} Hz")
    if not (isfinite(max_speed) and max_speed > 0):
        raise BadInput(f"max_speed must be positive and measured before a sweep, not {max_speed}")
    peak = peak_speed_of_sine(amplitude, frequency_hz)
    if peak > max_speed:
        raise BadInput(
            f"a sweep of amplitude {amplitude:.4g} at {frequency_hz:.3g} Hz peaks at {peak:.4g} a second, above max_speed "
            f"{max_speed:.4g}; "
            f"lower the amplitude to {max_speed / (2 * pi * frequency_hz):.4g} or less: a capped sweep measures the cap"
        )
