"""Dead time, lag and gain of a device, by least squares of what it makes of the whole command, tone by tone afterwards.

    H(jw) = g exp(-jwL) / (1 + jw tau)

The fit goes by l = L + tau and q = tau^2: l is what all tones agree on, and q may be 0 without a corner in its way.
"""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate.held import ComplexArray, FloatArray, Held
from onbeat.calibrate.interval import Z_975, long_run_variance, t_quantile
from onbeat.calibrate.stairs import Staircase

__all__ = ("PlantFit", "Tone", "bands", "fit_lagged", "fit_plant", "fit_tones", "response")

MAX_ITERATIONS = 40
# Lags that the descent starts from, as shares of the delay.
STARTS = (0.0, 0.35, 0.7)
# The band of the fastest tone reaches at least that far above it: a chirp's sidelobes.
HEADROOM = 1.25
# s and s^2: below these a step moves nothing that is measured.
SMALLEST_STEP = (1e-8, 1e-10)
EXACT_ITERATIONS = 8
LAG_STEP = 1e-3


@dataclass(frozen=True, slots=True)
class Tone:
    """The response at one frequency, from the samples alone: nothing of the model but its neighbourhood is in it.

    Args:
        frequency_hz: Where the command's power around the tone lies.
        gain: |H|, with the hold taken out.
        phase_rad: Of H, with half of the hold taken out; unwrapped along the model.
        gain_std, phase_std_rad: Standard deviations.
        delay_s: -phase / omega: what a shift of this sine alone would be.
        misfit: Distance from the model in standard deviations: gain, phase.
    """

    frequency_hz: float
    gain: float
    phase_rad: float
    gain_std: float
    phase_std_rad: float
    delay_s: float
    misfit: tuple[float, float]


@dataclass(frozen=True, slots=True)
class PlantFit:
    """What fits best.

    Args:
        gain: g.
        total_s: L + tau, without the hold.
        lag2_s2: tau squared.
        halves: Half-widths of the 95 % intervals of gain, total_s and lag2_s2.
        offset, slope: Of the measured motion, the unit and the unit a second.
        residual: Shape (m,).
        predicted: Shape (m,).
        r2: Share of the measured motion that is explained.
    """

    gain: float
    total_s: float
    lag2_s2: float
    halves: tuple[float, float, float]
    offset: float
    slope: float
    residual: FloatArray
    predicted: FloatArray
    r2: float

    @property
    def lag_s(self) -> float:
        """Tau."""
        return sqrt(max(self.lag2_s2, 0.0))

    def moved(self, dead_s: float, lag_s: float, residual: FloatArray) -> "PlantFit":
        """Give the same gain at another dead time and lag, with what they leave unexplained."""
        measured = self.predicted + self.residual
        r2 = 1 - float(residual @ residual) / max(float(((measured - measured.mean()) ** 2).sum()), 1e-300)
        predicted = measured - residual
        return replace(self, total_s=dead_s + lag_s, lag2_s2=lag_s**2, residual=residual, predicted=predicted, r2=r2)


def response(omega: FloatArray, gain: float, total_s: float, lag2_s2: float) -> ComplexArray:
    """Give H at angular frequencies."""
    lag = sqrt(max(lag2_s2, 0.0)) * omega
    h: ComplexArray = gain * np.exp(1j * (lag - np.arctan(lag) - omega * total_s)) / np.sqrt(1 + lag**2)
    return h


def fit_plant(held: Held, t_s: FloatArray, measured: FloatArray, start_s: float) -> PlantFit:
    """Fit from a first guess of the delay.

    Args:
        held: The command.
        t_s: Shape (m,).
        measured: Shape (m,).
        start_s: The delay, to a quarter period of the fastest tone.
    """
    return min((_descend(held, t_s, measured, start_s, share) for share in STARTS), key=lambda state: state.sse).result()


