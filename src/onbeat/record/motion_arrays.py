"""Which arrays of a file are the instants and the positions of a recorded motion."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.record.npz import ArrayFile, ArrayHead
from onbeat.record.tables import TIME_UNITS
from onbeat.units import TimeGrid

__all__ = ("motion_instants", "motion_positions")

# The root of a body first; then the first of many bodies; then a point that is called like a position.
_POSITIONS = (
    "root_pos",
    "root_pos_w",
    "root_position",
    "root_trans",
    "root_translation",
    "base_pos",
    "base_pos_w",
    "base_position",
    "pelvis_pos",
    "body_pos_w",
    "body_pos",
    "body_positions",
    "object_pos",
    "object_pos_w",
    "positions",
    "position",
    "pos",
    "trans",
    "translation",
    "xyz",
    "p",
)
_AXES = (("x", "y", "z"), ("px", "py", "pz"), ("tx", "ty", "tz"), ("pos_x", "pos_y", "pos_z"))
_NAMES_OF_BODIES = ("body_names", "link_names", "names")
_RATES = ("fps", "framerate", "frame_rate", "mocap_framerate", "mocap_frame_rate", "rate_hz", "sample_rate")
_PERIODS = ("dt", "dt_s", "timestep")
_TIMES = (
    "t_ns",
    "time_ns",
    "times_ns",
    "timestamp_ns",
    "timestamps_ns",
    "t",
    "t_s",
    "time",
    "time_s",
    "times",
    "timestamp",
    "timestamps",
)


def motion_positions(file: ArrayFile, columns: Sequence[str] | None) -> NDArray[np.float64]:
    """Read where a point was, shape (n, 3).

    Args:
        file: The file.
        columns: One name of an array (n, 3), of one (n, bodies, 3), whose first body is taken, or of one of these bodies
            ("body_pos_w[7]", or its name where the file has body_names); or three names of columns ("joint_pos[3]"). None
            chooses: the root, else the first body, else what is called like a position, else the only array (n, 3).

    Raises:
        BadInput: it cannot be chosen, a name is not there or is no position, or a value is not finite.
    """
    if columns is None:
        columns = _found(file)
    if len(columns) == 1:
        positions = _point(file, columns[0])
    elif len(columns) == 3:
        parts = [_column(file, name) for name in columns]
        if len({len(part) for part in parts}) > 1:
            sizes = ", ".join(f"{name} {len(part)}" for name, part in zip(columns, parts, strict=True))
            raise BadInput(f"{file.path}: the three columns differ in length ({sizes}); name three of one recording")
        positions = np.stack(parts, axis=-1)
    else:
        raise BadInput(
            f"{file.path}: a motion is one array of positions or three columns, not {len(columns)} names; {file.listing()}"
        )
    if not np.isfinite(positions).all():
        row = int(np.argwhere(~np.isfinite(positions))[0, 0])
        raise BadInput(f"{file.path}: {','.join(columns)} is not finite in frame {row}; remove the frames that were not measured")
    return positions


def motion_instants(file: ArrayFile, count: int, fps: float | None) -> NDArray[np.int64]:
    """Give the instant of each frame: on the grid of `fps`, else as the file says (times, a rate, or a period).

    Raises:
        BadInput: the file does not say, or says something impossible.
    """
    if fps is None and (name := next((n for n in _TIMES if n in file), None)) is not None:
        return _times(file, name, count)
    rate_hz = fps if fps is not None else _rate(file)
    grid = TimeGrid(0, rate_hz)
    return np.fromiter((grid.tick_ns(k) for k in range(count)), dtype=np.int64, count=count)


def _rate(file: ArrayFile) -> float:
    for name in (*_RATES, *_PERIODS):
        if name in file and file.head(name).numeric and int(np.prod(file.head(name).shape)) == 1:
            value = float(file.array(name).reshape(()))
            if not (np.isfinite(value) and value > 0):
                raise BadInput(f"{file.path}: {name!r} is {value:g}, no rate; give the frames a second with --fps")
            return 1 / value if name in _PERIODS else value
    raise BadInput(f"{file.path} has neither times nor a rate ({file.listing()}); give its frames a second, e.g. --fps 50")


def _times(file: ArrayFile, name: str, count: int) -> NDArray[np.int64]:
    values = _column(file, name, whole=True)
    if len(values) != count:
        raise BadInput(f"{file.path}: {name!r} has {len(values)} instants for {count} positions; give the rate with --fps")
    suffix = name.rsplit("_", 1)[-1]
    unit = suffix if "_" in name and suffix in TIME_UNITS else "s" if values.dtype.kind == "f" else None
    if unit is None:
        raise BadInput(f"{file.path}: {name!r} holds whole numbers without a unit; give the frames a second with --fps")
    if not np.isfinite(values).all() or abs(float(values.max())) * TIME_UNITS[unit] >= 2**63:
        raise BadInput(f"{file.path}: {name!r} holds values that are no times in {unit}; give the frames a second with --fps")
    if values.dtype.kind == "f":
        return np.asarray(np.round(values * TIME_UNITS[unit]), dtype=np.int64)
    return values.astype(np.int64) * TIME_UNITS[unit]


def _found(file: ArrayFile) -> list[str]:
    points = {head.name.lower(): head.name for head in file.heads if _is_point(head)}
    for name in _POSITIONS:
        if name in points:
            return [points[name]]
    columns = {head.name.lower(): head.name for head in file.heads if head.numeric and len(head.shape) == 1}
    for triple in _AXES:
        if all(axis in columns for axis in triple):
            return [columns[axis] for axis in triple]
    plain = [head.name for head in file.heads if _is_point(head) and len(head.shape) == 2]
    if len(plain) == 1:
        return plain
    raise BadInput(
        f"{file.path} has no array that is clearly a position; {file.listing()}; name one, or three columns, with --columns"
    )


def _is_point(head: ArrayHead) -> bool:
    return head.numeric and len(head.shape) in (2, 3) and head.shape[-1] == 3


def _point(file: ArrayFile, text: str) -> NDArray[np.float64]:
    name, indices = _split(file, text)
    head = file.head(name)
    values = _taken(file, text, name, indices)
    if values.ndim == 3 and values.shape[1] > 0:
        values = values[:, 0]
    if values.ndim != 2 or values.shape[1] != 3:
        raise BadInput(
            f"{file.path}: {text!r} is no position: it comes from {head}, and a position has 3 columns; {file.listing()}"
        )
    return np.asarray(values, dtype=np.float64)


def _column(file: ArrayFile, text: str, whole: bool = False) -> NDArray[np.float64]:
    name, indices = _split(file, text)
    values = _taken(file, text, name, indices)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise BadInput(f"{file.path}: {text!r} comes from {file.head(name)} and is not one column; name one as {name}[0]")
    return values if whole else np.asarray(values, dtype=np.float64)


def _split(file: ArrayFile, text: str) -> tuple[str, list[int]]:
    """Take "body_pos_w[7][0]" apart; a body's name is its place in the array of positions of bodies."""
    match = re.fullmatch(r"(.+?)((?:\[\d+\])*)", text)
    name, indices = (match[1], [int(i) for i in re.findall(r"\d+", match[2])]) if match else (text, [])
    if name in file:
        return name, indices
    bodies = next((b for b in ("body_pos_w", "body_pos", "body_positions") if b in file), None)
    for names in _NAMES_OF_BODIES:
        if bodies and names in file and file.head(names).kind == "U":
            listed = [str(body) for body in file.array(names).reshape(-1)]
            if name in listed:
                return bodies, [listed.index(name), *indices]
    return name, indices


def _taken(file: ArrayFile, text: str, name: str, indices: Sequence[int]) -> NDArray[np.float64]:
    head = file.head(name)
    if not head.numeric:
        raise BadInput(f"{file.path}: {head} cannot be a motion; {file.listing()}")
    if not head.shape:
        raise BadInput(f"{file.path}: {name!r} is one value, not one for each frame; {file.listing()}")
    for axis, index in enumerate(indices, start=1):
        if axis >= len(head.shape) or index >= head.shape[axis]:
            raise BadInput(f"{file.path}: there is no {text}, because {name} is {'x'.join(map(str, head.shape))}; count from 0")
    values: NDArray[np.float64] = file.array(name)
    for index in indices:
        values = values[:, index]
    return values
