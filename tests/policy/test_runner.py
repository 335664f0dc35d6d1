import logging
import threading
from typing import Any

import numpy as np
import pytest

from onbeat.clock import ManualClock, SystemClock
from onbeat.errors import BadInput, OnbeatError
from onbeat.policy import Module, Rig, Runner
from onbeat.stream import Observation, Stream
from tests.policy.simple_rig import HOME, MS, Axis, Eye, axis_config, pose_rig, simple_rig


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


def test_frame_from_before_the_first_reading_is_passed_over() -> None:
    rig = simple_rig(ManualClock())
    rig.start()  # frame 0 was true at 0 ms, the axis' first reading at 2 ms
    decisions = Runner(rig, lambda observation: np.zeros((2, 1)), 0.1).run(0.15)
    rig.stop()
    assert [decision.anchor_ns for decision in decisions] == [30 * MS, 60 * MS]


def test_stream_that_keeps_too_little_ends_the_run() -> None:
    clock = ManualClock()
    rig = simple_rig(clock)
    rig["axis"].stream = Stream("axis", clock, "linear", 1, 4)  # 4 readings at 200 Hz: 15 ms, and frames are 20 to 50 ms old
    rig.start()
    rig.drive.run_until(200 * MS)
    with pytest.raises(OnbeatError, match=r"forgotten: .* keep more than 4 samples"):
        Runner(rig, lambda observation: np.zeros((2, 1)), 0.1).run(0.1)
    rig.stop()


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


def two_arms(clock: ManualClock) -> Rig:
    """Two axes whose leads differ, started."""
    rig = simple_rig(clock, action_latency=0.150)
    config = axis_config(action_latency=0.020)
    rig.modules["gripper"] = Module(config, Axis(clock), clock)
    rig.start()
    rig.drive.run_until(200 * MS)
    return rig


@pytest.mark.parametrize(("together", "kept"), [(False, 3), (True, 2)])
def test_modules_begin_apart_or_together(together: bool, kept: int) -> None:
    rig = two_arms(ManualClock())
    runner = Runner(
        rig,
        lambda observation: {"axis": np.zeros((4, 1)), "gripper": np.full((4, 1), 0.01)},
        0.1,
        inference_ns=lambda: 70 * MS,
        together=together,
    )
    decision = runner.run(0.1)[0]
    rig.stop()
    # The image is of 180 ms and now is 270 ms. Row 2, due at 380 ms, had to be sent at 230 to the axis and at 360 to the gripper.
    assert (decision.anchor_ns, decision.ready_ns) == (180 * MS, 270 * MS)
    assert [outcome.kind for outcome in decision.outcomes["axis"]] == ["dropped", "dropped", "kept", "kept"]
    assert decision.outcomes["gripper"].count_of("kept") == kept
    starts = {name: outcomes.times_ns[outcomes.rows_of("kept")[0]] for name, outcomes in decision.outcomes.items()}
    assert (starts["axis"] == starts["gripper"]) == together


def test_pose_module_is_told_poses() -> None:
    clock = ManualClock()
    rig = pose_rig(clock)
    rig.modules["eye"] = simple_rig(clock)["eye"]
    rig.start()
    rig.drive.run_until(200 * MS)
    decisions = Runner(rig, lambda observation: np.tile(HOME, (3, 1)), 0.1).run(0.05)
    rig.stop()
    assert decisions[0].outcomes["right_arm"].count_of("rejected") == 0


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


def test_history_lies_obs_dt_apart_back_from_the_camera() -> None:
    rig = started(ManualClock())
    rig["axis"].move_to([1.0], 1.0)
    rig.drive.run_for(0.2)
    seen: list[Observation] = []

    def policy(observation: Observation) -> Any:
        seen.append(observation)
        return np.ones((2, 1))

    Runner(rig, policy, 0.1, n_obs=3, obs_dt_s=0.06).run(0.25)
    rig.stop()
    assert len(seen) == 3
    for observation in seen:
        at_ns = [observation.t_ns - k * 60 * MS for k in (2, 1, 0)]
        assert [sample.value * 30 * MS for sample in observation.history["eye"]] == at_ns
        assert [sample.t_ns for sample in observation.history["axis"]] == at_ns
        positions = [sample.value[0] for sample in observation.history["axis"]]
        assert positions == sorted(positions)
        assert observation.samples["axis"] == observation.history["axis"][-1]


def test_images_of_a_history_are_the_nearest_and_the_rest_is_exact_in_time() -> None:
    rig = started(ManualClock())
    seen: list[Observation] = []

    def policy(observation: Observation) -> Any:
        seen.append(observation)
        return np.zeros((2, 1))

    Runner(rig, policy, 0.1, n_obs=3, obs_dt_s=0.05).run(0.05)
    rig.stop()
    # Frames are 30 ms apart: 50 ms before frame k frame k - 2 is the nearest, 100 ms before it k - 3.
    k = seen[0].t_ns // (30 * MS)
    assert [sample.value for sample in seen[0].history["eye"]] == [k - 3, k - 2, k]
    assert [sample.age_ns for sample in seen[0].history["eye"]] == [-10 * MS, 10 * MS, 0]
    assert [sample.age_ns for sample in seen[0].history["axis"]] == [0, 0, 0]


