"""Offset between two sensors over 200 seeds: bias, how often the 95 % intervals hold the truth, and what is refused.

Beside it, on the same records, the usual estimator that resamples both streams onto a common grid.
"""

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from sys import path as search_path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
search_path.insert(0, str(ROOT))

from onbeat.calibrate import estimate_offset  # noqa: E402
from tests.oracle.correlation import common_grid_offset  # noqa: E402
from tests.oracle.motion import Motion, reach, shake, sine, stamps_ns, teleop  # noqa: E402

FloatArray = NDArray[np.float64]
BIAS_S = 3e-4
LEAST_COVERED, MOST_COVERED = 0.90, 0.99
OFFSET_S = 0.012
MAX_OFFSET_S = 0.25


@dataclass(frozen=True)
class Case:
    """Two sensors of one motion. Rates in Hz, noise as a share of the motion's standard deviation.

    Args:
        jitter: Half-width of the stamps' irregularity, in periods.
        smooth: Correlation of the noise from one sample to the next, in both streams.
    """

    motion: str
    a_hz: float
    b_hz: float
    a_noise: float = 0.05
    b_noise: float = 0.05
    duration_s: float = 12.0
    offset_s: float = OFFSET_S
    jitter: float = 0.0
    smooth: float = 0.0
    in_step: bool = False
    inverted: bool = False


CASES = {
    "camera 30 Hz, gyro 400 Hz, shake, -212 ms": Case("shake", 30.0, 400.0, offset_s=-0.212),
    "gyro 200 Hz, camera 20 Hz, hand below 2 Hz, 20 % noise": Case("hand 2", 200.0, 20.0, 0.2, 0.2),
    "encoders 100 and 100 Hz in step, hand below 1 Hz": Case("hand 1", 100.0, 100.0, in_step=True),
    "encoders 100 and 100 Hz in step, hand below 1 Hz, 20 % noise": Case("hand 1", 100.0, 100.0, 0.2, 0.2, in_step=True),
    "30 and 30 Hz in step, hand below 3 Hz": Case("hand 3", 30.0, 30.0, in_step=True),
    "100 and 60 Hz, irregular, hand below 1 Hz": Case("hand 1", 100.0, 60.0, jitter=0.4),
    "200 and 30 Hz, noise correlated 0.9, hand below 1 Hz": Case("hand 1", 200.0, 30.0, smooth=0.9),
    "400 and 50 Hz, 40 % noise in the fast stream, hand below 2 Hz": Case("hand 2", 400.0, 50.0, 0.4, 0.02),
    "100 and 30 Hz, one reach of 1 s, 2 % noise": Case("reach", 100.0, 30.0, 0.02, 0.02, 5.0),
    "400 and 30 Hz, steady sine of 0.8 Hz": Case("sine 0.8", 400.0, 30.0),
    "200 and 100 Hz, opposite axes, hand below 1 Hz": Case("hand 1", 200.0, 100.0, inverted=True),
}


@dataclass(frozen=True)
class Outcome:
    """One seed: error and half-width in s, None where refused; and the error of the common grid."""

    error_s: float | None
    ci95_s: float | None
    grid_s: float | None = None
    reason: str = ""


def one_motion(kind: str, rng: np.random.Generator) -> Motion:
    name, _, figure = kind.partition(" ")
    if name == "hand":
        return teleop(rng, float(figure))
    if name == "sine":
        return sine(float(figure), rng.uniform(0, 2 * np.pi))
    if name == "reach":
        return reach(1.6 + rng.uniform(), 1.0)
    return shake


def sensor(
    motion: Motion, rng: np.random.Generator, case: Case, rate_hz: float, share: float, late_s: float
) -> tuple[NDArray[np.int64], FloatArray]:
    """Sample a motion with stamps that are late, and add noise."""
    t = np.arange(0, case.duration_s, 1 / rate_hz)
    if not case.in_step:
        t = t + rng.uniform(0, 1 / rate_hz)
    t = t + case.jitter * rng.uniform(-1, 1, len(t)) / rate_hz
    noise = rng.normal(size=len(t))
    for k in range(1, len(noise)):
        noise[k] = case.smooth * noise[k - 1] + np.sqrt(1 - case.smooth**2) * noise[k]
    spread = motion(np.arange(0, case.duration_s, 0.01)).std()
    return stamps_ns(t), motion(t - late_s) + share * spread * noise


