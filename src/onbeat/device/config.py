"""One YAML per module, one for the rig: typed values, each measured figure with where it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from onbeat.device.yaml_file import YamlFile, read_yaml
from onbeat.errors import BadInput

__all__ = (
    "MEASURED_KEYS",
    "CentreConfig",
    "KnownPlant",
    "ModuleConfig",
    "PolicyConfig",
    "Provenance",
    "RigConfig",
    "copied_figures",
    "load_module_config",
    "load_policy_config",
    "load_rig_config",
    "parse_module",
)

MEASURED_KEYS = ("receive_latency", "action_latency", "max_speed")
_TASK_KEYS = ("execution_speed_scale", "height_threshold", "collision_sphere", "policy_dt")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a figure comes from.

    Args:
        source: "measured"; "copied" from elsewhere; "assumed"; "edited" by hand after it was written, in which case the
            other fields say what was written; "unstated", a figure without a block; "absent", no figure at all.
        value: The figure as it was written, None when unstated or absent.
        ci95: Half-width of the 95 % interval, same unit.
        n: Samples that speak.
        method, date, host: How, when (ISO 8601) and on which machine.
    """

    source: str
    value: float | None = None
    ci95: float | None = None
    n: int | None = None
    method: str | None = None
    date: str | None = None
    host: str | None = None


@dataclass(frozen=True, slots=True)
class KnownPlant:
    """What one joint makes of its commands, as it was identified. Nothing is led by it: that is action_latency's.

    Args:
        l_eff: From sending to motion, s: half of the hold, dead time and lag.
        dead_time, lag: Its parts, s; None where a part is not known.
        dead_time_ci95, lag_ci95: Half-widths of their 95 % intervals, s.
        gain, gain_ci95: Motion over command.
        chi2_dof: Distance from a dead time and a lag; about 1 where that is all there is.
        stamps: What the samples' stamps were: "sample", "mapped", "one-way", "corrected" or "receipt".
        motion: "sines", "multisine" or "chirp".
        provenance: Of l_eff; its ci95 is l_eff's.
    """

    l_eff: float
    dead_time: float | None
    dead_time_ci95: float | None
    lag: float | None
    lag_ci95: float | None
    gain: float
    gain_ci95: float
    chi2_dof: float
    stamps: str
    motion: str
    provenance: Provenance

    @property
    def biased(self) -> bool:
        """Whether l_eff contains a delay of the stamps that is not known: it is that at most."""
        return self.stamps in ("one-way", "receipt")


@dataclass(frozen=True, slots=True)
class CentreConfig:
    """That sends are kept before the device's tick.

    Args:
        margin: How long before it, s; None: in the middle between two.
    """

    margin: float | None = None


@dataclass(frozen=True, slots=True)
class ModuleConfig:
    """One module of a rig. The figures describe hardware, not the task, and so live here and not with a policy.

    Args:
        name: The module's name in its rig.
        device: "package.module:Class", or the name of an entry point of the group onbeat.devices.
        rate_hz: Rate of the send loop.
        poll_hz: Rate of state reads; None: a reading follows the other.
        receive_latency: How long before its stamp a reading was true, in seconds: capture = stamp - receive_latency.
        action_latency: From sending to being there, in seconds: send_at = t_target - action_latency.
        max_speed: The fastest that the hardware follows, rad/s or m/s; None: not measured.
        lower, upper: Range of targets, one number for all or one a joint; None: no limit.
        params: Handed to the device as they are.
        provenance: Where the figures come from, by key; ask `provenance_of`.
        path: The file that holds the module; None when it was built in code.
        inline: Whether that file is the rig's own, with the module's keys under modules/NAME.
        plant: What is known of each joint, by its number from 0.
        process: "shared": in the rig's process; "own": a Python-only device in a process of its own.
        centre: Keep the sends a margin before the tick that the device's own reports show; None: where the loop began.
    """

    name: str
    device: str
    rate_hz: float = 100.0
    poll_hz: float | None = None
    receive_latency: float = 0.0
    action_latency: float = 0.0
    max_speed: float | None = None
    lower: float | tuple[float, ...] | None = None
    upper: float | tuple[float, ...] | None = None
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)
    provenance: Mapping[str, Provenance] = field(default_factory=dict, hash=False)
    path: Path | None = None
    inline: bool = False
    plant: Mapping[int, KnownPlant] = field(default_factory=dict, hash=False)
    process: str = "shared"
    centre: CentreConfig | None = None

    def provenance_of(self, key: str) -> Provenance:
        """Say where a figure comes from.

        Raises:
            BadInput: the key is none of the measured ones.
        """
        if key not in MEASURED_KEYS:
            raise BadInput(f"{key!r} is not a measured figure; they are {', '.join(MEASURED_KEYS)}")
        return self.provenance.get(key, Provenance("unstated"))


