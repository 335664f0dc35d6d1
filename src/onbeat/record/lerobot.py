"""LeRobot data sets, v2 and v3, read straight from their parquet files: no video, no LeRobot, bounded memory."""

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.record.joints import JointEpisode, JointRecording
from onbeat.record.lerobot_tables import Table, data_files, file_rows
from onbeat.units import TimeGrid

__all__ = ("feature_names", "find_lerobot", "frame_rate", "open_lerobot", "read_info")

_VERSIONS = ("v2.0", "v2.1", "v3.0")
_COMMAND, _MEASURED = "action", "observation.state"
_GRID_TOLERANCE_NS = 1_000_000  # float32 seconds are 0.1 ms coarse after half an hour; real stamps jitter by more than this
_WIDEST = 10_000
_LISTED = 8
_LONGEST_S = 4e9  # the year 2096, where somebody wrote seconds since 1970


def find_lerobot(path: Path) -> Path | None:
    """Give the root of the LeRobot data set that a path is, or lies in; None when it is none."""
    for folder in (path, *path.absolute().parents):
        if (folder / "meta" / "info.json").is_file():
            return folder
    return None


def open_lerobot(path: Path) -> JointRecording:
    """Open a LeRobot data set.

    Args:
        path: Its folder, or anything in it (meta/info.json, a parquet file).

    Raises:
        BadInput: no data set is there, its version is not one of v2.0, v2.1 and v3.0, or action and state do not pair up.
        MissingExtra: pyarrow is not installed.
    """
    root = find_lerobot(path)
    if root is None:
        raise BadInput(
            f"{path} is no LeRobot data set: there is no meta/info.json in it; name the folder that holds meta and data"
        )
    info = read_info(root)
    version = str(info["codebase_version"])
    fps = frame_rate(info, root)
    joints, command_columns, measured_columns, notes = _pairs(info, root)
    files = data_files(root)
    if not files:
        raise BadInput(f"{root} has no parquet file in data/chunk-*; download the data set with its data folder")
    count = total = info["total_episodes"] if isinstance(info.get("total_episodes"), int) else None
    if version != "v3.0" and total is not None and len(files) < total:  # before v3 each episode is a file
        count = len(files)
        notes = (*notes, f"{count} of the data set's {total} episodes are on this disk")

    def read(only: int | None) -> Iterator[JointEpisode]:
        found = False
        for episode in _episodes(files, only, fps, command_columns, measured_columns):
            found = True
            yield episode
        if not found and only is None:
            raise BadInput(f"{root} has no rows; download its data folder again")
        if not found:
            raise BadInput(f"{root} has no episode {only}; it has {_numbered(files)}")

    return JointRecording(
        path=root,
        kind=f"LeRobot {version}",
        robot=str(info.get("robot_type") or ""),
        joints=joints,
        rate_hz=float(fps),
        timing=f"LeRobot's timestamp is frame_index / fps ({float(fps):g} fps), not when it was read: jitter is not in it",
        episode_count=count,
        read=read,
        notes=notes,
    )


def read_info(root: Path) -> Mapping[str, Any]:
    """Read a data set's meta/info.json.

    Raises:
        BadInput: it is not JSON, has no features, or its version is not one of v2.0, v2.1 and v3.0.
    """
    path = root / "meta" / "info.json"
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise BadInput(f"{path} is not JSON ({error}); download the data set's meta folder again") from error
    if not isinstance(info, dict) or not isinstance(info.get("features"), dict):
        raise BadInput(f"{path} has no features; it is not the info.json of a LeRobot data set")
    version = info.setdefault("codebase_version", "none")
    if version not in _VERSIONS:
        known = ", ".join(_VERSIONS)
        raise BadInput(
            f"{root} has codebase_version {version}; onbeat reads {known}, so convert it with LeRobot's own script first"
        )
    return info


def frame_rate(info: Mapping[str, Any], root: Path) -> Fraction:
    """Give the declared frames per second exactly.

    Raises:
        BadInput: there are none.
    """
    fps = info.get("fps")
    if not isinstance(fps, (int, float)) or isinstance(fps, bool) or not 0 < fps <= 1e6:
        raise BadInput(f"{root / 'meta' / 'info.json'} has fps {fps!r}; it must be a number of frames per second")
    return Fraction(str(fps))  # 29.97 means 2997/100


def _pairs(info: Mapping[str, Any], root: Path) -> tuple[tuple[str, ...], NDArray[np.intp], NDArray[np.intp], tuple[str, ...]]:
    """Pair the columns of action with those of the state: by name where the names agree, else by position where the widths do."""
    features = info["features"]
    for key in (_COMMAND, _MEASURED):
        if key not in features:
            have = ", ".join(sorted(k for k in features if not k.startswith("observation.images")))
            raise BadInput(f"{root} has no feature {key!r} (it has {have}); a delay needs both {_COMMAND} and {_MEASURED}")
    command, measured = (feature_names(features[key], f"{root / 'meta' / 'info.json'}: {key}") for key in (_COMMAND, _MEASURED))
    if not command:
        raise BadInput(f"{root}: {_COMMAND} has width 0; there is no joint to look at")
    if len(set(command)) == len(command) and set(command) <= set(measured):
        return tuple(command), np.arange(len(command)), np.array([measured.index(name) for name in command]), ()
    if len(command) != len(measured):
        common = [name for name in command if name in measured]
        raise BadInput(
            f"{root}: {_COMMAND} has {len(command)} columns and {_MEASURED} has {len(measured)}, {len(common)} names in common, "
            "so they cannot be paired; give both the same names in meta/info.json, or export a CSV and name its columns "
            "with --command and --measured"
        )
    note = f"{_COMMAND} and {_MEASURED} name their columns differently and were paired by position"
    return tuple(command), np.arange(len(command)), np.arange(len(command)), (note,)