@dataclass(frozen=True, slots=True)
class _State:
    held: Held
    t_s: FloatArray
    measured: FloatArray
    gain: float
    total_s: float
    lag2_s2: float
    free: FloatArray
    effects: FloatArray
    residual: FloatArray
    sse: float

    @classmethod
    def at(
        cls,
        held: Held,
        t_s: FloatArray,
        measured: FloatArray,
        total_s: float,
        lag2_s2: float,
    ) -> "_State":
        omega = held.omega
        shape = response(omega, 1.0, total_s, lag2_s2) * held.smooth
        unit = held.through(shape, t_s) + held.offset[1] * t_s
        free = np.stack([np.ones_like(t_s), t_s - t_s.mean(), unit], axis=1)
        solved, *_ = np.linalg.lstsq(free, measured, rcond=None)
        residual = measured - free @ solved
        lag = sqrt(lag2_s2)
        power = 1 + omega**2 * lag2_s2
        by_total = held.through(-1j * omega * shape, t_s)
        by_lag2 = held.through((-0.5 * omega**2 / power + 0.5j * omega**3 * lag / power) * shape, t_s)
        effects = solved[2] * np.stack([by_total, by_lag2], axis=1)
        return cls(
            held,
            t_s,
            measured,
            float(solved[2]),
            total_s,
            lag2_s2,
            np.concatenate([solved[:2], [0.0]]),
            np.concatenate([free, effects], axis=1),
            residual,
            float(residual @ residual),
        )

    def result(self) -> PlantFit:
        return _result(self.effects, self.residual, self.measured, self.gain, self.total_s, self.lag2_s2, self.free)


def _result(
    effects: FloatArray,
    residual: FloatArray,
    measured: FloatArray,
    gain: float,
    total_s: float,
    lag2_s2: float,
    free: FloatArray,
) -> PlantFit:
    """Put a fit together; effects are those of offset, slope, gain, total and squared lag."""
    scale = np.linalg.norm(effects, axis=0)
    inverse = np.linalg.pinv((effects / scale).T @ (effects / scale), rcond=1e-12) / np.outer(scale, scale)
    halves = [_half(effects @ inverse[:, k], residual) for k in (2, 3, 4)]
    centred = measured - measured.mean()
    r2 = 1 - float(residual @ residual) / max(float(centred @ centred), 1e-300)
    return PlantFit(
        gain,
        total_s,
        lag2_s2,
        (halves[0], halves[1], halves[2]),
        float(free[0]),
        float(free[1]),
        residual,
        measured - residual,
        r2,
    )


def fit_lagged(command_s: FloatArray, command: FloatArray, t_s: FloatArray, measured: FloatArray, start: PlantFit) -> PlantFit:
    """Fit anew with each step of the command behind the lag, solved exactly; for lags that round the steps off."""
    dead_s, lag_s = start.total_s - start.lag_s, start.lag_s
    free = np.stack([np.ones_like(t_s), t_s - t_s.mean()], axis=1)
    for _ in range(EXACT_ITERATIONS):
        t = t_s - dead_s
        stairs, other = Staircase(command_s, command, lag_s), Staircase(command_s, command, lag_s * (1 + LAG_STEP))
        x = stairs.at(t)
        # -dx/dt of the lag equation.
        by_dead = (x - Staircase(command_s, command, 0.0).at(t)) / lag_s
        by_lag = (other.at(t) - x) / (lag_s * LAG_STEP)
        columns = np.concatenate([free, x[:, None]], axis=1)
        solved, *_ = np.linalg.lstsq(columns, measured, rcond=None)
        residual = measured - columns @ solved
        effects = np.concatenate(
            [columns, solved[2] * np.stack([by_dead, (by_lag - by_dead) / (2 * lag_s)], axis=1)],
            axis=1,
        )
        fit = _result(effects, residual, measured, float(solved[2]), dead_s + lag_s, lag_s**2, solved)
        scale = np.maximum(np.linalg.norm(effects, axis=0), 1e-300)
        step, *_ = np.linalg.lstsq(effects / scale, residual, rcond=None)
        total_s, lag2 = fit.total_s + float((step / scale)[3]), lag_s**2 + float((step / scale)[4])
        lag_s = sqrt(max(lag2, (lag_s / 2) ** 2))
        if abs(total_s - fit.total_s) < SMALLEST_STEP[0] and abs(lag2 - fit.lag2_s2) < SMALLEST_STEP[1]:
            break
        dead_s = total_s - lag_s
    return fit


def _half(influence: FloatArray, residual: FloatArray) -> float:
    """Give the half-width of a figure's 95 % interval: of noise at its frequencies, and of white noise at least."""
    variance, degrees = long_run_variance(influence * residual, influence**2)
    white = float((influence**2).sum()) * float(residual @ residual) / max(len(residual) - 5, 1)
    return max(t_quantile(degrees) * sqrt(variance), Z_975 * sqrt(white))


