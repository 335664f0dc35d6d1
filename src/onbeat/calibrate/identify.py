"""Move a module's joints one after another and identify the plant of each: what was sent, when, and what came of it.

Nothing here writes a file. Both leads are 0 and no limit stretches the motion: what is sent is what was planned.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import hypot
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate.excitation import TONES_HZ, Excitation, ExcitationLimits, Motion, check_place, make_excitation
from onbeat.calibrate.plant import METHOD, PlantResult, Stamps, identify_plant
from onbeat.calibrate.result import CalibrationResult
from onbeat.calibrate.true_stamps import StampKind, TrueStamps, true_stamps
from onbeat.device import DeviceInfo, ModuleConfig
from onbeat.device.config import KnownPlant, Provenance
from onbeat.errors import BadInput, DeviceError
from onbeat.loop import Flag, SendLoop
from onbeat.motion import Chunk, Trajectory
from onbeat.policy import Module, Rig
from onbeat.units import to_ns

__all__ = (
    "JointMotion",
    "JointPlant",
    "Request",
    "check_places",
    "excitation_of",
    "identify_joint",
    "known_plant",
    "move_joint",
)

# Asked for where nothing else is said: by the unit of the positions.
USUAL: dict[str, tuple[float, float, float]] = {"rad": (0.35, 1.0, 12.0), "m": (0.02, 0.08, 1.0)}
# A motion takes at most this share of the speed that was measured, and of the range.
SPEED_SHARE, RANGE_SHARE = 0.5, 0.45
LEAST_PER_PERIOD = 4.0
BEFORE_S, AFTER_S, PIECE_S = 0.3, 0.6, 0.5
# A device that has said nothing new for so long, or for a period of the fastest tone, is not moved on blindly.
SILENT_S = 2.0
MAX_PART_CI95_S = 0.001
# After these the target is not what the plan says, or nobody knows it.
UNKNOWN = Flag.LIMITED | Flag.EXTRAPOLATED | Flag.STALE_PLAN | Flag.DEVICE_ERROR


@dataclass(frozen=True, slots=True)
class Request:
    """How a joint is to be moved; None takes what is usual for its unit, speed and range.

    Args:
        motion: Kind of motion.
        seconds: For each joint.
        amplitude, speed, acceleration: At most; in the joint's unit and seconds.
        tones_hz: Frequencies.
    """

    motion: Motion = "sines"
    seconds: float = 60.0
    amplitude: float | None = None
    speed: float | None = None
    acceleration: float | None = None
    tones_hz: tuple[float, ...] = TONES_HZ


@dataclass(frozen=True, slots=True, eq=False)
class JointMotion:
    """How one joint was moved, and what was sent and read.

    Args:
        joint: Its number, from 0.
        excitation: The motion.
        sent_ns, command: What was sent, when. Shape (n,).
        samples: What was read, and when it was true; values of this joint alone, shape (m, 1).
        unsent: Why what was sent is not known; "" when it is.
    """

    joint: int
    excitation: Excitation
    sent_ns: NDArray[np.int64]
    command: NDArray[np.float64]
    samples: TrueStamps
    unsent: str

    @property
    def measured(self) -> NDArray[np.float64]:
        """The samples of the joint, shape (m,)."""
        return self.samples.values[:, 0]


@dataclass(frozen=True, slots=True, eq=False)
class JointPlant:
    """One joint: its motion, and the plant.

    Args:
        moved: What was sent and read.
        plant: The result; the intervals of l_eff and dead_time hold what the stamps are off by.
    """

    moved: JointMotion
    plant: PlantResult

    @property
    def joint(self) -> int:
        """The joint's number, from 0."""
        return self.moved.joint

    @property
    def excitation(self) -> Excitation:
        """The motion."""
        return self.moved.excitation

    @property
    def stamps(self) -> StampKind:
        """What the samples' stamps are."""
        return self.moved.samples.kind

    @property
    def biased(self) -> bool:
        """Whether l_eff is too large by a delay of the stamps that is not known."""
        return self.moved.samples.biased

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the figure rests on."""
        return (self.moved.samples.remark, *self.plant.remarks)


def excitation_of(config: ModuleConfig, info: DeviceInfo, joint: int, request: Request) -> Excitation:
    """Make a joint's motion and check it against what its YAML says; opens nothing.

    Raises:
        BadInput: the module takes poses or no commands, has no such joint, is slower or has less range than was asked for, or is
            told or read too seldom for the fastest frequency.
    """
    if info.width == 0 or info.kind == "pose":
        takes = "poses" if info.kind == "pose" else "no commands"
        raise BadInput(
            f"module {config.name!r} takes {takes}; a plant is identified joint by joint, so name one that takes joints"
        )
    if not 0 <= joint < info.width:
        raise BadInput(f"module {config.name!r} has joints 0 to {info.width - 1}, and no joint {joint}")
    unit = info.unit
    amplitude, speed, acceleration = USUAL.get(unit, USUAL["rad"])
    lower, upper = _bound_of(config.lower, joint), _bound_of(config.upper, joint)
    if lower is not None and upper is not None:
        span = upper - lower
        if request.amplitude is not None and 2 * request.amplitude > span:
            raise BadInput(
                f"an amplitude of {request.amplitude:g} {unit} needs {2 * request.amplitude:g} {unit}, and joint {joint} has "
                f"{span:.4g} {unit}, from {lower:g} to {upper:g}; give --amplitude {RANGE_SHARE * span:.2g} or less"
            )
        amplitude = min(amplitude, RANGE_SHARE * span)
    if config.max_speed is not None:
        if request.speed is not None and request.speed > config.max_speed:
            raise BadInput(
                f"a speed of {request.speed:g} {unit}/s is above max_speed {config.max_speed:g} {unit}/s of {config.name}; "
                f"give --speed {SPEED_SHARE * config.max_speed:.2g}: a capped motion measures the cap"
            )
        speed = min(speed, SPEED_SHARE * config.max_speed)
    top_hz = max(request.tones_hz, default=0.0)
    for what, key, rate_hz in (("told", "rate_hz", config.rate_hz), ("read", "poll_hz", config.poll_hz)):
        if rate_hz is not None and top_hz * LEAST_PER_PERIOD > rate_hz:
            raise BadInput(
                f"{config.name} is {what} {rate_hz:g} times a second ({key}), and a tone of {top_hz:g} Hz needs "
                f"{LEAST_PER_PERIOD * top_hz:g}; name tones up to {rate_hz / LEAST_PER_PERIOD:.2g} Hz with --tone, or raise {key}"
            )
    limits = ExcitationLimits(
        request.amplitude if request.amplitude is not None else amplitude,
        request.speed if request.speed is not None else speed,
        request.acceleration if request.acceleration is not None else acceleration,
    )
    return make_excitation(request.motion, request.seconds, limits, request.tones_hz)


def _bound_of(bound: float | tuple[float, ...] | None, joint: int) -> float | None:
    """Give one joint's end of the range."""
    if isinstance(bound, tuple):
        return bound[joint] if len(bound) > 1 else bound[0]
    return bound