def feature_names(feature: Any, where: str) -> list[str]:
    """Flatten the names of a feature: a list, a list of lists, or a dictionary of lists; number them where there are none.

    Args:
        feature: Its entry in info.json.
        where: The file and the feature, for the sentence of a refusal.

    Raises:
        BadInput: its shape is no number of columns.
    """

    def flat(names: Any) -> Iterator[str]:
        if isinstance(names, Mapping):
            # {"motors": [...]} groups names; {"shoulder": 0, ...} gives each its column
            if all(isinstance(v, int) for v in names.values()):
                yield from sorted(names, key=lambda name: int(names[name]))
            else:
                for value in names.values():
                    yield from flat(value)
        elif isinstance(names, (list, tuple)):
            for value in names:
                yield from flat(value)
        elif names is not None:
            yield str(names)

    shape = feature.get("shape") if isinstance(feature, Mapping) else None
    width = shape[0] if isinstance(shape, list) and shape else shape
    if not isinstance(width, int) or isinstance(width, bool) or not 0 <= width <= _WIDEST:
        raise BadInput(f"{where} has the shape {shape!r}, not a number of columns; download the data set's meta folder again")
    names = list(flat(feature.get("names")))
    return names if len(names) == width else [f"joint_{k}" for k in range(width)]


def _episodes(
    files: list[Path], only: int | None, fps: Fraction, command_columns: NDArray[np.intp], measured_columns: NDArray[np.intp]
) -> Iterator[JointEpisode]:
    """Walk the rows and join those of one episode; it may span batches and files."""
    parts: list[Table] = []
    for path in files:
        for part in file_rows(path, (_COMMAND, _MEASURED), only):
            if parts and parts[-1].episode != part.episode:
                yield _episode(parts, fps, command_columns, measured_columns)
                parts = []
            parts.append(part)
    if parts:
        yield _episode(parts, fps, command_columns, measured_columns)


def _numbered(files: list[Path]) -> str:
    """Say which episodes there are: "0 to 49", or their numbers where some are left out."""
    numbers = sorted({part.episode for path in files for part in file_rows(path, ())})
    first, last = (numbers[0], numbers[-1]) if numbers else (0, -1)
    if len(numbers) > 2 and len(numbers) == last - first + 1:
        return f"{first} to {last}"
    more = f" and {len(numbers) - _LISTED} more" if len(numbers) > _LISTED else ""
    return (", ".join(str(number) for number in numbers[:_LISTED]) or "none") + more


def _episode(
    parts: list[Table], fps: Fraction, command_columns: NDArray[np.intp], measured_columns: NDArray[np.intp]
) -> JointEpisode:
    path, index = parts[0].path, parts[0].episode
    frame, timestamp = (np.concatenate([part.columns[name] for part in parts]) for name in ("frame_index", "timestamp"))
    chosen = []
    for name, columns in ((_COMMAND, command_columns), (_MEASURED, measured_columns)):
        values = [_numbers(part, name) for part in parts]
        width = min(one.shape[1] for one in values)
        if width <= columns.max():
            raise BadInput(
                f"{path}: {name} has {width} columns here and {columns.max() + 1} in meta/info.json; "
                "download both again, or correct the one that is wrong"
            )
        chosen.append(np.concatenate([one[:, columns] for one in values]))
    t_ns = _instants(frame, timestamp, fps, f"episode {index} of {path}")
    return JointEpisode(index, t_ns, chosen[0], chosen[1], str(path))


def _numbers(part: Table, name: str) -> NDArray[np.float64]:
    """Give a column of joints as float64, shape (n, width)."""
    values = part.columns.get(name)
    if values is None:
        raise BadInput(f"{part.path} has no column {name!r}; it is not a data file of a LeRobot data set")
    if values.dtype.kind not in "iuf":
        raise BadInput(f"{part.path}: column {name!r} holds cells that are not lists of numbers; correct that column")
    with np.errstate(invalid="ignore"):  # a damaged file may hold any bits; what is not finite is refused with its row
        return np.asarray(values, dtype=np.float64).reshape(len(values), -1)


def _instants(frame: NDArray[np.int64], timestamp: NDArray[np.float64], fps: Fraction, where: str) -> NDArray[np.int64]:
    """Give frame_index / fps exactly, in whole nanoseconds; where the timestamps say otherwise, they are taken."""
    if not np.isfinite(timestamp).all() or np.abs(timestamp).max() > _LONGEST_S:
        row = int(np.argmax(~(np.abs(timestamp) <= _LONGEST_S)))
        bad = f"{where}: timestamp is {timestamp[row]:g} in frame {frame[row]}"
        raise BadInput(f"{bad}, which is no time in seconds; correct that row")
    ticks = TimeGrid(0, fps)
    grid = np.fromiter((ticks.tick_ns(k) for k in frame.tolist()), dtype=np.int64, count=len(frame))
    stamps = np.round(timestamp * 1e9).astype(np.int64)  # seconds since the episode began: a float holds them
    off = stamps - grid
    return grid if np.all(np.abs(off - off[0]) <= _GRID_TOLERANCE_NS) else stamps
