"""What a query of a stream costs from Python, beside scipy's Slerp and numpy on the same samples; how good its error bound is.

Poses at 400 Hz with jittered stamps, 4,000 to 1,000,000 of them. Each figure is the median of runs of the calling thread's
processor time: on a shared machine the wall time measures the neighbours. Memory is what the process's peak grows by.
"""

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation, Slerp

from onbeat.motion import Trajectory
from onbeat.stream import Stream

ROOT = Path(__file__).resolve().parent.parent

SIZES = (4_000, 100_000, 1_000_000)
EPOCH_NS = 1_700_000_000_000_000_000
QUERIES = 100_000


def cost_us(call: Callable[[], object], calls: int, runs: int = 15) -> float:
    """Give the median over runs of the processor time of one call, in microseconds."""
    costs = []
    for _ in range(runs):
        before = time.thread_time_ns()
        for _ in range(calls):
            call()
        costs.append((time.thread_time_ns() - before) / calls / 1e3)
    return statistics.median(costs)


def recording(n: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Draw poses: a random walk of rotations, jittered stamps."""
    t_ns = EPOCH_NS + np.arange(n) * 2_500_000 + rng.integers(0, 500_000, n)
    q = np.cumsum(rng.normal(scale=0.01, size=(n, 4)), axis=0) + np.array([1, 0, 0, 0])
    return t_ns, np.concatenate([rng.normal(size=(n, 3)), q / np.linalg.norm(q, axis=1, keepdims=True)], axis=1)


def peak_bytes() -> int:
    """Read the peak of the resident memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def value_at(stream: Stream, t_ns: int) -> object:
    """Ask for one instant and take the value."""
    return stream.at(t_ns).value


def values_at(stream: Stream, t_ns: NDArray[np.int64]) -> object:
    """Ask for many instants and take the values."""
    return stream.at_many(t_ns).values


def scipy_at(ends_ns: NDArray[np.int64], quat_wxyz: NDArray[np.float64], t_ns: int) -> object:
    """Interpolate one rotation between two samples that are found already."""
    return Slerp(ends_ns, Rotation.from_quat(quat_wxyz[:, [1, 2, 3, 0]]))(t_ns)


def queries(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Measure single queries, nine at once and a hundred thousand."""
    newest, near, nine, many, grown = {}, {}, {}, {}, {}
    for n in SIZES:
        t_ns, values = recording(n, rng)
        stream = Stream("tool", "monotonic", "pose", 7, n)
        stream.push_many(t_ns, values)
        newest[n] = cost_us(partial(value_at, stream, int(t_ns[-1])), 20_000)
        near[n] = cost_us(partial(value_at, stream, int(t_ns[-1]) - 1_000_000), 20_000)
        nine[n] = cost_us(partial(values_at, stream, t_ns[-1] - np.arange(9) * 66_000_000), 5_000)
        asked = np.sort(rng.integers(t_ns[0], t_ns[-1], QUERIES))
        before = peak_bytes()
        values_at(stream, asked)
        grown[n] = peak_bytes() - before
        many[n] = cost_us(partial(values_at, stream, asked), 1) / 1e3
    scipy_us = cost_us(partial(scipy_at, t_ns[-2:] - EPOCH_NS, values[-2:, 3:], int(t_ns[-1]) - 1_000_000 - EPOCH_NS), 200)
    worst = {name: max(costs.values()) for name, costs in (("newest", newest), ("near", near), ("nine", nine), ("many", many))}
    span = f"n = {SIZES[0]:,} to {SIZES[-1]:,}"
    by_size = ", ".join(f"{cost:.1f}" for cost in many.values())
    return [
        bar("newest-stamp pose from Python", "<= 1 us", f"{worst['newest']:.2f} us ({span})", worst["newest"] <= 1),
        bar("pose between the newest two samples", "<= 1 us", f"{worst['near']:.2f} us", worst["near"] <= 1),
        bar("9 poses of a policy step", "<= 3 us", f"{worst['nine']:.2f} us", worst["nine"] <= 3),
        bar(
            "100,000 sorted poses, time",
            "<= 20 ms",
            f"{by_size} ms for n = {', '.join(f'{n:,}' for n in SIZES)}",
            worst["many"] <= 20,
        ),
        bar("100,000 sorted poses, memory", "<= 8 MB", f"{max(grown.values()) / 1e6:.1f} MB", max(grown.values()) <= 8e6),
        bar(
            "pose between two samples, scipy Slerp over ours",
            ">= 20 times",
            f"{scipy_us / worst['near']:.0f} times",
            scipy_us >= 20 * worst["near"],
        ),
    ]


def plans(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Measure a plan's evaluation."""
    plan = Trajectory(np.arange(17) * 100_000_000, rng.normal(size=(17, 6)))
    at = cost_us(lambda: plan.at_ns(750_000_001), 20_000)
    return [bar("sample a plan of 17 knots, 6 joints", "<= 5 us", f"{at:.2f} us", at <= 5)]


def bounds(rng: np.random.Generator) -> list[dict[str, Any]]:
    """Measure errors and bounds on a hand's motion at 100 Hz, with rates."""
    sys.path.insert(0, str(ROOT))
    from tests.oracle.hand import Hand, angle_between

    hand = Hand.drawn(rng)
    t_ns = np.arange(6_000, dtype=np.int64) * 10_000_000
    stream = Stream("tool", "monotonic", "pose", 7, len(t_ns))
    stream.push_many(t_ns, hand.pose(t_ns), hand.rate(t_ns))
    asked = np.sort(rng.integers(t_ns[2], t_ns[-3], QUERIES))
    samples, truth = stream.at_many(asked), hand.pose(asked)
    errors = np.stack(
        [np.linalg.norm(samples.values[:, :3] - truth[:, :3], axis=1), angle_between(samples.values[:, 3:], truth[:, 3:])], axis=1
    )
    position_mm, rotation_mdeg = errors[:, 0].max() * 1e3, np.degrees(errors[:, 1].max()) * 1e3
    held = (samples.error_bound >= errors).mean(axis=0).min()
    idle = (np.percentile(samples.error_bound, 99, axis=0) / np.percentile(errors, 99, axis=0)).max()
    return [
        bar("Hermite at 100 Hz, position", "<= 0.0015 mm", f"{position_mm:.5f} mm", bool(position_mm <= 0.0015)),
        bar("Hermite at 100 Hz, rotation", "<= 0.3 mdeg", f"{rotation_mdeg:.3f} mdeg", bool(rotation_mdeg <= 0.3)),
        bar("error bound holds, 1e5 queries", ">= 99.9 %", f"{100 * held:.2f} %", bool(held >= 0.999)),
        bar("99th percentile of the bound over that of the error", "<= 3 times", f"{idle:.2f} times", bool(idle <= 3)),
    ]


def bar(what: str, limit: str, figure: str, met: bool) -> dict[str, Any]:
    """Make one line for docs/measuring.md."""
    return {"what": what, "bar": limit, "figure": figure, "met": met}


def main() -> int:
    """Print the bars; as JSON with --json."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    bars = [*queries(rng), *plans(rng), *bounds(rng)]
    if arguments.json:
        print(json.dumps({"bars": bars}))
    else:
        for line in bars:
            print(f"{'met   ' if line['met'] else 'MISSED'} {line['what']}: {line['figure']} ({line['bar']})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
