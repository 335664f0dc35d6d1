"""The measurements as procedures on a rig: what is commanded, what is collected, and which estimator judges it.

A procedure knows a rig only through its modules, so the same steps run on hardware and on the simulated rig. The order
matters: the duration of reads first (it stamps all that follows), then the speed (it sizes the sweep), then the sweep.
Several modules are measured at once. Nothing here writes a file, and nothing moves faster than it must.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import hypot
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate.camera import camera_latency
from onbeat.calibrate.delay_lag import estimate_delay_lag
from onbeat.calibrate.readout import read_latency
from onbeat.calibrate.result import CalibrationResult
from onbeat.calibrate.speed import SpeedTrial, check_sweep, max_speed
from onbeat.calibrate.timecode import CodeSchedule, encode_code, read_codes
from onbeat.errors import BadInput
from onbeat.motion import Waypoint
from onbeat.policy import Reading, Rig
from onbeat.units import to_ns

__all__ = (
    "CameraMeasurement",
    "Screen",
    "Travel",
    "measure_action_latency",
    "measure_camera",
    "measure_max_speed",
    "measure_receive_latency",
)

_SWEEP_STEP_S = 0.02
_SETTLE_S = 0.4
# A sweep asks for at most this share of the measured speed: a capped sweep would measure the cap.
_SWEEP_SHARE = 0.5
# From drawing to light: the next refresh, half a refresh away on average, and one more to build the picture. Where the camera's
# rate divides the screen's, the two keep one phase for the whole session, and the average is off by up to half a refresh.
_DISPLAY_REFRESHES = 1.5
_IN_STEP_REFRESHES = 0.5


@dataclass(frozen=True, slots=True)
class Travel:
    """How a module may be moved to be measured.

    Args:
        center: Where the motion is centred, shape (width,).
        run: How far each joint goes to each side in a run for the speed, shape (width,); 0 keeps a joint still.
        amplitude: Greatest amplitude of the sweep, for each joint alike.
        speeds: Speeds that are asked for in turn, slowest first, until one is not followed.
        frequency_hz: Lowest and highest frequency of the sweep.
        sweep_s: How long the sweep takes.
    """

    center: NDArray[np.float64]
    run: NDArray[np.float64]
    amplitude: float
    speeds: tuple[float, ...]
    frequency_hz: tuple[float, float] = (0.25, 1.25)
    sweep_s: float = 8.0


class Screen(Protocol):
    """A screen that can show a matrix of black (0) and white (255) modules."""

    @property
    def refresh_hz(self) -> float:
        """How often the panel is refreshed."""
        ...

    def show(self, image_uint8: NDArray[np.uint8], t_ns: int) -> None:
        """Replace what is shown, at t_ns on the clock of the screen's machine."""
        ...


@dataclass(frozen=True, slots=True)
class CameraMeasurement:
    """The camera's receive_latency, and how many frames could be read."""

    result: CalibrationResult
    frames: int
    frames_read: int


def measure_receive_latency(rig: Rig, names: Sequence[str], seconds: float = 2.0) -> dict[str, CalibrationResult]:
    """Time the reads of modules at rest; commands no motion.

    Args:
        rig: Started.
        names: Modules that are polled.
        seconds: For how long.

    Returns:
        receive_latency in s, by module.
    """
    collected = _collect(rig, names, lambda: rig.drive.run_for(seconds))
    results = {}
    for name, readings in collected.items():
        begin_ns = [reading.state.begin_ns for reading in readings]
        receive_ns = [reading.state.receive_ns for reading in readings]
        results[name] = read_latency(np.array(begin_ns, dtype=np.int64), np.array(receive_ns, dtype=np.int64))
    return results