def check_places(rig: Rig, name: str, excitations: Mapping[int, Excitation]) -> None:
    """Check for all joints, before the first one moves, that there is room around where they stand.

    Raises:
        BadInput: one has too little.
    """
    module = rig[name]
    here = _plan(module)[1].at_ns(rig.clock.now_ns())
    for joint, excitation in excitations.items():
        lower, upper = (_bound_of(bound, joint) for bound in (module.config.lower, module.config.upper))
        check_place(excitation, float(here[joint]), lower, upper, module.info.unit, f"{name} joint {joint}")


def move_joint(
    rig: Rig, name: str, joint: int, excitation: Excitation, tell: Callable[[float], None] = lambda seconds: None
) -> JointMotion:
    """Move one joint, the others staying, and take down what is sent and read.

    Args:
        rig: Started.
        name: Of the module.
        joint: Its number, from 0.
        excitation: The motion, around where the joint stands.
        tell: Called with the seconds that have passed since the last call.

    Raises:
        BadInput: there is no room, or the plan was not taken as it is.
        DeviceError: a module failed; all hold then. Or this one has said nothing new for too long, and holds when the rig stops.
    """
    module = rig[name]
    check_places(rig, name, {joint: excitation})
    loop, plan = _plan(module)
    now_ns = rig.clock.now_ns()
    start_ns = now_ns + to_ns(BEFORE_S)
    targets = np.tile(plan.at_ns(now_ns), (len(excitation.offsets), 1))
    targets[:, joint] += excitation.offsets
    loop.records()
    lost, repeated = loop.status().dropped_records, module.repeated
    taken = [loop.records()]
    with module.collect() as collected:
        outcomes = module.schedule_j(Chunk(start_ns, excitation.step_ns, targets, 0), compensate=False, limit=False)
        if (kept := outcomes.count_of("kept")) < len(outcomes):
            raise BadInput(f"{len(outcomes) - kept} of {len(outcomes)} waypoints of {name} were not taken as they are; try again")
        end_ns = start_ns + to_ns(excitation.duration_s + AFTER_S)
        silent_s = max(SILENT_S, 1 / max(excitation.tones_hz))
        heard_ns, heard = now_ns, 0
        while now_ns < end_ns:
            next_ns = min(now_ns + to_ns(PIECE_S), end_ns)
            rig.drive.run_until(next_ns)
            tell((next_ns - now_ns) * 1e-9)
            now_ns = next_ns
            taken.append(loop.records())
            if len(collected) > heard:
                heard_ns, heard = now_ns, len(collected)
            elif now_ns - heard_ns > to_ns(silent_s):
                raise DeviceError(
                    f"{name} has given no new reading for {(now_ns - heard_ns) * 1e-9:.1f} s, and a joint is not moved unseen; "
                    "see why its driver does not report"
                )
    records = np.concatenate(taken)
    readings = list(collected)
    repeats = module.repeated - repeated
    stamps = true_stamps(readings, module.config, repeats / max(repeats + len(readings), 1))
    sent = records[(records["flags"] & Flag.WOULD_BLOCK) == 0]
    command = _plan(module)[1].at_many(sent["t_eff_ns"])[:, joint]
    span_ns = start_ns, start_ns + to_ns(excitation.duration_s)
    unsent = _unknown(records, span_ns, loop.status().dropped_records - lost)
    samples = replace(stamps, values=stamps.values[:, [joint]])
    return JointMotion(joint, excitation, sent["sent_ns"], command, samples, unsent)


