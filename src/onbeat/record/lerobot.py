"""LeRobot data sets, v2 and v3, read straight from their parquet files: no video, no LeRobot, bounded memory."""

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput, MissingExtra
from onbeat.record.joints import JointEpisode, JointRecording
from onbeat.units import TimeGrid

__all__ = ("feature_names", "find_lerobot", "frame_rate", "open_lerobot", "read_info")

_VERSIONS = ("v2.0", "v2.1", "v3.0")
_COMMAND, _MEASURED = "action", "observation.state"
_GRID_TOLERANCE_NS = 1_000_000  # float32 seconds are 0.1 ms coarse after half an hour; real stamps jitter by more than this
_BATCH_ROWS = 4096
_WIDEST = 10_000
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
    files = sorted((root / "data").glob("chunk-*/*.parquet"))
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
        if not found:
            raise BadInput(
                f"{root} has no episode {only}" if only is not None else f"{root} has no rows; download its data folder again"
            )

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
    """Walk the rows and cut them where episode_index changes; an episode may span batches and files."""
    parts: list[_Rows] = []
    for path in files:
        for rows in _batches(path, only):
            cuts = np.flatnonzero(np.diff(rows.episode)) + 1
            for piece in rows.split(cuts):
                if parts and parts[-1].episode[-1] != piece.episode[0]:
                    yield _episode(parts, fps, command_columns, measured_columns)
                    parts = []
                parts.append(piece)
    if parts:
        yield _episode(parts, fps, command_columns, measured_columns)


class _Rows:
    """Some rows of one file."""

    __slots__ = ("command", "episode", "frame", "measured", "path", "timestamp")

    def __init__(self, path: Path, episode: Any, frame: Any, timestamp: Any, command: Any, measured: Any) -> None:
        self.path, self.episode, self.frame, self.timestamp, self.command, self.measured = (
            path,
            episode,
            frame,
            timestamp,
            command,
            measured,
        )

    def split(self, cuts: NDArray[np.intp]) -> "Iterator[_Rows]":
        edges = [0, *cuts.tolist(), len(self.episode)]
        for a, b in pairwise(edges):
            if b > a:
                columns = (self.episode, self.frame, self.timestamp, self.command, self.measured)
                yield _Rows(self.path, *(column[a:b] for column in columns))


def _episode(
    parts: list[_Rows], fps: Fraction, command_columns: NDArray[np.intp], measured_columns: NDArray[np.intp]
) -> JointEpisode:
    frame = np.concatenate([p.frame for p in parts])
    timestamp = np.concatenate([p.timestamp for p in parts])
    command = np.concatenate([p.command for p in parts])
    measured = np.concatenate([p.measured for p in parts])
    index = int(parts[0].episode[0])
    for name, values, columns in ((_COMMAND, command, command_columns), (_MEASURED, measured, measured_columns)):
        if values.shape[1] <= columns.max():
            raise BadInput(
                f"{parts[0].path}: {name} has {values.shape[1]} columns here and {columns.max() + 1} in meta/info.json; "
                "download both again, or correct the one that is wrong"
            )
    t_ns = _instants(frame, timestamp, fps, f"episode {index} of {parts[0].path}")
    return JointEpisode(index, t_ns, command[:, command_columns], measured[:, measured_columns], str(parts[0].path))


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


def _batches(path: Path, only: int | None) -> Iterator[_Rows]:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("pyarrow, which reads LeRobot's parquet files,", "lerobot") from error
    columns = ["episode_index", "frame_index", "timestamp", _COMMAND, _MEASURED]
    try:
        with pq.ParquetFile(path) as file:
            missing = [c for c in columns if c not in file.schema_arrow.names]
            if missing:
                raise BadInput(f"{path} has no column {missing[0]!r}; it is not a data file of a LeRobot data set")
            groups = [g for g in range(file.num_row_groups) if only is None or _may_hold(file, g, only)]
            for batch in file.iter_batches(batch_size=_BATCH_ROWS, row_groups=groups, columns=columns):
                rows = _Rows(path, *(_array(path, name, batch.column(name), pa) for name in columns))
                keep = slice(None) if only is None else rows.episode == only
                rows = _Rows(
                    path, *(column[keep] for column in (rows.episode, rows.frame, rows.timestamp, rows.command, rows.measured))
                )
                if len(rows.episode):
                    yield rows
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, (FileNotFoundError, PermissionError)):
            raise
        raise BadInput(f"{path} is not a whole parquet file ({str(error).splitlines()[0][:120]}); download it again") from error


def _may_hold(file: Any, group: int, episode: int) -> bool:
    """Say from the statistics of a row group whether the episode may be in it; without statistics it may."""
    described = file.metadata.row_group(group)
    for k in range(described.num_columns):
        column = described.column(k)
        if column.path_in_schema == "episode_index":
            stats = column.statistics
            return stats is None or not stats.has_min_max or stats.min <= episode <= stats.max
    return True


def _array(path: Path, name: str, column: Any, pa: Any) -> NDArray[Any]:
    """Turn a column into an array: scalars to (n,), lists of one width to (n, width)."""
    if column.null_count:
        raise BadInput(f"{path}: column {name!r} has {column.null_count} empty cell(s); remove those rows")
    if name in ("episode_index", "frame_index"):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.int64)
    if name == "timestamp":
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        offsets = np.asarray(column.offsets)
        widths = np.diff(offsets)
        if len(widths) and not np.all(widths == widths[0]):
            raise BadInput(f"{path}: the rows of {name!r} have {widths.min()} to {widths.max()} values; all need the same number")
        width = int(widths[0]) if len(widths) else 0
    elif pa.types.is_fixed_size_list(column.type):
        width = int(column.type.list_size)
    elif pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False), dtype=np.float64)[:, None]
    else:
        raise BadInput(f"{path}: column {name!r} holds {column.type}, not lists of numbers")
    with np.errstate(invalid="ignore"):  # a damaged file may hold any bits; what is not finite is refused with its row
        flat = np.asarray(column.flatten().to_numpy(zero_copy_only=False), dtype=np.float64)
        return flat.reshape(-1, width) if width else flat.reshape(len(column), 0)
