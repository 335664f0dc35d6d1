"""What the columns of values mean, by their names: joints, a pose, an angular rate, or only numbers."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.record.joint_tables import pair_columns
from onbeat.record.tables import Column, TextTable

__all__ = ("Values", "flat_name", "group_values")

_LENGTHS = {"": 1.0, "m": 1.0, "meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0, "cm": 0.01, "mm": 0.001}
_RATES = {"": 1.0, "rad/s": 1.0, "rad s^-1": 1.0, "rads": 1.0, "radps": 1.0, "rad_s": 1.0} | dict.fromkeys(
    ("deg/s", "deg s^-1", "dps", "degs", "deg_s", "°/s"), math.pi / 180
)
_POSITION = re.compile(r"(?:(?P<prefix>.*)_)?(?:p|pos|position|t|trans|translation)|p(?:_[a-z0-9]+){2}|")
_QUATERNION = re.compile(r"(?:(?P<prefix>.*)_)?(?:q|quat|quaternion|o|orient|orientation|rot|rotation)|q(?:_[a-z0-9]+){1,2}")
_GYRO = re.compile(r"(?:(?P<prefix>.*)_)?(?:gyro|gyroscope|gyr|ang_?vel|angular_?vel(?:ocity)?|omega|w)|w(?:_[a-z0-9]+){2}")
_JOINT = re.compile(r"(?:.*_)?(?:joints?|q|qpos|motor)(?:_?pos(?:ition)?)?_?\d+(?:_pos(?:ition)?)?|(?:.*_)?joint_.*")
_COMMAND = re.compile(r"(?:.*_)?(?:action|actions|cmd|command|target|desired)(?:_.*)?")
_SUFFIX = re.compile(r"_(rad_?s|radps|rads|dps|deg_?s|mm|cm|m)$")
_UNIT_QUATERNION = 0.02


@dataclass(frozen=True, slots=True)
class Values:
    """Columns that together are the values of one stream.

    Args:
        name: A short name; "" where the table has only these.
        kind: As in `onbeat.read.streams.KINDS`.
        names: Their names, in the order of the values.
        indices: The columns.
        scales: Factors to SI, one for each.
        note: What else is to know, a sentence or "".
    """

    name: str
    kind: str
    names: tuple[str, ...]
    indices: tuple[int, ...]
    scales: tuple[float, ...]
    note: str


def group_values(table: TextTable, columns: Sequence[Column], sample: NDArray[np.float64]) -> list[Values]:
    """Tell what columns mean that are filled in the same rows.

    Commands that pair with measurements are an action and joints; a position with a quaternion is a pose; three angular rates are
    a rotation. Where there is none of these, all columns are one stream of numbers; where there is, the others are named in its
    note, because they have the same times.

    Args:
        table: Where they come from.
        columns: At least one.
        sample: Values of some rows, NaN for what is none. Shape (n, len(columns)).
    """
    try:
        pairs = pair_columns(table, columns)
    except BadInput:
        pairs = []
    found: list[Values] = []
    if pairs:
        names = tuple(name for name, _, _ in pairs)
        for kind, side in (("action", [asked for _, asked, _ in pairs]), ("joints", [read for _, _, read in pairs])):
            found.append(Values(kind, kind, names, tuple(c.index for c in side), (1.0,) * len(names), ""))
    axes = _axes(columns)
    found += _poses(axes) or _bare_pose(columns, sample)
    for stem, by_axis in axes.items():
        match = _GYRO.fullmatch(stem)
        three = [by_axis[a] for a in "xyz"] if set("xyz") <= set(by_axis) else []
        in_rates = bool(three) and all(_unit(c) in _RATES for c in three)
        if in_rates and (match or all(c.unit for c in three)):
            found.append(_values((match and match["prefix"]) or "gyro", "rotation", three, [_RATES[_unit(c)] for c in three]))
    used = {index for values in found for index in values.indices}
    left = [column for column in columns if column.index not in used]
    if not found:
        flat = [flat_name(c.name) for c in left]
        kind = "action" if all(map(_COMMAND.fullmatch, flat)) else "joints" if all(map(_JOINT.fullmatch, flat)) else "numbers"
        return [_values(left[0].name if len(left) < len(table.columns) - 1 else "numbers", kind, left, [1.0] * len(left))]
    if left:
        names_left = ", ".join(c.name for c in left[:6]) + (f" and {len(left) - 6} more" if len(left) > 6 else "")
        first = found[0]
        note = f"the same rows also hold {names_left}"
        found[0] = Values(first.name, first.kind, first.names, first.indices, first.scales, note)
    return found


def flat_name(name: str) -> str:
    """Write a name in small letters and words joined by underscores: "/imu/header.stamp" is "imu_header_stamp"."""
    spaced = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_").removeprefix("field_") or name.lower()


def _values(name: str, kind: str, columns: Sequence[Column], scales: Sequence[float]) -> Values:
    return Values(name, kind, tuple(c.name for c in columns), tuple(c.index for c in columns), tuple(scales), "")


def _axes(columns: Sequence[Column]) -> dict[str, dict[str, Column]]:
    """Put columns together that differ in their axis only: {"w_rs_s": {"x": ..., "y": ..., "z": ...}}."""
    axes: dict[str, dict[str, Column]] = {}
    for column in columns:
        flat = _SUFFIX.sub("", flat_name(column.name))
        if flat[-1:] in ("x", "y", "z", "w"):
            axes.setdefault(flat[:-1].rstrip("_"), {}).setdefault(flat[-1], column)
    return axes


def _poses(axes: dict[str, dict[str, Column]]) -> list[Values]:
    positions: dict[str, list[Column]] = {}
    quaternions: dict[str, list[Column]] = {}
    for stem, by_axis in axes.items():
        if set("xyzw") <= set(by_axis) and (match := _QUATERNION.fullmatch(stem)):
            quaternions.setdefault(match["prefix"] or "", [by_axis[a] for a in "wxyz"])
        elif set("xyz") <= set(by_axis) and (match := _POSITION.fullmatch(stem)):
            three = [by_axis[a] for a in "xyz"]
            if all(_unit(c) in _LENGTHS for c in three):
                positions.setdefault(match["prefix"] or "", three)
    if len(positions) == len(quaternions) == 1:
        positions = dict(zip(quaternions, positions.values(), strict=True))
    return [
        _values(prefix or "pose", "pose", [*three, *quaternions[prefix]], [*(_LENGTHS[_unit(c)] for c in three), *(1.0,) * 4])
        for prefix, three in positions.items()
        if prefix in quaternions
    ]


def _bare_pose(columns: Sequence[Column], sample: NDArray[np.float64]) -> list[Values]:
    """Know a line of TUM's format without names: x y z qx qy qz qw after the time."""
    if [c.name for c in columns] != [f"column_{k}" for k in range(1, 8)] or not len(sample):
        return []
    norms = np.sqrt((sample[:, 3:] ** 2).sum(axis=1))
    off = np.abs(norms[np.isfinite(norms)] - 1)
    if not len(off) or float(np.median(off)) > _UNIT_QUATERNION:
        return []
    chosen = [columns[k] for k in (0, 1, 2, 6, 3, 4, 5)]
    names = ("x", "y", "z", "qw", "qx", "qy", "qz")
    return [Values("pose", "pose", names, tuple(c.index for c in chosen), (1.0,) * 7, "")]


def _unit(column: Column) -> str:
    """Give the unit that stands in brackets, or at the end of the name: "gyro_x_dps"."""
    suffix = _SUFFIX.search(flat_name(column.name))
    return column.unit or (suffix[1] if suffix else "")