def identify_joint(moved: JointMotion) -> JointPlant:
    """Identify what a joint makes of its commands; refused, with the reason, where what was sent or read does not tell."""
    if moved.unsent:
        return JointPlant(moved, _refused(moved.unsent, len(moved.measured)))
    known: Stamps = "receipt" if moved.samples.kind == "receipt" else "sample"
    plant = identify_plant(
        moved.sent_ns, moved.command, moved.samples.t_ns, moved.measured, moved.excitation.tones_hz, stamps=known
    )
    return JointPlant(moved, _widened(plant, moved.samples))


def known_plant(found: JointPlant, date: str, host: str) -> KnownPlant:
    """Give what is kept of a joint, with six digits, more than any interval deserves.

    Args:
        found: Of the joint.
        date: ISO 8601.
        host: The machine that measured.

    Raises:
        BadInput: the joint was refused.
    """
    plant = found.plant
    if plant.l_eff.value is None or plant.l_eff.ci95 is None:
        raise BadInput(f"the plant of joint {found.joint} was refused and is not kept: {plant.reason}")
    l_eff = _digits(plant.l_eff.value)
    parts: dict[str, float | None] = {}
    for part in (plant.dead_time, plant.lag):
        known = part.value is not None and part.ci95 is not None
        parts[part.quantity] = _digits(part.value or 0.0) if known else None
        parts[f"{part.quantity}_ci95"] = _digits(part.ci95 or 0.0) if known else None
    seconds = found.excitation.duration_s
    method = f"{plant.l_eff.method}; {found.excitation.motion}, {seconds:.0f} s"
    return KnownPlant(
        l_eff,
        parts["dead_time"],
        parts["dead_time_ci95"],
        parts["lag"],
        parts["lag_ci95"],
        _digits(plant.gain),
        _digits(plant.gain_ci95),
        _digits(plant.chi2_dof),
        found.stamps,
        found.excitation.motion,
        Provenance("measured", l_eff, _digits(plant.l_eff.ci95), int(plant.l_eff.n), method, date, host),
    )


