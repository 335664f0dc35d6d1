"""Hours of exchanges between two clocks, in seconds: what the estimator owes in each situation."""

import numpy as np
import pytest

from onbeat.clock import ClockEstimator, ClockEvent
from onbeat.testing.clock_network import SCENARIOS, Simulated, simulate
from tests.oracle.clocks import LslLike


def run(simulated: Simulated) -> tuple[list[float], list[ClockEvent], int]:
    """Give the errors (ns) after half a minute, the events, and how often the hard interval missed the truth."""
    estimator = ClockEstimator("client", "server")
    errors, events, missed = [], [], 0
    for exchange, truth, true_s in zip(simulated.exchanges(), simulated.offset_ns, simulated.true_s, strict=True):
        if (event := estimator.add(exchange)) is not None:
            events.append(event)
        chart = estimator.map_at(exchange.t4_ns)
        low, high = chart.interval_at_ns(exchange.t4_ns)
        coarse = simulated.scenario.network.coarse_ns
        missed += not low - coarse <= truth <= high + coarse
        if true_s > 30:
            errors.append(abs(chart.offset_at_ns(exchange.t4_ns) - truth))
    return errors, events, missed


@pytest.mark.parametrize("name", SCENARIOS)
def test_hard_bound_holds_in_every_situation(name: str) -> None:
    _, _, missed = run(simulate(SCENARIOS[name], np.random.default_rng(11)))
    assert missed == 0


@pytest.mark.parametrize(
    ("name", "limit_us"),
    [
        ("lan", 2),
        ("congestion", 3),
        ("busy_host", 2),
        ("route_change", 4),
        ("rate_flips", 30),
        ("wifi", 120),
        ("outage", 10),
        ("thermal", 12),
    ],
)
def test_offset_is_known_to_microseconds(name: str, limit_us: float) -> None:
    errors, _, _ = run(simulate(SCENARIOS[name], np.random.default_rng(5)))
    assert np.percentile(errors, 99) < limit_us * 1e3


def test_constant_asymmetry_cannot_be_seen_and_is_inside_the_bound() -> None:
    errors, events, missed = run(simulate(SCENARIOS["asymmetry"], np.random.default_rng(5)))
    assert np.median(errors) == pytest.approx(100e3, rel=0.02)
    assert missed == 0
    assert not events


def test_only_what_happened_is_said() -> None:
    kinds = {name: [e.kind for e in run(simulate(SCENARIOS[name], np.random.default_rng(7)))[1]] for name in SCENARIOS}
    assert kinds["step"] == ["step"]
    assert kinds["rate_flips"] == ["rate"] * 3
    assert kinds["route_change"] == ["delay"]
    assert all(not kinds[name] for name in ("lan", "wifi", "congestion", "busy_host", "thermal", "outage", "lossy"))


def test_congestion_on_one_leg_moves_others_and_not_us() -> None:
    simulated = simulate(SCENARIOS["congestion"], np.random.default_rng(3))
    errors, _, _ = run(simulated)
    peer, peers = LslLike(), []
    for exchange, truth, true_s in zip(simulated.exchanges(), simulated.offset_ns, simulated.true_s, strict=True):
        peer.add(exchange.t1_ns, exchange.t2_ns, exchange.t3_ns, exchange.t4_ns)
        if true_s > 30:
            peers.append(abs(peer.offset_at(exchange.t4_ns) - truth))
    assert np.percentile(errors, 99) < np.percentile(peers, 99) / 100


@pytest.mark.slow
def test_no_step_is_seen_in_ten_hours_without_one() -> None:
    from dataclasses import replace

    for name in ("lan", "wifi", "congestion", "busy_host"):
        _, events, missed = run(simulate(replace(SCENARIOS[name], duration_s=9000.0), np.random.default_rng(1)))
        assert [event for event in events if event.kind == "step"] == []
        assert missed == 0
