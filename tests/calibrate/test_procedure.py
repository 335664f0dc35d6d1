"""Procedures on rigs whose response can be worked out by hand, and the camera's on the simulated one."""

from collections import deque

import numpy as np
import pytest

from onbeat.calibrate.procedure import (
    Travel,
    measure_action_latency,
    measure_camera,
    measure_max_speed,
    measure_receive_latency,
)
from onbeat.clock import ManualClock
from onbeat.device import DeviceState, ModuleConfig
from onbeat.device.scene import RestingCup
from onbeat.device.simulated import World
from onbeat.errors import BadInput
from onbeat.policy import Module, Rig
from tests.policy.simple_rig import MS, Axis, axis_config

TRAVEL = Travel(np.zeros(1), np.array([0.8]), 0.25, (1.5, 3.0, 6.0))


class SlowAxis(Axis):
    """Goes to what it was told 50 ms ago, at `speed` at most; where it is shows at the beginning of a read."""

    def __init__(self, clock: ManualClock, speed: float) -> None:
        super().__init__(clock)
        self.speed = speed
        self.told: deque[tuple[int, float]] = deque()
        self.goal = 0.0
        self.at_ns = clock.now_ns()

    def read(self) -> DeviceState:
        now_ns = self.clock.now_ns()
        self.told.extend((int(row["sent_ns"]) + 50 * MS, float(row["values"][0])) for row in self.sink.drain())
        while self.told and self.told[0][0] <= now_ns:
            effect_ns, goal = self.told.popleft()
            self._move(effect_ns)
            self.goal = goal
        self._move(now_ns)
        self.seq += 1
        return DeviceState(np.array([self.position]), now_ns, now_ns + self.read_ns, self.seq)

    def _move(self, t_ns: int) -> None:
        most = self.speed * (t_ns - self.at_ns) * 1e-9
        self.position += float(np.clip(self.goal - self.position, -most, most))
        self.at_ns = t_ns


def slow_rig(speed: float) -> Rig:
    clock = ManualClock()
    # Polls that are not in step with the sends see them at every age.
    rig = Rig({"axis": Module(axis_config(poll_hz=173.0), SlowAxis(clock, speed), clock)}, clock)
    rig.start()
    return rig


def test_read_latency_is_half_of_the_read() -> None:
    rig = slow_rig(10.0)
    result = measure_receive_latency(rig, ("axis",))["axis"]
    rig.stop()
    assert result.accepted
    assert result.value == pytest.approx(0.001)


def test_speed_of_a_run_that_is_not_followed_is_measured() -> None:
    rig = slow_rig(2.0)
    result = measure_max_speed(rig, {"axis": TRAVEL})["axis"]
    rig.stop()
    assert result.accepted
    assert result.value == pytest.approx(2.0, rel=0.02)


def test_axis_that_follows_everything_has_no_speed_limit_to_write() -> None:
    rig = slow_rig(50.0)
    result = measure_max_speed(rig, {"axis": TRAVEL})["axis"]
    rig.stop()
    assert not result.accepted
    assert "lower bound" in result.reason


def test_action_latency_is_the_delay_and_half_of_the_hold() -> None:
    rig = slow_rig(1000.0)
    receive = measure_receive_latency(rig, ("axis",))
    rig["axis"].receive_latency_s = 0.001
    result = measure_action_latency(rig, {"axis": TRAVEL}, {"axis": 10.0}, receive)["axis"]
    rig.stop()
    # 50 ms, half of a send period of 10 ms, and 1 ms because this axis samples at the beginning of a read of 2 ms.
    assert result.accepted
    assert result.quantity == "action_latency"
    assert result.value == pytest.approx(0.056, abs=0.0005)
    assert result.ci95 is not None
    assert receive["axis"].ci95 is not None
    assert result.ci95 >= receive["axis"].ci95


def test_sweep_is_sized_by_the_speed_limit_before_anything_moves() -> None:
    rig = slow_rig(10.0)
    receive = measure_receive_latency(rig, ("axis",))
    result = measure_action_latency(rig, {"axis": TRAVEL}, {"axis": 0.5}, receive)["axis"]
    rig.stop()
    assert result.conditions["amplitude"] == pytest.approx(0.5 * 0.5 / (2 * np.pi * 1.25))


def test_speed_that_is_no_number_is_refused_before_anything_moves() -> None:
    rig = slow_rig(10.0)
    receive = measure_receive_latency(rig, ("axis",))
    axis = rig["axis"].device
    with pytest.raises(BadInput):
        measure_action_latency(rig, {"axis": TRAVEL}, {"axis": float("nan")}, receive)
    rig.stop()
    assert isinstance(axis, SlowAxis)
    assert axis.position == 0.0


@pytest.mark.parametrize("covered", [False, True])
def test_camera_is_measured_by_codes_or_refused(covered: bool) -> None:
    clock = ManualClock()
    world = World(11, clock, RestingCup(), fast=True)
    rig = Rig({"camera": Module(ModuleConfig("camera", "x:Y"), world.camera, clock)}, clock)
    rig.start()
    world.camera.look_at("screen")
    world.camera.cover(covered)
    rig.drive.run_for(0.3)
    shares: list[float] = []
    measured = measure_camera(rig, "camera", world.screen, np.random.default_rng(4), tell=shares.append)
    rig.stop()
    assert shares[-1] == 1.0
    assert measured.frames > 170
    if covered:
        assert measured.frames_read == 0
        assert measured.result.reason.startswith("no code in view: 0 of")
    else:
        truth = world.ledger.truth()["camera"]["receive_latency"]
        assert measured.result.accepted
        assert measured.result.value == pytest.approx(truth, abs=0.004)
