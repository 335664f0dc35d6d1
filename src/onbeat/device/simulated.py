"""A simulated rig: an arm and a gripper behind buses, a camera, a screen, and a ledger of what was true."""

import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onbeat._core import MemorySink
from onbeat.clock import Clock, ManualClock
from onbeat.device.device import Command, DeviceInfo, DeviceState
from onbeat.device.ledger import Ledger
from onbeat.device.plant import LONGEST_READ, Plant, PlantParameters, draw_arm, draw_gripper
from onbeat.device.scene import Cup, Screen
from onbeat.device.seeded import HasParams, Seeded, child_rng, seed_of
from onbeat.device.simulated_camera import CameraBench, SimulatedCamera, draw_camera
from onbeat.errors import BadInput, DeviceError, NotYet
from onbeat.motion.kinematics import inverse

__all__ = ("DrainSink", "ServoBench", "SimulatedArm", "SimulatedGripper", "World")

HOME_TOOL_M = (0.25, 0.0, 0.15)
HOME_OPENING_M, WIDEST_M = 0.04, 0.12
SINK_CAPACITY = 16384
_STALE_SHARE = 0.03
_SHORTEST_READ = 0.8
_STAMP_STEP_NS = 100_000


class DrainSink(Protocol):
    """The end of a native send loop that a simulated device hangs on."""

    @property
    def dropped(self) -> int:
        """Commands that did not fit."""
        ...

    def drain(self) -> NDArray[Any]:
        """Take what was sent since: a structured array with sequence, sent_ns, t_eff_ns and values (width,)."""
        ...


def _memory_sink(width: int) -> DrainSink:
    """Give the native sink that keeps commands in memory with their instants of sending."""
    return MemorySink(width, SINK_CAPACITY)