def test_run_begins_when_the_history_is_long_enough() -> None:
    rig = simple_rig(ManualClock())
    with rig:
        decisions = Runner(rig, lambda observation: np.zeros((2, 1)), 0.1, n_obs=3).run(0.5)
    # The axis was first read at 2 ms, so the first frame with 200 ms before it is the one of 210 ms.
    assert decisions[0].anchor_ns == 210 * MS
    assert decisions[0].verdicts == ()


def test_frame_whose_history_has_a_hole_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    rig = started(ManualClock())
    eye = rig["eye"].device
    assert isinstance(eye, Eye)
    read = eye.read

    def lossy() -> Any:
        state = read()
        return read() if state.seq % 7 == 4 else state

    monkeypatch.setattr(eye, "read", lossy)
    rig.drive.run_for(0.5)
    seen: list[Observation] = []

    def policy(observation: Observation) -> Any:
        seen.append(observation)
        return np.zeros((2, 1))

    runner = Runner(rig, policy, 0.1, n_obs=2)
    runner.run(3.0)
    rig.stop()
    assert runner.counts["frame_missing"] > 0
    assert len(seen) >= 28
    assert max(abs(sample.age_ns) for observation in seen for sample in observation.history["eye"]) <= 18 * MS


def test_old_anchor_and_slow_inference_are_verdicts(caplog: pytest.LogCaptureFixture) -> None:
    rig = started(ManualClock())
    runner = Runner(rig, lambda observation: np.zeros((2, 1)), 0.1, inference_ns=lambda: 130 * MS, max_anchor_age_s=0.015)
    decisions = runner.run(1.95)
    rig.stop()
    assert {decision.verdicts for decision in decisions} == {("anchor_old", "inference_slow")}
    assert runner.counts["anchor_old"] == runner.counts["inference_slow"] == len(decisions) == 10
    slow = [line for line in caplog.messages if "slower" in line]
    assert slow[0] == "The policy was slower than its step in 1 turns (130.0 ms at worst, a step is 100.0 ms)"
    assert len(slow) == 2


def test_camera_that_stops_is_said_once_a_second(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    rig = started(ManualClock())
    eye = rig["eye"].device
    assert isinstance(eye, Eye)
    runner = Runner(rig, lambda observation: np.zeros((2, 1)), 0.1)
    runner.run(0.15)
    eye.k += 10**6
    runner.run(3.0)
    rig.stop()
    starved = [line for line in caplog.messages if line.startswith("No observation")]
    # It may be 20 ms of receive_latency and two steps old.
    assert starved[0].endswith("(220.0 ms allowed): no new frame of 'eye'")
    assert len(starved) == 3
    assert runner.counts["starved"] == 12


def test_everything_goes_on_while_the_policy_computes() -> None:
    rig = simple_rig(SystemClock())
    arrived = threading.Semaphore(0)
    waited: list[bool] = []

    def policy(observation: Observation) -> Any:
        if waited:
            raise OnbeatError("seen enough")
        axis = rig["axis"]
        axis.listeners.append(lambda reading: arrived.release())
        waited.append(all(arrived.acquire(timeout=30) for _ in range(10)))
        axis.listeners.clear()
        return np.zeros((2, 1))

    with rig:
        runner = Runner(rig, policy, 0.01, max_inference_s=60.0)
        with pytest.raises(OnbeatError, match="seen enough"):
            runner.run()
    assert waited == [True]
    # Ten readings are 5 ms apart, and the policy's step was 10 ms.
    assert runner.decisions[0].verdicts[-1] == "inference_slow"


def test_policy_that_never_returns_ends_the_run_and_the_loop_holds_at_the_end_of_the_plan() -> None:
    clock = SystemClock()
    rig = simple_rig(clock)
    release, ended = threading.Event(), threading.Event()
    turns: list[int] = []

    def policy(observation: Observation) -> Any:
        turns.append(1)
        if len(turns) == 2:
            release.wait(30)
            ended.set()
        return np.full((2, 1), 0.25)

    with rig:
        runner = Runner(rig, policy, 0.05, max_inference_s=1.0)
        with pytest.raises(OnbeatError, match=r"the policy has not answered for .* each module holds at the end of its plan"):
            runner.run()
        loop, plan = rig["axis"].loop, rig["axis"].plan
        assert loop is not None
        assert plan is not None
        before = loop.status().cycles
        rig.drive.run_until(max(clock.now_ns(), plan.end_ns) + 300 * MS)
        assert loop.status().cycles > before
        assert loop.status().error == ""
        newest_ns = rig["axis"].stream.newest_ns
        assert newest_ns is not None
        assert rig["axis"].stream.at(newest_ns).value[0] == 0.25
        with pytest.raises(OnbeatError, match="has not answered"):
            runner.run(0.1)
        release.set()
        assert ended.wait(5)
    # The answer that came after the end was not scheduled.
    assert len(runner.decisions) == 1


def test_numbers_of_a_history_that_make_no_sense_are_refused() -> None:
    rig = simple_rig(ManualClock())
    for n_obs, obs_dt_s in ((0, None), (2, 0.0), (2, -0.1)):
        with pytest.raises(BadInput, match="n_obs must be >= 1"):
            Runner(rig, lambda observation: None, 0.1, n_obs=n_obs, obs_dt_s=obs_dt_s)
    with pytest.raises(BadInput, match="max_inference_s"):
        Runner(rig, lambda observation: None, 0.1, max_inference_s=0.0)
