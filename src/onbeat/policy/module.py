"""One device of a rig: its readings, stamped and corrected once, and what it is told, in time for its action_latency."""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from onbeat.capture import Stamp, correct
from onbeat.clock import Clock, ManualClock
from onbeat.device import Device, DeviceState, SinkDevice
from onbeat.device.config import ModuleConfig
from onbeat.errors import BadInput, ClockMismatch
from onbeat.loop import DeviceSink, ProcessDevice, SendLoop
from onbeat.motion import Chunk, Limits, Outcomes, Trajectory, Waypoint, schedule
from onbeat.motion.lead import lead_ns
from onbeat.policy.centring import Centring
from onbeat.stream import Stream
from onbeat.units import TimeGrid

__all__ = ("Module", "Reading")

_HISTORY = 4096
_FRAMES = 64
_SLOWEST_FRAME_S = 0.5  # an observation asks for less: half of the camera's own period
_INTERVALS = 15
# A reading that has just been handed over was in hand a moment ago. Beyond these it was stamped on another clock.
_AHEAD_NS = 100_000_000
_BEHIND_NS = 10_000_000_000


@dataclass(frozen=True, slots=True)
class Reading:
    """One reading of a module: when it was true, what it was, and the raw state that it came from."""

    stamp: Stamp
    value: Any
    state: DeviceState


