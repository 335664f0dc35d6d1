"""A delay and a lag, told apart: a first-order response to the command's path, fitted to a sweep of changing frequency."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.calibrate.interval import half_width
from onbeat.calibrate.result import CalibrationResult
from onbeat.calibrate.saturation import MIN_STALLED_SHARE, Stalls
from onbeat.calibrate.search import (
    CHI2_99,
    MIN_R2,
    build_record,
    check_alternatives,
    check_ends,
    check_saturation,
    first_look,
    without_stalls,
)
from onbeat.calibrate.shift import Polyline, Record
from onbeat.calibrate.signals import RefusedError, milliseconds, read_signals
from onbeat.errors import BadInput

__all__ = ("DelayLag", "estimate_delay_lag")

FloatArray = NDArray[np.float64]

METHOD = "least-squares dead time and first-order lag, gain and offset free"
# A lag bends the response away from a plain shift, so the first look asks for less than the fit that follows.
FIRST_LOOK_R2 = 0.6
MAX_TOTAL_CI95_S = 0.025
MAX_PART_CI95_S = 0.001
MIN_CI95_S = 1e-5
LAG_RANGE_S = (2e-4, 2.0)
LAG_STEP_S = 2e-5
OTHER_LAGS_S = (2e-4, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
STARTS = (0.1, 0.4, 0.75)
MAX_ITERATIONS = 40


@dataclass(frozen=True, slots=True)
class DelayLag:
    """What a response is made of.

    Args:
        total: Dead time plus lag: the shift of a slow motion, and what a waypoint's lead must be ("action_latency").
        delay: The dead time alone ("dead_time"); refused unless both parts are known to 1 ms.
        lag: Time constant of the first-order lag ("lag"); refused unless both parts are known to 1 ms.
    """

    total: CalibrationResult
    delay: CalibrationResult
    lag: CalibrationResult


class _Lagged:
    """The command's path behind a first-order lag: tau x' = c - x, solved exactly on each straight line, from rest.

    The path is not averaged here: an average widens the response as a lag does, and the lag itself smooths the corners.
    """

    def __init__(self, path: Polyline, lag_s: float) -> None:
        self.path = path
        self.lag_s = lag_s
        decays = np.exp(-np.diff(path.times_s) / lag_s).tolist()
        # x trails a ramp of slope m by m tau; what is left of the start decays.
        self._trail = path.slopes * lag_s
        self._excess = np.empty_like(path.slopes)
        for j in range(path.slopes.shape[1]):
            error = 0.0
            excess = []
            for decay, trail in zip(decays, self._trail[:, j].tolist(), strict=True):
                excess.append(error + trail)
                error = (error + trail) * decay - trail
            self._excess[:, j] = excess

    def at(self, t_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Give the lagged path and its rate of change. Shapes (m, width)."""
        k, along = self.path.segment(t_s)
        error = self._excess[k] * np.exp(-along / self.lag_s) - self._trail[k]
        return self.path.level[k] + self.path.slopes[k] * along + error, -error / self.lag_s


@dataclass(frozen=True, slots=True)
class _Fit:
    """The best gain and offset for one dead time and lag, with what each of the two does to the residual."""

    delay_s: float
    lag_s: float
    gain: FloatArray
    offset: FloatArray
    residual: FloatArray
    sse: FloatArray
    cost: float
    by_delay: FloatArray
    by_lag: FloatArray