class ServoBench:
    """A plant behind its sink, and the log of its readings; may be used from any thread.

    Args:
        plant: The motion.
        sink: Where the native loop's commands arrive.
        clock: Of the world.
        reach: Lowest and highest goal that the servos take.
        rng: Draws transactions, in the order of reads.
    """

    def __init__(self, plant: Plant, sink: DrainSink, clock: Clock, reach: tuple[float, float], rng: np.random.Generator) -> None:
        self.sink = sink
        self.parameters: PlantParameters = plant.parameters
        self._plant = plant
        self._clock = clock
        self._reach = reach
        self._rng = rng
        self._lock = threading.Lock()
        self._fresh = 0
        self._behind_ns = 0

    @property
    def max_speed(self) -> float:
        """The speed limit, unit/s."""
        return self.parameters.max_speed

    def state_at_many(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the true state, shape (n, width).

        Raises:
            NotYet: an instant further ahead than the dead time, where commands to come still count.
            DeviceError: commands were lost before they reached the plant.
        """
        with self._lock:
            ahead_ns = int(np.max(t_ns, initial=-(1 << 62))) - self._clock.now_ns()
            if ahead_ns >= self.parameters.dead_s * 1e9:
                raise NotYet(f"the state {ahead_ns * 1e-6:.1f} ms from now depends on commands to come; ask later")
            self._pull()
            return self._plant.at_many(t_ns)

    def write(self, target: NDArray[np.float64]) -> None:
        """Send one goal now."""
        with self._lock:
            self._pull()
            self._plant.feed([self._clock.now_ns()], [np.clip(target, *self._reach).tolist()])

    def transaction(self, begin_ns: int) -> tuple[int, int, bool]:
        """Draw one read: the instant of its sample, its stamp, and whether a cached sample answered it."""
        with self._lock:
            share, at, jitter, stale = self._rng.random(4).tolist()
            last_ns = round(self.parameters.read_s * 1e9 * (_SHORTEST_READ + share * (LONGEST_READ - _SHORTEST_READ)))
            stamp_ns = begin_ns + last_ns + round((2 * jitter - 1) * _STAMP_STEP_NS)
            stamp_ns = max(begin_ns, round(stamp_ns / _STAMP_STEP_NS) * _STAMP_STEP_NS)
            sample_ns = begin_ns + round(at * last_ns)
            is_stale = stale < _STALE_SHARE and self._fresh > 0
            if not is_stale:
                self._fresh += 1
                self._behind_ns += stamp_ns - sample_ns
            return sample_ns, stamp_ns, is_stale

    def action_latency_s(self) -> float:
        """Give the shift of a slow motion from sending, as it was."""
        with self._lock:
            self._pull()
            self._plant.at_many(np.array([self._clock.now_ns()]))
            return self._plant.latency_s

    def receive_latency_s(self) -> float:
        """Give the mean time from sample to stamp of the fresh readings, as it was; nominal before there are any."""
        with self._lock:
            return self._behind_ns / self._fresh * 1e-9 if self._fresh else self.parameters.read_s / 2

    def _pull(self) -> None:
        packets = self.sink.drain()
        if self.sink.dropped:
            raise DeviceError(f"{self.sink.dropped} commands did not fit into the sink; read the device while the loop runs")
        if len(packets):
            values, (low, high) = packets["values"], self._reach
            good = np.isfinite(values).all(axis=1)
            self._plant.feed(packets["sent_ns"][good].tolist(), np.minimum(np.maximum(values[good], low), high).tolist())


class _Servos:
    """Read, write and hold for the joints behind one bus; what SimulatedArm and SimulatedGripper share."""

    def __init__(self, name: str, bench: ServoBench, clock: Clock, fast: bool) -> None:
        self._name = name
        self._bench = bench
        self._clock = clock
        self._fast = fast
        self._connected = False
        self._last: tuple[NDArray[np.float64], int] | None = None

    def open(self, connected: bool) -> None:
        self._connected = connected

    def read(self) -> DeviceState:
        self._require()
        begin_ns = self._clock.now_ns()
        sample_ns, stamp_ns, stale = self._bench.transaction(begin_ns)
        if not self._fast:
            self._clock.sleep_until_ns(stamp_ns)
        if self._last is None or not stale:
            count = self._bench.parameters.count
            value = np.round(self._bench.state_at_many(np.array([sample_ns]))[0] / count) * count
            value.flags.writeable = False
            self._last = (value, 0 if self._last is None else self._last[1] + 1)
        return DeviceState(self._last[0], begin_ns, stamp_ns, self._last[1])

    def write(self, command: Command) -> None:
        self._require()
        target = np.asarray(command.target, dtype=np.float64)
        width = self._bench.parameters.width
        if target.shape != (width,) or not np.isfinite(target).all():
            raise BadInput(f"a target of the {self._name} must be {width} finite number(s), not {target}")
        self._bench.write(target)

    def hold(self) -> None:
        self._require()
        self._bench.write(self._bench.state_at_many(np.array([self._clock.now_ns()]))[0])

    def _require(self) -> None:
        if not self._connected:
            raise DeviceError(f"the simulated {self._name} is not connected; call connect first")


def _bench(module: str, seed: int, clock: Clock, make_sink: Callable[[int], DrainSink]) -> ServoBench:
    draws, motion, reads = child_rng(seed, module).spawn(3)
    if module == "arm":
        parameters, home, reach = draw_arm(draws, seed == 0), inverse(HOME_TOOL_M), (-np.pi, np.pi)
    else:
        parameters, home, reach = draw_gripper(draws, seed == 0), np.array([HOME_OPENING_M]), (0.0, WIDEST_M)
    first_tick_ns = clock.now_ns() + round(motion.uniform(0, parameters.bus_period_s * 1e9))
    return ServoBench(Plant(parameters, home, first_tick_ns, motion), make_sink(parameters.width), clock, reach, reads)


class SimulatedArm:
    """A SinkDevice: six joints in rad behind a bus, at rest at home (tool at 0.25, 0, 0.15 m, pointing down) until commanded.

    A read is one transaction; its sample is taken somewhere inside it, rounded to encoder counts, its stamp rounded to
    0.1 ms. A few polls are answered from the cache: the sample and `seq` of the read before, with new stamps.
    On a manual clock `read` does not wait: the stamp, and the sample, lie up to a transaction ahead. Commands sent
    until then cannot show in the sample, because the dead time is longer than any transaction.

    Args:
        config: Of the module; `params["seed"]` (default 0) decides what it is.
        clock: Of the world.
        bench: The plant behind it; built from the seed when none is given.
        fast: Do not wait; by default when the clock is a manual one.
    """

    def __init__(self, config: HasParams, clock: Clock, *, bench: ServoBench | None = None, fast: bool | None = None) -> None:
        self._bench = _bench("arm", seed_of(config), clock, _memory_sink) if bench is None else bench
        self._servos = _Servos("arm", self._bench, clock, isinstance(clock, ManualClock) if fast is None else fast)

    @property
    def info(self) -> DeviceInfo:
        """What the device is."""
        return DeviceInfo("joints", self._bench.parameters.width, "rad", "simulated six-joint arm")

    @property
    def sink(self) -> Any:
        """The native sink that a send loop writes to."""
        return self._bench.sink

    def connect(self) -> None:
        """Open the bus."""
        self._servos.open(True)

    def read(self) -> DeviceState:
        """Read the joints in rad, shape (6,); raises DeviceError when not connected or when commands were lost."""
        return self._servos.read()

    def write(self, command: Command) -> None:
        """Send one goal in rad, now; raises DeviceError when not connected, BadInput for another shape."""
        self._servos.write(command)

    def hold(self) -> None:
        """Make the present position the goal."""
        self._servos.hold()

    def close(self) -> None:
        """Let go of the bus."""
        self._servos.open(False)


class SimulatedGripper:
    """A SinkDevice: the opening in m (0 to 0.12) behind a bus of its own, at 0.04 until commanded; reads as SimulatedArm.

    Args:
        config: Of the module; `params["seed"]` (default 0) decides what it is.
        clock: Of the world.
        bench: The plant behind it; built from the seed when none is given.
        fast: Do not wait; by default when the clock is a manual one.
    """

    def __init__(self, config: HasParams, clock: Clock, *, bench: ServoBench | None = None, fast: bool | None = None) -> None:
        self._bench = _bench("gripper", seed_of(config), clock, _memory_sink) if bench is None else bench
        self._servos = _Servos("gripper", self._bench, clock, isinstance(clock, ManualClock) if fast is None else fast)

    @property
    def info(self) -> DeviceInfo:
        """What the device is."""
        return DeviceInfo("gripper", self._bench.parameters.width, "m", "simulated parallel gripper")

    @property
    def sink(self) -> Any:
        """The native sink that a send loop writes to."""
        return self._bench.sink

    def connect(self) -> None:
        """Open the bus."""
        self._servos.open(True)

    def read(self) -> DeviceState:
        """Read the opening in m, shape (1,); raises DeviceError when not connected or when commands were lost."""
        return self._servos.read()

    def write(self, command: Command) -> None:
        """Send one goal in m, now; raises DeviceError when not connected, BadInput for another shape."""
        self._servos.write(command)

    def hold(self) -> None:
        """Make the present opening the goal."""
        self._servos.hold()

    def close(self) -> None:
        """Let go of the bus."""
        self._servos.open(False)


class World:
    """A rig and what surrounds it, drawn from a seed: arm, gripper, camera, screen, and the ledger of the truth.

    Seed 0 is a typical rig of hobby servos; every other seed draws delays, limits and mountings over realistic ranges.
    Each module draws from a child of the seed, so the order in which threads run changes no module's randomness.

    Args:
        seed: Whole number >= 0.
        clock: Of the world; everything is at home at its present instant.
        cup: What the camera sees on the table.
        fast: Do not wait in `read`: stamps lie ahead of the clock, which someone else moves.
        make_sink: Builds the end of the send loop for a width; the native MemorySink by default.

    Raises:
        BadInput: the seed is not a whole number >= 0.
    """

    def __init__(
        self, seed: int, clock: Clock, cup: Cup, *, fast: bool, make_sink: Callable[[int], DrainSink] = _memory_sink
    ) -> None:
        config = Seeded({"seed": seed})
        seed_of(config)
        arm, gripper = (_bench(module, seed, clock, make_sink) for module in ("arm", "gripper"))
        draws, beat = child_rng(seed, "camera").spawn(2)
        camera = CameraBench(draw_camera(draws, seed == 0), clock.now_ns(), beat)
        vsync_ns = clock.now_ns() + int(child_rng(seed, "screen").integers(16_000_000))
        self.clock = clock
        self.screen = Screen(vsync_ns)
        self.arm = SimulatedArm(config, clock, bench=arm, fast=fast)
        self.gripper = SimulatedGripper(config, clock, bench=gripper, fast=fast)
        self.camera = SimulatedCamera(config, clock, cup=cup, screen=self.screen, bench=camera, fast=fast)
        self.ledger = Ledger(arm, gripper, camera, cup)
