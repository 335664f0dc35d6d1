import logging
from typing import Any

import numpy as np
import pytest

from onbeat.clock import ManualClock
from onbeat.errors import BadInput, OnbeatError
from onbeat.policy import Rig, Runner
from onbeat.stream import Observation
from tests.policy.simple_rig import MS, simple_rig


def started(clock: ManualClock, **axis: Any) -> Rig:
    rig = simple_rig(clock, **axis)
    rig.start()
    rig.drive.run_until(200 * MS)
    return rig


def test_chunk_is_anchored_to_the_camera_and_not_to_now() -> None:
    clock = ManualClock()
    rig = started(clock)
    seen: list[Observation] = []

    def policy(observation: Observation) -> Any:
        seen.append(observation)
        return np.full((4, 1), 0.25)

    decisions = Runner(rig, policy, 0.1).run(0.35)
    rig.stop()
    assert len(decisions) == 4
    for observation, decision in zip(seen, decisions, strict=True):
        # Frame k was exposed at k * 30 ms; its picture is k.
        assert observation.t_ns == observation.samples["eye"].value * 30 * MS
        assert decision.anchor_ns == observation.t_ns
        chunk = decision.chunks["axis"]
        assert (chunk.anchor_ns, chunk.step_ns, chunk.first_step) == (observation.t_ns, 100 * MS, 1)


def test_execution_speed_scale_stretches_the_steps() -> None:
    rig = started(ManualClock())
    decisions = Runner(rig, lambda observation: np.zeros((2, 1)), 0.1, execution_speed_scale=1.5).run(0.1)
    rig.stop()
    assert decisions[0].chunks["axis"].step_ns == 150 * MS


def test_slow_inference_costs_waypoints_and_the_log_says_why(caplog: pytest.LogCaptureFixture) -> None:
    rig = started(ManualClock(), action_latency=0.150)
    runner = Runner(rig, lambda observation: np.zeros((4, 1)), 0.1, inference_ns=lambda: 70 * MS)
    with caplog.at_level(logging.INFO, "onbeat.runner"):
        decisions = runner.run(0.25)
    rig.stop()
    outcomes = decisions[0].outcomes["axis"]
    assert [outcome.kind for outcome in outcomes] == ["dropped", "dropped", "kept", "kept"]
    line = caplog.messages[0]
    assert line.startswith("axis: Scheduled 4 waypoints (2 in the future): few, because the anchor was ")
    assert "inference took 70 ms and the lead is 150 ms" in line


def test_all_in_the_future_is_said_in_the_words_that_users_watch_for(caplog: pytest.LogCaptureFixture) -> None:
    rig = started(ManualClock())
    with caplog.at_level(logging.INFO, "onbeat.runner"):
        Runner(rig, lambda observation: np.zeros((16, 1)), 0.1).run(0.05)
    rig.stop()
    assert caplog.messages[0] == "axis: Scheduled 16 waypoints (16 in the future)"


def test_policy_may_answer_by_module() -> None:
    rig = started(ManualClock())
    decisions = Runner(rig, lambda observation: {"axis": np.zeros((3, 1))}, 0.1).run(0.05)
    rig.stop()
    assert set(decisions[0].outcomes) == {"axis"}


def test_error_of_the_policy_ends_the_run() -> None:
    rig = started(ManualClock())

    def policy(observation: Observation) -> Any:
        raise OnbeatError("the cup is not in view")

    with pytest.raises(OnbeatError, match="not in view"):
        Runner(rig, policy, 0.1).run(1.0)
    rig.stop()


def test_bad_targets_of_a_policy_are_refused() -> None:
    rig = started(ManualClock())
    with pytest.raises(BadInput, match="waypoint 0 has nan"):
        Runner(rig, lambda observation: np.full((2, 1), np.nan), 0.1).run(0.5)
    rig.stop()


def test_runner_can_run_again() -> None:
    rig = started(ManualClock())
    runner = Runner(rig, lambda observation: np.zeros((2, 1)), 0.1)
    first, second = runner.run(0.15), runner.run(0.15)
    rig.stop()
    assert len(runner.decisions) == len(first) + len(second)
    assert len(second) == 2


@pytest.mark.parametrize(("policy_dt_s", "scale"), [(0.0, 1.0), (0.1, 0.0), (float("nan"), 1.0)])
def test_times_that_make_no_sense_are_refused(policy_dt_s: float, scale: float) -> None:
    with pytest.raises(BadInput, match="must be > 0"):
        Runner(simple_rig(ManualClock()), lambda observation: None, policy_dt_s, scale)


def test_rig_without_a_camera_cannot_be_observed() -> None:
    rig = simple_rig(ManualClock())
    del rig.modules["eye"]
    with pytest.raises(BadInput, match="this rig has none"):
        Runner(rig, lambda observation: None, 0.1)
