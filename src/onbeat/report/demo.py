"""The main job on the simulated rig: measure every delay, write it beside the hardware, then land a grasp.

This is the one place where what measures and plans meets the simulator's ledger, and only to compare.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate import CalibrationResult
from onbeat.calibrate.files import write_measured
from onbeat.calibrate.procedure import (
    Travel,
    measure_action_latency,
    measure_camera,
    measure_max_speed,
    measure_receive_latency,
)
from onbeat.capture.blob import detect_cup
from onbeat.clock import Clock, ManualClock, SystemClock
from onbeat.device import Device, ModuleConfig
from onbeat.device.config import load_rig_config
from onbeat.device.load import copy_rig, simulated_rig_path
from onbeat.device.simulated import World
from onbeat.errors import OnbeatError
from onbeat.loop import SendLoop
from onbeat.motion.clip import Clip, Fit, Playback, fit_clip, turntable
from onbeat.motion.kinematics import inverse
from onbeat.policy import Decision, Reading, Rig, Runner, load_rig
from onbeat.policy.demonstration import DemonstratedGrasp, Demonstration
from onbeat.record import Motion
from onbeat.record.mcap import Recorder
from onbeat.report.cycle import ControlCycle, trace_cycle
from onbeat.report.grasp import Grasp, judge_grasp
from onbeat.report.story import LoopSummary, Measurement, Story, summarize_loop
from onbeat.units import to_ns

__all__ = ("COPIED_S", "DemoOptions", "run_demo")

# The five numbers of another rig, a UR5 with a WSG gripper and a GoPro, as they are copied from file to file.
COPIED_S = {
    "camera.receive_latency": 0.194,
    "arm.receive_latency": 0.000124,
    "arm.action_latency": 0.12,
    "gripper.receive_latency": 0.01,
    "gripper.action_latency": 0.132,
}
_MOVING = ("arm", "gripper")
_UNITS = {"arm": "rad/s", "gripper": "m/s"}

POLICY_DT_S = 0.1
_CENTER = (0.30, 0.0, 0.05)
_REACH_M, _SPEED_MPS = 0.09, 0.25
_CLIP_S, _CLOSE_S, _AFTER_S = 7.0, 3.4, 0.7
# Where in a recording the grasp is set: at the liveliest moment of this stretch.
_CLOSE_RANGE_S = (2.8, 4.0)
_INFERENCE_S = (0.025, 0.045)
_START_NS = 1_000_000_000
# Of which runs one cycle is shown, and when, in percent of the way to the closing: the hand follows and is not yet coming down.
_SHOWN, _SHOWN_SHARE = ("measured", "copied"), 60


@dataclass(frozen=True, slots=True)
class DemoOptions:
    """How to run the demo.

    Args:
        seed: Which rig; 0 is a typical one.
        fast: On a manual clock, without threads: bit-identical for a seed.
        motion: A recorded motion for the cup instead of the turntable.
        cover_code: Paint over the code on the screen, to see the camera's measurement refused.
    """

    seed: int = 0
    fast: bool = False
    motion: Motion | None = None
    cover_code: bool = False


def run_demo(options: DemoOptions, folder: Path, date: str, host: str, tell: Callable[[str], None] = lambda line: None) -> Story:
    """Run the demo; leaves the rig's YAML with the measured figures and the recording in a folder.

    Args:
        options: How.
        folder: Existing; `rig/` and `recording.mcap` are written to it.
        date, host: Written beside the measured figures.
        tell: Called with a line of text for each step as it is done.

    Returns:
        What there is to tell; `run` in it holds date and host only.

    Raises:
        OnbeatError: a measurement was refused, with its reason, or a module stopped.
    """
    clock: Clock = ManualClock(_START_NS) if options.fast else SystemClock()
    motion, demonstration = _demonstration(options.motion)
    cup = Playback(demonstration.cup)
    world = World(options.seed, clock, cup, fast=options.fast)
    rig_path = copy_rig(simulated_rig_path(), folder / "rig")
    _say_which_rig(rig_path, options.seed)
    devices: dict[str, Device] = {"arm": world.arm, "gripper": world.gripper, "camera": world.camera}
    recorder = Recorder(folder / "recording.mcap", clock.id, threaded=not options.fast)
    with recorder, load_rig(rig_path, clock, devices) as rig:
        _record_readings(rig, recorder)
        stage = _Stage(options, world, rig, recorder, cup, demonstration, tell)
        measurements = [_write(rig[each.module].config, each, folder, date, host) for each in stage.measure()]
        for each in measurements:
            recorder.add_calibration(each.module, each.result)
        grasps = stage.grasp_three_times({f"{m.module}.{m.key}": m.result for m in measurements})
        records = {name: _records(rig, name, recorder) for name in _MOVING}
        loops = tuple(_loop_summary(rig, name, records[name]) for name in _MOVING)
        cycles = stage.cycles(records["arm"]["sent_ns"])
    return Story(
        options.seed,
        options.fast,
        motion,
        tuple(measurements),
        tuple(grasps),
        loops,
        stage.frames,
        stage.frames_read,
        {"date": date, "host": host},
        cycles,
    )


def _say_which_rig(rig_path: Path, seed: int) -> None:
    """Name the seed in each module's file, so that whoever loads the folder gets the rig that its figures were measured on."""
    if seed == 0:  # as without
        return
    for module in load_rig_config(rig_path).modules.values():
        if module.path is not None:
            text = module.path.read_text(encoding="utf-8")
            module.path.write_text(f"{text}\nparams: {{seed: {seed}}}  # which simulated rig\n", encoding="utf-8")


