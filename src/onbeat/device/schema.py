"""What may stand in a module's, a rig's and a policy's YAML: each parameter once, with type, unit, bounds and a sentence.

Importing this module imports pydantic (about 0.1 s); `onbeat.device.config` does so when a file is loaded.
"""

from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from onbeat.device.yaml_file import YamlFile
from onbeat.errors import BadInput

__all__ = ("CentreBlock", "ModuleFile", "PlantBlock", "PolicyFile", "ProvenanceBlock", "RigFile", "check")

MEASURED = ("receive_latency", "action_latency", "max_speed")
Measured = Literal["receive_latency", "action_latency", "max_speed"]
# 10 s is far above any latency of a device that moves and below any latency that someone wrote down in milliseconds and measured.
Latency = Annotated[float, Field(ge=0, le=10, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, le=100_000, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Bounds = Finite | list[Finite]
Text = Annotated[str, Field(min_length=1)]
# YAML reads an unquoted 2026-11-30 as a date.
Date = Annotated[str, BeforeValidator(lambda value: value.isoformat() if hasattr(value, "isoformat") else value)]


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class ProvenanceBlock(_Keys):
    """Where a figure comes from."""

    source: Literal["measured", "copied", "assumed"] = Field(description="how the figure came to be")
    value: Finite = Field(description="the figure as it was written; another one under its key means that it was edited by hand")
    ci95: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        None, description="half-width of the 95 % interval, same unit"
    )
    n: Annotated[int, Field(ge=0)] | None = Field(None, description="samples that speak")
    method: str | None = Field(None, description="how it was measured, or where it was copied from")
    date: Date | None = Field(None, description="ISO 8601")
    host: str | None = Field(None, description="the machine that measured")


class PlantBlock(_Keys):
    """What one joint makes of its commands: gain, dead time and lag."""

    l_eff: Latency = Field(description="from sending to motion, s: half of the hold, dead time and lag")
    dead_time: Latency | None = Field(None, description="part of l_eff, s; absent where it is not known to 1 ms")
    dead_time_ci95: NotNegative | None = Field(None, description="half-width of its 95 % interval, s")
    lag: Latency | None = Field(None, description="time constant, part of l_eff, s; absent where it is not known to 1 ms")
    lag_ci95: NotNegative | None = Field(None, description="half-width of its 95 % interval, s")
    gain: Positive = Field(description="motion over command")
    gain_ci95: NotNegative = Field(description="half-width of its 95 % interval")
    chi2_dof: NotNegative = Field(description="distance from a dead time and a lag: about 1 where that is all there is")
    stamps: Literal["sample", "mapped", "one-way", "corrected", "receipt"] = Field(
        description="of the samples; docs/identify.md says what each is worth"
    )
    motion: Literal["sines", "multisine", "chirp"] = Field(description="how the joint was moved")
    provenance: ProvenanceBlock = Field(description="where l_eff comes from; written by onbeat identify")


class CentreBlock(_Keys):
    """Sends at a margin before the device's tick, which is found in its reports."""

    margin: Positive | None = Field(None, description="how long before the tick, s; without it in the middle between two")


class ModuleFile(_Keys):
    """One module: a device, how it is driven, and the measured figures that describe its hardware."""

    device: Text = Field(description="'package.module:Class', or the name of an entry point of the group onbeat.devices")
    rate_hz: Rate = Field(100.0, description="send loop, Hz; a camera has none")
    poll_hz: Rate | None = Field(None, description="state reads, Hz; without it a reading follows the other")
    receive_latency: Latency = Field(0.0, description="how long before its stamp a reading was true, s; capture = stamp - this")
    action_latency: Latency = Field(0.0, description="from sending to being there, s; send_at = t_target - this")
    max_speed: Positive | None = Field(None, description="the fastest that the hardware follows, rad/s or m/s")
    lower: Bounds | None = Field(None, description="lowest target, one for all or one a joint, rad or m")
    upper: Bounds | None = Field(None, description="highest target, one for all or one a joint, rad or m")
    process: Literal["shared", "own"] = Field("shared", description="own: a Python-only device in a process of its own")
    centre: CentreBlock | None = Field(None, description="send a margin before the tick that the device's own reports show")
    params: dict[str, Any] = Field(default_factory=dict, description="handed to the device as they are")
    plant: dict[Annotated[int, Field(ge=0)], PlantBlock] = Field(
        default_factory=dict, description="joint, from 0: what it makes of its commands; action_latency stays the lead"
    )
    provenance: dict[Measured, ProvenanceBlock] = Field(
        default_factory=dict, description="where the measured figures come from; written by a measurement"
    )


class RigFile(_Keys):
    """A rig: modules by name, each in its own YAML or written in place."""

    name: Text | None = Field(None, description="what the rig is called; the name of its folder when absent")
    modules: Annotated[dict[Text, Text | dict[str, Any]], Field(min_length=1)] = Field(
        description="name: path of the module's YAML (from the rig's folder), or the module's keys"
    )


class PolicyFile(_Keys):
    """What describes the task and its checkpoint, not the hardware."""

    policy: Text | None = Field(None, description="'package.module:function'")
    policy_dt: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)] = Field(
        description="time between the steps of a chunk, s"
    )
    execution_speed_scale: Positive = Field(1.0, description="stretches policy_dt: 2 runs at half the speed")
    n_obs: Annotated[int, Field(ge=1)] = Field(1, description="observations handed to the policy")
    obs_dt: Annotated[float, Field(gt=0, le=10, allow_inf_nan=False)] | None = Field(
        None, description="time between observations, s"
    )
    first_step: Annotated[int, Field(ge=0)] = Field(1, description="steps between the observation and the chunk's first row")
    height_threshold: Finite | None = Field(None, description="height of the table, m")
    collision_sphere: Any = Field(None, description="as the policy defines it")
    params: dict[str, Any] = Field(default_factory=dict, description="handed to the policy as they are")


