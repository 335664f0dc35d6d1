"""A story that never happened, with plausible numbers: a hand that follows a demonstration late."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate import CalibrationResult
from onbeat.report.cycle import ControlCycle, CycleRow
from onbeat.report.grasp import Grasp
from onbeat.report.story import LoopSummary, Measurement, Story

__all__ = ("fake_cycle", "fake_grasp", "fake_story")

COPIED = {
    "camera.receive_latency": 0.194,
    "arm.action_latency": 0.12,
    "arm.receive_latency": 0.000124,
    "gripper.action_latency": 0.132,
    "gripper.receive_latency": 0.01,
}
MEASURED = {
    "camera.receive_latency": 0.0724,
    "arm.action_latency": 0.2113,
    "arm.receive_latency": 0.0021,
    "gripper.action_latency": 0.0604,
    "gripper.receive_latency": 0.0043,
}


def fake_story(
    seed: int = 7, late_s: Sequence[float] = (0.30, -0.14, 0.004), *, never: str = "", refused: str = "", fast: bool = False
) -> Story:
    """Tell a story; `late_s` is of the arm in the three runs, `never` a run without closing, `refused` a quantity."""
    rng = np.random.default_rng(seed)
    names = ("uncompensated", "copied", "measured")
    beliefs = (dict.fromkeys(COPIED, 0.0), COPIED, MEASURED)
    grasps = tuple(
        fake_grasp(name, belief, late, 0.7 * late, closes=name != never)
        for name, belief, late in zip(names, beliefs, late_s, strict=True)
    )
    lateness = np.rint(np.exp(rng.normal(np.log(45_000), 0.6, 6000))).astype(np.int64)
    lateness[::997] += 2_300_000
    if fast:
        lateness[:] = 0
    loops = (
        LoopSummary("arm", 200.0, 12_000, 3, lateness, "SCHED_OTHER: no permission for SCHED_FIFO (RLIMIT_RTPRIO is 0)"),
        LoopSummary("gripper", 50.0, 3_000, 0, lateness[:1500], "SCHED_FIFO 80"),
    )
    measurements = (
        _measured("arm", "max_speed", "rad/s", 1.571, 0.012, 1.5662, 0),
        _measured("arm", "action_latency", "s", 0.2113, 0.0004, 0.21108, 1 if refused == "action_latency" else 0),
        _measured("arm", "receive_latency", "s", 0.0021, 0.00021, 0.00207, 0),
        _measured("gripper", "max_speed", "m/s", 0.1534, 0.0013, 0.1521, 0),
        _measured("gripper", "action_latency", "s", 0.0604, 0.0003, 0.0611, 0),
        _measured("gripper", "receive_latency", "s", 0.0043, 0.0005, 0.0041, 0),
        _measured("camera", "receive_latency", "s", 0.0724, 0.0007, 0.07205, 1 if refused == "receive_latency" else 0),
    )
    run: dict[str, Any] = {"date": "2025-01-01T12:00:00", "host": "bench"}
    cycles = (fake_cycle("measured"), fake_cycle("copied", stamp_ms=-121.6, lead_ms=120.0, late_ms=-212.9))
    return Story(seed, fast, "two sines, scale 1", measurements, grasps, loops, 240, 231, run, cycles)


def fake_cycle(
    name: str,
    *,
    stamp_ms: float = 0.4,
    arrived_ms: float = 72.0,
    lead_ms: float = 211.3,
    late_ms: float | None = 0.8,
    sent: int = 1,
) -> ControlCycle:
    """Let a policy answer 40 ms after the frame; `sent` rows are sent, and each is late by `late_ms` (None: never there)."""

    def ns(ms: float) -> int:
        return round(ms * 1e6)

    ready_ms = arrived_ms + 45
    first = next(k for k in range(1, 30) if stamp_ms + 100 * k - lead_ms > ready_ms)
    rows = tuple(
        CycleRow(
            number=k,
            fate="dropped" if k < first else "sent" if k < first + sent else "replaced",
            sending_ns=ns(stamp_ms + 100 * k - lead_ms),
            due_ns=ns(stamp_ms + 100 * k),
            wanted_ns=ns(100 * k),
            there_ns=None if late_ms is None else ns(100 * k + late_ms),
        )
        for k in range(1, first + sent + 1)
    )
    sends = np.arange(ns(-500.0), ns(1500.0), ns(5.0), dtype=np.int64)
    arrived, asked, ready = ns(arrived_ms), ns(arrived_ms + 5), ns(ready_ms)
    return ControlCycle(name, ns(8.0), ns(stamp_ms), arrived, asked, ready, rows, 16, sends, 200.0, ready + ns(100.0))


def fake_grasp(name: str, latencies_s: dict[str, float], arm_late_s: float, jaws_late_s: float, *, closes: bool = True) -> Grasp:
    """Let the tool be where it was demonstrated to be `arm_late_s` before, and the jaws likewise."""
    times = np.linspace(-2.5, 1.0, 3501)
    tool, cup = _demonstrated(times - arm_late_s), _cup(times)
    wanted, opening = _demonstrated(times), _opening(times - jaws_late_s)
    if not closes:
        opening = np.full_like(times, 0.055)
    passing = np.flatnonzero((opening[:-1] > 0.045) & (opening[1:] <= 0.045))
    at = int(passing[-1]) + 1 if len(passing) else None
    return Grasp(
        name=name,
        latencies_s=latencies_s,
        distance_m=None if at is None else float(np.linalg.norm(tool[at] - cup[at])),
        height_error_m=None if at is None else float(tool[at, 2] - cup[at, 2]),
        closing_error_s=None if at is None else float(times[at]),
        same_instant_m=float(np.sqrt(((tool - wanted) ** 2).sum(axis=1).mean())),
        late_waypoints=round(max(arm_late_s, 0.0) * 60),
        waypoints=512,
        times_s=times,
        tool=tool,
        cup=cup,
        wanted=wanted,
        opening=opening,
        wanted_opening=_opening(times),
    )


def _cup(times: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([0.35 + 0.10 * np.sin(2.3 * times), 0.07 * np.sin(1.7 * times + 0.8), np.full_like(times, 0.07)], axis=-1)


def _demonstrated(times: NDArray[np.float64]) -> NDArray[np.float64]:
    tool = _cup(times)
    tool[:, 2] += 0.2 * np.clip(-times, -0.025, 0.6)
    return tool


def _opening(times: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(0.055 - 0.02 * np.clip(times / 0.3 + 0.5, 0.0, 1.0))


def _measured(module: str, key: str, unit: str, value: float, ci95: float, truth: float, refuse: int) -> Measurement:
    if refuse:
        result = CalibrationResult.refuse(
            key, "no code was in view in any frame; show the screen to the camera", n=0, method="time codes"
        )
    else:
        result = CalibrationResult(key, value, ci95, 400, "least-squares shift of a chirp")
    return Measurement(module, key, unit, result, truth, f"rig/modules/{module}.yaml")