def _descend(
    held: Held,
    t_s: FloatArray,
    measured: FloatArray,
    start_s: float,
    share: float,
) -> _State:
    """Go down from one start (Levenberg and Marquardt); gain, offset and slope are solved at every step."""
    state = _State.at(held, t_s, measured, start_s, (share * start_s) ** 2)
    damping = 1e-4
    for _ in range(MAX_ITERATIONS):
        scale = np.maximum(np.linalg.norm(state.effects, axis=0), 1e-300)
        matrix = state.effects / scale
        normal = matrix.T @ matrix
        step = np.linalg.solve(normal + damping * np.eye(5), matrix.T @ state.residual) / scale
        lag2 = max(state.lag2_s2 + float(step[4]), 0.0)
        trial = _State.at(held, t_s, measured, state.total_s + float(step[3]), lag2)
        moved = (abs(trial.total_s - state.total_s), abs(trial.lag2_s2 - state.lag2_s2))
        if trial.sse < state.sse:
            state, damping = trial, max(damping / 10, 1e-12)
        else:
            damping *= 10
        if damping > 1e4 or (moved[0] < SMALLEST_STEP[0] and moved[1] < SMALLEST_STEP[1]):
            break
    return state


def fit_tones(held: Held, fit: PlantFit, t_s: FloatArray, tones_hz: NDArray[np.float64]) -> tuple[Tone, ...]:
    """Give the response around each tone by what the fit leaves there.

    Args:
        held: The command.
        fit: What explains it so far.
        t_s: Instants of the fit's samples.
        tones_hz: Increasing.
    """
    omega = held.omega
    shape = response(omega, fit.gain, fit.total_s, fit.lag2_s2) * held.smooth
    columns, middles = [], []
    for mask in bands(omega / (2 * np.pi), tones_hz):
        part = shape * mask
        power = np.abs(held.spectrum * part) ** 2
        middles.append(float((power * omega).sum() / power.sum()))
        columns += [held.through(part, t_s), held.through(1j * part, t_s)]
    matrix = np.stack([np.ones_like(t_s), t_s - t_s.mean(), *columns], axis=1)
    scale = np.linalg.norm(matrix, axis=0)
    inverse = np.linalg.pinv((matrix / scale).T @ (matrix / scale), rcond=1e-10) / np.outer(scale, scale)
    solved = inverse @ (matrix.T @ fit.residual)
    left = fit.residual - matrix @ solved
    tones = []
    for k, middle in enumerate(middles):
        h = response(np.array([middle]), fit.gain, fit.total_s, fit.lag2_s2)[0]
        std, off = [], []
        for column in (2 + 2 * k, 3 + 2 * k):
            influence = matrix @ inverse[:, column]
            variance, _ = long_run_variance(influence * left, influence**2)
            std.append(sqrt(max(variance, 1e-30)))
            off.append(float(solved[column]))
        lag = middle * fit.lag_s
        phase = lag - np.arctan(lag) - middle * fit.total_s + off[1]
        gain = float(abs(h)) * (1 + off[0])
        misfit = (off[0] / std[0], off[1] / std[1])
        tones.append(
            Tone(middle / (2 * np.pi), gain, float(phase), float(abs(h)) * std[0], std[1], float(-phase / middle), misfit)
        )
    return tuple(tones)


def bands(frequency_hz: FloatArray, tones_hz: FloatArray) -> FloatArray:
    """Give each tone its share of every line: 1 around the tone, fading to its neighbours. Shape (tones, lines)."""
    middle = (tones_hz[1:] + tones_hz[:-1]) / 2
    top = max(2 * tones_hz[-1] - middle[-1], HEADROOM * tones_hz[-1])
    edges = np.concatenate([[0.0], middle, [top]])
    width = np.concatenate([np.diff(tones_hz), [2 * (top - tones_hz[-1])]]) / 4
    rise = np.ones((len(edges), len(frequency_hz)))
    for k in range(1, len(edges)):
        u = np.clip((frequency_hz - edges[k]) / width[k - 1] / 2 + 0.5, 0.0, 1.0)
        rise[k] = u**2 * (3 - 2 * u)
    rise[0] = frequency_hz > 0
    shares: FloatArray = rise[:-1] - rise[1:]
    return shares