@dataclass(frozen=True, slots=True)
class RigConfig:
    """A rig: its modules by name, in the order of the file."""

    name: str
    modules: Mapping[str, ModuleConfig] = field(hash=False)
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class PolicyConfig:
    """What describes the task and its checkpoint; figures of the hardware are refused here.

    Args:
        policy_dt: Time between the steps of a chunk, in seconds.
        execution_speed_scale: Stretches policy_dt; 2 runs at half the speed.
        policy: "package.module:function", or None.
        n_obs, obs_dt: How many observations the policy gets, and the seconds between them.
        first_step: Steps between the observation and the chunk's first row.
        height_threshold: Height of the table in metres.
        collision_sphere: As the policy defines it.
        params: Handed to the policy as they are.
        path: The file.
    """

    policy_dt: float
    execution_speed_scale: float = 1.0
    policy: str | None = None
    n_obs: int = 1
    obs_dt: float | None = None
    first_step: int = 1
    height_threshold: float | None = None
    collision_sphere: Any = field(default=None, hash=False)
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)
    path: Path | None = None


def load_module_config(path: str | Path, name: str | None = None) -> ModuleConfig:
    """Read one module's YAML; without a name the module is called like its file.

    Raises:
        BadInput: the file is missing, is not YAML, or a key in it is unknown, missing or out of range; the sentence names the
            file, the line and the fix.
    """
    file = read_yaml(path)
    return parse_module(file, (), name or file.path.stem)


def load_rig_config(path: str | Path) -> RigConfig:
    """Read a rig's YAML and those of its modules, whose paths count from the rig's folder.

    Raises:
        BadInput: one of the files is not acceptable; the sentence names the file, the line and the fix.
    """
    from onbeat.device.schema import RigFile, check

    file = read_yaml(path)
    if "modules" not in file.data and "device" in file.data:
        raise BadInput(f"{path} is a module's file, not a rig's; name it in a rig.yaml: modules: {{{file.path.stem}: {path}}}")
    rig = check(RigFile, file, (), file.data)
    modules = {}
    for name, entry in rig.modules.items():
        if isinstance(entry, str):
            entry_path = file.path.parent / entry
            if not entry_path.exists():
                line = file.line_of(("modules", name))
                raise BadInput(f"module {name!r} in {path} line {line} names {entry}, and there is no file {entry_path}")
            modules[name] = load_module_config(entry_path, name)
        else:
            modules[name] = parse_module(file, ("modules", name), name)
    return RigConfig(rig.name or file.path.resolve().parent.name, MappingProxyType(modules), file.path)


def copied_figures(rig: RigConfig) -> list[str]:
    """Say of each figure of a rig that was copied from elsewhere that nobody has measured it; one sentence a figure."""
    sentences = []
    for name, module in rig.modules.items():
        for key in MEASURED_KEYS:
            provenance = module.provenance_of(key)
            if provenance.source == "copied":
                unit = "" if key == "max_speed" else " s"
                origin = provenance.method or "elsewhere"
                sentences.append(
                    f"{name}: {key} {getattr(module, key):g}{unit} was copied from {origin}, not measured; measure it"
                )
    return sentences