def estimate_delay_lag(
    command_t_ns: ArrayLike,
    command: ArrayLike,
    measured_t_ns: ArrayLike,
    measured: ArrayLike,
    max_delay_s: float = 0.5,
) -> DelayLag:
    """Estimate dead time, lag and their sum from a sweep of changing frequency (a chirp) or another motion rich in frequencies.

    The measured motion is compared with the command's path behind a first-order lag, solved exactly between samples, then
    shifted; gain and offset are free. The sum is the shift that a slow motion sees and is well known long before its parts
    are: at 100 Hz with 0.5 % noise a chirp gives the sum to 0.1 ms and the parts to 0.4 ms. Half of a hold in the chain
    (a bus that repeats a command until the next) is part of the dead time.

    Args:
        command_t_ns: Instants of the command's samples, strictly increasing; it starts at rest. Shape (n,), int64.
        command: Commanded positions. Shape (n,) or (n, width); columns share dead time and lag.
        measured_t_ns: Instants of the measured samples on the same clock. Shape (m,).
        measured: Measured positions. Shape (m,) or (m, width).
        max_delay_s: Longest plain shift looked for, s.

    Returns:
        The three results in s. ``total`` is refused for the reasons of :func:`onbeat.calibrate.estimate_delay`, or when a
        single frequency leaves it open; ``delay`` and ``lag`` are refused with "only the sum is known" unless both are known
        to 1 ms. ``conditions``: gain, offset, residual (rms), r2, window_s, stalled_share.

    Raises:
        BadInput: shapes do not fit or ``max_delay_s`` is not positive.
    """
    if not isfinite(max_delay_s) or max_delay_s <= 0:
        raise BadInput(f"max_delay_s must be a positive number of seconds, not {max_delay_s}")
    n = 0
    conditions: dict[str, Any] = {"max_delay_s": max_delay_s}
    try:
        signals = read_signals(command_t_ns, command, measured_t_ns, measured)
        n = len(signals.measured)
        record, used = build_record(signals, max_delay_s)
        shift, scan = first_look(record, max_delay_s, FIRST_LOOK_R2)
        check_alternatives(record, shift, scan, 1.0)
        check_ends(shift, max_delay_s)
        fit = _fit(record, shift.delay_s)
        stalls = Stalls.of(record.measured, record.measured - fit.residual)
        if stalls.share >= MIN_STALLED_SHARE:
            record = without_stalls(record, stalls)
            fit = _fit(record, shift.delay_s)
        n = len(record.t_s)
        check_saturation(record, shift, used)
        r2 = 1 - fit.sse / record.total
        conditions.update(_describe(record, fit, r2), stalled_share=stalls.share)
        if r2.min() < MIN_R2:
            raise RefusedError(
                f"the measured motion does not follow the command: a dead time and a lag explain R2 {r2.min():.3f} of it, "
                f"wanted {MIN_R2}"
            )
        total_s = fit.delay_s + fit.lag_s
        total_half, delay_half, lag_half = _intervals(record, fit)
        if total_half > MAX_TOTAL_CI95_S:
            raise RefusedError(
                f"the motion says too little: dead time and lag together are {milliseconds(total_s)} +- "
                f"{milliseconds(total_half)} at 95 %, "
                f"wanted +- {milliseconds(MAX_TOTAL_CI95_S)}; sweep over several frequencies"
            )
        if total_s <= 0:
            raise RefusedError(f"dead time and lag together are negative, {milliseconds(total_s)}: the measurement did not track")
    except RefusedError as refused:
        return DelayLag(
            *(
                CalibrationResult.refuse(
                    name, refused.reason, n=n, method=METHOD, alternatives=refused.alternatives, **conditions
                )
                for name in ("action_latency", "dead_time", "lag")
            )
        )
    total = CalibrationResult("action_latency", total_s, total_half, n, METHOD, conditions)
    parts = (("dead_time", fit.delay_s, delay_half), ("lag", fit.lag_s, lag_half))
    known = delay_half < MAX_PART_CI95_S and lag_half < MAX_PART_CI95_S and fit.delay_s > -delay_half
    if known:
        return DelayLag(total, *(CalibrationResult(name, max(v, 0.0), half, n, METHOD, conditions) for name, v, half in parts))
    listed = ", ".join(f"{name} {milliseconds(v)} +- {milliseconds(half)}" for name, v, half in parts)
    reason = (
        f"only the sum is known, {milliseconds(total_s)}: {listed}; sweep over more frequencies, poll faster, or with less noise"
    )
    return DelayLag(total, *(CalibrationResult.refuse(name, reason, n=n, method=METHOD, **conditions) for name, _, _ in parts))


def _evaluate(record: Record, delay_s: float, lag_s: float) -> _Fit:
    t_s = record.t_s - delay_s
    response, rate = _Lagged(record.path, lag_s).at(t_s)
    mean = response.mean(axis=0)
    x = response - mean
    power = np.maximum((x**2).sum(axis=0), 1e-300)
    gain = np.maximum((x * record.centred).sum(axis=0) / power, 0.0)
    residual = record.centred - gain * x
    sse = (residual**2).sum(axis=0)

    def free_of_gain(effect: FloatArray) -> FloatArray:
        effect = effect - effect.mean(axis=0)
        freed: FloatArray = effect - x * ((effect * x).sum(axis=0) / power)
        return freed

    by_delay = free_of_gain(-gain * rate)
    by_lag = free_of_gain(gain * (_Lagged(record.path, lag_s + LAG_STEP_S).at(t_s)[0] - response) / LAG_STEP_S)
    offset = record.measured.mean(axis=0) - gain * (mean + record.path.mean)
    return _Fit(delay_s, lag_s, gain, offset, residual, sse, float(record.cost(sse)), by_delay, by_lag)


