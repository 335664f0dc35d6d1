"""Delay, lag and camera estimators over 200 seeds: bias, and how often the 95 % intervals hold the truth.

Beside least squares, the cross-correlation estimator of tests/oracle shows the bias that it has on the same records.
"""

import argparse
import json
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from sys import path as search_path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
search_path.insert(0, str(ROOT))

from onbeat.calibrate import camera_latency, estimate_delay, estimate_delay_lag  # noqa: E402
from tests.oracle.correlation import correlation_delay  # noqa: E402
from tests.oracle.motion import Motion, chirp, lagged, reach, sine, stamps_ns, teleop  # noqa: E402

FloatArray = NDArray[np.float64]
BIAS_S = 3e-4
LEAST_COVERED, MOST_COVERED = 0.90, 0.99


@dataclass(frozen=True)
class Outcome:
    """One seed: error and half-width in s, and the error of the correlation estimator; None where refused."""

    error_s: float | None
    ci95_s: float | None
    correlation_s: float | None = None


def one_sine(rng: np.random.Generator, frequency_hz: float) -> Motion:
    return sine(frequency_hz, rng.uniform(0, 2 * np.pi))


def one_hand(rng: np.random.Generator, band_hz: float) -> Motion:
    return teleop(rng, band_hz)


def one_reach(rng: np.random.Generator, duration_s: float) -> Motion:
    return reach(1.0 + rng.uniform(), duration_s)


def delay_of(
    make: Callable[[np.random.Generator], Motion],
    delay_s: float,
    rate_hz: float,
    duration_s: float,
    longest_s: float,
    smooth: float,
    seed: int,
) -> Outcome:
    rng = np.random.default_rng(seed)
    motion = make(rng)
    command_s = np.arange(0, duration_s, 1 / rate_hz)
    measured_s = command_s + rng.uniform(0, 1 / rate_hz)
    noise = rng.normal(size=len(measured_s))
    for k in range(1, len(noise)):
        noise[k] = smooth * noise[k - 1] + np.sqrt(1 - smooth**2) * noise[k]
    measured = motion(measured_s - delay_s) + 0.02 * noise
    result = estimate_delay(stamps_ns(command_s), motion(command_s), stamps_ns(measured_s), measured, longest_s)
    wrong = correlation_delay(command_s, motion(command_s), measured_s, measured) - delay_s
    if result.value is None:
        return Outcome(None, None, wrong)
    return Outcome(result.value - delay_s, result.ci95, wrong)


def delay_cases() -> dict[str, Callable[[int], Outcome]]:
    cases: dict[str, Callable[[int], Outcome]] = {}
    for rate_hz, frequencies_hz in ((30.0, (0.25, 0.5, 1.25, 3.0)), (100.0, (0.25, 3.0))):
        for frequency_hz in frequencies_hz:
            # A steady sine is known to within its period only, so the search ends just below it.
            longest_s = min(0.5, 0.99 / frequency_hz)
            for delay_s in (0.1, min(0.42, 0.9 / frequency_hz)):
                make = partial(one_sine, frequency_hz=frequency_hz)
                name = f"sine {frequency_hz:g} Hz, {delay_s * 1e3:.0f} ms, {rate_hz:g} Hz"
                cases[name] = partial(delay_of, make, delay_s, rate_hz, 10.0, longest_s, 0.0)
        for band_hz in (0.3, 1.0):
            make = partial(one_hand, band_hz=band_hz)
            cases[f"hand below {band_hz:g} Hz, {rate_hz:g} Hz"] = partial(delay_of, make, 0.1, rate_hz, 20.0, 0.5, 0.0)
        cases[f"hand below 1 Hz, correlated noise, {rate_hz:g} Hz"] = partial(delay_of, make, 0.1, rate_hz, 20.0, 0.5, 0.9)
        cases[f"one reach of 1 s, {rate_hz:g} Hz"] = partial(
            delay_of, partial(one_reach, duration_s=1.0), 0.1, rate_hz, 5.0, 0.5, 0.0
        )
    return cases


@cache
def lagged_chirp(lag_s: float) -> Motion:
    return lagged(chirp(10.0, 0.2, 2.0), lag_s, 10.0)