def measure_max_speed(rig: Rig, travels: Mapping[str, Travel]) -> dict[str, CalibrationResult]:
    """Ask for runs at rising speed until one is not followed; the speed of that run is what the hardware does.

    Args:
        rig: Started, with room for the runs.
        travels: By module.

    Returns:
        max_speed in rad/s or m/s, by module; refused where even the fastest run was followed.
    """
    _go(rig, {name: travel.center - travel.run for name, travel in travels.items()}, 1.0)
    trials: dict[str, list[SpeedTrial]] = {name: [] for name in travels}
    results: dict[str, CalibrationResult] = {}
    side = 1.0
    for k in range(max(len(travel.speeds) for travel in travels.values())):
        going = {name: travel for name, travel in travels.items() if name not in results and k < len(travel.speeds)}
        if not going:
            break
        start_ns = rig.clock.now_ns() + to_ns(0.05)
        commands: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
        longest_s = 0.0
        for name, travel in going.items():
            run_s = float(2 * np.abs(travel.run).max() / travel.speeds[k])
            times_ns = np.array([start_ns, start_ns + to_ns(run_s)], dtype=np.int64)
            targets = np.stack([travel.center - side * travel.run, travel.center + side * travel.run])
            commands[name] = (times_ns, targets)
            # A run that is not followed takes longer than was asked for: wait for one at the speed before.
            slow_s = 2 * run_s if k else run_s
            longest_s = max(longest_s, slow_s + _SETTLE_S)

        def run(commands: Mapping[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = commands, s: float = longest_s) -> None:
            for name, (times_ns, targets) in commands.items():
                rig[name].schedule_j(_waypoints(times_ns, targets), compensate=False, limit=False)
            rig.drive.run_for(s)

        for name, readings in _collect(rig, tuple(going), run).items():
            joint = int(np.argmax(np.abs(going[name].run)))
            times_ns, targets = commands[name]
            measured_ns, measured = _samples(readings)
            trials[name].append(SpeedTrial(times_ns, targets[:, joint], measured_ns, measured[:, joint], going[name].speeds[k]))
            result = max_speed(trials[name])
            if result.accepted or k + 1 == len(going[name].speeds):
                results[name] = result
        side = -side
    return results


def measure_action_latency(
    rig: Rig, travels: Mapping[str, Travel], speeds: Mapping[str, float], receive: Mapping[str, CalibrationResult]
) -> dict[str, CalibrationResult]:
    """Sweep modules and estimate by how much they trail what was asked for; both leads are 0.

    Args:
        rig: Started; its modules stamp with the receive_latency that was measured.
        travels: By module.
        speeds: max_speed of each, rad/s or m/s; it sizes the sweep.
        receive: receive_latency of each: its interval is part of the result's, because the two are seen only together.

    Returns:
        action_latency in s, by module.

    Raises:
        BadInput: a sweep would be faster than its module, before anything moves.
    """
    commands: dict[str, tuple[NDArray[np.int64], NDArray[np.float64]]] = {}
    sizes: dict[str, float] = {}
    for name, travel in travels.items():
        top_hz = travel.frequency_hz[1]
        sizes[name] = min(travel.amplitude, _SWEEP_SHARE * speeds[name] / (2 * np.pi * top_hz))
        check_sweep(sizes[name], top_hz, speeds[name])
    _go(rig, {name: travel.center for name, travel in travels.items()}, 1.0)
    start_ns = rig.clock.now_ns() + to_ns(0.1)
    for name, travel in travels.items():
        offset = sizes[name] * _chirp(travel)
        times_ns = start_ns + np.arange(len(offset), dtype=np.int64) * to_ns(_SWEEP_STEP_S)
        commands[name] = (times_ns, travel.center + offset[:, None])

    def run() -> None:
        for name, (times_ns, targets) in commands.items():
            rig[name].schedule_j(_waypoints(times_ns, targets), compensate=False, limit=False)
        rig.drive.run_for(max(travel.sweep_s for travel in travels.values()) + 0.1 + _SETTLE_S)

    results = {}
    for name, readings in _collect(rig, tuple(travels), run).items():
        measured_ns, measured = _samples(readings)
        total = estimate_delay_lag(*commands[name], measured_ns, measured).total
        if total.accepted and total.ci95 is not None:
            ci95 = hypot(total.ci95, receive[name].ci95 or 0.0)
            conditions = {**total.conditions, "sweep_ci95_s": total.ci95, "amplitude": sizes[name]}
            total = replace(total, ci95=ci95, conditions=conditions)
        results[name] = replace(total, quantity="action_latency")
    return results


def measure_camera(
    rig: Rig,
    name: str,
    screen: Screen,
    rng: np.random.Generator,
    seconds: float = 6.0,
    *,
    display_ci95_refreshes: float = _IN_STEP_REFRESHES,
    tell: Callable[[float], None] | None = None,
) -> CameraMeasurement:
    """Show codes of the instant on a screen, film them, and compare.

    Args:
        rig: Started, with the camera looking at the screen.
        name: Of the camera.
        screen: On the rig's clock.
        rng: Draws how long each code stays.
        seconds: How long to film.
        display_ci95_refreshes: Half-width of the 95 % interval of the screen's own latency, in refreshes; smaller than half a
            refresh only where the camera's rate is known not to divide the screen's.
        tell: Called with the share done, 0 to 1, while the frames are read.

    Returns:
        receive_latency in s, and the number of frames.
    """
    display = _CodeDisplay(rig, screen, rng)
    rig.drive.add("screen", display.step)
    try:
        readings = _collect(rig, (name,), lambda: rig.drive.run_for(seconds))[name]
    finally:
        rig.drive.remove("screen")
    drawn = display.drawn()
    payload_ns, hold_ns, receive_ns = [], [], []
    for k, reading in enumerate(readings):
        for code in read_codes(reading.value):
            if code.payload_ns not in drawn:
                continue
            payload_ns.append(drawn[code.payload_ns][0])
            hold_ns.append(drawn[code.payload_ns][1])
            receive_ns.append(reading.stamp.receive_ns)
        if tell is not None:
            tell((k + 1) / len(readings))
    result = camera_latency(
        np.array(payload_ns, dtype=np.int64),
        np.array(hold_ns, dtype=np.int64),
        np.array(receive_ns, dtype=np.int64),
        _DISPLAY_REFRESHES / screen.refresh_hz,
        display_ci95_s=display_ci95_refreshes / screen.refresh_hz,
        frames_seen=len(readings),
    )
    return CameraMeasurement(result, len(readings), len(set(receive_ns)))


class _CodeDisplay:
    """Draws one code after the other; each is encoded before the instant that it carries, so that drawing takes no time.

    A busy machine draws late all the same (by 5 ms and more beside a burner), so it notes when it really drew.
    """

    def __init__(self, rig: Rig, screen: Screen, rng: np.random.Generator) -> None:
        self._clock = rig.clock
        self._screen = screen
        self._schedule = CodeSchedule(screen.refresh_hz, rng)
        self._due_ns = rig.clock.now_ns() + to_ns(0.05)
        self._drawn_ns: list[tuple[int, int]] = []
        self._image = self._prepare()

    def drawn(self) -> dict[int, tuple[int, int]]:
        """Give when each code was drawn and how long it stayed, by the instant that it carries; not the last, which stays."""
        following = [shown_ns for _, shown_ns in self._drawn_ns[1:]]
        return {code: (shown, after - shown) for (code, shown), after in zip(self._drawn_ns, following, strict=False)}

    def step(self, now_ns: int) -> int:
        if now_ns >= self._due_ns and self._schedule.next_ns is not None:
            shown_ns = self._clock.now_ns()
            self._screen.show(self._image, shown_ns)
            self._drawn_ns.append((self._due_ns, shown_ns))
            self._due_ns = self._schedule.next_ns
            self._image = self._prepare()
        return self._due_ns

    def _prepare(self) -> NDArray[np.uint8]:
        code = self._schedule.step(self._due_ns)
        if code is None:
            raise BadInput("the next code was asked for before it was due")
        return encode_code(code.payload_ns, code.hold_ns)


def _collect(rig: Rig, names: Sequence[str], run: Callable[[], None]) -> dict[str, list[Reading]]:
    with ExitStack() as stack:
        collected = {name: stack.enter_context(rig[name].collect()) for name in names}
        run()
    return {name: list(readings) for name, readings in collected.items()}


def _go(rig: Rig, targets: Mapping[str, NDArray[np.float64]], seconds: float) -> None:
    for name, target in targets.items():
        rig[name].move_to(target.tolist(), seconds)
    rig.drive.run_for(seconds + _SETTLE_S)


def _samples(readings: Sequence[Reading]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    times_ns = np.array([reading.stamp.capture_ns for reading in readings], dtype=np.int64)
    return times_ns, np.array([reading.value for reading in readings], dtype=np.float64)


def _waypoints(times_ns: NDArray[np.int64], targets: NDArray[np.float64]) -> list[Waypoint]:
    return [Waypoint(int(t_ns), target) for t_ns, target in zip(times_ns, targets, strict=True)]


def _chirp(travel: Travel) -> NDArray[np.float64]:
    """Give a sweep of unit amplitude that starts and ends at rest."""
    low, high = travel.frequency_hz
    t = np.arange(0.0, travel.sweep_s + _SWEEP_STEP_S / 2, _SWEEP_STEP_S)
    phase = 2 * np.pi * (low * t + (high - low) * t**2 / (2 * travel.sweep_s))
    fade = np.clip(np.minimum(t, travel.sweep_s - t) / 0.5, 0.0, 1.0)
    return np.asarray(np.sin(phase) * fade**2 * (3 - 2 * fade))