class _Stage:
    """The rig, the world around it, and what is done with them."""

    def __init__(
        self,
        options: DemoOptions,
        world: World,
        rig: Rig,
        recorder: Recorder,
        cup: Playback,
        demonstration: Demonstration,
        tell: Callable[[str], None],
    ) -> None:
        self._options = options
        self._world = world
        self._rig = rig
        self._recorder = recorder
        self._cup = cup
        self._demonstration = demonstration
        self._tell = tell
        self._codes, self._inference = np.random.default_rng((options.seed, 1)), np.random.default_rng((options.seed, 2))
        self._turns: dict[str, tuple[list[Decision], list[Reading], int]] = {}
        self.frames = self.frames_read = 0

    def measure(self) -> list[Measurement]:
        """Measure all there is, in the order in which one number needs the other."""
        travels = {
            "arm": Travel(inverse((0.25, 0.0, 0.15)), np.array([0.8, 0, 0, 0, 0, 0]), 0.25, (1.5, 3.0, 6.0)),
            "gripper": Travel(np.array([0.045]), np.array([0.035]), 0.02, (0.1, 0.2, 0.4)),
        }
        self._tell("timing the reads of arm and gripper")
        receive = measure_receive_latency(self._rig, _MOVING)
        self._require("receive_latency", receive)
        for name in _MOVING:
            self._rig[name].receive_latency_s = receive[name].value or 0.0
        self._tell("running arm and gripper faster and faster")
        speed = measure_max_speed(self._rig, travels)
        self._require("max_speed", speed)
        for name in _MOVING:
            self._rig[name].max_speed = speed[name].value
        self._tell("sweeping arm and gripper")
        action = measure_action_latency(self._rig, travels, {n: speed[n].value or 0.0 for n in _MOVING}, receive)
        self._require("action_latency", action)
        self._tell("filming codes on a screen")
        self._world.camera.look_at("screen")
        self._world.camera.cover(self._options.cover_code)
        self._rig.drive.run_for(0.3)
        # This screen's draw-to-light time is known by design, and its refresh is not in step with the camera.
        camera = measure_camera(self._rig, "camera", self._world.screen, self._codes, display_ci95_refreshes=0.1)
        self._world.camera.look_at("cup")
        self.frames, self.frames_read = camera.frames, camera.frames_read
        self._require("receive_latency", {"camera": camera.result})
        truth = self._world.ledger.truth()
        found: list[Measurement] = []
        for name in _MOVING:
            for key, results, unit in (
                ("max_speed", speed, _UNITS[name]),
                ("action_latency", action, "s"),
                ("receive_latency", receive, "s"),
            ):
                found.append(Measurement(name, key, unit, results[name], truth[name][key]))
        found.append(Measurement("camera", "receive_latency", "s", camera.result, truth["camera"]["receive_latency"]))
        return found

    def grasp_three_times(self, measured: Mapping[str, CalibrationResult]) -> list[Grasp]:
        """Run the same grasp without the five latencies, with those of another rig, and with the measured ones."""
        settings = {
            "uncompensated": dict.fromkeys(COPIED_S, 0.0),
            "copied": dict(COPIED_S),
            "measured": {key: measured[key].value or 0.0 for key in COPIED_S},
        }
        return [self._grasp(name, latencies_s) for name, latencies_s in settings.items()]

    def cycles(self, sent_ns: NDArray[np.int64]) -> tuple[ControlCycle, ...]:
        """Follow one control cycle of the measured run, and the one at the same moment of the copied run."""
        found: list[ControlCycle | None] = []
        for name in _SHOWN:
            decisions, frames, start_ns = self._turns[name]
            near_ns = start_ns + _SHOWN_SHARE * self._demonstration.close_ns // 100
            rate_hz = self._rig["arm"].config.rate_hz
            found.append(trace_cycle(name, decisions, frames, sent_ns, rate_hz, self._world.ledger, near_ns))
        return tuple(each for each in found if each is not None)

    def _grasp(self, name: str, latencies_s: dict[str, float]) -> Grasp:
        rig, demonstration = self._rig, self._demonstration
        self._tell(f"grasping, {name}")
        rig["arm"].move_to(inverse(demonstration.tool_at_many(np.zeros(1, dtype=np.int64))[0]).tolist(), 1.2)
        rig["gripper"].move_to([demonstration.open_m], 0.6)
        rig.drive.run_for(1.5)
        for key, value in latencies_s.items():
            module, _, quantity = key.partition(".")
            setattr(rig[module], f"{quantity}_s", value)
        mounting = self._world.camera.pixels_to_world
        policy = DemonstratedGrasp(demonstration, lambda frame: detect_cup(frame, mounting), to_ns(POLICY_DT_S))
        low, high = _INFERENCE_S
        runner = Runner(rig, policy, POLICY_DT_S, inference_ns=lambda: to_ns(self._inference.uniform(low, high)))
        runner.listeners.append(self._recorder.add_decision)
        start_ns = rig.clock.now_ns()
        self._cup.start(start_ns)
        with rig["camera"].collect() as frames:
            decisions = runner.run(demonstration.close_ns * 1e-9 + _AFTER_S)
        self._turns[name] = decisions, list(frames), start_ns
        return judge_grasp(name, latencies_s, demonstration, self._world.ledger, decisions, start_ns, rig.clock.now_ns())

    @staticmethod
    def _require(key: str, results: Mapping[str, CalibrationResult]) -> None:
        for name, result in results.items():
            if not result.accepted:
                raise OnbeatError(f"{name} {key} was not measured: {result.reason}")


