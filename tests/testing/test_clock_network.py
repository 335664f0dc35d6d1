from dataclasses import replace

import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.testing.clock_network import SCENARIOS, Scenario, simulate


def test_stamps_obey_the_truth_they_come_with() -> None:
    simulated = simulate(SCENARIOS["lan"], np.random.default_rng(0))
    t1, t2, t3, t4 = simulated.stamps_ns.T
    outbound, back = t2 - t1 - simulated.offset_ns, simulated.offset_ns - (t3 - t4)
    assert outbound.min() > 95_000  # the offset moves by a few ns while a message travels
    assert back.min() == pytest.approx(100_000, abs=2_000)
    assert len(t1) == pytest.approx(3200 * 0.99, abs=40)
    assert (np.diff(t4) >= 0).all()


def test_same_seed_gives_the_same_world() -> None:
    a, b = (simulate(SCENARIOS["wifi"], np.random.default_rng(4)) for _ in range(2))
    np.testing.assert_array_equal(a.stamps_ns, b.stamps_ns)


def test_step_happens_when_and_as_far_as_said() -> None:
    simulated = simulate(SCENARIOS["step"], np.random.default_rng(0))
    assert simulated.offset_at(240.1) - simulated.offset_at(239.9) == pytest.approx(0.05e9, abs=1e5)


def test_silence_is_silent_and_congestion_is_on_one_leg() -> None:
    outage = simulate(SCENARIOS["outage"], np.random.default_rng(0))
    assert not ((outage.true_s > 300.1) & (outage.true_s < 420)).any()
    crowded = simulate(SCENARIOS["congestion"], np.random.default_rng(0))
    t1, t2, t3, t4 = crowded.stamps_ns.T
    assert np.percentile(t2 - t1 - crowded.offset_ns, 90) > 1e6
    assert np.percentile(crowded.offset_ns - (t3 - t4), 99) < 1e6


def test_what_is_no_scenario_is_refused() -> None:
    with pytest.raises(BadInput):
        simulate(Scenario("short", duration_s=0.5), np.random.default_rng(0))
    with pytest.raises(BadInput):
        simulate(replace(SCENARIOS["lan"], rate_hz=0), np.random.default_rng(0))
