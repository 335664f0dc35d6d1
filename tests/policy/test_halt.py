"""One module fails: all hold, and the error names module and reason, on threads and without."""

import threading

import numpy as np
import pytest

from onbeat.clock import Clock, ManualClock, SystemClock
from onbeat.device import Command, DeviceInfo, DeviceState, ModuleConfig
from onbeat.errors import DeviceError
from onbeat.motion import Waypoint
from onbeat.policy import Module, Rig, Runner
from onbeat.policy.halt import Halt
from tests.policy.simple_rig import MS, Eye


class Joint:
    """A Python-only device; `fault` is what it raises from the call that is named."""

    def __init__(self, clock: Clock) -> None:
        self.info = DeviceInfo("joints", 1, "rad", "joint")
        self.clock = clock
        self.fault: dict[str, BaseException] = {}
        self.calls: list[str] = []
        self.held = threading.Event()
        self.position = np.zeros(1)
        self.seq = 0

    def called(self, name: str) -> None:
        self.calls.append(name)
        if name in self.fault:
            raise self.fault[name]

    def connect(self) -> None:
        self.called("connect")

    def read(self) -> DeviceState:
        self.called("read")
        self.seq += 1
        now_ns = self.clock.now_ns()
        return DeviceState(self.position.copy(), now_ns, now_ns + MS, self.seq)

    def write(self, command: Command) -> None:
        self.called("write")
        self.position = command.target

    def hold(self) -> None:
        self.held.set()
        self.called("hold")

    def close(self) -> None:
        self.called("close")


def two_joints(clock: Clock) -> tuple[Rig, Joint, Joint]:
    left, right = Joint(clock), Joint(clock)
    configs = [ModuleConfig(name, "test:Joint", rate_hz=200.0, poll_hz=200.0) for name in ("left", "right")]
    modules = {c.name: Module(c, device, clock) for c, device in zip(configs, (left, right), strict=True)}
    modules["eye"] = Module(ModuleConfig("eye", "test:Eye", receive_latency=0.02), Eye(clock), clock)
    return Rig(modules, clock), left, right


def test_read_that_fails_stops_all_loops_and_holds_all() -> None:
    clock = ManualClock()
    rig, left, right = two_joints(clock)
    with rig:
        rig["right"].schedule_j([Waypoint(1_000 * MS, np.ones(1))])
        rig.drive.run_until(100 * MS)
        left.fault["read"] = DeviceError("the bus is gone")
        with pytest.raises(DeviceError, match="module 'left' stopped: the bus is gone; all modules hold"):
            rig.drive.run_until(200 * MS)
        assert left.calls[-1] == right.calls[-1] == "hold"
        sent = right.calls.count("write")
        rig.drive.run_until(500 * MS)
        assert right.calls.count("write") == sent
        with pytest.raises(DeviceError, match="module 'left' stopped"):
            Runner(rig, lambda observation: np.zeros((2, 1)), 0.1).run(0.1)
    with pytest.raises(DeviceError, match="the bus is gone; all modules hold; find the reason, then load the rig anew"):
        rig.start()


@pytest.mark.parametrize("call", ["read", "write"])
def test_failure_on_a_thread_holds_at_once_without_a_caller(call: str) -> None:
    clock = SystemClock()
    rig, left, right = two_joints(clock)
    with rig:
        left.fault[call] = ValueError("no answer")
        # Nobody drives the rig here: the modules hold all the same.
        assert right.held.wait(5)
        with pytest.raises(DeviceError, match=r"module 'left' stopped: .*ValueError: no answer; all modules hold"):
            rig.drive.run_for(5)
        assert left.held.is_set()
        right_loop = rig["right"].loop
        assert right_loop is not None
        assert not right_loop.status().running
    assert left.calls[-1] == right.calls[-1] == "close"


def test_runner_ends_with_the_module_and_the_reason() -> None:
    clock = SystemClock()
    rig, left, right = two_joints(clock)

    def policy(observation: object) -> dict[str, object]:
        left.fault["write"] = DeviceError("overload")
        return {"left": np.ones((4, 1)), "right": np.ones((4, 1))}

    with rig, pytest.raises(DeviceError, match="module 'left' stopped: the device refused a target: overload; all modules hold"):
        Runner(rig, policy, 0.1).run(10)
    assert right.held.is_set()


def test_device_that_cannot_hold_does_not_keep_the_others_from_it() -> None:
    clock = ManualClock()
    rig, left, right = two_joints(clock)
    rig.start()
    left.fault = {name: DeviceError("dead") for name in ("read", "hold", "close")}
    with pytest.raises(DeviceError, match="module 'left' stopped: dead; all modules hold; module 'left' could not be held: dead"):
        rig.drive.run_until(100 * MS)
    rig.stop()
    assert "close" in left.calls
    assert right.calls[-2:] == ["hold", "close"]


def test_first_of_two_failures_is_kept() -> None:
    rig, _, _ = two_joints(ManualClock())
    with rig:
        halt = Halt(rig.modules)
        first, second = halt.stop("left", "the bus is gone"), halt.stop("right", "overload")
        assert "'left'" in str(first)
        assert "'right'" in str(second)
        assert halt.error is first


def test_failure_while_letting_go_is_said_after_all_have_been_let_go() -> None:
    clock = ManualClock()
    rig, left, right = two_joints(clock)
    rig.start()
    left.fault = {"hold": DeviceError("jammed")}
    with pytest.raises(DeviceError, match="module 'left' did not close: jammed"):
        rig.stop()
    assert left.calls[-1] == right.calls[-1] == "close"
    rig.stop()


@pytest.mark.parametrize("call", ["hold", "close"])
def test_a_second_ctrl_c_ends_the_waiting_and_not_the_holding(call: str) -> None:
    clock = ManualClock()
    rig, left, right = two_joints(clock)
    rig.start()
    left.fault[call] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        rig.stop()
    assert left.calls[-2:] == ["hold", "close"]
    assert right.calls[-2:] == ["hold", "close"]


def test_a_ctrl_c_while_loops_stop_holds_all(monkeypatch: pytest.MonkeyPatch) -> None:
    rig, left, right = two_joints(ManualClock())
    rig.start()
    asked = []

    def stop() -> None:
        asked.append("stop")
        if len(asked) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(rig["left"].loop, "stop", stop)
    with pytest.raises(KeyboardInterrupt):
        rig.stop()
    assert left.calls[-2:] == ["hold", "close"]
    assert right.calls[-2:] == ["hold", "close"]


@pytest.mark.parametrize("call", ["hold", "close"])
def test_a_driver_that_wants_to_end_the_process_does_not_keep_the_others_from_holding(call: str) -> None:
    rig, left, right = two_joints(ManualClock())
    rig.start()
    left.fault[call] = SystemExit(1)
    with pytest.raises(DeviceError, match="SystemExit"):
        rig.stop()
    assert left.calls[-2:] == ["hold", "close"]
    assert right.calls[-2:] == ["hold", "close"]


def test_nothing_is_wrong_while_all_loops_run() -> None:
    clock = ManualClock()
    rig, _, _ = two_joints(clock)
    with rig:
        halt = Halt(rig.modules)
        assert halt.watch(5) > 5
        assert halt.error is None
        assert rig.error is None
