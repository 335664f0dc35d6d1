"""Dead time, lag and gain of a device, by least squares of what it makes of the whole command, tone by tone afterwards.

    H(jw) = g exp(-jwL) / (1 + jw tau)

The fit goes by l = L + tau and q = tau^2: l is what all tones agree on, and q may be 0 without a corner in its way.
"""

from dataclasses import dataclass, replace
from math import sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate.held import ComplexArray, FloatArray, Held
from onbeat.calibrate.interval import Z_975, long_run_variance, t_quantile
from onbeat.calibrate.stairs import Staircase

__all__ = (
    "PlantFit",
    "Tone",
    "bands",
    "fit_lagged",
    "fit_plant",
    "fit_tones",
    "fit_two_poles",
    "half_of",
    "influence_of",
    "response",
    "variances",
)

MAX_ITERATIONS = 40
# Where there are no steps, short lags lie in a floor of many small hollows, and no more comes of it.
EXACT_ITERATIONS = 15
# Lags that the descent starts from, as shares of the delay, until one leaves less than GOOD of the motion unexplained.
STARTS = (0.35, 0.0, 0.7)
GOOD = 0.01
# The band of the fastest tone reaches at least that far above it: a chirp's sidelobes.
HEADROOM = 1.25
# Of the residual: a step that changes the motion by less is the last.
SMALLEST_CHANGE = 1e-4
LAG_STEP = 1e-3
# Shares of the time between commands.
SHORT_LAGS = (1 / 32, 1 / 16, 1 / 8, 1 / 4)
SHORTEST_LAG = 1e-3
STRETCHES = 1500
MOST_DEGREES = 100


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
        effects: Of offset, slope, gain, total_s and lag2_s2 on the motion. Shape (m, 5).
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
    effects: FloatArray

    @property
    def sse(self) -> float:
        """Squared residual."""
        return float(self.residual @ self.residual)

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


