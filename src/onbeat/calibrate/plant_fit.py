"""Which of the models explains a record: with its steps, with the steps rounded off, with a second pole; and how sure is it?"""

from dataclasses import dataclass, replace
from math import pi, sqrt

import numpy as np

from onbeat.calibrate.held import FloatArray, Held
from onbeat.calibrate.plant_beyond import straighten
from onbeat.calibrate.plant_checks import in_step
from onbeat.calibrate.plant_model import (
    PlantFit,
    Tone,
    fit_lagged,
    fit_plant,
    fit_tones,
    fit_two_poles,
    influence_of,
    variances,
)
from onbeat.calibrate.stairs import fit_stairs

__all__ = ("Choice", "chi2_limit", "chi2_of", "choose_fit", "second_pole")

# The staircase is believed where it leaves less than this share of what the smooth command leaves unexplained.
STAIRS = 0.9
# A lag behind the steps must gain that much of twice the log-likelihood.
LAG_GAIN = 12.0
# Steps that come at their own times leave a few samples on the wrong side of one; beyond FAR deviations noise leaves 0.1 %.
FAR = 4.0
MOST_FAR = 0.05
# Share of samples at one place between commands: above the first they may hide the steps, above the second they always can.
IN_STEP, ONE_PLACE = 0.1, 0.7


@dataclass(frozen=True, slots=True)
class Choice:
    """What explains most.

    Args:
        held: The command as the device has it: in steps, or with lines between its values.
        fit: Its figures.
        half_s: Half-width of the 95 % interval of its total delay.
        shown: Whether the samples show the steps of the command.
        unclear_s: How far apart the delays with and without steps are, where samples keep their place between commands and do not
            show whether there are steps; else 0.
        second: Whether a second pole is in it.
    """

    held: Held
    fit: PlantFit
    half_s: float
    shown: bool
    unclear_s: float = 0.0
    second: bool = False


def choose_fit(
    held: Held,
    command_s: FloatArray,
    command: FloatArray,
    t_s: FloatArray,
    measured: FloatArray,
    start_s: float,
    steps: bool,
) -> Choice:
    """Fit the motion with the steps rounded off, and, where commands are held, with them.

    Args:
        held: The command.
        command_s, command: As they were sent. Shape (n,).
        t_s, measured: Samples. Shape (m,).
        start_s: The delay, roughly.
        steps: Whether the command is a staircase.
    """
    choice = _choose(held, command_s, command, t_s, measured, start_s, steps)
    fit = straighten(choice.fit)
    if fit is choice.fit:
        return choice
    return replace(choice, fit=fit, half_s=max(fit.halves[1], choice.half_s if choice.fit.lag_s == 0 else 0.0))


def _choose(
    held: Held,
    command_s: FloatArray,
    command: FloatArray,
    t_s: FloatArray,
    measured: FloatArray,
    start_s: float,
    steps: bool,
) -> Choice:
    smooth = fit_plant(held, t_s, measured, start_s)
    if not steps:
        return Choice(held, smooth, smooth.halves[1], False)
    drawn = fit_plant(held.drawn(), t_s, measured, smooth.total_s)
    rounded = Choice(held, smooth, smooth.halves[1], False)
    if drawn.sse < smooth.sse:
        rounded = Choice(held.drawn(), drawn, drawn.halves[1], False)
    stepped, moving = _with_steps(held, command_s, command, t_s, measured, smooth)
    share = stepped.fit.sse / max(rounded.fit.sse, 1e-300)
    together = in_step(command_s, t_s, held.spacing_s)
    if together > ONE_PLACE or (together > IN_STEP and STAIRS < share < 1 / STAIRS):
        # Steps and what rounds them off may look alike; what is left of the steps behind the lag says how far apart they can be.
        swing = 1 / sqrt(1 + rounded.fit.lag2_s2 * (2 * pi / held.spacing_s) ** 2)
        apart_s = max(abs(stepped.fit.total_s - rounded.fit.total_s), together * swing * held.half_hold_s)
        return replace(stepped, half_s=max(stepped.half_s, rounded.half_s) + apart_s, shown=False, unclear_s=apart_s)
    if moving or share > 1 / STAIRS:
        return rounded
    if share < STAIRS:
        return stepped
    return replace(stepped if share < 1 else rounded, shown=False)


def _with_steps(
    held: Held, command_s: FloatArray, command: FloatArray, t_s: FloatArray, measured: FloatArray, smooth: PlantFit
) -> tuple[Choice, bool]:
    """Give the best fit of a staircase, and whether its steps come at times of their own."""
    lagged = fit_lagged(command_s, command, t_s, measured, smooth)
    best = Choice(held, lagged, lagged.halves[1], True)
    if smooth.lag_s < held.spacing_s:
        bare = fit_stairs(command_s, command, t_s, measured, smooth.total_s, held.spacing_s, _inflation(lagged))
        if bare.sse < lagged.sse * (1 + LAG_GAIN / len(t_s)):
            best = Choice(held, smooth.moved(bare.dead_s, 0.0, measured - bare.predicted), bare.half_s, True)
    far = np.abs(best.fit.residual) > FAR * sqrt(best.fit.sse / len(t_s))
    moving = float((best.fit.residual[far] ** 2).sum()) > MOST_FAR * best.fit.sse
    return best, moving and best.fit.lag_s < held.spacing_s


def _inflation(fit: PlantFit) -> float:
    variance, _, white = variances(influence_of(fit.effects)[:, 3], fit.residual, fit.effects.shape[1])
    return max(variance / max(white, 1e-300), 1.0)


def chi2_of(tones: tuple[Tone, ...], figures: int) -> tuple[float, int]:
    """Give the squared distance of tones from their model over its degrees of freedom, and these."""
    degrees = 2 * len(tones) - figures
    return sum(g * g + p * p for g, p in (tone.misfit for tone in tones)) / degrees, degrees


def chi2_limit(degrees: int) -> float:
    """Give the 99 % quantile of chi-square over its degrees of freedom (Wilson and Hilferty 1931)."""
    return float((1 - 2 / (9 * degrees) + 2.326 * sqrt(2 / (9 * degrees))) ** 3)


def second_pole(choice: Choice, t_s: FloatArray, tones_hz: FloatArray) -> Choice:
    """Fit a second pole; where even two do not explain the tones, the interval reaches from one figure to the other."""
    one, held = choice.fit, choice.held
    fit = fit_two_poles(held, t_s, one.predicted + one.residual, one)
    chi2, degrees = chi2_of(fit_tones(held, fit, t_s, tones_hz), 4)
    half_s = fit.halves[1]
    if chi2 > chi2_limit(degrees):
        half_s = half_s * sqrt(chi2) + abs(fit.total_s - one.total_s)
    return replace(choice, fit=fit, half_s=half_s, second=True)