def _variance(record: Record, fit: _Fit) -> FloatArray:
    n = len(record.t_s)
    variance: FloatArray = np.maximum(fit.sse / max(n - 4, 1), 1e-18 * record.total / n)
    return variance


def _normal(fit: _Fit, variance: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give the normal matrix of dead time and lag, and the gradient. Shapes (2, 2) and (2,)."""
    effects = (fit.by_delay, fit.by_lag)
    matrix = np.array([[float((a * b / variance).sum()) for b in effects] for a in effects])
    return matrix, np.array([float((a * fit.residual / variance).sum()) for a in effects])


def _fit(record: Record, shift_s: float) -> _Fit:
    """Fit dead time and lag from several starts (Levenberg and Marquardt)."""
    return min((_descend(record, shift_s * (1 - share), shift_s * share) for share in STARTS), key=lambda fit: fit.cost)


def _descend(record: Record, delay_s: float, lag_s: float) -> _Fit:
    fit = _evaluate(record, delay_s, max(lag_s, LAG_RANGE_S[0]))
    damping = 1e-3
    for _ in range(MAX_ITERATIONS):
        matrix, gradient = _normal(fit, _variance(record, fit))
        step = np.linalg.solve(matrix + damping * np.diag(np.maximum(np.diag(matrix), 1e-300)), gradient)
        lag = float(np.clip(fit.lag_s + step[1], *LAG_RANGE_S))
        trial = _evaluate(record, fit.delay_s + float(step[0]), lag)
        if trial.cost < fit.cost:
            moved = abs(trial.delay_s - fit.delay_s) + abs(trial.lag_s - fit.lag_s)
            fit, damping = trial, damping / 5
            if moved < 1e-8:
                break
        else:
            damping *= 10
            if damping > 1e6:
                break
    return fit


def _intervals(record: Record, fit: _Fit) -> tuple[float, float, float]:
    """Give the half-widths of the 95 % intervals of total, dead time and lag; infinite for parts that cannot be told apart."""
    variance = _variance(record, fit)
    # Two figures: the total at a fixed lag, and the lag at a fixed total.
    effects = (fit.by_delay, fit.by_lag - fit.by_delay)
    matrix = np.array([[float((a * b / variance).sum()) for b in effects] for a in effects])
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    if fit.lag_s <= 2 * LAG_RANGE_S[0] or np.linalg.cond(matrix / np.outer(scale, scale)) > 1e8:
        half, inflation = half_width(effects[0] / matrix[0, 0], fit.residual, variance)
        return max(half + _reach_of_total(record, fit, inflation), MIN_CI95_S), float("inf"), float("inf")
    inverse = np.linalg.inv(matrix)
    # Between its samples the command is known only to be straight or smooth: the two differ like a lag of this size.
    spacing_s = float(np.median(np.diff(record.path.times_s)))
    between_s = spacing_s**2 / (12 * max(fit.lag_s, spacing_s))
    halves = []
    for figure in ((1.0, 0.0), (1.0, -1.0), (0.0, 1.0)):
        by = inverse @ np.array(figure)
        half, _ = half_width(by[0] * effects[0] + by[1] * effects[1], fit.residual, variance)
        halves.append(max(half + between_s, MIN_CI95_S))
    return halves[0], halves[1], halves[2]


def _reach_of_total(record: Record, fit: _Fit, inflation: float) -> float:
    """Give by how much the total changes among lags that fit as well: little for a pure delay, much for a steady sine."""
    limit = fit.cost + CHI2_99 * inflation
    reach = 0.0
    for lag_s in OTHER_LAGS_S:
        other = _evaluate(record, fit.delay_s + fit.lag_s - lag_s, lag_s)
        for _ in range(6):
            variance = _variance(record, other)
            information = float((other.by_delay**2 / variance).sum())
            step = float((other.by_delay * other.residual / variance).sum()) / max(information, 1e-300)
            other = _evaluate(record, other.delay_s + step, lag_s)
        if other.cost <= limit:
            reach = max(reach, abs(other.delay_s + lag_s - fit.delay_s - fit.lag_s))
    return reach


def _describe(record: Record, fit: _Fit, r2: FloatArray) -> dict[str, Any]:
    figures = {"gain": fit.gain, "offset": fit.offset, "residual": np.sqrt(fit.sse / len(record.t_s)), "r2": r2}
    described: dict[str, Any] = {
        name: float(values[0]) if len(values) == 1 else tuple(float(v) for v in values) for name, values in figures.items()
    }
    described["window_s"] = float(record.t_s[-1] - record.t_s[0])
    return described
