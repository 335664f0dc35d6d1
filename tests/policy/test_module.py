import logging

import numpy as np
import pytest

from onbeat.clock import ManualClock
from onbeat.device import DeviceState
from onbeat.errors import BadInput, ClockMismatch
from onbeat.motion import Waypoint
from onbeat.policy import Module, Rig
from tests.policy.simple_rig import HOME, MS, Axis, axis_config, pose_rig, simple_rig


def test_reading_is_stamped_when_it_was_true() -> None:
    clock = ManualClock()
    rig = simple_rig(clock, receive_latency=0.001)
    with rig, rig["axis"].collect() as readings:
        rig.drive.run_until(100 * MS)
    stamp = readings[0].stamp
    assert stamp.receive_ns - stamp.capture_ns == 1 * MS
    assert stamp.corrected
    # Polled at 200 Hz from 0 on; each read takes 2 ms and is published when it has arrived.
    assert [reading.stamp.receive_ns for reading in list(readings)[:3]] == [2 * MS, 7 * MS, 12 * MS]
    assert rig["axis"].stream.newest_ns == readings[-1].stamp.capture_ns


def test_cached_reading_gets_no_new_stamp() -> None:
    clock = ManualClock()
    axis = Axis(clock, repeats=3)
    rig = Rig({"axis": Module(axis_config(), axis, clock)}, clock)
    with rig, rig["axis"].collect() as readings:
        rig.drive.run_until(1_000 * MS)
    # Polls 2 to 201 were published; of them 10, 11, 12, 20, ... 192, 200 and 201 were answered from the cache.
    assert rig["axis"].repeated == 19 * 3 + 2
    assert [reading.state.seq for reading in readings] == sorted({reading.state.seq for reading in readings})


def test_waypoint_is_sent_its_action_latency_early() -> None:
    clock = ManualClock()
    rig = simple_rig(clock, action_latency=0.050)
    with rig:
        outcomes = rig["axis"].schedule_j([Waypoint(200 * MS, np.array([1.0])), Waypoint(300 * MS, np.array([2.0]))])
        rig.drive.run_until(400 * MS)
        loop = rig["axis"].loop
        assert loop is not None
        plan = rig["axis"].plan
    assert [outcome.kind for outcome in outcomes] == ["kept", "kept"]
    assert plan is not None
    assert plan.lead_ns == 50 * MS
    assert plan.times_ns.tolist() == [0, 150 * MS, 250 * MS]


def test_sweep_runs_without_lead_and_without_limit() -> None:
    clock = ManualClock()
    rig = simple_rig(clock, action_latency=0.050, max_speed=0.1)
    with rig:
        rig["axis"].schedule_j([Waypoint(200 * MS, np.array([1.0]))], compensate=False, limit=False)
        plan = rig["axis"].plan
    assert plan is not None
    assert plan.times_ns.tolist() == [0, 200 * MS]


