"""The hardware figures of a UMI evaluation config, as the modules of a rig: copied, not measured, and marked so."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any

from onbeat.device.yaml_file import YamlFile, read_yaml
from onbeat.errors import BadInput

__all__ = ("UmiConfig", "UmiFigure", "UmiModule", "read_umi")

_LONGEST_S = 10.0
_Keys = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class UmiFigure:
    """A latency in seconds under the key that a module's YAML has for it, and the key of the config that it comes from."""

    key: str
    value: float
    origin: str


@dataclass(frozen=True, slots=True)
class UmiModule:
    """One device of the config.

    Args:
        name: What it is called in the rig, e.g. "arm", or "arm_0" where there are several.
        kind: "arm", "gripper" or "camera".
        figures: The latencies that the config states.
        unstated: Of the latencies that such a device has, those that the config does not state: (our key, its key).
        params: How the device is reached, as the config says it.
    """

    name: str
    kind: str
    figures: tuple[UmiFigure, ...]
    unstated: tuple[tuple[str, str], ...]
    params: Mapping[str, Any] = field(hash=False)


@dataclass(frozen=True, slots=True)
class UmiConfig:
    """What a config says.

    Args:
        path: The file.
        modules: Its devices.
        task: Keys of a policy's YAML.
        left_out: Keys that are not taken over, each with its line and, where one is near, the key that may be meant.
    """

    path: Path
    modules: tuple[UmiModule, ...]
    task: Mapping[str, Any] = field(hash=False)
    left_out: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    sections: tuple[str, ...]
    latencies: Mapping[str, str]  # the config's key -> ours
    params: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return (*self.latencies, *self.params)


_KINDS = (
    _Kind(
        "arm",
        ("robots", "robot"),
        {"robot_obs_latency": "receive_latency", "robot_action_latency": "action_latency"},
        ("robot_type", "robot_ip", "robot_port", "tcp_offset"),
    ),
    _Kind(
        "gripper",
        ("grippers", "gripper"),
        {"gripper_obs_latency": "receive_latency", "gripper_action_latency": "action_latency"},
        ("gripper_type", "gripper_ip", "gripper_port"),
    ),
    _Kind("camera", ("cameras", "camera"), {"camera_obs_latency": "receive_latency"}, ("camera_type", "camera_path")),
)
_SPHERE = ("sphere_center", "sphere_radius")
# What a robot's entry says of the table that it stands at.
_TASK_OF_ROBOT = ("height_threshold", "collision_sphere", *_SPHERE)
_TASK = ("policy_dt", "frequency", "execution_speed_scale", "n_obs_steps")
_KNOWN = (*(key for kind in _KINDS for key in (*kind.sections[:1], *kind.keys)), *_TASK_OF_ROBOT, *_TASK)


def read_umi(path: str | Path) -> UmiConfig:
    """Read a UMI evaluation config: one robot or several, in lists or under names, or with its keys at the top.

    A latency at the top holds for each device that does not state its own.

    Raises:
        BadInput: the file is no YAML, holds no key of such a config, or a figure is no latency in seconds; the sentence names
            the file, the line and the fix.
    """
    file = read_yaml(path)
    taken: set[_Keys] = set()
    modules, robots = [], {}
    for kind in _KINDS:
        places = _places(file, kind)
        for index, (name, keys) in enumerate(places):
            modules.append(_module(file, kind, _Place(name, keys, index, len(places)), taken))
            if kind.name == "arm":
                robots[name] = keys
    if not modules:
        raise BadInput(
            f"{path} holds no key of a UMI config (robots, grippers, robot_action_latency, camera_obs_latency, ...); "
            "name the config that the evaluation runs with"
        )
    task = _task(file, robots, taken)
    return UmiConfig(file.path, tuple(modules), MappingProxyType(task), tuple(_left_out(file, taken)))


@dataclass(frozen=True, slots=True)
class _Place:
    """One device: its name, where its keys stand (() is the top of the file), and the how-manyth of its kind it is."""

    name: str
    keys: _Keys
    index: int
    count: int


