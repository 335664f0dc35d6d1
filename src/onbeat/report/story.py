"""What the demo has to tell: the numbers that were measured beside the truth, and three grasps with and without them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate import CalibrationResult
from onbeat.loop import LoopStatus
from onbeat.report.cycle import ControlCycle
from onbeat.report.grasp import Grasp

__all__ = ("LoopSummary", "Measurement", "Story", "summarize_loop")


@dataclass(frozen=True, slots=True)
class Measurement:
    """One quantity of one module, as measured and as it was.

    Args:
        module, key: Where it is written: "arm", "action_latency".
        unit: "s", "rad/s" or "m/s".
        result: Of the measurement.
        truth: From the simulator's ledger.
        written: The file of the rig that holds it now, seen from the run's folder: "rig/modules/arm.yaml"; "" when none does.
    """

    module: str
    key: str
    unit: str
    result: CalibrationResult
    truth: float
    written: str = ""

    @property
    def covered(self) -> bool | None:
        """Whether the 95 % interval holds the truth; None when there is no interval."""
        value, ci95 = self.result.value, self.result.ci95
        return None if value is None or ci95 is None else abs(value - self.truth) <= ci95


@dataclass(frozen=True, slots=True)
class LoopSummary:
    """How the send loop of one module kept its beat.

    Args:
        module: Its name.
        rate_hz: As configured.
        cycles, missed: Commands sent, and deadlines without one.
        lateness_ns: Of each recorded cycle, wake minus deadline.
        realtime: What the machine granted, in words.
        soft: Whether Python sent, and nothing about its timing was guaranteed.
    """

    module: str
    rate_hz: float
    cycles: int
    missed: int
    lateness_ns: NDArray[np.int64]
    realtime: str
    soft: bool = False

    def lateness_ms(self, percent: float) -> float:
        """Give a percentile of the lateness in milliseconds."""
        return float(np.percentile(self.lateness_ns, percent)) / 1e6 if len(self.lateness_ns) else 0.0

    def result(self) -> dict[str, Any]:
        """Give the machine-readable figures."""
        return {
            "rate_hz": self.rate_hz,
            "cycles": self.cycles,
            "missed": self.missed,
            "lateness_p50_ms": self.lateness_ms(50),
            "lateness_p99_ms": self.lateness_ms(99),
            "lateness_max_ms": self.lateness_ms(100),
            "realtime": self.realtime,
            "soft": self.soft,
        }


def summarize_loop(module: str, rate_hz: float, status: LoopStatus, lateness_ns: NDArray[np.int64]) -> LoopSummary:
    """Sum up a loop: what it says of itself, and the lateness of its recorded cycles in nanoseconds."""
    granted = ("real-time priority granted",) if status.realtime else ()
    realtime = "; ".join((*granted, *status.refused)) or "stepped on a manual clock"
    return LoopSummary(module, rate_hz, status.cycles, status.missed, lateness_ns, realtime, status.soft)


@dataclass(frozen=True, slots=True)
class Story:
    """One run of the demo.

    Args:
        seed, fast: How it was run.
        motion: How the cup moved, in words, with the scale of a recording.
        measurements: In the order in which they were made.
        grasps: "uncompensated", "copied", "measured", in this order.
        loops: Of the modules that are commanded.
        frames, frames_read: Camera frames that looked at the screen, and those whose code could be read.
        run: What differs from run to run: date, host, paths, wall times.
        cycles: One control cycle of some of the runs, in the middle of following the cup. Not part of `result`.
    """

    seed: int
    fast: bool
    motion: str
    measurements: tuple[Measurement, ...]
    grasps: tuple[Grasp, ...]
    loops: tuple[LoopSummary, ...]
    frames: int
    frames_read: int
    run: Mapping[str, Any]
    cycles: tuple[ControlCycle, ...] = ()

    def grasp(self, name: str) -> Grasp:
        """Give the grasp of a name."""
        return next(grasp for grasp in self.grasps if grasp.name == name)

    def verdict(self) -> str:
        """Say in one sentence what the measured numbers were worth."""
        distances = {grasp.name: grasp.distance_m for grasp in self.grasps}
        measured, copied, none = (distances.get(name) for name in ("measured", "copied", "uncompensated"))
        if measured is None or copied is None or none is None:
            missed = ", ".join(name for name, distance in distances.items() if distance is None)
            return f"the jaws never closed in the run(s): {missed}"
        return (
            f"with measured delays the gripper closed {measured * 1e3:.1f} mm from the cup; with numbers copied from another rig "
            f"{copied * 1e3:.1f} mm, without compensation {none * 1e3:.1f} mm"
        )

    def result(self) -> dict[str, Any]:
        """Give the machine-readable result; all but `run` is the same for the same seed on a manual clock."""
        modules: dict[str, dict[str, Any]] = {}
        for each in self.measurements:
            modules.setdefault(each.module, {})[each.key] = {
                "value": each.result.value,
                "truth": each.truth,
                "ci95": each.result.ci95,
                "unit": each.unit,
                "n": each.result.n,
                "method": each.result.method,
                "verdict": each.result.verdict,
                "reason": each.result.reason,
                "covered": each.covered,
            }
        return {
            "seed": self.seed,
            "fast": self.fast,
            "motion": self.motion,
            "modules": modules,
            "grasp": {
                grasp.name: {
                    "distance_m": grasp.distance_m,
                    "height_error_m": grasp.height_error_m,
                    "closing_error_s": grasp.closing_error_s,
                    "same_instant_m": grasp.same_instant_m,
                    "late_waypoints": grasp.late_waypoints,
                    "waypoints": grasp.waypoints,
                    "latencies_s": grasp.latencies_s,
                }
                for grasp in self.grasps
            },
            "loop": {loop.module: loop.result() for loop in self.loops},
            "camera": {"frames": self.frames, "frames_read": self.frames_read},
            "run": dict(self.run),
        }