def load_policy_config(path: str | Path) -> PolicyConfig:
    """Read a policy's YAML.

    Raises:
        BadInput: as for a module; a figure that describes hardware is refused with the place where it belongs.
    """
    from onbeat.device.schema import PolicyFile, check

    file = read_yaml(path)
    for key in (*MEASURED_KEYS, "plant", "provenance"):
        if key in file.data:
            line = file.line_of((key,))
            raise BadInput(
                f"{key!r} in {path} line {line} describes the hardware, not the policy; "
                f"move it into the YAML of its module, where every policy on this robot reads it"
            )
    values = check(PolicyFile, file, (), file.data).model_dump()
    values["params"] = MappingProxyType(values["params"])
    return PolicyConfig(**values, path=file.path)


def parse_module(file: YamlFile, prefix: tuple[str, ...], name: str) -> ModuleConfig:
    """Read the module that stands in a file under `prefix`: () for its own file, ("modules", NAME) inside a rig's.

    Raises:
        BadInput: there is none, or as for `load_module_config`.
    """
    from onbeat.device.schema import ModuleFile, check

    data: Any = file.data
    for key in prefix:
        data = data.get(key) if isinstance(data, dict) else None
    if not isinstance(data, dict):
        raise BadInput(f"{file.path} does not hold the keys of a module {name!r}; write to the file that does")
    for key in _TASK_KEYS:
        if key in data:
            line = file.line_of((*prefix, key))
            raise BadInput(
                f"{key!r} in {file.path} line {line} describes the task, not the hardware; move it into the policy's YAML"
            )
    parsed = check(ModuleFile, file, prefix, data)
    if parsed.centre is not None and parsed.poll_hz is not None:
        line = file.line_of((*prefix, "centre"))
        raise BadInput(
            f"'centre' in {file.path} line {line} needs reports that come at the device's own beat, and with poll_hz they come "
            "at ours; leave one of the two out"
        )
    lower, upper = _bounds(parsed.lower), _bounds(parsed.upper)
    _check_range(file, prefix, lower, upper)
    provenance = {}
    for key in MEASURED_KEYS:
        block = next((block for written, block in parsed.provenance.items() if written == key), None)
        if data.get(key) is None:
            provenance[key] = Provenance("absent")
        elif block is not None:
            written = Provenance(**block.model_dump())
            provenance[key] = _as_written(written, getattr(parsed, key))
    plant = {
        joint: KnownPlant(
            **block.model_dump(exclude={"provenance"}),
            provenance=_as_written(Provenance(**block.provenance.model_dump()), block.l_eff),
        )
        for joint, block in parsed.plant.items()
    }
    return ModuleConfig(
        name,
        parsed.device,
        parsed.rate_hz,
        parsed.poll_hz,
        parsed.receive_latency,
        parsed.action_latency,
        parsed.max_speed,
        lower,
        upper,
        MappingProxyType(parsed.params),
        MappingProxyType(provenance),
        file.path,
        bool(prefix),
        MappingProxyType(plant),
        process=parsed.process,
        centre=None if parsed.centre is None else CentreConfig(parsed.centre.margin),
    )


def _as_written(written: Provenance, figure: float) -> Provenance:
    return written if written.value == figure else replace(written, source="edited")


def _bounds(value: float | list[float] | None) -> float | tuple[float, ...] | None:
    return tuple(value) if isinstance(value, list) else value


def _check_range(
    file: YamlFile,
    prefix: tuple[str, ...],
    lower: float | tuple[float, ...] | None,
    upper: float | tuple[float, ...] | None,
) -> None:
    if lower is None or upper is None:
        return
    lows = lower if isinstance(lower, tuple) else (lower,)
    highs = upper if isinstance(upper, tuple) else (upper,)
    where = f"{file.path} line {file.line_of((*prefix, 'lower'))}"
    if len(lows) != len(highs) and 1 not in (len(lows), len(highs)):
        raise BadInput(
            f"lower in {where} has {len(lows)} numbers and upper {len(highs)}; write one for all joints or one a joint"
        )
    size = max(len(lows), len(highs))
    lows, highs = lows * (size // len(lows)), highs * (size // len(highs))
    for joint, (low, high) in enumerate(zip(lows, highs, strict=True)):
        if low >= high:
            raise BadInput(f"lower {low} in {where} is not below upper {high} of joint {joint}; exchange or widen them")