def _places(file: YamlFile, kind: _Kind) -> list[tuple[str, _Keys]]:
    """Give the name of each device of a kind, and where its keys stand."""
    section = next((s for s in kind.sections if file.data.get(s) is not None), None)
    if section is None:
        flat = [file.data[key] for key in kind.keys if file.data.get(key) is not None]
        count = max((len(value) if isinstance(value, list) else 1 for value in flat), default=0)
        found: list[_Keys] = [()] * count
    else:
        held = file.data[section]
        named = isinstance(held, dict) and held and all(isinstance(entry, dict) for entry in held.values())
        if named and all(str(name).isidentifier() for name in held):
            return [(f"{name}_{kind.name}", (section, name)) for name in held]
        if isinstance(held, list) and all(isinstance(entry, dict) for entry in held):
            found = [(section, k) for k in range(len(held))]
        elif isinstance(held, dict) and not named:
            found = [(section,)]
        else:
            raise BadInput(f"{section} in {_where(file, (section,))} must list devices, each with keys such as {kind.keys[0]}")
    return [(kind.name if len(found) == 1 else f"{kind.name}_{k}", keys) for k, keys in enumerate(found)]


def _module(file: YamlFile, kind: _Kind, place: _Place, taken: set[_Keys]) -> UmiModule:
    figures, unstated, params = [], [], {}
    for theirs, ours in kind.latencies.items():
        found = _lookup(file, place, theirs)
        if found is None:
            unstated.append((ours, theirs))
        else:
            figures.append(UmiFigure(ours, _seconds(file, *found), _dotted(found[0])))
            taken.add(found[0])
    for key in kind.params:
        found = _lookup(file, place, key)
        if found is not None and _is_scalar(found[1]):
            params[key] = found[1]
            taken.add(found[0])
    return UmiModule(place.name, kind.name, tuple(figures), tuple(unstated), MappingProxyType(params))


def _lookup(file: YamlFile, place: _Place, key: str) -> tuple[_Keys, Any] | None:
    """Find a device's value: its own, else the one at the top, of which a list has one value for each device."""
    own = _value(file.data, (*place.keys, key)) if place.keys else None
    if own is not None:
        return (*place.keys, key), own
    shared = file.data.get(key)
    if not isinstance(shared, list):
        return None if shared is None else ((key,), shared)
    if len(shared) != place.count:
        raise BadInput(
            f"{key} in {_where(file, (key,))} has {len(shared)} values for {place.count} devices; write one, or one for each"
        )
    return None if shared[place.index] is None else ((key, place.index), shared[place.index])


def _task(file: YamlFile, robots: Mapping[str, _Keys], taken: set[_Keys]) -> dict[str, Any]:
    """Gather what belongs to a policy; what differs from robot to robot stands under their names."""
    task: dict[str, Any] = {}
    rate, dt = ("frequency",), ("policy_dt",)
    if file.data.get("policy_dt") is not None:
        task["policy_dt"] = _number(file, dt, above=0.0, most=_LONGEST_S)
        taken.add(dt)
    elif file.data.get("frequency") is not None:
        task["policy_dt"] = 1 / _number(file, rate, above=1 / _LONGEST_S, most=100_000.0)
        taken.add(rate)
    if file.data.get("execution_speed_scale") is not None:
        task["execution_speed_scale"] = _number(file, ("execution_speed_scale",), above=0.0)
        taken.add(("execution_speed_scale",))
    if file.data.get("n_obs_steps") is not None:
        count = _number(file, ("n_obs_steps",), above=0.0)
        if count != int(count):
            raise BadInput(f"n_obs_steps in {_where(file, ('n_obs_steps',))} is {count:g}; it must be a whole number")
        task["n_obs"] = int(count)
        taken.add(("n_obs_steps",))
    params: dict[str, Any] = {}
    for key, read in (("height_threshold", _height), ("collision_sphere", _sphere)):
        found = {name: value for name, keys in robots.items() if (value := read(file, keys, taken)) is not None}
        if not found and (value := read(file, (), taken)) is not None:
            found = {"": value}
        values = list(found.values())
        if values and all(value == values[0] for value in values):
            task[key] = values[0]
        elif values and key == "collision_sphere":
            task[key] = found
        elif values:
            params[key] = found
    return {**task, "params": params} if params else task