class _Model(Protocol):
    """A motion for each set of parameters, without gain, offset and drift; the first parameter is the total delay."""

    def __call__(self, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Give the motion, shape (m,), and its derivatives, shape (m, parameters)."""


@dataclass(frozen=True, slots=True)
class _State:
    """A model with one set of parameters, and the gain, offset and drift that fit best.

    Args:
        parameters: Shape (p,).
        solved: Offset, drift, gain.
        effects: What each of offset, drift, gain and the parameters does to the motion. Shape (m, 3 + p).
        residual: Shape (m,).
        sse: Its sum of squares.
    """

    parameters: FloatArray
    solved: FloatArray
    effects: FloatArray
    residual: FloatArray
    sse: float

    @classmethod
    def at(cls, model: _Model, t_s: FloatArray, measured: FloatArray, parameters: FloatArray) -> "_State":
        """Solve for gain, offset and drift."""
        unit, by = model(parameters)
        free = np.stack([np.ones_like(t_s), t_s - t_s.mean(), unit], axis=1)
        scale = np.maximum(np.linalg.norm(free, axis=0), 1e-300)
        solved = np.linalg.lstsq((free / scale).T @ (free / scale), (free / scale).T @ measured, rcond=1e-13)[0] / scale
        residual = measured - free @ solved
        return cls(parameters, solved, np.concatenate([free, solved[2] * by], axis=1), residual, float(residual @ residual))

    def result(self, lag2_s2: float, by_lag2: int = 4) -> PlantFit:
        """Put the fit together, with its intervals.

        Args:
            lag2_s2: What it says of the squared lag.
            by_lag2: The column of its effect.
        """
        influences = influence_of(self.effects)
        halves = tuple(half_of(influences[:, k], self.residual, self.effects.shape[1]) for k in (2, 3, by_lag2))
        measured = self.effects[:, :3] @ self.solved + self.residual
        power = max(float(((measured - measured.mean()) ** 2).sum()), 1e-300)
        return PlantFit(
            float(self.solved[2]),
            float(self.parameters[0]),
            lag2_s2,
            (halves[0], halves[1], halves[2]),
            float(self.solved[0]),
            float(self.solved[1]),
            self.residual,
            measured - self.residual,
            1 - self.sse / power,
            self.effects,
        )


def influence_of(effects: FloatArray) -> FloatArray:
    """Give what each sample adds to each figure of a least-squares fit. Shape of effects: (m, figures)."""
    scale = np.maximum(np.linalg.norm(effects, axis=0), 1e-300)
    inverse = np.linalg.pinv((effects / scale).T @ (effects / scale), rcond=1e-12)
    influence: FloatArray = (effects / scale) @ inverse / scale
    return influence


def half_of(influence: FloatArray, residual: FloatArray, figures: int) -> float:
    """Give the half-width of a figure's 95 % interval: of the noise at its own frequencies, and of white noise at least."""
    variance, degrees, white = variances(influence, residual, figures)
    return max(t_quantile(degrees) * sqrt(variance), Z_975 * sqrt(white))


def variances(influence: FloatArray, residual: FloatArray, figures: int) -> tuple[float, int, float]:
    """Give a figure's variance, its degrees of freedom, and what it were for white noise.

    The sums run over short stretches first: noise that hurts a figure lies within a hertz or so of its tones.
    """
    starts = np.linspace(0, len(residual), min(STRETCHES, len(residual)), endpoint=False).astype(int)
    weights = np.add.reduceat(influence**2, starts)
    variance, degrees = long_run_variance(np.add.reduceat(influence * residual, starts), weights, most=MOST_DEGREES)
    left = max(len(residual) - figures, 1)
    correction = len(residual) / left
    return variance * correction, degrees, float(weights.sum()) * float(residual @ residual) / left


def _descend(
    model: _Model, t_s: FloatArray, measured: FloatArray, start: FloatArray, least: FloatArray, most: int = MAX_ITERATIONS
) -> _State:
    """Go down from a start (Levenberg and Marquardt); gain, offset and drift are solved at every step.

    Args:
        model: What is fitted.
        t_s, measured: Samples. Shape (m,).
        start: First parameters. Shape (p,).
        least: Their lower bounds. Shape (p,).
        most: Steps.
    """
    state, damping = _State.at(model, t_s, measured, start), 1e-4
    for _ in range(most):
        scale = np.maximum(np.linalg.norm(state.effects, axis=0), 1e-300)
        matrix = state.effects / scale
        step = np.linalg.solve(matrix.T @ matrix + damping * np.eye(len(scale)), matrix.T @ state.residual) / scale
        trial = _State.at(model, t_s, measured, np.maximum(state.parameters + step[3:], least))
        # A step counts by what it changes of the motion, beside what is left of it.
        changed = float(np.abs((trial.parameters - state.parameters) * scale[3:]).max())
        if trial.sse < state.sse:
            state, damping = trial, max(damping / 10, 1e-12)
        else:
            damping *= 10
        if damping > 1e4 or changed < SMALLEST_CHANGE * sqrt(state.sse):
            break
    return state


def fit_plant(held: Held, t_s: FloatArray, measured: FloatArray, start_s: float) -> PlantFit:
    """Fit the motion that is left when the steps of the command are rounded off.

    Args:
        held: The command.
        t_s: Shape (m,).
        measured: Shape (m,).
        start_s: The delay, to a quarter period of the fastest tone.
    """

    def model(parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        total_s, lag2_s2 = parameters
        omega = held.omega
        shape = response(omega, 1.0, total_s, lag2_s2) * held.smooth
        power = 1 + omega**2 * lag2_s2
        by_lag2 = (-0.5 * omega**2 + 0.5j * omega**3 * sqrt(lag2_s2)) / power
        by = [held.through(-1j * omega * shape, t_s) - held.offset[1], held.through(by_lag2 * shape, t_s)]
        return held.through(shape, t_s) + held.offset[1] * t_s, np.stack(by, axis=1)

    best: _State | None = None
    power = float(((measured - measured.mean()) ** 2).sum())
    for share in STARTS:
        state = _descend(model, t_s, measured, np.array([start_s, (share * start_s) ** 2]), np.array([-np.inf, 0.0]))
        best = state if best is None or state.sse < best.sse else best
        if best.sse < GOOD * power:
            break
    assert best is not None
    return best.result(float(best.parameters[1]))


def fit_lagged(command_s: FloatArray, command: FloatArray, t_s: FloatArray, measured: FloatArray, start: PlantFit) -> PlantFit:
    """Fit anew with each step of the command behind the lag, solved exactly.

    Args:
        command_s, command: As they were sent. Shape (n,).
        t_s, measured: Samples. Shape (m,).
        start: The fit of the motion without steps.
    """
    spacing_s = float(np.median(np.diff(command_s)))

    def model(parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        total_s, lag_s = (float(x) for x in parameters)
        t = t_s - total_s + lag_s
        x, rate = Staircase(command_s, command, lag_s).at(t)
        # By the lag alone, dead time fixed, as a difference: the error of each step has a history.
        longer, _ = Staircase(command_s, command, lag_s * (1 + LAG_STEP)).at(t)
        return x, np.stack([-rate, (longer - x) / (lag_s * LAG_STEP) + rate], axis=1)

    # Short lags have valleys of their own.
    lags = {max(start.lag_s, spacing_s / 2), *(spacing_s * share for share in SHORT_LAGS if start.lag_s < spacing_s)}
    first = [_State.at(model, t_s, measured, np.array([start.total_s, lag_s])) for lag_s in lags]
    parameters = min(first, key=lambda state: state.sse).parameters
    state = _descend(model, t_s, measured, parameters, np.array([-np.inf, SHORTEST_LAG * spacing_s]), EXACT_ITERATIONS)
    lag_s = float(state.parameters[1])
    by_square = state.effects.copy()
    by_square[:, 4] /= 2 * lag_s
    return replace(state, effects=by_square).result(lag_s**2)


def fit_two_poles(held: Held, t_s: FloatArray, measured: FloatArray, start: PlantFit) -> PlantFit:
    """Fit a second pole beside the lag, or a resonance: 1 / (1 + a jw + b (jw)^2), with L = total - a.

    Args:
        held: The command.
        t_s, measured: Samples. Shape (m,).
        start: The fit of one lag.
    """
    omega = held.omega

    def model(parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
        total_s, first, second = (float(x) for x in parameters)
        below = 1 + 1j * omega * first - omega**2 * second
        shape = np.exp(-1j * omega * (total_s - first)) / below * held.smooth
        by = [
            held.through(-1j * omega * shape, t_s) - held.offset[1],
            held.through(1j * omega * (1 - 1 / below) * shape, t_s),
            held.through(omega**2 / below * shape, t_s),
        ]
        return held.through(shape, t_s) + held.offset[1] * t_s, np.stack(by, axis=1)

    lag_s = max(start.lag_s, 0.1 * abs(start.total_s))
    states = [
        _descend(model, t_s, measured, np.array([start.total_s, a, b]), np.array([-np.inf, 0.0, 0.0]))
        for a, b in ((lag_s, lag_s**2 / 8), (lag_s / 2, lag_s**2), (1.2 * lag_s, 0.3 * lag_s**2))
    ]
    best = min(states, key=lambda state: state.sse)
    return best.result(max(float(best.parameters[1] ** 2 - 2 * best.parameters[2]), 0.0))


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
            variance, _, white = variances(matrix @ inverse[:, column], left, matrix.shape[1])
            std.append(sqrt(max(variance, white, 1e-30)))
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
