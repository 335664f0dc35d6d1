"""A servo behind a bus: queue hop, latch at bus ticks, dead time, lag with a speed limit, play and sag; exact between latches."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput, Forgotten

__all__ = ("Plant", "PlantParameters", "draw_arm", "draw_gripper")

COUNT_RAD = 2 * pi / 4096
# The jaws close 120 mm over half a turn.
COUNT_JAW_M = 0.12 / 2048
# A command that stays in force for longer than this means that nobody was sending; it says nothing about the way there.
PAUSE_NS = 100_000_000
# The longest transaction is this much of the nominal one.
LONGEST_READ = 1.2
# A hop is the shortest one plus an exponential tail: a queue that is sometimes busy. Shares of the mean, and the cut.
_HOP_FLOOR, _HOP_TAIL, _HOP_CUT = 0.8, 0.2, 4.0
_TICK_JITTER = 0.02
_BLOCK = 1024
_LONG_AGO_NS = -(1 << 62)
# Half an hour of commands at 140 Hz, 40 MB for six joints.
_KEPT_SEGMENTS = 1 << 18


@dataclass(frozen=True, slots=True)
class PlantParameters:
    """What only the simulator knows about a servo module.

    Args:
        bus_period_s: Time between the ticks at which the bus takes the newest command.
        hop_s: Mean time from sending to being available to the bus.
        dead_s: Dead time between a tick and the first motion.
        lag_s: Time constant of each joint, shape (width,).
        max_speed: Speed limit of every joint, unit/s.
        count: One encoder count, unit.
        play: Half-width of the dead band of the gears, unit.
        sag: Fall of each link under gravity when level, rad, shape (width,); zero where nothing hangs.
        read_s: Nominal duration of a read transaction.

    Raises:
        BadInput: a value that is not positive, or a read that could end before commands sent meanwhile are known.
    """

    bus_period_s: float
    hop_s: float
    dead_s: float
    lag_s: tuple[float, ...]
    max_speed: float
    count: float
    play: float
    sag: tuple[float, ...]
    read_s: float

    def __post_init__(self) -> None:
        positive = (self.bus_period_s, self.hop_s, self.dead_s, *self.lag_s, self.max_speed, self.count, self.read_s)
        if not all(value > 0 for value in positive) or self.play < 0 or len(self.sag) != len(self.lag_s):
            raise BadInput(f"every parameter of a plant must be positive, not {self}")
        # A read on a manual clock ends in the future. Nothing sent after it began may show in it, whatever the hop.
        if self.longest_read_s >= self.dead_s:
            raise BadInput(f"a read of up to {self.longest_read_s} s must be shorter than the dead time of {self.dead_s} s")

    @property
    def width(self) -> int:
        """Number of joints."""
        return len(self.lag_s)

    @property
    def longest_read_s(self) -> float:
        """The longest transaction that `read_s` allows."""
        return LONGEST_READ * self.read_s

    @property
    def response_s(self) -> float:
        """Dead time and lag, the mean over joints."""
        return self.dead_s + sum(self.lag_s) / self.width

    @property
    def nominal_latency_s(self) -> float:
        """The shift of a slow motion by design: hop, half of the hold of a bus cycle, dead time, lag."""
        return self.hop_s + self.bus_period_s / 2 + self.response_s


def draw_arm(rng: np.random.Generator, typical: bool) -> PlantParameters:
    """Draw a six-joint arm over realistic ranges, or give the typical one (an SO-101-like arm on a half-duplex bus)."""
    if typical:
        bus_s, hop_s, dead_s, lag_s, speed, read_s = 0.0071, 0.0025, 0.031, 0.058, 3.1, 0.0058
    else:
        bus_s, hop_s, dead_s = rng.uniform(0.004, 0.010), rng.uniform(0.001, 0.004), rng.uniform(0.010, 0.040)
        lag_s, speed, read_s = rng.uniform(0.025, 0.070), rng.uniform(2.0, 4.0), rng.uniform(0.002, 0.008)
    spread = 1 + rng.uniform(-0.04, 0.04, size=6)
    sag = rng.uniform(0.0004, 0.0012, size=2)
    return PlantParameters(
        bus_period_s=bus_s,
        hop_s=hop_s,
        dead_s=dead_s,
        lag_s=tuple(float(lag_s * s) for s in spread),
        max_speed=speed,
        count=COUNT_RAD,
        play=0.25 * COUNT_RAD,
        sag=(0.0, float(sag[0]), float(sag[1]), 0.0, 0.0, 0.0),
        read_s=min(read_s, 0.95 * dead_s / LONGEST_READ),
    )


def draw_gripper(rng: np.random.Generator, typical: bool) -> PlantParameters:
    """Draw a parallel gripper over realistic ranges, or give the typical one; total latency 40 to 110 ms."""
    if typical:
        bus_s, hop_s, dead_s, lag_s, speed, read_s = 0.0093, 0.0017, 0.021, 0.033, 0.16, 0.0021
    else:
        bus_s, hop_s, dead_s = rng.uniform(0.006, 0.012), rng.uniform(0.001, 0.004), rng.uniform(0.013, 0.042)
        lag_s, speed, read_s = rng.uniform(0.022, 0.050), rng.uniform(0.08, 0.25), rng.uniform(0.001, 0.004)
    return PlantParameters(
        bus_period_s=bus_s,
        hop_s=hop_s,
        dead_s=dead_s,
        lag_s=(lag_s,),
        max_speed=speed,
        count=COUNT_JAW_M,
        play=0.25 * COUNT_JAW_M,
        sag=(0.0,),
        read_s=read_s,
    )


def _grown(rows: NDArray[Any], drop: int, room: int) -> NDArray[Any]:
    return np.concatenate([rows[drop:], np.empty((room, *rows.shape[1:]), rows.dtype)])


def _endless(draw: Callable[[], list[float]]) -> Iterator[float]:
    while True:
        yield from draw()


@dataclass(frozen=True, slots=True)
class _Pending:
    available_ns: int
    sent_ns: int
    values: list[float]


class Plant:
    """The motion that follows from the commands alone: when and how often it is asked changes nothing.

    Between two latches the goal is constant, so lag and speed limit have a closed form and the play sees a monotone
    input: the state at any instant is exact, without integration steps. A segment begins whenever the goal changes.

    Args:
        parameters: Of the module.
        home: Where it rests until the first command, shape (width,).
        start_ns: Instant of the first bus tick, on the clock of the commands.
        rng: Draws hops and tick jitter in the order of commands and ticks.
    """

    def __init__(self, parameters: PlantParameters, home: NDArray[np.float64], start_ns: int, rng: np.random.Generator) -> None:
        self.parameters = parameters
        hop_rng, tick_rng = rng.spawn(2)
        self._hop = _endless(lambda: np.minimum(_HOP_FLOOR + hop_rng.exponential(_HOP_TAIL, _BLOCK), _HOP_CUT).tolist())
        self._jitter = _endless(lambda: tick_rng.uniform(-_TICK_JITTER, _TICK_JITTER, _BLOCK).tolist())
        self._jitter_seen: list[float] = []
        self._period_ns = parameters.bus_period_s * 1e9
        self._start_ns = start_ns
        self._dead_ns = round(parameters.dead_s * 1e9)
        self._lag_s = np.array(parameters.lag_s)
        self._pending: deque[_Pending] = deque()
        self._newest_ns = _LONG_AGO_NS
        self._latched: tuple[int, int] | None = None
        self._age_weight_ns = 0
        self._age_area_ns2 = 0
        # One row a segment: when the goal took effect, and there: servo, gear output, goal.
        self._count = 1
        self._from_ns = np.full(256, _LONG_AGO_NS, dtype=np.int64)
        self._servo = np.tile(home, (256, 1))
        self._output = np.tile(home, (256, 1))
        self._goal = np.tile(home, (256, 1))

    def feed(self, sent_ns: Sequence[int], values: Sequence[list[float]]) -> None:
        """Take commands in the order of sending; each becomes available a hop later, and none overtakes another."""
        hop_ns = self.parameters.hop_s * 1e9
        for sent, value in zip(sent_ns, values, strict=True):
            self._newest_ns = max(self._newest_ns, sent + round(hop_ns * next(self._hop)))
            self._pending.append(_Pending(self._newest_ns, sent, value))

    def at_many(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the true state at instants of any order, shape (n, width).

        The commands that can matter, those sent by the newest instant less the dead time, must have been fed.

        Raises:
            Forgotten: an instant before the oldest that is kept, half an hour of steady commands ago.
        """
        t = np.asarray(t_ns, dtype=np.int64)
        if t.size == 0:
            return np.empty((0, self.parameters.width))
        self._latch_until(int(t.max()) - self._dead_ns)
        if (too_old_ns := int(self._from_ns[0]) - int(t.min())) > 0:
            raise Forgotten(f"the state is asked for {too_old_ns * 1e-9:.1f} s before the oldest one that is kept; ask sooner")
        row = np.searchsorted(self._from_ns[: self._count], t, side="right") - 1
        _, output = self._flow(row, t)
        sag = self.parameters.sag
        if any(sag):
            # Level links fall most; shoulder and forearm elevations as in motion.kinematics.
            output[:, 1] -= sag[1] * np.cos(output[:, 1])
            output[:, 2] -= sag[2] * np.cos(output[:, 1] + output[:, 2])
        return output

    @property
    def latency_s(self) -> float:
        """The shift of a slow motion as it was: mean age of the command in force at the bus, dead time, lag.

        The age starts at sending and grows while the command is held, so its mean is hop, wait for the tick, and half
        of the hold. It is weighted by time: half of the sender's own period is in it, and nothing more when the sender is
        faster than the bus and some commands are never latched.
        Before two commands have been latched it is the nominal sum.
        """
        if self._age_weight_ns == 0:
            return self.parameters.nominal_latency_s
        return 1e-9 * (self._age_area_ns2 / self._age_weight_ns) + self.parameters.response_s

    def _flow(self, row: NDArray[np.int64], t: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        servo, output, goal = self._servo[row], self._output[row], self._goal[row]
        elapsed = ((t - self._from_ns[row]) * 1e-9)[:, None]
        speed = self.parameters.max_speed
        error = goal - servo
        size = np.abs(error)
        # Rate-limited until the error is down to speed * lag, exponential from there.
        limited_s = np.maximum(size - speed * self._lag_s, 0.0) / speed
        size = size - speed * np.minimum(elapsed, limited_s)
        size = size * np.exp(-np.maximum(elapsed - limited_s, 0.0) / self._lag_s)
        servo = goal - np.copysign(size, error)
        play = self.parameters.play
        return servo, np.minimum(np.maximum(output, servo - play), servo + play)

    def _tick_ns(self, k: int) -> int:
        while k >= len(self._jitter_seen):
            self._jitter_seen.append(next(self._jitter))
        return self._start_ns + round((k + self._jitter_seen[k]) * self._period_ns)

    def _tick_after(self, t_ns: int) -> int:
        # Jitter is a small part of the period, so the tick is the nominal one, or its neighbour.
        k = max(0, ceil((t_ns - self._start_ns) / self._period_ns) - 1)
        while self._tick_ns(k) < t_ns:
            k += 1
        return k

    def _latch_until(self, horizon_ns: int) -> None:
        pending = self._pending
        while pending:
            tick_ns = self._tick_ns(self._tick_after(pending[0].available_ns))
            if tick_ns > horizon_ns:
                return
            command = pending.popleft()
            while pending and pending[0].available_ns <= tick_ns:
                command = pending.popleft()
            self._latch(tick_ns, command)

    def _latch(self, tick_ns: int, command: _Pending) -> None:
        if self._latched is not None:
            held_from_ns, sent_ns = self._latched
            held_ns = tick_ns - held_from_ns
            if 0 < held_ns <= PAUSE_NS:
                self._age_weight_ns += held_ns
                self._age_area_ns2 += (held_from_ns - sent_ns) * held_ns + held_ns * held_ns // 2
        self._latched = (tick_ns, command.sent_ns)
        last = self._count - 1
        if command.values == self._goal[last].tolist():
            return
        from_ns = max(tick_ns + self._dead_ns, int(self._from_ns[last]))
        if self._count == len(self._from_ns):
            last = self._make_room(last)
        servo, output = self._flow(np.array([last]), np.array([from_ns]))
        self._from_ns[self._count] = from_ns
        self._servo[self._count] = servo[0]
        self._output[self._count] = output[0]
        self._goal[self._count] = command.values
        self._count += 1

    def _make_room(self, last: int) -> int:
        # Doubled until the history is long enough; from then on its older half is forgotten.
        room = min(self._count, _KEPT_SEGMENTS // 2)
        drop = max(0, self._count + room - _KEPT_SEGMENTS)
        self._from_ns = _grown(self._from_ns, drop, room)
        self._servo, self._output, self._goal = (_grown(rows, drop, room) for rows in (self._servo, self._output, self._goal))
        self._count -= drop
        return last - drop
