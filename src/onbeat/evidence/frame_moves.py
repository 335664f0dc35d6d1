"""How far a camera's stamps were moved by its exposure, told by the stamps alone.

Stamps at mid-exposure move against the even frame clock whenever the exposure changes. An exposure is set in whole units (100 us
in UVC, rows elsewhere) and rests between two settings, so it moves single intervals, each by a whole number of grains; a clock
that is off makes every interval longer by as much. Counting the grains of each interval beside a rate that changes seldom parts
the two.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ("Moves", "frame_moves")

_FEWEST = 100  # intervals
_MOVED = 20  # of them that must show the grain
_MOST = 0.1  # of a period: what is more is no exposure but a clock that was set
_MOST_BEYOND_LOSS = 0.02  # the same where frames seem to be lost as well, which a clock that was set may look like
_EVEN = 0.97  # of the intervals that must be within that
_RATE = 1e-3  # of a clock: a kernel slews by no more, with some to spare
_SHARES = (0.3, 0.18, 0.18, 0.1, 0.1, 0.05, 0.05)  # how often an interval holds 0, 1, -1, 2, -2, 3, -3 grains
_STRAY = 0.01  # and how often none of these
_BIN, _JUMP = 3.0, 20.0  # what a change of rate by one bin costs, and by any number of them, in logarithms of odds
_LEAST_NS = 500.0  # of jitter
_FAINT = 8.0  # jitters: a smaller grain cannot be counted
_SHARP = 0.35  # how blurred a grain may be; 1 where there is none
_FITS = 4.0  # jitters
_WRAPS = 0.8  # of a grain: a rate that changes by more might be taken for a grain in each interval
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """What the exposure did to stamps.

    Args:
        shift_ns: By how much it moved each stamp, less what it did to the first. Shape (n,).
        clock_ns: By how much the rest of each stamp is ahead of an even grid: what its clock did, but for its rate. Shape (n,).
        grain_ns: All moves are multiples of it.
        jitter_ns: Standard deviation of an interval about its grains.
    """

    shift_ns: _Floats
    clock_ns: _Floats
    grain_ns: float
    jitter_ns: float


def frame_moves(stamp_ns: NDArray[np.int64]) -> Moves | None:
    """Count the grains by which an exposure moved the stamps of a camera.

    Args:
        stamp_ns: Of neighbouring frames, lost ones left out. Shape (n,).

    Returns:
        The moves, or None where these stamps do not tell: they are few or jitter, no exposure moved them, or it moved them by no
        multiples of one grain.
    """
    if len(stamp_ns) <= _FEWEST:
        return None
    steps = np.diff(stamp_ns).astype(np.float64)
    period = float(np.median(steps))
    if period <= 0:
        return None
    frames = np.maximum(np.rint(steps / period), 1)
    rest = steps - frames * period
    near = np.abs(rest) < np.where(frames == 1, _MOST, _MOST_BEYOND_LOSS) * period
    if near.mean() < _EVEN:
        return None
    apart = np.diff(rest[near])
    grain = _grain(apart)
    if not grain:
        return None
    jitter = max(1.4826 * float(np.median(np.abs(_fold(apart, grain)))) / 3**0.5, _LEAST_NS)
    if grain < _FAINT * jitter:
        return None
    rate = _rate(np.where(near, rest, np.nan), frames, period, grain, jitter)
    grains = np.where(near, np.rint((rest - rate * frames) / grain), 0)
    left = (rest - rate * frames - grains * grain)[near]
    if np.mean(np.abs(left) < _FITS * jitter) < _EVEN or np.ptp(rate) > _WRAPS * grain:
        return None
    shift = np.concatenate([[0.0], np.cumsum(grains * grain)])
    # No exposure is longer than a period. What goes on and on are stamps that were rounded: they follow their clock in grains.
    if np.ptp(shift) > period:
        return None
    return Moves(shift, np.concatenate([[0.0], np.cumsum(rest)]) - shift, grain, jitter)


def _fold(values: _Floats, grain: float) -> _Floats:
    folded: _Floats = values - grain * np.rint(values / grain)
    return folded


def _grain(apart: _Floats) -> float:
    """Give the largest length of which the larger differences are all multiples, but for their jitter; 0 where there is none."""
    size = np.abs(apart)
    # At least every other difference may be of two intervals that hold as many grains: their spread is the jitter's.
    jitter = float(np.quantile(size, 0.1)) / 0.25
    moved = apart[size > max(4 * jitter, 0.3 * float(np.quantile(size, 0.98)))]
    if len(moved) < _MOVED or jitter <= 0:
        return 0.0
    for grain in np.geomspace(float(np.quantile(np.abs(moved), 0.9)) * 1.2, 4 * jitter, 600).tolist():
        blurred = 1.4826 * float(np.median(np.abs(_fold(moved, grain)))) / (0.37 * grain)
        if blurred < _SHARP and np.mean(np.abs(moved) > grain / 2) > 0.8:
            return _sharpened(moved, grain)
    return 0.0


def _sharpened(moved: _Floats, grain: float) -> float:
    """Fit the grain to the multiples that it was found by."""
    for _ in range(5):
        count = np.rint(moved / grain)
        near = np.abs(moved - count * grain) < grain / 3
        grain = float(moved[near] @ count[near]) / max(float(count[near] @ count[near]), 1.0)
    return grain


def _rate(rest: _Floats, frames: _Floats, period: float, grain: float, jitter: float) -> _Floats:
    """Give by how much the clock lengthens the period at each interval: the likeliest path that changes seldom (Viterbi).

    Args:
        rest: Intervals less their whole periods, ns; NaN where one says nothing. Shape (n,).
        frames: Whole periods of each. Shape (n,).
        period, grain, jitter: ns.
    """
    bins = np.arange(-_RATE * period, _RATE * period + jitter, jitter)
    likely = np.full((len(rest), len(bins)), _STRAY / grain)
    scaled = (rest[:, None] - frames[:, None] * bins) / jitter
    for count, share in zip((0, 1, -1, 2, -2, 3, -3), _SHARES, strict=True):
        likely += share / (jitter * (2 * np.pi) ** 0.5) * np.exp(-0.5 * (scaled - count * grain / jitter) ** 2)
    gain = np.log(np.nan_to_num(likely, nan=1.0))
    every = np.arange(len(bins))
    score, back = gain[0], np.empty(likely.shape, np.int32)
    came = np.full((4, len(bins)), -np.inf)
    for k in range(1, len(rest)):
        top = int(np.argmax(score))
        came[0], came[1, 1:], came[2, :-1], came[3] = score, score[:-1] - _BIN, score[1:] - _BIN, score[top] - _JUMP
        way = np.argmax(came, axis=0)
        back[k] = np.choose(way, [every, every - 1, every + 1, top])
        score = came[way, every] + gain[k]
    at = int(np.argmax(score))
    path: _Floats = np.empty(len(rest))
    for k in range(len(rest) - 1, -1, -1):
        path[k] = bins[at]
        at = int(back[k, at])
    return path