def one_seed(case: Case, seed: int) -> Outcome:
    rng = np.random.default_rng(seed)
    motion = one_motion(case.motion, rng)
    # t_a = t_b + offset: the stamps of a are late by it.
    a_t_ns, a = sensor(motion, rng, case, case.a_hz, case.a_noise, case.offset_s)
    b_t_ns, b = sensor(motion, rng, case, case.b_hz, case.b_noise, 0.0)
    sign = -1.0 if case.inverted else 1.0
    result = estimate_offset(a_t_ns, 2.5 * sign * a + 0.3, b_t_ns, b, MAX_OFFSET_S, allow_inverted=case.inverted)
    start = a_t_ns[0]
    try:
        grid = common_grid_offset((a_t_ns - start) / 1e9, a, (b_t_ns - start) / 1e9, b, MAX_OFFSET_S) - case.offset_s
    except ValueError:
        grid = None
    if result.value is None or result.ci95 is None:
        return Outcome(None, None, grid, result.reason)
    return Outcome(result.value - case.offset_s, result.ci95, grid)


def unrelated(band_hz: float, seed: int) -> bool:
    """Say whether the offset of two motions that have nothing to do with each other is refused."""
    rng = np.random.default_rng(seed)
    case = Case("", 200.0, 30.0)
    a, b = (sensor(teleop(rng, band_hz), rng, case, rate_hz, 0.05, 0.0) for rate_hz in (200.0, 30.0))
    return not estimate_offset(*a, *b, MAX_OFFSET_S, allow_inverted=True).accepted


def creeping(noise: float, seed: int) -> bool:
    """Say whether a motion too slow for its noise is refused, or else told to within its interval."""
    rng = np.random.default_rng(seed)
    t = np.arange(2000) / 200
    late, early = (0.3 + 0.02 * np.sin(0.1 * np.pi * (t - d)) + noise * rng.normal(size=len(t)) for d in (OFFSET_S, 0.0))
    return not estimate_offset(stamps_ns(t), late, stamps_ns(t), early, 0.2).accepted


def summarise(name: str, outcomes: list[Outcome]) -> dict[str, Any]:
    errors = np.array([o.error_s for o in outcomes if o.error_s is not None])
    halves = np.array([o.ci95_s for o in outcomes if o.ci95_s is not None])
    reasons = [o.reason for o in outcomes if o.reason]
    if len(errors) == 0:
        return {"what": name, "bar": "estimated", "figure": f"all refused: {reasons[0]}", "met": False}
    bias, half = float(errors.mean()), float(halves.mean())
    covered = float((np.abs(errors) <= halves).mean())
    grid = np.array([o.grid_s for o in outcomes if o.grid_s is not None])
    beside = f"; common grid off by {1e3 * grid.mean():+.3f} ms, std {1e3 * grid.std():.3f} ms" if len(grid) else ""
    figure = (
        f"bias {1e3 * bias:+.3f} ms, std {1e3 * errors.std():.3f} ms, ci95 {1e3 * half:.3f} ms, covers {covered:.1%} of "
        f"{len(errors)}{f', {len(reasons)} refused ({reasons[0][:40]})' if reasons else ''}{beside}"
    )
    met = abs(bias) <= max(BIAS_S, half / 2) and LEAST_COVERED <= covered <= MOST_COVERED and len(reasons) <= 0.02 * len(outcomes)
    bar = f"bias {1e3 * BIAS_S:g} ms or half the ci95; covers {LEAST_COVERED:.0%} to {MOST_COVERED:.0%}"
    return {"what": f"offset, {name}", "bar": bar, "figure": figure, "met": bool(met)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    parser.add_argument("--seeds", type=int, default=200)
    options = parser.parse_args()
    seeds = range(options.seeds)
    bars: list[dict[str, Any]] = []

    def tell(bar: dict[str, Any]) -> None:
        bars.append(bar)
        if not options.json:
            print(f"{'met   ' if bar['met'] else 'MISSED'} {bar['what']}: {bar['figure']}", flush=True)

    refusals: list[tuple[str, Callable[[int], bool]]] = [
        *((f"two unrelated hands below {band_hz:g} Hz", partial(unrelated, band_hz)) for band_hz in (0.5, 1.0)),
        *((f"a creeping robot, noise {noise:g} rad/s", partial(creeping, noise)) for noise in (0.001, 0.004)),
    ]
    with ProcessPoolExecutor(2) as pool:
        for name, case in CASES.items():
            tell(summarise(name, list(pool.map(partial(one_seed, case), seeds, chunksize=10))))
        for name, run in refusals:
            refused = sum(pool.map(run, seeds, chunksize=10))
            figure = f"{refused} of {options.seeds} refused"
            tell({"what": f"offset, {name}", "bar": "all refused", "figure": figure, "met": refused == options.seeds})
    if options.json:
        print(json.dumps({"bars": bars}))


if __name__ == "__main__":
    main()
