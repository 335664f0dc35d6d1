"""Plant identification over 200 seeds, and what an exact lead is worth. Beside it: the delay by cross-correlation, and k_ff.

The boxes and plants are written here and in tests/oracle; nothing of the estimators is in them.
"""

import argparse
import json
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from sys import path as search_path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
search_path.insert(0, str(ROOT))

from onbeat.calibrate import identify_plant  # noqa: E402
from onbeat.loop import MemorySink, SendLoop  # noqa: E402
from onbeat.motion import Trajectory  # noqa: E402
from onbeat.motion.lead import ahead  # noqa: E402
from tests.oracle.box import EPOCH_NS, Box, chirp, multisine, run_box, sequence  # noqa: E402
from tests.oracle.correlation import correlation_delay  # noqa: E402

FloatArray = NDArray[np.float64]
SECONDS = 60.0
TONES = np.array([0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0])
SPEED = np.deg2rad(60)
ERROR_S = 5e-5
LEAST_COVERED, MOST_COVERED = 0.90, 0.99
CASES = {
    "sines, box of pure delay 6.54 ms that shows its steps": ("sines", Box()),
    "sines, box of pure delay 6.54 ms that rounds them off": ("sines", Box(smooth=True)),
    "sines, 20 ms and a lag of 30 ms": ("sines", Box(dead_s=0.02, lag_s=0.03)),
    "multisine, box of pure delay 6.54 ms that shows its steps": ("multisine", Box()),
    "chirp, box of pure delay 6.54 ms that rounds them off": ("chirp", Box(smooth=True)),
    "sines, a hobby servo: 31 ms, lag 58 ms, noise 0.3 mrad, 100 Hz": (
        "sines",
        Box(dead_s=0.031, lag_s=0.058, period_s=0.01, noise=3e-4),
    ),
}


def command_of(kind: str, box: Box) -> FloatArray:
    if kind == "sines":
        return sequence(TONES, SECONDS, SPEED, box.period_s)
    if kind == "multisine":
        return multisine(TONES, SECONDS, SPEED / 5, box.period_s)
    return chirp(0.2, 4.4, SECONDS, 0.04, box.period_s)


def one_seed(kind: str, box: Box, seed: int) -> tuple[float, float, float] | str:
    rng = np.random.default_rng(seed)
    command = command_of(kind, box)
    sent_ns, t_ns, measured = run_box(box, command, rng)
    found = identify_plant(sent_ns, command, t_ns, measured, TONES, stamps="sample")
    if found.l_eff.value is None or found.l_eff.ci95 is None:
        return found.reason
    # Without the offset of the box, which would throw it off altogether.
    crossed = correlation_delay((sent_ns - EPOCH_NS) / 1e9, command, (t_ns - EPOCH_NS) / 1e9, measured - measured.mean())
    return found.l_eff.value - box.l_eff_s, found.l_eff.ci95, crossed - box.l_eff_s


def identified(name: str, outcomes: list[tuple[float, float, float] | str]) -> dict[str, Any]:
    reasons = [o for o in outcomes if isinstance(o, str)]
    errors, halves, crossed = (np.array(column) for column in zip(*(o for o in outcomes if not isinstance(o, str)), strict=True))
    covered = float((np.abs(errors) <= halves).mean())
    worst = float(np.abs(errors).max())
    figure = (
        f"error max {1e6 * worst:.1f} us, std {1e6 * errors.std():.2f} us, ci95 {1e6 * np.median(halves):.2f} us, covers "
        f"{covered:.1%} of {len(errors)}, {len(reasons)} refused; cross-correlation off by {1e3 * crossed.mean():+.2f} ms"
    )
    met = worst <= ERROR_S and LEAST_COVERED <= covered <= MOST_COVERED and not reasons
    bar = f"error {1e3 * ERROR_S:g} ms; covers {LEAST_COVERED:.0%} to {MOST_COVERED:.0%}; none refused"
    return {"what": f"l_eff, {name}", "bar": bar, "figure": figure, "met": bool(met)}


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
        for name, (kind, box) in CASES.items():
            tell(identified(name, list(pool.map(partial(one_seed, kind, box), range(options.seeds), chunksize=10))))
    if options.json:
        print(json.dumps({"bars": bars}))


if __name__ == "__main__":
    main()
