"""A rig without dynamics, for tests: an axis that is where it was told to be, and a camera that shows a number."""

from typing import Any

import numpy as np

from onbeat.clock import Clock
from onbeat.device import Command, DeviceInfo, DeviceState, ModuleConfig
from onbeat.loop import MemorySink
from onbeat.policy import Module, Rig

MS = 1_000_000
HOME = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0])


class Axis:
    """Reads take read_ns; `repeats` polls out of ten are answered from the cache."""

    def __init__(self, clock: Clock, read_ns: int = 2 * MS, repeats: int = 0) -> None:
        self.info = DeviceInfo("joints", 1, "rad", "test axis")
        self.sink = MemorySink(1, 4096)
        self.clock = clock
        self.read_ns = read_ns
        self.repeats = repeats
        self.polls = 0
        self.seq = 0
        self.position = 0.0
        self.calls: list[str] = []

    def connect(self) -> None:
        self.calls.append("connect")

    def read(self) -> DeviceState:
        for row in self.sink.drain():
            self.position = float(row["values"][0])
        self.polls += 1
        if self.polls % 10 >= self.repeats:
            self.seq += 1
        now_ns = self.clock.now_ns()
        return DeviceState(np.array([self.position]), now_ns, now_ns + self.read_ns, self.seq)

    def write(self, command: Command) -> None:
        self.calls.append("write")

    def hold(self) -> None:
        self.calls.append("hold")

    def close(self) -> None:
        self.calls.append("close")


class Eye:
    """A camera: frame k is exposed at k * 30 ms and arrives 20 ms later; its picture is k."""

    def __init__(self, clock: Clock) -> None:
        self.info = DeviceInfo("camera", 0, "", "test eye")
        self.clock = clock
        self.k = -1

    def connect(self) -> None: ...

    def read(self) -> DeviceState:
        now_ns = self.clock.now_ns()
        self.k = max(self.k + 1, (now_ns - 20 * MS) // (30 * MS) + 1)
        return DeviceState(self.k, now_ns, max(now_ns, self.k * 30 * MS + 20 * MS), self.k)

    def write(self, command: Command) -> None: ...
    def hold(self) -> None: ...
    def close(self) -> None: ...


def axis_config(**changes: Any) -> ModuleConfig:
    given: dict[str, Any] = {"rate_hz": 100.0, "poll_hz": 200.0, **changes}
    return ModuleConfig("axis", "test:Axis", **given)


def simple_rig(clock: Clock, **axis: Any) -> Rig:
    """A rig of one axis and one eye whose stamps are right once receive_latency is taken off."""
    modules = {
        "axis": Module(axis_config(**axis), Axis(clock), clock),
        "eye": Module(ModuleConfig("eye", "test:Eye", receive_latency=0.020), Eye(clock), clock),
    }
    return Rig(modules, clock)


class Tool:
    """A tool that is at HOME whatever it is told."""

    def __init__(self, clock: Clock) -> None:
        self.info = DeviceInfo("pose", 7, "m", "test tool")
        self.sink = MemorySink(7, 4096)
        self.clock = clock
        self.seq = 0

    def connect(self) -> None: ...

    def read(self) -> DeviceState:
        now_ns = self.clock.now_ns()
        self.seq += 1
        return DeviceState(HOME, now_ns, now_ns + 2 * MS, self.seq)

    def write(self, command: Command) -> None: ...
    def hold(self) -> None: ...
    def close(self) -> None: ...


def pose_rig(clock: Clock, **tool: Any) -> Rig:
    """A rig of one right arm that takes poses."""
    config = ModuleConfig("right_arm", "test:Tool", rate_hz=100.0, poll_hz=200.0, **tool)
    return Rig({"right_arm": Module(config, Tool(clock), clock)}, clock)
