"""All checks of one stream together: silent on what is healthy, and never at a loss on what is not a stream at all."""

import warnings
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.health import Timeline, Verdict
from onbeat.health.exposure import EXPOSURE
from onbeat.health.judge import judge
from onbeat.health.pace import PACE
from onbeat.health.repeats import REPEATS
from onbeat.health.samples import SAMPLES
from onbeat.health.stamps import STAMPS
from tests.health.made import START_NS, evidence, findings, line

CHECKS = (STAMPS, SAMPLES, REPEATS, PACE, EXPOSURE)
KINDS = ("image", "rotation", "joints", "pose", "numbers", "action", "other")


def said(one: Timeline) -> tuple[Verdict, ...]:
    return judge(evidence(one), CHECKS)


def instants(shape: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """Give when a healthy source samples, ns."""
    hz = float(np.exp(rng.uniform(np.log(2), np.log(1000))))
    n, period = int(min(hz * 60, 20_000)), 1e9 / hz
    share = rng.uniform(0, 0.1)
    even = np.arange(n) * period
    if shape == "gaussian":
        return even + rng.normal(0, share * period, n)
    if shape == "exponential":
        return even + rng.exponential(share * period, n)
    if shape == "heavy tails":
        return np.asarray(even + np.minimum(rng.pareto(3, n) * share * period, 3 * period))
    if shape == "spikes":
        late = even + (rng.random(n) < 0.005) * rng.exponential(period, n)
        return np.asarray(np.maximum.accumulate(late) + np.arange(n) * 1e3)
    if shape == "loop":
        return np.asarray(np.cumsum(period * np.clip(1 + rng.normal(0, 1.5 * share, n), 0.3, None)))
    return np.asarray(np.cumsum(rng.exponential(period, n)) if shape == "events" else even)


SHAPES = ("gaussian", "exponential", "heavy tails", "spikes", "loop", "events", "exact")


@pytest.mark.parametrize(("shape", "seed"), [*product(SHAPES, range(12))])
def test_healthy_stream_is_silent(shape: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    stamp = START_NS + np.sort(np.rint(instants(shape, rng)).astype(np.int64))
    delay = rng.uniform(1e5, 2e7) * (1 + rng.exponential(0.3, len(stamp)))
    columns = {"stamp_ns": stamp, "log_ns": np.maximum.accumulate(stamp + delay.astype(np.int64)), "seq": np.arange(len(stamp))}
    fields = (("stamp_ns",), ("stamp_ns", "log_ns"), ("stamp_ns", "log_ns", "seq"), ("log_ns",))[seed % 4]
    one = line("x", {"kind": KINDS[seed % len(KINDS)]}, **{name: columns[name] for name in fields})
    assert findings(said(one)) == []


def column(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    forms = (
        lambda: np.zeros(n, np.int64),
        lambda: rng.integers(-(2**63), 2**63 - 1, n),
        lambda: np.full(n, rng.integers(-(2**62), 2**62)),
        lambda: np.cumsum(rng.integers(0, 3, n)),
        lambda: np.arange(n) * 10_000_000,
        lambda: (np.arange(n) * 10_000_000)[::-1],
        lambda: rng.permutation(n) * 1_000_000,
        lambda: np.repeat(np.arange(n), 5)[:n] * 100_000_000,
        lambda: START_NS + np.cumsum(rng.exponential(1e7, n)).astype(np.int64),
    )
    return np.asarray(forms[rng.integers(len(forms))]())


@pytest.mark.parametrize("block", range(10))
def test_no_column_of_any_content_stops_a_check(block: int) -> None:
    for seed in range(40 * block, 40 * (block + 1)):
        rng = np.random.default_rng(seed)
        n = int(rng.choice([1, 2, 3, 8, 19, 20, 21, 60, 100, 300]))
        names = [name for name in ("log_ns", "seq", "exposure_ns", "segment") if rng.random() < 0.6]
        columns: dict[str, Any] = {name: column(n, rng) for name in ("stamp_ns", *names)}
        if rng.random() < 0.5:
            columns["digest"] = rng.integers(0, 3, n).astype(np.uint64)
        if rng.random() < 0.5:
            columns["value"] = np.where(
                rng.random((n, 3)) < 0.2, rng.choice([np.nan, np.inf, 0, 1e308]), rng.normal(0, 1, (n, 3))
            )
        info = {"kind": KINDS[seed % len(KINDS)], "declared_hz": (None, 30.0, 1e-9, 1e9)[seed % 4]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a median of times at the ends of int64
            one = line("x", info, **columns)
        for verdict in said(one):
            assert "stopped" not in verdict.sentence
