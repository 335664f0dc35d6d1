"""A device whose truth is known by design: a dead time and a lag a joint, solved step by step; nothing of the estimators."""

from collections import deque
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.clock import Clock, ManualClock
from onbeat.device import Command, DeviceInfo, DeviceState, ModuleConfig
from onbeat.errors import DeviceError
from onbeat.loop import MemorySink
from onbeat.policy import Module, Rig

S, MS = 1_000_000_000, 1_000_000


class SoftAxis:
    """Joints in rad, told by `write`. A read takes read_s, and the sample is taken at `share` of it.

    params: dead_s, lag_s, read_s, share, width; stamps "none", "ours" or "own" (a clock that begins elsewhere and runs 40 ppm
    fast); repeats: polls out of ten that bring nothing new; fails_after: reads that work; silent_after:
    reads after which the last one comes again.
    """

    def __init__(self, config: ModuleConfig, clock: Clock) -> None:
        given: dict[str, Any] = {"dead_s": 0.02, "lag_s": 0.03, "read_s": 0.002, "share": 0.5, "width": 1, "stamps": "none"}
        given |= {"repeats": 0, "fails_after": 10**9, "silent_after": 10**9, **config.params}
        self.dead_ns, self.lag_s = round(given["dead_s"] * S), float(given["lag_s"])
        self.read_ns, self.share = round(given["read_s"] * S), float(given["share"])
        self.stamps, self.repeats, self.fails_after = given["stamps"], given["repeats"], given["fails_after"]
        self.silent_after = given["silent_after"]
        width = int(given["width"])
        self.info = DeviceInfo("joints", width, "rad", "lagged axis")
        self._sink = MemorySink(width, 16384)
        self.clock = clock
        self.calls: list[str] = []
        self.sent: list[tuple[int, NDArray[np.float64]]] = []
        self.seq = self.polls = 0
        self._rng = np.random.default_rng(5)
        self._told: deque[tuple[int, NDArray[np.float64]]] = deque()
        self._goal = self._position = np.zeros(width)
        self._at_ns = clock.now_ns()
        self._last: DeviceState | None = None

    def connect(self) -> None:
        self.calls.append("connect")

    def read(self) -> DeviceState:
        self.polls += 1
        if self.polls > self.fails_after:
            raise DeviceError("the cable came off")
        begin_ns = self.clock.now_ns()
        # Up to a fifth longer, now and then much longer; the sample never depends on what is still to be sent.
        last_ns = round(self.read_ns * (1 + 0.2 * self._rng.random()))
        sample_ns = begin_ns + round(self.share * last_ns)
        if not isinstance(self.clock, ManualClock):
            self.clock.sleep_until_ns(begin_ns + last_ns)
        if self._last is not None and (self.polls % 10 < self.repeats or self.polls > self.silent_after):
            return DeviceState(self._last.value, begin_ns, begin_ns + last_ns, self._last.seq)
        self.seq += 1
        value = self._state(sample_ns)
        stamp = {"none": {}, "ours": {"sample_ns": sample_ns}, "own": self._own(sample_ns)}[self.stamps]
        self._last = DeviceState(value, begin_ns, begin_ns + last_ns, self.seq, **stamp)
        return self._last

    def write(self, command: Command) -> None:
        self._tell(self.clock.now_ns(), np.array(command.target))

    def hold(self) -> None:
        self.calls.append("hold")

    def close(self) -> None:
        self.calls.append("close")

    @staticmethod
    def _own(t_ns: int) -> dict[str, Any]:
        return {"sample_ns": 77 * S + t_ns + t_ns * 40 // 1_000_000, "sample_clock": "axis"}

    def _state(self, t_ns: int) -> NDArray[np.float64]:
        for row in self._sink.drain():
            self._tell(int(row["sent_ns"]), np.array(row["values"], dtype=np.float64))
        while self._told and self._told[0][0] <= t_ns:
            effect_ns, goal = self._told.popleft()
            self._move(effect_ns)
            self._goal = goal
        self._move(t_ns)
        return np.array(self._position)

    def _tell(self, sent_ns: int, value: NDArray[np.float64]) -> None:
        self.sent.append((sent_ns, value))
        self._told.append((sent_ns + self.dead_ns, value))

    def _move(self, t_ns: int) -> None:
        decay = np.exp(-max(t_ns - self._at_ns, 0) / S / self.lag_s)
        self._position = self._goal + (self._position - self._goal) * decay
        self._at_ns = max(t_ns, self._at_ns)


class LaggedAxis(SoftAxis):
    """The same, told through a native sink."""

    @property
    def sink(self) -> MemorySink:
        return self._sink


def axis_rig(
    clock: Clock,
    params: dict[str, Any] | None = None,
    module: type[Module] = Module,
    device: type[SoftAxis] = LaggedAxis,
    **changes: Any,
) -> Rig:
    """A rig of one such device, read at a rate that is not in step with sending."""
    given: dict[str, Any] = {"rate_hz": 250.0, "poll_hz": 173.0, "params": params or {}, **changes}
    config = ModuleConfig("axis", "tests.calibrate.lagged_axis:LaggedAxis", **given)
    return Rig({"axis": module(config, device(config, clock), clock)}, clock)
