"""What a dead time and a lag do not explain: clocks that run apart, play in the joint, a second pole, a curve.

Each is tried as one more column beside the fit. What is found there either refuses the record, or changes or widens the result:
a fit that has no room for it would put it into the delay, and its own residual would not show by how much.
"""

from dataclasses import dataclass, replace
from math import sqrt

import numpy as np

from onbeat.calibrate.held import FloatArray, Held
from onbeat.calibrate.plant_model import PlantFit, half_of, influence_of, response, variances

__all__ = ("SEEN", "Beyond", "Effect", "look_beyond", "straighten")

# Standard deviations from which something that the model lacks is there.
SEEN = 3.5
# Below this share of its usual speed a joint counts as turning round.
TURNING = 0.1
ALMOST = 0.8


@dataclass(frozen=True, slots=True)
class Effect:
    """One thing that the model lacks.

    Args:
        size: Its own unit.
        deviations: Size in standard deviations of noise.
        moves_s: What it adds to total_s where it is left out.
    """

    size: float
    deviations: float
    moves_s: float


@dataclass(frozen=True, slots=True)
class Beyond:
    """What was tried.

    Args:
        drift: How much the delay grows, s a second.
        play: Half of the play between two directions, unit of the motion.
        pole: The phase of a second pole, w^3, s^3.
    """

    drift: Effect
    play: Effect
    pole: Effect


NOTHING = Effect(0.0, 0.0, 0.0)


def straighten(fit: PlantFit) -> PlantFit:
    """Free a fit of what bends with the position alone, such as gravity's sag, where it shows.

    A curve is as high on the way back as on the way there, so it moves no delay; but it is much that looks like noise.
    """
    level = fit.predicted - fit.predicted.mean()
    level /= max(float(level.std()), 1e-300)
    effects = np.concatenate([fit.effects, np.stack([level**2, level**3], axis=1)], axis=1)
    figures = effects.shape[1]
    influences = influence_of(effects)
    sizes = influences.T @ fit.residual
    left = fit.residual - effects @ sizes
    variance, _, white = variances(influences[:, -2], left, figures)
    other, _, other_white = variances(influences[:, -1], left, figures)
    if abs(sizes[-2]) < SEEN * sqrt(max(variance, white)) and abs(sizes[-1]) < SEEN * sqrt(max(other, other_white)):
        return fit
    halves = [half_of(influences[:, k], left, figures) for k in (2, 3, 4)]
    return replace(
        fit,
        gain=fit.gain + float(sizes[2]),
        total_s=fit.total_s + float(sizes[3]),
        lag2_s2=max(fit.lag2_s2 + float(sizes[4]), 0.0),
        halves=(halves[0], halves[1], halves[2]),
        residual=left,
        predicted=fit.predicted + fit.effects @ sizes[:-2],
        effects=effects,
    )


def look_beyond(held: Held, fit: PlantFit, t_s: FloatArray) -> Beyond:
    """Try each beside the fit: all at once, and where that leaves open which of them it is, one by one.

    Args:
        held: The command.
        fit: What explains most; its residual is looked at.
        t_s: Instants of the fit's samples.
    """
    omega = held.omega
    shape = fit.gain * response(omega, 1.0, fit.total_s, fit.lag2_s2) * held.smooth
    speed = held.through(1j * omega * shape, t_s) + fit.gain * held.offset[1]
    usual = sqrt(float(np.mean(speed**2)))
    drift = -(t_s - t_s.mean()) * speed
    play = -speed / np.sqrt(speed**2 + (TURNING * usual) ** 2)
    pole = held.through(1j * omega**3 * shape, t_s)
    together = _effects(fit, np.stack([drift, play, pole], axis=1))
    if any(abs(effect.deviations) > SEEN for effect in together):
        return Beyond(*together)
    alone = [_effects(fit, column[:, None])[0] for column in (drift, play, pole)]
    most = max(abs(effect.deviations) for effect in alone)
    if most < SEEN:
        return Beyond(*together)
    # A second pole is the least of these evils: it is believed where it explains nearly as much as another.
    if abs(alone[2].deviations) > ALMOST * most:
        return Beyond(NOTHING, NOTHING, alone[2])
    return Beyond(*(effect if abs(effect.deviations) == most else NOTHING for effect in alone))


def _effects(fit: PlantFit, tried: FloatArray) -> list[Effect]:
    both = np.concatenate([fit.effects, tried], axis=1)
    known = fit.effects.shape[1]
    influences = influence_of(both)
    sizes = influences.T @ fit.residual
    left = fit.residual - both @ sizes
    alone = influence_of(fit.effects)[:, 3]
    found = []
    for k in range(tried.shape[1]):
        variance, _, white = variances(influences[:, known + k], left, both.shape[1])
        size = float(sizes[known + k])
        found.append(Effect(size, size / sqrt(max(variance, white, 1e-300)), float(alone @ tried[:, k]) * size))
    return found