def _height(file: YamlFile, keys: _Keys, taken: set[_Keys]) -> float | None:
    keys = (*keys, "height_threshold")
    if _value(file.data, keys) is None:
        return None
    taken.add(keys)
    return _number(file, keys)


def _sphere(file: YamlFile, keys: _Keys, taken: set[_Keys]) -> Any:
    """Give a robot's sphere, written whole or as its centre and radius (m)."""
    whole = _value(file.data, (*keys, "collision_sphere"))
    if whole is not None and _is_plain(whole):
        taken.add((*keys, "collision_sphere"))
        return whole
    center, radius = (_value(file.data, (*keys, key)) for key in _SPHERE)
    if center is None or radius is None or not _is_plain(center):
        return None
    taken.update((*keys, key) for key in _SPHERE)
    return {"center": center, "radius": _number(file, (*keys, "sphere_radius"), above=0.0)}


def _seconds(file: YamlFile, keys: _Keys, value: Any) -> float:
    where = f"{_dotted(keys)} in {_where(file, keys)}"
    if not _is_number(value):
        raise BadInput(f"{where} is {value!r}; it must be a number of seconds, e.g. 0.1")
    if value < 0:
        raise BadInput(f"{where} is {value:g} s; a negative latency is not a measurement, so correct it or remove it")
    if value > _LONGEST_S:
        raise BadInput(f"{where} is {value:g} s; it is written in seconds, so {value:g} ms is {value / 1000:g}")
    return float(value)


def _number(file: YamlFile, keys: _Keys, above: float | None = None, most: float | None = None) -> float:
    value = _value(file.data, keys)
    if not _is_number(value) or (above is not None and value <= above) or (most is not None and value > most):
        bounds = ("" if above is None else f" above {above:g}") + ("" if most is None else f" and at most {most:g}")
        raise BadInput(f"{_dotted(keys)} in {_where(file, keys)} is {value!r}; it must be a number{bounds}")
    return float(value)


def _left_out(file: YamlFile, taken: set[_Keys]) -> Iterator[str]:
    """Name what nothing was made of. A list of which one value was taken counts as taken."""
    heads = {keys[:-1] if isinstance(keys[-1], int) else keys for keys in taken}
    sections = {section for kind in _KINDS for section in kind.sections}

    def walk(keys: _Keys, held: Any) -> Iterator[_Keys]:
        for key, value in held.items() if isinstance(held, dict) else enumerate(held):
            here = (*keys, key)
            if here in heads:
                continue
            inner = any(head[: len(here)] == here for head in heads) or (here[0] in sections and len(here) < 3)
            if inner and isinstance(value, dict | list):
                yield from walk(here, value)
            elif value is not None:
                yield here

    for keys in walk((), file.data):
        near = get_close_matches(str(keys[-1]), [key for key in _KNOWN if key != keys[-1]], 1, 0.85)
        yield f"{_dotted(keys)} (line {file.line_of(keys)}" + (f"; did you mean {near[0]!r}?)" if near else ")")


def _value(data: Any, keys: _Keys) -> Any:
    for key in keys:
        data = data.get(key) if isinstance(data, dict) else data[key]
    return data


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _is_scalar(value: Any) -> bool:
    return _is_number(value) or isinstance(value, bool) or (isinstance(value, str) and value.isprintable())


def _is_plain(value: Any, depth: int = 8) -> bool:
    """Say whether a value can be written out again: scalars, and lists and mappings of them, not endlessly deep."""
    if isinstance(value, dict):
        return depth > 0 and all(isinstance(key, str) and _is_plain(inner, depth - 1) for key, inner in value.items())
    if isinstance(value, list):
        return depth > 0 and all(_is_plain(inner, depth - 1) for inner in value)
    return _is_scalar(value)


def _dotted(keys: Sequence[str | int]) -> str:
    """Write keys as a path: robots[0].robot_action_latency."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).lstrip(".")


def _where(file: YamlFile, keys: _Keys) -> str:
    return f"{file.path} line {file.line_of(keys)}"