def test_late_waypoint_is_logged_with_how_late(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    rig = simple_rig(clock)
    with rig, caplog.at_level(logging.INFO, "onbeat"):
        rig.drive.run_until(100 * MS)
        rig["axis"].schedule_j([Waypoint(60 * MS, np.array([1.0])), Waypoint(300 * MS, np.array([2.0]))])
    assert "Module 'axis': dropping 1 late SCHEDULE_J (40.0 ms late)" in caplog.messages


def test_clamped_waypoint_is_logged_in_the_words_that_users_watch_for(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    rig = pose_rig(clock)
    with rig, caplog.at_level(logging.INFO, "onbeat"):
        rig.drive.run_until(300 * MS)
        late = Waypoint(116_600_000, np.array([0.01, 0, 0, 1, 0, 0, 0]))
        outcomes = rig["right_arm"].schedule_l([late, Waypoint(400 * MS, HOME)], late="clamp")
        plan = rig["right_arm"].plan
    assert caplog.messages == ["Module 'right_arm': clamping late SCHEDULE_L (183.4 ms late)"]
    assert [outcome.kind for outcome in outcomes] == ["late", "kept"]
    assert plan is not None
    # One period of 100 Hz after now.
    assert plan.times_ns.tolist() == [300 * MS, 310 * MS, 400 * MS]
    assert plan.kind == "pose"


def test_clamping_counts_the_lead_and_drops_what_came_before(caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    rig = simple_rig(clock, action_latency=0.050)
    with rig, caplog.at_level(logging.INFO, "onbeat"):
        rig.drive.run_until(100 * MS)
        rig["axis"].schedule_j([Waypoint(60 * MS, np.array([1.0])), Waypoint(130 * MS, np.array([2.0]))], late="clamp")
    assert caplog.messages == [
        "Module 'axis': clamping late SCHEDULE_J (20.0 ms late)",
        "Module 'axis': dropping 1 late SCHEDULE_J (90.0 ms late)",
    ]


def test_pose_is_limited_in_speed_and_in_turning() -> None:
    clock = ManualClock()
    rig = pose_rig(clock, max_speed=0.5)
    module = rig["right_arm"]
    module.max_angular_speed = 1.0
    quarter = np.array([0.1, 0, 0, np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    with rig:
        outcomes = module.schedule_l([Waypoint(100 * MS, quarter)])
        unlimited = module.schedule_l([Waypoint(110 * MS, quarter)], limit=False)
    # A quarter turn at 1 rad/s; 0.1 m at 0.5 m/s would be there after 200 ms.
    assert outcomes[0].by_ns == pytest.approx(np.pi / 2 * 1e9 - 100 * MS, abs=1)
    assert unlimited[0].by_ns == 0


def test_module_takes_poses_or_joints_and_says_which() -> None:
    rig, poses = simple_rig(ManualClock()), pose_rig(ManualClock())
    with rig, pytest.raises(BadInput, match="'axis' takes joints; use schedule_j"):
        rig["axis"].schedule_l([Waypoint(1 * MS, HOME)])
    with poses, pytest.raises(BadInput, match="'right_arm' takes poses; use drive_l"):
        poses["right_arm"].drive_j(HOME.tolist())


def test_newest_target_is_driven_to_within_max_speed() -> None:
    clock = ManualClock()
    rig = simple_rig(clock, max_speed=2.0)
    axis = rig["axis"]
    with rig, axis.collect() as readings:
        axis.schedule_j([Waypoint(100 * MS, np.array([-0.2])), Waypoint(900 * MS, np.array([0.5]))], compensate=False)
        rig.drive.run_until(50 * MS)
        outcomes = axis.drive_j([1.0])
        # From -0.1 to 1.0 at 2 rad/s: 550 ms after now, 540 ms after the next period.
        assert axis.plan is not None
        assert axis.plan.times_ns.tolist() == [50 * MS, 600 * MS]
        assert [(o.kind, o.by_ns) for o in outcomes] == [("stretched", 540 * MS)]
        assert [o.due_ns for o in outcomes.tail] == [100 * MS, 900 * MS]
        rig.drive.run_until(300 * MS)
        axis.drive_j([0.0])
        assert axis.plan.times_ns.tolist() == [300 * MS, 500 * MS]
        rig.drive.run_until(700 * MS)
    positions = np.array([reading.value[0] for reading in readings])
    assert positions.max() == pytest.approx(0.4, abs=0.03)
    assert positions[-1] == 0.0
    assert np.abs(np.diff(positions)).max() <= 2.0 * 0.010 + 1e-9


def test_target_driven_to_again_changes_nothing() -> None:
    clock = ManualClock()
    rig = simple_rig(clock, max_speed=2.0)
    with rig:
        rig["axis"].drive_j([1.0])
        first = rig["axis"].plan
        for now_ms in range(13, 490, 13):
            rig.drive.run_until(now_ms * MS)
            rig["axis"].drive_j([1.0])
        plan = rig["axis"].plan
    assert first is not None
    assert plan is not None
    assert plan.end_ns == first.end_ns == 500 * MS
    assert float(plan.velocity_at_ns(490 * MS)[0]) == pytest.approx(2.0, abs=1e-6)


def test_pose_driven_to() -> None:
    rig = pose_rig(ManualClock(), max_speed=0.5)
    with rig:
        outcomes = rig["right_arm"].drive_l([0.1, 0, 0, 1, 0, 0, 0])
    assert outcomes[0].by_ns == 190 * MS


def test_target_out_of_range_is_logged_as_rejected(caplog: pytest.LogCaptureFixture) -> None:
    rig = simple_rig(ManualClock(), upper=0.5)
    with rig, caplog.at_level(logging.INFO, "onbeat"):
        rig["axis"].drive_j([0.9])
    assert caplog.messages == ["Module 'axis': rejecting 1 DRIVE_J, out of range or too fast"]


def test_plan_that_does_not_change_is_not_replaced() -> None:
    clock = ManualClock()
    rig = simple_rig(clock)
    waypoints = [Waypoint(200 * MS, np.array([1.0])), Waypoint(300 * MS, np.array([2.0]))]
    with rig:
        loop = rig["axis"].loop
        assert loop is not None
        for now_ms in (50, 100, 250):
            rig["axis"].schedule_j(waypoints)
            rig.drive.run_until(now_ms * MS)
        assert set(loop.records()["plan"].tolist()) == {1}


def test_motion_arrives_at_the_device_on_the_beat() -> None:
    clock = ManualClock()
    rig = simple_rig(clock)
    with rig, rig["axis"].collect() as readings:
        rig["axis"].move_to([1.0], 0.2)
        rig.drive.run_until(300 * MS)
    at = {reading.state.begin_ns: float(reading.value[0]) for reading in readings}
    assert at[100 * MS] == pytest.approx(0.5, abs=0.06)
    assert at[295 * MS] == 1.0


def test_target_outside_the_range_is_rejected_and_nothing_moves() -> None:
    clock = ManualClock()
    rig = simple_rig(clock, lower=-0.5, upper=0.5)
    with rig:
        outcomes = rig["axis"].schedule_j([Waypoint(200 * MS, np.array([0.9]))])
        plan = rig["axis"].plan
    assert [outcome.kind for outcome in outcomes] == ["rejected"]
    assert plan is not None
    assert len(plan.times_ns) == 1


def test_module_that_is_not_started_takes_no_waypoints() -> None:
    rig = simple_rig(ManualClock())
    with pytest.raises(BadInput, match="'axis' is not started"):
        rig["axis"].schedule_j([Waypoint(1, np.array([0.0]))])
    with pytest.raises(BadInput, match="'eye' takes no commands"):
        rig["eye"].schedule_j([Waypoint(1, np.array([0.0]))])


def test_interval_of_samples_is_the_devices_own_whatever_was_lost() -> None:
    clock = ManualClock()
    rig = simple_rig(clock)
    assert rig["eye"].sample_ns is None
    with rig:
        rig.drive.run_until(500 * MS)
    assert rig["eye"].sample_ns == 30 * MS
    assert rig["axis"].sample_ns == 5 * MS


class _Still:
    """A clock that is not stepped by the rig."""

    id = "robot"

    def now_ns(self) -> int:
        return 1_000_000 * MS

    def sleep_until_ns(self, t_ns: int) -> None: ...


@pytest.mark.parametrize(("off_ns", "says"), [(1_700_000_000_000 * MS, "ahead of"), (-1_000_000 * MS, "behind")])
def test_a_reading_stamped_on_another_clock_is_refused(off_ns: int, says: str) -> None:
    clock = _Still()
    axis = Axis(clock, read_ns=0)
    module = Module(axis_config(), axis, clock)
    read = axis.read

    def foreign() -> DeviceState:
        state = read()
        return DeviceState(state.value, state.begin_ns + off_ns, state.receive_ns + off_ns, state.seq)

    axis.read = foreign  # type: ignore[method-assign]
    with pytest.raises(ClockMismatch, match=rf"reading 1 is stamped .* s {says} clock 'robot'; stamp readings with the clock"):
        module.step(clock.now_ns())


def test_a_reading_from_a_driver_s_cache_may_be_old() -> None:
    clock = _Still()
    module = Module(axis_config(), Axis(clock, read_ns=0), clock)
    now_ns = clock.now_ns()
    assert module.step(module.step(now_ns)) > now_ns
    module.device.read = lambda: DeviceState(np.zeros(1), 0, 0, 1)  # type: ignore[method-assign]
    module.step(now_ns)