_SECONDS = ("receive_latency", "action_latency", "policy_dt", "obs_dt", "l_eff", "dead_time", "lag", "margin")
_LIMITS = {"greater_than": (">", "gt"), "greater_than_equal": (">=", "ge"), "less_than_equal": ("<=", "le")}
_WANTED = {
    "finite_number": "a finite number",
    "float_type": "a number",
    "int_type": "a whole number",
    "string_type": "text",
    "string_too_short": "text that is not empty",
    "dict_type": "keys with values",
    "model_type": "keys with values",
    "list_type": "a list",
    "too_short": "at least one entry",
}
_WANTED_OF_UNION = {"float_type": "a number or a list of numbers", "string_type": "a path or a module's keys"}
_File = TypeVar("_File", bound=BaseModel)


def check(schema: type[_File], file: YamlFile, prefix: tuple[str, ...], data: dict[str, Any]) -> _File:
    """Check the part of a file that stands under `prefix`.

    Raises:
        BadInput: the first finding as one sentence, with the file, the line and the fix. An unknown key goes before a missing
            one, because it is often the same key misspelt.
    """
    # A key without a value means the same as no key: the default.
    given = {key: value for key, value in data.items() if value is not None}
    try:
        return schema.model_validate(given)
    except ValidationError as error:
        findings: list[Any] = error.errors(include_url=False)

    def order(finding: Any) -> tuple[bool, int, int]:
        keys = _keys(finding["loc"], data)
        return finding["type"] == "missing", file.line_of((*prefix, *keys[:1])), -len(keys)

    findings.sort(key=order)
    finding = findings[0]
    keys = _keys(finding["loc"], data)
    where = f"{file.path} line {file.line_of((*prefix, *keys))}"
    if finding["type"] in ("extra_forbidden", "invalid_key") or finding["loc"][-1] == "[key]":
        raise BadInput(_unknown(schema, finding["loc"], keys[-1], where))
    if finding["type"] == "missing":
        raise BadInput(_missing(schema, file, prefix, keys, str(finding["loc"][-1])))
    union = any(other is not finding and _keys(other["loc"], data) == keys for other in findings)
    raise BadInput(_unfit(finding, keys, where, union))


def _keys(loc: tuple[str | int, ...], data: Any) -> tuple[str | int, ...]:
    """Keep of pydantic's location what is a key of the data; it also names the alternatives of a union."""
    keys: list[str | int] = []
    inner: Any = data
    for key in loc:
        mapped = isinstance(inner, dict) and key in inner
        if mapped or (isinstance(inner, list) and isinstance(key, int) and key < len(inner)):
            keys.append(key)
            inner = inner[key]
    # The key itself may be what is wrong: pydantic then names it as text.
    if not keys and isinstance(data, dict):
        keys.extend(key for key in data if str(key) == str(loc[0]))
    return tuple(keys)


def _unknown(schema: type[BaseModel], loc: tuple[str | int, ...], key: str | int, where: str) -> str:
    if loc[0] == "plant" and len(loc) > 1 and loc[-1] == "[key]":
        return f"plant in {where} has no joint {key!r}; joints are counted from 0"
    if not isinstance(key, str):
        return f"key {key!r} in {where} must be text; write it in quotes if it is meant"
    known = list(MEASURED) if loc[0] == "provenance" and loc[-1] == "[key]" else list(_block(schema, loc[:-1]).model_fields)
    near = get_close_matches(key, known, 1)
    fix = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(known)}"
    return f"unknown key {key!r} in {where}; {fix}"


def _block(schema: type[BaseModel], keys: tuple[str | int, ...]) -> type[BaseModel]:
    """Give the schema of the block that keys lead to."""
    if "provenance" in keys:
        return ProvenanceBlock
    if keys[:1] == ("centre",):
        return CentreBlock
    return PlantBlock if keys[:1] == ("plant",) else schema


def _missing(schema: type[BaseModel], file: YamlFile, prefix: tuple[str, ...], keys: tuple[str | int, ...], key: str) -> str:
    if keys and keys[-1] == key:
        field = schema.model_fields[key]
        return f"{key} in {file.path} line {file.line_of((*prefix, key))} has no value; it needs {field.description}"
    field = _block(schema, keys).model_fields[key]
    above = (*prefix, *(str(part) for part in keys))
    inside = f"{'/'.join(above)} in {file.path} line {file.line_of(above)}" if above else str(file.path)
    return f"{inside} has no {key!r}; add it: {field.description}"


def _unfit(finding: Any, keys: tuple[str | int, ...], where: str, union: bool) -> str:
    kind, value, context = finding["type"], finding["input"], finding.get("ctx", {})
    key = "/".join(str(part) for part in keys)
    seconds = bool(keys) and keys[-1] in _SECONDS
    if kind in _LIMITS:
        sign, name = _LIMITS[kind]
        unit = " s" if seconds else ""
        if seconds and sign == "<=":
            return f"{key} in {where} is {value} s; it is written in seconds, so {value} ms is {value / 1000:g}"
        note = "; a negative latency is not a measurement" if key.endswith("latency") else ""
        return f"{key} in {where} must be {sign} {context[name]:g}{unit}, not {value}{unit}{note}"
    wanted = _WANTED.get(kind) or (f"one of {context['expected']}" if "expected" in context else finding["msg"])
    if union:
        wanted = _WANTED_OF_UNION.get(kind, wanted)
    return f"{key} in {where} must be {wanted}{' of seconds' if seconds else ''}, not {value!r}"
