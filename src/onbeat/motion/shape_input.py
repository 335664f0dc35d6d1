"""Input shapers: impulses that leave a swinging load at rest, for stop ramps and moves from rest to rest.

A shaper delays: a ZVD at 1 Hz is a second. It has no place in teleoperation.

N. C. Singer and W. P. Seering, "Preshaping Command Inputs to Reduce System Vibration", 1990 (ZV, ZVD, ZVDD); W. Singhose,
W. Seering and N. Singer, "Residual Vibration Reduction Using Vector Diagrams to Generate Shaped Inputs", 1994 (EI).
"""

from math import comb, exp, isfinite, pi, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.errors import BadInput
from onbeat.motion.limits import Limits
from onbeat.motion.shape import Profile, instants, joined, state_of, stop_ramp

__all__ = ("input_shaper", "residual_vibration", "shaped", "shaped_stop")

Array = NDArray[np.float64]
_ORDERS = {"zv": 1, "zvd": 2, "zvdd": 3}


def input_shaper(
    kind: Literal["zv", "zvd", "zvdd", "ei"], frequency_hz: float, damping: float = 0.0, residual: float = 0.05
) -> tuple[Array, Array]:
    """Give the impulses of a shaper: when, in s, and how large; the amplitudes sum to 1.

    Args:
        kind: "zv" (half a period, exact frequency needed), "zvd" and "ei" (a period), "zvdd" (one and a half).
        frequency_hz: The undamped frequency of the load, > 0.
        damping: Its damping ratio, 0 <= damping < 1.
        residual: EI's V: what part of the vibration is allowed at the frequency itself, > 0 and < 1, for a wider band. Others
            do not use it. With damping the three impulses decay like those of a ZVD, sized so that V is met at the frequency.

    Returns:
        Times, the first 0, and amplitudes; shape (n,) each.

    Raises:
        BadInput: another kind, or numbers out of these ranges.
    """
    if not (isfinite(frequency_hz) and frequency_hz > 0):
        raise BadInput(f"frequency_hz must be > 0, not {frequency_hz}")
    if not 0 <= damping < 1:
        raise BadInput(f"damping must be a ratio from 0 to below 1, not {damping}; a load that does not swing needs no shaper")
    root = sqrt(1 - damping * damping)
    decay = exp(-damping * pi / root)
    if kind in _ORDERS:
        weights = np.array([comb(_ORDERS[kind], k) for k in range(_ORDERS[kind] + 1)], dtype=np.float64)
    elif kind == "ei":
        if not 0 < residual < 1:
            raise BadInput(f"residual must lie between 0 and 1, not {residual}; 0.05 allows 5 % of the vibration")
        # At the frequency itself the three add up to `part`, which decays, and is compared with a sum that decays less.
        part = residual * (1 + decay) ** 2 / (4 * decay * decay - residual * (1 - decay) ** 2)
        if not 0 < part <= 1:
            raise BadInput(f"a damping of {damping} leaves less than {residual} by itself; use 'zv' or a smaller residual")
        weights = np.array([(1 + part) / 4, (1 - part) / 2, (1 + part) / 4])
    else:
        raise BadInput(f"kind must be 'zv', 'zvd', 'zvdd' or 'ei', not {kind!r}")
    amplitudes = weights * decay ** np.arange(len(weights))
    return np.arange(len(weights)) / (2 * frequency_hz * root), amplitudes / amplitudes.sum()


def residual_vibration(times_s: ArrayLike, amplitudes: ArrayLike, frequency_hz: float, damping: float = 0.0) -> float:
    """Give what part of the vibration of a load is left when a step is shaped: 0 none, 1 all.

    Args:
        times_s, amplitudes: The impulses, shape (n,).
        frequency_hz, damping: The load as it is, which may differ from what the shaper was made for.
    """
    times, sizes = np.asarray(times_s, dtype=np.float64), np.asarray(amplitudes, dtype=np.float64)
    omega = 2 * pi * frequency_hz
    phasors = sizes * np.exp(damping * omega * times + 1j * omega * sqrt(1 - damping * damping) * times)
    return float(abs(phasors.sum()) * np.exp(-damping * omega * times[-1]))


def shaped(profile: Profile, times_s: ArrayLike, amplitudes: ArrayLike) -> Profile:
    """Shape a motion: its velocity becomes the weighted mean of copies of itself, delayed by times_s. Exact, on no grid.

    Where it begins in motion it is taken to have had that velocity before, so that position and velocity go on as they are: a
    stop takes times_s[-1] longer and goes sum(amplitudes * times) * velocity further. Limits that held still hold.

    Args:
        profile: Of acceleration 0 at its start; `shaped_stop` takes any state.
        times_s, amplitudes: What `input_shaper` gave: times from 0 in order, amplitudes that sum to 1. Shape (n,).

    Raises:
        BadInput: other impulses, or a profile that begins with an acceleration, which the delayed copies would not have.
    """
    delays, sizes = np.asarray(times_s, dtype=np.float64), np.asarray(amplitudes, dtype=np.float64)
    if delays.ndim != 1 or delays.shape != sizes.shape or len(delays) == 0 or delays[0] != 0 or (np.diff(delays) < 0).any():
        raise BadInput(f"impulses need times from 0 in order and as many amplitudes, not {delays} and {sizes}")
    if not abs(sizes.sum() - 1) < 1e-9:
        raise BadInput(f"the amplitudes sum to {sizes.sum():.6f}; they must sum to 1, or the motion ends elsewhere")
    if np.abs(profile.acceleration[0]).max() > 1e-9:
        raise BadInput(f"the motion begins with the acceleration {profile.acceleration[0]}; shaped_stop stops from such a state")
    times = instants((profile.times_s[:, None] + delays).ravel())
    rows = np.zeros((3, len(times), profile.position.shape[1]))
    for delay, size in zip(delays, sizes, strict=True):
        # Before its start a copy is further back by the velocity there; put forward, so that the mean begins at the start.
        position, velocity, acceleration = profile.at_many(times - delay)
        rows += size * np.stack([position + delay * profile.velocity[0], velocity, acceleration])
    return Profile(times, *rows)


def shaped_stop(
    position: ArrayLike, velocity: ArrayLike, acceleration: ArrayLike, limits: Limits, times_s: ArrayLike, amplitudes: ArrayLike
) -> Profile:
    """Come to rest so that a swinging load rests too: release the acceleration, then a shaped stop ramp.

    Args:
        position, velocity, acceleration: The state to stop from, shape (width,) each.
        limits: max_acceleration and max_jerk are needed.
        times_s, amplitudes: What `input_shaper` gave.

    Raises:
        BadInput: as of `stop_ramp` and `shaped`.
    """
    state = state_of([position, velocity, acceleration])
    jerk = limits.required("max_jerk", state.shape[1])
    takes = np.abs(state[2]) / jerk
    released = joined(state, [[(t, -a / t)] if t > 0 else [] for t, a in zip(takes, state[2], strict=True)], rests=False)
    stop = stop_ramp(released.position[-1], released.velocity[-1], released.acceleration[-1], limits)
    return released.then(shaped(stop, times_s, amplitudes))