def _demonstration(motion: Motion | None) -> tuple[str, Demonstration]:
    if motion is None:
        clip = turntable(_CENTER, 0.08, _SPEED_MPS, _CLIP_S)
        return f"a cup on a turntable at {_SPEED_MPS} m/s", Demonstration(clip, to_ns(_CLOSE_S))
    fit = fit_clip(motion.t_ns, motion.positions, _CENTER, _REACH_M, _SPEED_MPS, _CLIP_S)
    return _describe(fit), Demonstration(fit.clip, _liveliest_ns(fit.clip))


def _write(config: ModuleConfig, measurement: Measurement, folder: Path, date: str, host: str) -> Measurement:
    if config.path is None:
        raise OnbeatError(f"module {config.name} came from no file, so its {measurement.key} cannot be written beside it")
    module = config.name if config.inline else None
    write_measured(config.path, measurement.key, measurement.result, date=date, host=host, module=module)
    return replace(measurement, written=config.path.relative_to(folder).as_posix())


def _describe(fit: Fit) -> str:
    axes = " and ".join("xyz"[axis] for axis in fit.axes)
    return f"a recorded motion from {fit.start_s:.1f} s on, its {axes} scaled by {fit.scale:.4g} into the arm's reach"


def _liveliest_ns(clip: Clip) -> int:
    low, high = (to_ns(s) for s in _CLOSE_RANGE_S)
    phases = np.arange(low, high, 20_000_000, dtype=np.int64)
    return int(phases[np.argmax(clip.speed_at(phases, 400_000_000))])


def _record_readings(rig: Rig, recorder: Recorder) -> None:
    for name, module in rig.modules.items():
        recorder.add_stream(name)
        module.listeners.append(partial(recorder.add_reading, name))


def _records(rig: Rig, name: str, recorder: Recorder) -> NDArray[Any]:
    loop = _loop(rig, name)
    records = loop.records()
    recorder.add_cycles(name, records)
    return records


def _loop_summary(rig: Rig, name: str, records: NDArray[Any]) -> LoopSummary:
    lateness_ns = records["wake_ns"] - records["deadline_ns"]
    return summarize_loop(name, rig[name].config.rate_hz, _loop(rig, name).status(), lateness_ns)


def _loop(rig: Rig, name: str) -> SendLoop:
    loop = rig[name].loop
    if loop is None:
        raise OnbeatError(f"the send loop of {name} is gone")
    return loop
