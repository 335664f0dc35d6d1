"""A recorded motion of one point: for a demo that follows it, or a test that needs real movement."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.record.motion_arrays import motion_instants, motion_positions
from onbeat.record.npz import is_npz, open_arrays
from onbeat.record.tables import Column, TextTable, find_time, open_table, time_unit
from onbeat.units import TimeGrid

__all__ = ("Motion", "read_motion")

_POSITIONS = (
    ("px", "py", "pz"),
    ("x", "y", "z"),
    ("tx", "ty", "tz"),
    ("pos_x", "pos_y", "pos_z"),
    ("position_x", "position_y", "position_z"),
)


# Beyond the moon's distance nothing on earth was recorded, and float64 loses a tenth of a micrometre.
_FARTHEST_M = 1e9


@dataclass(frozen=True, slots=True)
class Motion:
    """Where a point was.

    Args:
        t_ns: Instants on the clock of the recording, strictly increasing; int64, shape (n,), n >= 2.
        positions: In metres, in the frame of the recording; float64, shape (n, 3).

    Raises:
        BadInput: shapes disagree, instants do not increase, or a value is not finite or beyond 1e9 m.
    """

    t_ns: NDArray[np.int64]
    positions: NDArray[np.float64]

    def __post_init__(self) -> None:
        t_ns, positions = np.array(self.t_ns, dtype=np.int64), np.array(self.positions, dtype=np.float64)
        if t_ns.ndim != 1 or positions.shape != (len(t_ns), 3) or len(t_ns) < 2:
            raise BadInput(f"a motion needs times (n,) and positions (n, 3) with n >= 2, not {t_ns.shape} and {positions.shape}")
        steps = np.diff(t_ns)
        if not np.all(steps > 0):
            row = int(np.argmax(steps <= 0)) + 1
            raise BadInput(
                f"row {row + 1} of the motion is {-int(steps[row - 1]) / 1e6:.3f} ms before the row above; "
                "sort the rows by time and remove repeats"
            )
        if not np.all(np.isfinite(positions)):
            raise BadInput(
                f"position {int(np.argwhere(~np.isfinite(positions))[0, 0])} of the motion is not finite; remove that row"
            )
        if (farthest := float(np.abs(positions).max())) > _FARTHEST_M:
            raise BadInput(f"a position of the motion is {farthest:.3g} m away; check its columns and their unit")
        for name, values in (("t_ns", t_ns), ("positions", positions)):
            values.setflags(write=False)
            object.__setattr__(self, name, values)

    @property
    def duration_s(self) -> float:
        """From the first instant to the last, in seconds."""
        return int(self.t_ns[-1] - self.t_ns[0]) / 1e9


def read_motion(path: Path, fps: float | None = None, columns: Sequence[str] | None = None) -> Motion:
    """Read a recorded motion from a CSV file, or from arrays in an npz file.

    Args:
        path: The file. A CSV's header may be a comment, and units may stand in brackets: "#time(ns)", "p_RS_R_x [m]".
            An npz is in metres.
        fps: Frames per second, for a file without instants; row k is then at k / fps.
        columns: Of a CSV the names (or numbers from 0) of the three columns of position; None finds px, py, pz or the like.
            Of an npz see `motion_positions`: one array, or a body of it ("body_pos_w[7]"), or three columns.

    Raises:
        BadInput: the file is broken, the columns cannot be found, or the rows are not in the order of time.
    """
    path = Path(path)
    if is_npz(path):
        return _read_arrays(path, fps, columns)
    table = open_table(path)
    chosen = _named(table, columns) if columns is not None else _found(table)
    try:
        positions = table.floats(chosen) * np.array([_metres(table, column) for column in chosen])
        if fps is not None:
            grid = TimeGrid(0, fps)
            t_ns = np.array([grid.tick_ns(k) for k in range(len(positions))], dtype=np.int64)
        else:
            time = find_time(table)
            t_ns = table.instants(time, time_unit(table, time))
        return Motion(t_ns, positions)
    except BadInput as error:
        if str(error).startswith(str(path)):
            raise
        raise BadInput(f"{path}: {error}") from error


def _read_arrays(path: Path, fps: float | None, columns: Sequence[str] | None) -> Motion:
    file = open_arrays(path)
    positions = motion_positions(file, columns)
    t_ns = motion_instants(file, len(positions), fps)
    try:
        return Motion(t_ns, positions)
    except BadInput as error:
        raise BadInput(f"{path}: {error}") from error


def _named(table: TextTable, names: Sequence[str]) -> list[Column]:
    if len(names) != 3:
        raise BadInput(f"a motion has three columns of position, not {len(names)}; give --columns x,y,z")
    return [table.column(name) for name in names]


def _found(table: TextTable) -> list[Column]:
    names = {column.name.lower(): column for column in table.columns}
    for triple in _POSITIONS:
        if all(name in names for name in triple):
            return [names[name] for name in triple]
    # p_RS_R_x, p_RS_R_y, p_RS_R_z: one stem that starts like a position and ends in x, y, z
    for name in names:
        stem = name[:-1]
        if name.endswith("_x") and name.startswith("p") and all(stem + axis in names for axis in "yz"):
            return [names[stem + axis] for axis in "xyz"]
    have = ", ".join(column.name for column in table.columns[:12])
    raise BadInput(
        f"{table.path} has no columns px, py, pz or the like (it has {have}); name the three columns of position with --columns"
    )


def _metres(table: TextTable, column: Column) -> float:
    scales = {"": 1.0, "m": 1.0, "meter": 1.0, "meters": 1.0, "metre": 1.0, "metres": 1.0, "cm": 0.01, "mm": 0.001}
    if column.unit not in scales:
        raise BadInput(
            f"{table.path}: {column.name!r} is in {column.unit!r}, not a length; name three columns of position with --columns"
        )
    return scales[column.unit]