class Module:
    """One device with its stream of readings and, where it can be commanded, its send loop.

    The settings that describe the hardware (receive_latency_s, action_latency_s, max_speed) come from the module's YAML and
    may be set anew while nothing moves; they are applied here and nowhere else: the first in `step`, the others where
    waypoints are scheduled.

    A device of kind "pose" (position xyz and quat_wxyz) takes `schedule_l` and `drive_l`, any other `schedule_j` and `drive_j`;
    max_angular_speed, in rad/s, limits how fast a pose turns.
    """

    def __init__(self, config: ModuleConfig, device: Device, clock: Clock) -> None:
        self.name = config.name
        self.config = config
        self.device = device
        self.clock = clock
        self.info = device.info
        self.receive_latency_s = config.receive_latency
        self.action_latency_s = config.action_latency
        self.max_speed = config.max_speed
        self.max_angular_speed: float | None = None
        if self.info.width == 0:
            self.stream = Stream(self.name, clock, "object", 0, _FRAMES, tolerance_s=_SLOWEST_FRAME_S)
        else:
            self.stream = Stream(self.name, clock, self._kind, self.info.width, _HISTORY)
        self.loop: SendLoop | None = None
        self.plan: Trajectory | None = None
        self._prepared: Limits | None = None
        self.repeated = 0
        self.listeners: list[Callable[[Reading], None]] = []
        self._log = logging.getLogger("onbeat.module")
        self._centring = None if config.centre is None else Centring(self.name, config.centre.margin)
        self._arriving: DeviceState | None = None
        self._seq: int | None = None
        self._intervals_ns: deque[float] = deque(maxlen=_INTERVALS)
        self._grid: TimeGrid | None = None

    def __repr__(self) -> str:
        return f"Module({self.name!r}, {self.info.model})"

    @property
    def commanded(self) -> bool:
        """Whether the module can be told where to be."""
        return self.info.width > 0

    @property
    def sample_ns(self) -> int | None:
        """Time between two of the device's own samples: the median of the last ones; None before there are two."""
        intervals_ns = sorted(self._intervals_ns)
        return round(intervals_ns[len(intervals_ns) // 2]) if intervals_ns else None

    @property
    def takes_poses(self) -> bool:
        """Whether the module is told poses (`schedule_l`), and not joints or openings (`schedule_j`)."""
        return self._kind == "pose"

    @property
    def _kind(self) -> Literal["linear", "pose"]:
        return "pose" if self.info.kind == "pose" else "linear"

    def start(self) -> SendLoop | None:
        """Open the device, and start its send loop at rest where the device is now; gives the loop."""
        self.device.connect()
        if not self.commanded:
            return None
        here = np.asarray(self.device.read().value, dtype=np.float64)
        self.plan = Trajectory([self.clock.now_ns()], here[None, :], kind=self._kind)
        limits = Limits(lower=self.config.lower, upper=self.config.upper)
        self.loop = SendLoop(_sink(self.device), self.config.rate_hz, self.plan, limits=limits)
        return self.loop

    def close(self) -> None:
        """Stop sending, hold, and let go of the device; may be called twice."""
        if self.loop is not None:
            loop, self.loop = self.loop, None
            try:
                loop.stop()
            finally:
                try:
                    self.device.hold()
                finally:
                    self.device.close()
            return
        self.device.close()

    def step(self, now_ns: int) -> int:
        """Read, or publish the reading that has arrived; gives the instant of the next step."""
        if self._arriving is None:
            if self._grid is None and self.config.poll_hz is not None:
                self._grid = TimeGrid(now_ns, self.config.poll_hz)
            self._arriving = self.device.read()
            self._check_clock(self._arriving)
            return self._arriving.receive_ns
        if now_ns >= self._arriving.receive_ns:
            self._publish(self._arriving)
            self._arriving = None
            return now_ns if self._grid is None else self._grid.tick_ns(self._grid.index(now_ns) + 1)
        return self._arriving.receive_ns

    @contextmanager
    def collect(self) -> Iterator[deque[Reading]]:
        """Collect the readings that arrive inside the block."""
        readings: deque[Reading] = deque()
        self.listeners.append(readings.append)
        try:
            yield readings
        finally:
            self.listeners.remove(readings.append)

    def lead_ns(self, compensate: bool = True) -> int:
        """Give how early this module is asked: its action_latency, or 0 where that is not taken off."""
        return lead_ns(self.action_latency_s) if compensate else 0

    def schedule_j(
        self,
        waypoints: Chunk | Sequence[Waypoint],
        compensate: bool = True,
        limit: bool = True,
        *,
        late: Literal["drop", "clamp"] = "drop",
        on_limit: Literal["delay", "scale", "reject"] = "delay",
        first_usable_ns: int | None = None,
        now_ns: int | None = None,
    ) -> Outcomes:
        """Be at joint targets (or openings) at their instants: sends action_latency early, on the beat.

        Args:
            waypoints: A chunk or waypoints in order of time, on the rig's clock.
            compensate: Whether action_latency is taken off; a calibration sweep runs without.
            limit: Whether max_speed stretches moves; the measurement of max_speed runs without.
            late, on_limit, first_usable_ns: As `onbeat.motion.schedule` takes them; a clamped waypoint is moved to one period of
                the module's send loop after now, and logged.
            now_ns: The instant of the decision, where several modules share one; now when not given.

        Returns:
            What became of each waypoint.

        Raises:
            BadInput: the module takes no commands or poses, is not started, or a waypoint is not acceptable.
        """
        lead = self.lead_ns(compensate)
        return self._schedule("SCHEDULE_J", waypoints, limit, lead, late, on_limit, first_usable_ns, now_ns)

    def schedule_l(
        self,
        waypoints: Chunk | Sequence[Waypoint],
        compensate: bool = True,
        limit: bool = True,
        *,
        late: Literal["drop", "clamp"] = "drop",
        on_limit: Literal["delay", "scale", "reject"] = "delay",
        first_usable_ns: int | None = None,
        now_ns: int | None = None,
    ) -> Outcomes:
        """Be at poses (position xyz in metres and quat_wxyz) at their instants; as `schedule_j`."""
        lead = self.lead_ns(compensate)
        return self._schedule("SCHEDULE_L", waypoints, limit, lead, late, on_limit, first_usable_ns, now_ns)

    def drive_j(self, target: Sequence[float], limit: bool = True) -> Outcomes:
        """Go to a joint target (or opening) from now on, as fast as max_speed allows.

        For targets that come in live, each of which replaces the one before and whatever else was planned. No lead is taken
        off: it cannot be there sooner.

        Returns:
            What became of the target: one outcome, "stretched" by the time that the move takes beyond one period.

        Raises:
            BadInput: as `schedule_j` does.
        """
        return self._drive("DRIVE_J", target, limit)

    def drive_l(self, target: Sequence[float], limit: bool = True) -> Outcomes:
        """Go to a pose from now on, as fast as max_speed and max_angular_speed allow; as `drive_j`."""
        return self._drive("DRIVE_L", target, limit)

    def _drive(self, verb: str, target: Sequence[float], limit: bool) -> Outcomes:
        now_ns = self.clock.now_ns()
        waypoint = Waypoint(now_ns + self._period_ns, np.asarray(target, dtype=np.float64))
        return self._schedule(verb, [waypoint], limit, 0, "drop", "delay", None, now_ns)

    def _schedule(
        self,
        verb: str,
        waypoints: Chunk | Sequence[Waypoint],
        limit: bool,
        lead: int,
        late: Literal["drop", "clamp"],
        on_limit: Literal["delay", "scale", "reject"],
        first_usable_ns: int | None,
        now_ns: int | None,
    ) -> Outcomes:
        if self.loop is None or self.plan is None:
            raise BadInput(
                f"module {self.name!r} is not started" if self.commanded else f"module {self.name!r} takes no commands"
            )
        if verb.endswith("_L") != self.takes_poses:
            takes, name = ("poses", "_l") if self.takes_poses else ("joints", "_j")
            raise BadInput(f"module {self.name!r} takes {takes}; use {verb[:-2].lower()}{name}")
        now_ns = self.clock.now_ns() if now_ns is None else now_ns
        plan, outcomes = schedule(
            self.plan,
            waypoints,
            now_ns,
            self._limits(limit),
            late,
            on_limit,
            lead,
            self._period_ns,
            first_usable_ns=first_usable_ns,
        )
        if plan is not self.plan:
            self.loop.replace(plan)
            self.plan = plan
        self._tell(verb, outcomes, now_ns)
        return outcomes

    @property
    def _period_ns(self) -> int:
        return round(1e9 / self.config.rate_hz)

    def _limits(self, limit: bool) -> Limits:
        speed, turning = (self.max_speed, self.max_angular_speed) if limit else (None, None)
        kept = self._prepared
        if kept is None or (kept.max_speed, kept.max_angular_speed) != (speed, turning):
            kept = Limits(speed, lower=self.config.lower, upper=self.config.upper, max_angular_speed=turning)
            self._prepared = kept
        return kept

    def _tell(self, verb: str, outcomes: Outcomes, now_ns: int) -> None:
        """Say in the log what did not go as it was asked for, in the words that users watch for."""
        late_ms = (now_ns - outcomes.due_ns) * 1e-6
        for row in outcomes.rows_of("late"):
            self._log.warning("Module %r: clamping late %s (%.1f ms late)", self.name, verb, late_ms[row])
        dropped_ms = late_ms[outcomes.rows_of("dropped")]
        late = int(np.count_nonzero(dropped_ms >= 0))
        if late:
            self._log.info("Module %r: dropping %d late %s (%.1f ms late)", self.name, late, verb, dropped_ms.max())
        if late < len(dropped_ms):
            self._log.info("Module %r: leaving out %d %s to begin together", self.name, len(dropped_ms) - late, verb)
        if outcomes.count_of("rejected"):
            self._log.warning("Module %r: rejecting %d %s, out of range or too fast", self.name, len(outcomes), verb)

    def move_to(self, target: Sequence[float], seconds: float) -> None:
        """Go to a target in a straight line that takes that long, without lead."""
        go = self.schedule_l if self.takes_poses else self.schedule_j
        go([Waypoint(self.clock.now_ns() + round(seconds * 1e9), np.asarray(target))], compensate=False)

    def _check_clock(self, state: DeviceState) -> None:
        """Refuse a reading that was stamped on another clock: waiting for an instant of a foreign clock would end all reading."""
        if isinstance(self.clock, ManualClock) or state.seq == self._seq:
            return
        ahead_ns = state.receive_ns - self.clock.now_ns()
        if ahead_ns > _AHEAD_NS or ahead_ns < -_BEHIND_NS:
            side = "ahead of" if ahead_ns > 0 else "behind"
            raise ClockMismatch(
                f"reading {state.seq} is stamped {abs(ahead_ns) / 1e9:.1f} s {side} clock {self.clock.id!r}; "
                "stamp readings with the clock that the device was given"
            )

    def _publish(self, state: DeviceState) -> None:
        # A cached reading must not get a new stamp: the device's own count tells it.
        if state.seq == self._seq:
            self.repeated += 1
            return
        before_ns, seqs = self.stream.newest_ns, state.seq - (self._seq or 0)
        self._seq = state.seq
        arrival = Stamp(state.receive_ns, state.receive_ns, 0, state.span_ns, state.seq, self.clock.id)
        stamp = correct(arrival, self.receive_latency_s)
        self.stream.push(stamp.capture_ns, state.value)
        if before_ns is not None and seqs > 0:
            self._intervals_ns.append((stamp.capture_ns - before_ns) / seqs)
        if self._centring is not None and self.loop is not None:
            self._centring.take(state.receive_ns, self.loop)
        reading = Reading(stamp, state.value, state)
        for listener in tuple(self.listeners):
            listener(reading)


def _sink(device: Device) -> Any:
    """Give what a loop sends to: the device's native sink, its process, or its `write`."""
    if isinstance(device, SinkDevice):
        return device.sink
    return device if isinstance(device, ProcessDevice) else DeviceSink(device)
