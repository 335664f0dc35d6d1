"""Made results of `onbeat doctor`, for the tests of its words and pictures."""

import numpy as np

from onbeat.machine.machine import MachineCheck
from onbeat.machine.round_trips import RoundTrips
from onbeat.machine.self_test import Kind, SelfTest
from onbeat.report.doctor import DoctorReport

GOOD = MachineCheck("clocksource", "tsc", "/sys", "good")
WARN = MachineCheck("swap", "/dev/<x>", "/proc/swaps", "warn", "swapoff -a")
BAD = MachineCheck("sched_fifo", "priority 80 refused (EPERM)", "tried", "bad", "limits.d")


def run(kind: Kind = "baseline", *, late_us: float = 20.0, others: float = 0.0) -> SelfTest:
    rng = np.random.default_rng(4)
    late = (late_us * rng.lognormal(0.0, 0.3, 1500) * 1e3).astype(np.int64)
    stolen = np.zeros(1500, dtype=bool)
    late[7], stolen[7] = 12_000_000, True
    loads = ("cpu", "gil") if kind == "load" else ()
    return SelfTest(kind, loads, 250.0, late, np.zeros(1500, np.int64), stolen, 0.002, others, True, ("SCHED_FIFO was refused",))


def trips() -> RoundTrips:
    rng = np.random.default_rng(5)
    interval = rng.choice([9_670_000, 10_750_000], 800)
    return RoundTrips(250.0, rng.integers(700_000, 900_000, 2000), interval, rng.integers(0, 10_400_000, 2000), 3)


def report(*checks: MachineCheck, tests: tuple[SelfTest, ...] = (), device: tuple[str, RoundTrips] | None = None) -> DoctorReport:
    return DoctorReport(checks, tests, device)
