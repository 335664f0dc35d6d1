"""The self test: a native loop on this machine at the wanted rate, how late it woke, and what of that was the host's doing."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from onbeat.clock.system import read_steering
from onbeat.errors import BadInput
from onbeat.loop import Flag, MemorySink, SendLoop
from onbeat.machine.cpu import busy_s, stolen_share
from onbeat.machine.loads import run_loads
from onbeat.machine.machine import Level, Machine
from onbeat.machine.tries import Snapshot, snapshot
from onbeat.motion import Trajectory

__all__ = ("Kind", "SelfTest", "run_self_test", "stolen_cycles")

Kind = Literal["baseline", "load", "production"]

_GOOD, _BAD = 0.1, 0.25  # of a period: at 250 Hz, p99.9 up to 400 us is good and over 1 ms is bad
_BUSY = 0.1  # of one CPU, by others: less is an idle machine
_LOOK_S = 0.05
_MARGIN_NS = 20_000_000  # /proc/stat counts in ticks of 10 ms, and a cycle may reach over the edge of a look


@dataclass(frozen=True, slots=True, eq=False)
class SelfTest:
    """One run of the loop.

    Args:
        kind: "baseline": alone; "load": beside loads of ours; "production": beside the real jobs of the robot.
        loads: Names of our loads.
        rate_hz: Of the loop.
        lateness_ns: Wake-up minus deadline of each cycle. Shape (n,), int64.
        skipped: Deadlines missed after each cycle. Shape (n,).
        stolen: Cycles during which the host took processor time. Shape (n,), bool.
        stolen_share: Share of all processor time that the host took.
        others_cpus: How many CPUs others kept busy on average; our loads but gil are among them.
        realtime: Whether SCHED_FIFO was granted.
        refused: What was refused, in sentences.
    """

    kind: Kind
    loads: tuple[str, ...]
    rate_hz: float
    lateness_ns: NDArray[np.int64]
    skipped: NDArray[np.int64]
    stolen: NDArray[np.bool_]
    stolen_share: float
    others_cpus: float
    realtime: bool
    refused: tuple[str, ...]

    @property
    def invalid(self) -> str:
        """Why it does not count; "" when it does."""
        if self.kind == "baseline" and self.others_cpus > _BUSY:
            return f"taken under load: others kept {self.others_cpus:.2f} CPUs busy; stop them and measure again"
        if self.kind == "production" and self.others_cpus <= _BUSY:
            return (
                f"taken without load: others kept {self.others_cpus:.2f} CPUs busy; start the robot's real jobs and measure again"
            )
        if len(self.own_ns) < 100:
            return f"only {len(self.own_ns)} of {len(self.lateness_ns)} cycles had no stolen time; measure longer"
        return ""

    @property
    def own_ns(self) -> NDArray[np.int64]:
        """Lateness of the cycles from which the host took nothing."""
        return self.lateness_ns[~self.stolen]

    @property
    def missed(self) -> int:
        """Missed deadlines, those of stolen time left out."""
        return int(self.skipped[~self.stolen].sum())

    @property
    def missed_in_all(self) -> int:
        """All missed deadlines."""
        return int(self.skipped.sum())

    def percentile_us(self, percent: float, *, stolen: bool = False) -> float:
        """Give a percentile of the lateness in us, stolen time left out unless asked for; NaN when there is none."""
        lateness = self.lateness_ns if stolen else self.own_ns
        return float(np.percentile(lateness, percent)) * 1e-3 if len(lateness) else float("nan")

    @property
    def verdict(self) -> Level:
        """Good: p99.9 below a tenth of the period and no deadline missed. Bad: above a quarter, or one in a thousand missed."""
        if self.invalid:
            return "unknown"
        period_us = 1e6 / self.rate_hz
        p999_us, missed = self.percentile_us(99.9), self.missed
        if p999_us > _BAD * period_us or missed > 1e-3 * len(self.own_ns):
            return "bad"
        return "good" if p999_us < _GOOD * period_us and not missed else "warn"

    @property
    def good_us(self) -> float:
        """The bar: p99.9 below this is good."""
        return _GOOD * 1e6 / self.rate_hz


def run_self_test(
    machine: Machine,
    kind: Kind,
    rate_hz: float,
    seconds: float,
    *,
    loads: Sequence[str] = (),
    cpu: int | None = None,
) -> tuple[SelfTest, Snapshot, Snapshot]:
    """Run a native loop into memory and look at /proc/stat 20 times a second meanwhile.

    Args:
        machine: Whose /proc/stat says what was stolen.
        kind: What the run is to show.
        rate_hz: Of the loop.
        seconds: How long.
        loads: Of `self_test_loads.LOADS`, to run beside it.
        cpu: Where the loop is to stand.

    Returns:
        The run, and what counted on, before and after it.

    Raises:
        BadInput: loads with a kind that has none, or a length that is not in 0.5..3600 s.
    """
    if (kind == "load") != bool(loads):
        raise BadInput(f"a {kind} run {'needs' if kind == 'load' else 'takes no'} loads of ours")
    if not 0.5 <= seconds <= 3600:
        raise BadInput(f"a self test lasts 0.5 to 3600 s, not {seconds:g}")
    capacity = int(rate_hz * (seconds + 1)) + 64
    now = time.monotonic_ns()
    plan = Trajectory(np.array([now, now + int((seconds + 60) * 1e9)]), np.repeat([[0.0], [1.0]], 7, axis=1))
    sink = MemorySink(7, capacity)
    loop = SendLoop(sink, rate_hz, plan, cpu=cpu, record_capacity=capacity)
    with run_loads(loads):
        before = snapshot(machine)
        looks = [(before.t_ns, before.stat)]
        steering = [read_steering()]
        loop.start()
        try:
            end_ns = time.monotonic_ns() + int(seconds * 1e9)
            while (left := end_ns - time.monotonic_ns()) > 0:
                time.sleep(min(_LOOK_S, left * 1e-9))
                looks.append((time.monotonic_ns(), machine.text("proc/stat") or ""))
                steering.append(read_steering())
        finally:
            loop.stop()
        after = replace(snapshot(machine), steering=tuple(steering))
    records, status = loop.records(), loop.status()
    if status.error:
        raise BadInput(f"the loop of the self test stopped: {status.error}")
    lateness = np.asarray(records["wake_ns"] - records["deadline_ns"])
    skipped = np.where(records["flags"] & int(Flag.SKIPPED), records["skipped"], 0)
    wall_s = (after.t_ns - before.t_ns) * 1e-9
    # A load that is a child becomes ours only when it has been waited for, after this: it counts as others.
    others_s = max(0.0, busy_s(before.stat, after.stat) - (after.own_s - before.own_s))
    test = SelfTest(
        kind,
        tuple(loads),
        rate_hz,
        lateness,
        np.asarray(skipped),
        stolen_cycles(np.asarray(records["deadline_ns"]), np.asarray(records["done_ns"]), looks),
        stolen_share(before.stat, after.stat),
        others_s / wall_s,
        status.realtime,
        status.refused,
    )
    return test, before, after


def stolen_cycles(begin_ns: NDArray[np.int64], end_ns: NDArray[np.int64], looks: Sequence[tuple[int, str]]) -> NDArray[np.bool_]:
    """Say which cycles overlap a time in which the host took processor time.

    Args:
        begin_ns: When each cycle was due. Shape (n,).
        end_ns: When it was done.
        looks: Instants and texts of /proc/stat.
    """
    found = np.zeros(len(begin_ns), dtype=bool)
    for (start, old), (stop, new) in pairwise(looks):
        if stolen_share(old, new) > 0:
            found |= (end_ns > start - _MARGIN_NS) & (begin_ns < stop)
    return found
