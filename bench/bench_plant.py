"""Plant identification over 200 seeds, and what an exact lead is worth. Beside it: the delay by cross-correlation, and k_ff.

Boxes that are no dead time and lag follow: a record of one is refused, or its interval holds the truth.

The boxes and plants are written here and in tests/oracle; nothing of the estimators is in them.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from os import environ
from pathlib import Path
from statistics import NormalDist
from sys import path as search_path
from typing import Any

# Two processes share two cores; threads of the linear algebra would only wait for each other.
environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
search_path.insert(0, str(ROOT))

from onbeat.calibrate import identify_plant  # noqa: E402
from onbeat.loop import MemorySink, SendLoop  # noqa: E402
from onbeat.motion import Trajectory  # noqa: E402
from onbeat.motion.lead import ahead  # noqa: E402
from tests.oracle.box import EPOCH_NS, Box, chirp, multisine, run_box, sequence  # noqa: E402
from tests.oracle.correlation import windowed_delay  # noqa: E402

FloatArray = NDArray[np.float64]
SECONDS = 60.0
TONES = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0])
SPEED = np.deg2rad(60)
ERROR_S = 5e-5
LEAST_COVERED, MOST_COVERED = 0.90, 0.99
ALL_REFUSED = 20
OUTSIDE = 25
BOUND_RATIO = 1.2
COUNT = 2 * np.pi / 4096
LAGGED = Box(dead_s=0.02, lag_s=0.03)
HOBBY = Box(dead_s=0.031, lag_s=0.058, period_s=0.01, noise=3e-4)
CASES = {
    "sines, box of pure delay 6.54 ms that shows its steps": ("sines", Box()),
    "sines, box of pure delay 6.54 ms that rounds them off": ("sines", Box(smooth=True)),
    "sines, 20 ms and a lag of 30 ms": ("sines", LAGGED),
    "multisine, box of pure delay 6.54 ms that shows its steps": ("multisine", Box()),
    "chirp, box of pure delay 6.54 ms that rounds them off": ("chirp", Box(smooth=True)),
    "multisine, a lag of 1.7 ms behind the steps": ("multisine", Box(lag_s=0.0017)),
    "sines, lags of 20 and 12 ms": ("sines", Box(dead_s=0.01, lag_s=0.02, second_s=0.012)),
    "multisine, 50 Hz commands, 200 Hz reports, 40 ms and a lag of 60 ms": (
        "multisine",
        Box(dead_s=0.04, lag_s=0.06, period_s=0.02, report_s=(0.005, 0.005), noise=1e-4),
    ),
    "chirp, 50 Hz reports, 12 ms and a lag of 9 ms": ("chirp", Box(dead_s=0.012, lag_s=0.009, report_s=(0.02, 0.02))),
    "sines, sending jitters by 1 ms, 30 % of the reports lost": ("sines", replace(LAGGED, send_jitter_s=1e-3, lost=0.3)),
    "multisine, gravity pulls by 30 mrad": ("multisine", replace(LAGGED, sag=0.03)),
    "sines, a hobby servo: 31 ms, lag 58 ms, noise 0.3 mrad, 100 Hz": ("sines", HOBBY),
    "sines, the hobby servo with noise of 1 mrad": ("sines", replace(HOBBY, noise=1e-3)),
}
# Rounding to counts is no noise of a known size, so its interval is on the wide side.
COUNTED = {"sines, feedback in 4096 counts a turn": ("sines", replace(LAGGED, quantum=COUNT, noise=0.0))}
REFUSED = {
    "speed stops at half of the sweep's": ("sines", replace(LAGGED, speed_limit=0.5), "clipped"),
    "speed stops at nine tenths of the sweep's": ("sines", replace(LAGGED, speed_limit=0.9), "clipped"),
    "the feedback echoes the commands": ("chirp", Box(noise=0.0), "repeats what was commanded"),
    "the device's clock runs away by 50 ppm": ("sines", replace(LAGGED, clock_ppm=50), "clocks run apart"),
    "play of 2 mrad": ("sines", replace(LAGGED, play=1e-3), "stays behind"),
    "reports every 4 ms exactly, commands too, steps": ("sines", Box(report_s=(0.004, 0.004), jitter_s=0.0), "keep their place"),
}
BESIDE = {
    "play of 0.2 mrad": ("chirp", replace(LAGGED, play=1e-4)),
    "clocks 5 ppm apart": ("multisine", replace(LAGGED, clock_ppm=5)),
    "an oscillation at 8 Hz behind a lag": ("sines", Box(dead_s=0.01, lag_s=0.01, resonance=(8.0, 0.2))),
    "speed stops 5 % below the sweep's": ("sines", replace(LAGGED, speed_limit=1.0)),
    "a cycle of the device of 1.01 ms": ("sines", Box(tick_s=0.00101)),
    "stamps that stray by 0.1 ms": ("sines", Box(stamp_noise_s=1e-4)),
    "1 kHz reports exactly in step with 250 Hz commands": ("sines", Box(report_s=(0.001, 0.001), jitter_s=0.0)),
}


@dataclass(frozen=True)
class Outcome:
    """One record: errors in s, NaN when refused."""

    error_s: float
    half_s: float
    chi2_dof: float
    crossed_s: float
    reason: str


def command_of(kind: str, box: Box) -> FloatArray:
    if kind == "sines":
        return sequence(TONES, SECONDS, SPEED, box.period_s)
    if kind == "multisine":
        return multisine(TONES, SECONDS, SPEED / 5, box.period_s)
    return chirp(0.2, 4.4, SECONDS, 0.04, box.period_s)


def one_seed(kind: str, box: Box, seed: int) -> Outcome:
    command = command_of(kind, box)
    sent_ns, t_ns, measured = run_box(box, command, np.random.default_rng(seed))
    if box.noise == 0 and not box.quantum:
        measured = measured - 0.1
    found = identify_plant(sent_ns, command, t_ns, measured, TONES, stamps="sample")
    if found.l_eff.value is None or found.l_eff.ci95 is None:
        return Outcome(np.nan, np.nan, np.nan, np.nan, found.reason)
    crossed_s = windowed_delay((sent_ns - EPOCH_NS) / 1e9, command, (t_ns - EPOCH_NS) / 1e9, measured)
    return Outcome(found.l_eff.value - box.l_eff_s, found.l_eff.ci95, found.chi2_dof, crossed_s - box.l_eff_s, "")


def least_std(kind: str, box: Box) -> float:
    """Give the Cramer-Rao bound of dead time and lag together, in s, with gain, offset and drift unknown too.

    By differences of the box itself, without noise: nothing of the estimator is in it.
    """
    command = command_of(kind, box)

    def motion_of(changed: Box) -> tuple[FloatArray, FloatArray]:
        _, t_ns, motion = run_box(replace(changed, noise=0.0), command, np.random.default_rng(0))
        return (t_ns - EPOCH_NS) / 1e9, motion

    def slope(more: Box, less: Box) -> FloatArray:
        return (motion_of(more)[1] - motion_of(less)[1]) / (2 * step_s)

    step_s = 1e-5
    t, motion = motion_of(box)
    by_dead = slope(replace(box, dead_s=box.dead_s + step_s), replace(box, dead_s=box.dead_s - step_s))
    by_lag = slope(replace(box, lag_s=box.lag_s + step_s), replace(box, lag_s=box.lag_s - step_s))
    effects = np.stack([np.ones_like(t), t - t.mean(), motion - motion.mean(), by_dead, by_lag], axis=1)
    both = np.array([0.0, 0.0, 0.0, 1.0, 1.0])
    return float(box.noise * np.sqrt(both @ np.linalg.solve(effects.T @ effects, both)))


def identified(name: str, kind: str, box: Box, outcomes: list[Outcome], most_covered: float = MOST_COVERED) -> dict[str, Any]:
    good = [o for o in outcomes if not o.reason]
    errors, halves, crossed = (np.array([getattr(o, what) for o in good]) for what in ("error_s", "half_s", "crossed_s"))
    covered, worst = float((np.abs(errors) <= halves).mean()), float(np.abs(errors).max())
    chi2 = float(np.median([o.chi2_dof for o in good]))
    figure = (
        f"error max {1e6 * worst:.1f} us, std {1e6 * errors.std():.2f} us, ci95 {1e6 * np.median(halves):.2f} us, covers "
        f"{covered:.1%} of {len(errors)}, {len(outcomes) - len(good)} refused, chi2 {chi2:.2f}; cross-correlation off by "
        f"{1e3 * crossed.mean():+.3f} ms"
    )
    # The greatest of that many errors reaches this many standard deviations every other time.
    usual = NormalDist().inv_cdf((1 + 0.5 ** (1 / len(outcomes))) / 2)
    bound_s = least_std(kind, box) if box.lag_s and box.noise and not (box.second_s or box.sag or box.lost) else 0.0
    if usual * bound_s > ERROR_S:
        accurate, what = errors.std() <= BOUND_RATIO * bound_s, f"std within {BOUND_RATIO:g} times the Cramer-Rao bound"
        figure += (
            f"; Cramer-Rao bound {1e6 * bound_s:.2f} us, the worst of {len(outcomes)} {1e6 * usual * bound_s:.0f} us for "
            f"any estimator, beyond {1e3 * ERROR_S:g} ms; std is {errors.std() / bound_s:.2f} times the bound"
        )
    else:
        accurate, what = worst <= ERROR_S, f"error {1e3 * ERROR_S:g} ms"
        figure += f"; Cramer-Rao bound {1e6 * bound_s:.2f} us" if bound_s else ""
    met = accurate and LEAST_COVERED <= covered <= most_covered and len(good) == len(outcomes)
    covers = f"{LEAST_COVERED:.0%} to {most_covered:.0%}" if most_covered < 1 else f"{LEAST_COVERED:.0%} or more"
    return {"what": f"l_eff, {name}", "bar": f"{what}; covers {covers}; none refused", "figure": figure, "met": bool(met)}


def refused(name: str, word: str, outcomes: list[Outcome]) -> dict[str, Any]:
    count = sum(word in o.reason for o in outcomes)
    figure = f"{count} of {len(outcomes)} refused: {outcomes[0].reason[:160] or 'not refused'}"
    bar = "all refused, with the reason"
    return {"what": f"l_eff, {name}", "bar": bar, "figure": figure, "met": count == len(outcomes)}


def beside(name: str, outcomes: list[Outcome]) -> dict[str, Any]:
    good = [o for o in outcomes if not o.reason]
    missed = sum(abs(o.error_s) > o.half_s for o in good)
    figure = f"{len(outcomes) - len(good)} of {len(outcomes)} refused, {missed} of the others miss the truth"
    if good:
        worst, half = max(abs(o.error_s) for o in good), float(np.median([o.half_s for o in good]))
        chi2 = float(np.median([o.chi2_dof for o in good]))
        figure += f": error max {1e6 * worst:.0f} us, ci95 {1e6 * half:.0f} us, chi2 {chi2:.2g}"
    bar = "refused, or the interval holds the truth in 90 % or more"
    return {"what": f"outside the model, {name}", "bar": bar, "figure": figure, "met": missed <= 0.1 * len(outcomes)}


def peak_error(delay_s: float, how: str) -> float:
    """Give the greatest distance from a sine of 1 Hz and 125 deg/s, in degrees, of a device that is late by delay_s.

    The device draws lines between the commands that it gets at 250 Hz and is otherwise a pure delay.
    """
    size, omega, second = 125 / (2 * np.pi), 2 * np.pi, 1_000_000_000
    knots = np.arange(0, 4001) * (second // 1000)

    def plan_of(lead_ns: int) -> Trajectory:
        return Trajectory(knots - lead_ns, size * np.sin(omega * knots / second)[:, None], lead_ns=lead_ns)

    lead_ns = round(delay_s * second)
    plan = plan_of(lead_ns if how == "plan" else 0)
    sink = MemorySink(1, 4096)
    loop = SendLoop(sink, 250, plan, lead_s=delay_s if how == "loop" else 0.0)
    deadline_ns = second // 2
    while deadline_ns < 3 * second:
        deadline_ns = loop.cycle(deadline_ns, deadline_ns)
    sent = sink.drain()
    t, values = sent["sent_ns"] / second, sent["values"][:, 0]
    if how == "formula":
        values = ahead(values[:, None], size * omega * np.cos(omega * t)[:, None], delay_s)[:, 0]
    instants = np.linspace(1.0, 2.5, 20_000)
    return float(np.abs(np.interp(instants - delay_s, t, values) - size * np.sin(omega * instants)).max())


def leads() -> list[dict[str, Any]]:
    bars = []
    for delay_s, least, beside in ((0.00654, 80, 4), (0.034, 50, 0)):
        none, formula, in_plan, in_loop = (peak_error(delay_s, how) for how in ("none", "formula", "plan", "loop"))
        exact = max(in_plan, in_loop)
        figure = (
            f"no lead {none:.3f} deg, k_ff formula {formula:.4f} deg, exact {in_plan:.4f} deg (lead in the plan) and "
            f"{in_loop:.4f} deg (in the loop): {none / exact:.0f} times below none, {formula / exact:.1f} below the formula"
        )
        met = none >= least * exact and formula >= beside * exact and (delay_s > 0.01 or exact <= 0.01)
        bar = f"{least} times below no lead" + (f", {beside} times below the formula, 0.01 deg" if beside else "")
        bars.append({"what": f"lead, pure delay of {1e3 * delay_s:g} ms at 125 deg/s", "bar": bar, "figure": figure, "met": met})
    return bars


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    parser.add_argument("--seeds", type=int, default=200)
    options = parser.parse_args()
    bars: list[dict[str, Any]] = []

    def tell(bar: dict[str, Any]) -> None:
        bars.append(bar)
        if not options.json:
            print(f"{'met   ' if bar['met'] else 'MISSED'} {bar['what']}: {bar['figure']}", flush=True)

    for bar in leads():
        tell(bar)
    with ProcessPoolExecutor(2) as pool:

        def run(kind: str, box: Box, seeds: int) -> list[Outcome]:
            return list(pool.map(partial(one_seed, kind, box), range(seeds), chunksize=5))

        for name, (kind, box) in CASES.items():
            tell(identified(name, kind, box, run(kind, box, options.seeds)))
        for name, (kind, box) in COUNTED.items():
            tell(identified(name, kind, box, run(kind, box, options.seeds), most_covered=1.0))
        for name, (kind, box, word) in REFUSED.items():
            tell(refused(name, word, run(kind, box, min(ALL_REFUSED, options.seeds))))
        for name, (kind, box) in BESIDE.items():
            tell(beside(name, run(kind, box, min(OUTSIDE, options.seeds))))
    if options.json:
        print(json.dumps({"bars": bars}))


if __name__ == "__main__":
    main()