def _digits(figure: float) -> float:
    return float(f"{figure:.6g}")


def _widened(plant: PlantResult, stamps: TrueStamps) -> PlantResult:
    """Add to the intervals what the stamps are off by: seen from one delay, it cannot be told from it."""
    if not plant.accepted or stamps.ci95_s == 0:
        return plant

    def wider(result: CalibrationResult) -> CalibrationResult:
        if result.ci95 is None:
            return result
        conditions = {**result.conditions, "motion_ci95_s": result.ci95, "stamps_ci95_s": stamps.ci95_s}
        return replace(result, ci95=hypot(result.ci95, stamps.ci95_s), conditions=conditions)

    dead = wider(plant.dead_time)
    if dead.value is not None and dead.ci95 is not None and dead.ci95 > MAX_PART_CI95_S:
        dead = CalibrationResult.refuse(
            "dead_time",
            f"known only to {dead.value * 1e3:.2f} +- {dead.ci95 * 1e3:.2f} ms, because the stamps are known only to "
            f"{stamps.ci95_s * 1e3:.2f} ms; measure receive_latency",
            n=dead.n,
            method=dead.method,
            **dead.conditions,
        )
    return replace(plant, l_eff=wider(plant.l_eff), dead_time=dead)


def _plan(module: Module) -> tuple[SendLoop, Trajectory]:
    if module.loop is None or module.plan is None:
        raise BadInput(f"module {module.name!r} is not started")
    return module.loop, module.plan


def _unknown(records: NDArray[Any], span_ns: tuple[int, int], dropped: int) -> str:
    """Say why what was sent is not known; "" when it is."""
    if dropped:
        return f"{dropped} records of what was sent were lost; the machine was too busy: try again on an idle one"
    moving = (records["t_eff_ns"] > span_ns[0]) & (records["t_eff_ns"] < span_ns[1])
    if not moving.any():
        return "nothing was sent while the joint should have moved; see the send loop's status"
    for flag, why in (
        (UNKNOWN, "a limit of the send loop moved them, or the plan was stale: lower --speed, --acceleration or --amplitude"),
        (Flag.HELD, "the loop held its last target instead of the plan's"),
        (Flag.WOULD_BLOCK, "the connection took no more: lower rate_hz, or mend the connection"),
    ):
        count = int(np.count_nonzero(records["flags"][moving] & flag))
        # A send that was not taken leaves the one before in force, and that is known; many mean that the wire is too slow.
        if count > (0.01 * moving.sum() if flag == Flag.WOULD_BLOCK else 0):
            return f"{count} of {int(moving.sum())} targets were not sent as planned: {why}"
    return ""


def _refused(reason: str, n: int) -> PlantResult:
    l_eff, dead, lag = (CalibrationResult.refuse(key, reason, n=n, method=METHOD) for key in ("l_eff", "dead_time", "lag"))
    nan = float("nan")
    return PlantResult(l_eff, dead, lag, nan, nan, nan, (), 0.0, "refused", reason, ())