def lag_of(figure: str, delay_s: float, lag_s: float, seed: int) -> Outcome:
    rng = np.random.default_rng(seed)
    motion = chirp(10.0, 0.2, 2.0)
    command_s = np.arange(0, 10.0, 0.01)
    measured_s = command_s + rng.uniform(0, 0.01)
    measured = lagged_chirp(lag_s)(measured_s - delay_s) + 0.005 * rng.normal(size=len(measured_s))
    found = estimate_delay_lag(stamps_ns(command_s), motion(command_s), stamps_ns(measured_s), measured)
    result, truth = {
        "total": (found.total, delay_s + lag_s),
        "dead time": (found.delay, delay_s),
        "lag": (found.lag, lag_s),
    }[figure]
    return Outcome(None, None) if result.value is None else Outcome(result.value - truth, result.ci95)


def camera_of(frames: int, fps: float, seed: int) -> Outcome:
    """A screen at 60 Hz with random holds; 10 ms of exposure, 1.5 ms of jitter, 3 % of stamps held up by 5 to 60 ms."""
    rng = np.random.default_rng(seed)
    holds = rng.uniform(3.5 / 60, 6.5 / 60, int(frames / fps / 0.05) + 60)
    drawn = np.cumsum(holds) - holds
    middle = 1.0 + rng.uniform() / fps + np.arange(frames) / fps
    before, after = (np.searchsorted(drawn + 0.025, middle + side * 0.001, side="right") - 1 for side in (-1, 1))
    readable = before == after
    late = np.where(rng.uniform(size=frames) < 0.03, rng.uniform(0.005, 0.06, frames), 0.0)
    receive = middle + 0.045 + 0.0015 * rng.normal(size=frames) + late
    shown = before[readable]
    payload, hold, stamp = (np.round(values * 1e9).astype(np.int64) for values in (drawn[shown], holds[shown], receive[readable]))
    result = camera_latency(payload, hold, stamp, 0.025, frames_seen=frames)
    return Outcome(None, None) if result.value is None else Outcome(result.value - 0.045, result.ci95)


def summarise(name: str, outcomes: list[Outcome], bias_s: float) -> tuple[dict[str, Any], str]:
    errors = np.array([o.error_s for o in outcomes if o.error_s is not None])
    halves = np.array([o.ci95_s for o in outcomes if o.ci95_s is not None])
    if len(errors) == 0:
        return {"what": name, "bar": "estimated", "figure": "all refused", "met": False}, ""
    bias, half = float(errors.mean()), float(halves.mean())
    covered = float((np.abs(errors) <= halves).mean())
    refused = len(outcomes) - len(errors)
    wrong = [o.correlation_s for o in outcomes if o.correlation_s is not None]
    beside = f"; correlation off by {1e3 * np.mean(wrong):+.1f} ms" if wrong else ""
    figure = (
        f"bias {1e3 * bias:+.3f} ms, std {1e3 * errors.std():.3f} ms, ci95 {1e3 * half:.3f} ms, covers {covered:.1%} of "
        f"{len(errors)}{f', {refused} refused' if refused else ''}{beside}"
    )
    # The chirp's intervals allow for a command that is straight between its samples; this one is smooth, and they hold it always.
    most = 1.0 if name.startswith("chirp") else MOST_COVERED
    met = abs(bias) <= max(bias_s, half / 2) and LEAST_COVERED <= covered <= most and refused <= 0.02 * len(outcomes)
    bar = f"bias {1e3 * bias_s:g} ms or half the ci95; covers {LEAST_COVERED:.0%} to {most:.0%}"
    return {"what": name, "bar": bar, "figure": figure, "met": bool(met)}, figure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    parser.add_argument("--seeds", type=int, default=200)
    options = parser.parse_args()
    cases: list[tuple[str, Callable[[int], Outcome], float]] = [
        (f"delay, {name}", run, BIAS_S) for name, run in delay_cases().items()
    ]
    cases += [
        (f"chirp, 100 Hz, 0.5 % noise, {figure}", partial(lag_of, figure, 0.06, 0.05), bias)
        for figure, bias in (("total", 3e-4), ("dead time", 1e-3), ("lag", 1e-3))
    ]
    cases += [
        (f"camera, {frames} frames at {fps:g} fps", partial(camera_of, frames, fps), 1e-3)
        for frames, fps in ((150, 30.0), (600, 60.0))
    ]
    bars = []
    with ProcessPoolExecutor(2) as pool:
        for name, run, bias_s in cases:
            bar, figure = summarise(name, list(pool.map(run, range(options.seeds), chunksize=10)), bias_s)
            bars.append(bar)
            if not options.json:
                print(f"{'met   ' if bar['met'] else 'MISSED'} {name}: {figure}", flush=True)
    if options.json:
        print(json.dumps({"bars": bars}))


if __name__ == "__main__":
    main()
