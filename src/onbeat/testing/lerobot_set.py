"""A LeRobot v3.0 data set of a simulated arm, healthy or with one fault, written without LeRobot.

The arm follows its commands late, cameras see it with the noise of a sensor, and a loop reads both: at its declared rate, or
slower. As LeRobot does, ``timestamp`` is frame_index / fps whatever the loop did; true times go to columns of their own. What a
data set must hold so that LeRobot 0.4.4 and 0.6.1 load it was found by trial: constant-rate h264 with pts = i / fps, statistics
for every feature, the list of episodes, and tasks with pandas' metadata.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput

__all__ = ("CAMERA_AGE_S", "DELAY_S", "FAULTS", "JOINTS", "SLOW_PERIOD_S", "write_lerobot_set")

FAULTS = ("slow_loop", "frozen_camera")
JOINTS = ("shoulder_pan.pos", "shoulder_lift.pos", "elbow_flex.pos", "wrist_flex.pos", "wrist_roll.pos", "gripper.pos")
DELAY_S = 0.13  # of every joint behind its command
CAMERA_AGE_S = 0.020
SLOW_PERIOD_S = 0.0408  # an observation of 40 ms: LeRobot's record loop ran at 24.5 Hz for a declared 30
_LOOP_JITTER_S = 0.0003
_NOISE_LEVELS = 2.0
_START_NS = 1_700_000_000_000_000_000
_PAUSE_S = 5.0  # between episodes
_TASK = "move to and fro"


@dataclass(frozen=True)
class _Episode:
    number: int
    true_s: NDArray[np.float64]  # when the loop read, since the recording began
    action: NDArray[np.float32]
    state: NDArray[np.float32]
    frozen_at: int | None  # the first picture that is repeated to the end


def write_lerobot_set(
    folder: Path,
    *,
    rng: np.random.Generator,
    episodes: int = 3,
    seconds: float = 8.0,
    fps: int = 30,
    fault: str | None = None,
    cameras: Sequence[str] = ("front", "wrist"),
    true_times: bool = True,
    size: tuple[int, int] = (96, 128),
) -> Path:
    """Write a data set.

    Args:
        folder: Where to; must not exist or be empty.
        rng: For motion, jitter and noise.
        episodes: How many; each has a parquet file and an mp4 of its own.
        seconds: True duration of each.
        fps: Declared rate.
        fault: None; "slow_loop": the loop needs 40.8 ms a turn and its rows are stamped as if it kept fps; "frozen_camera": in
            every episode the first camera repeats one picture from the middle to the end, with new stamps.
        cameras: Their names.
        true_times: Whether to write the columns ``onbeat.row.t_ns`` and ``onbeat.cam.NAME.t_ns``.
        size: Height and width of pictures; even numbers.

    Returns:
        The folder.

    Raises:
        BadInput: the fault is unknown, or the folder holds something.
    """
    if fault is not None and fault not in FAULTS:
        raise BadInput(f"fault is {fault!r}; it must be one of {', '.join(FAULTS)}, or None")
    if folder.exists() and any(folder.iterdir()):
        raise BadInput(f"{folder} is not empty; name a new folder")
    columns = ["onbeat.row.t_ns", *(f"onbeat.cam.{camera}.t_ns" for camera in cameras)] if true_times else []
    features = _features(cameras, columns, size, fps)
    listed: list[dict[str, Any]] = []
    total, begin_s = 0, 0.0
    for number in range(episodes):
        one = _simulate(rng, number, begin_s, seconds, fps, fault)
        begin_s = float(one.true_s[-1]) + _PAUSE_S
        table = _table(rng, one, fps, total, cameras, columns)
        _write_table(folder / f"data/chunk-000/file-{number:03d}.parquet", table)
        row: dict[str, Any] = {"episode_index": number, "tasks": [_TASK], "length": len(one.true_s)}
        row |= {"data/chunk_index": 0, "data/file_index": number}
        row |= {"dataset_from_index": total, "dataset_to_index": total + len(one.true_s)}
        stats = {name: _stats(np.asarray(values, dtype=np.float64)) for name, values in table.items()}
        for k, camera in enumerate(cameras):
            key = f"observation.images.{camera}"
            frozen_at = one.frozen_at if k == 0 else None
            pictures = _pictures(rng, one, k, size, frozen_at)
            stats[key] = _write_video(folder / f"videos/{key}/chunk-000/file-{number:03d}.mp4", pictures, fps, size)
            row |= {f"videos/{key}/chunk_index": 0, f"videos/{key}/file_index": number}
            row |= {f"videos/{key}/from_timestamp": 0.0, f"videos/{key}/to_timestamp": len(one.true_s) / fps}
        row |= {f"stats/{name}/{what}": value for name, values in stats.items() for what, value in values.items()}
        listed.append(row | {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0})
        total += len(one.true_s)
    _write_meta(folder, features, listed, total, fps, bool(cameras))
    return folder


def _simulate(rng: np.random.Generator, number: int, begin_s: float, seconds: float, fps: int, fault: str | None) -> _Episode:
    """Move every joint along a few sines; the arm does the same, later."""
    period_s = SLOW_PERIOD_S if fault == "slow_loop" else 1 / fps
    n = max(int(seconds / period_s), 2)
    t = np.arange(n) * period_s + rng.normal(0, _LOOP_JITTER_S, n).clip(-1e-3, 1e-3)
    waves = (
        rng.uniform(0.2, 0.9, (len(JOINTS), 3)),
        rng.uniform(0, 2 * np.pi, (len(JOINTS), 3)),
        rng.uniform(8, 20, (len(JOINTS), 3)),
    )

    def asked(at_s: NDArray[np.float64]) -> NDArray[np.float64]:
        hz, phase, size = waves
        return np.asarray(np.sum(size * np.sin(2 * np.pi * hz * at_s[:, None, None] + phase), axis=2))

    state = asked(t - DELAY_S) + rng.normal(0, 0.05, (n, len(JOINTS)))
    return _Episode(
        number,
        begin_s + 0.1 + t,
        asked(t).astype(np.float32),
        state.astype(np.float32),
        n // 2 if fault == "frozen_camera" else None,
    )


def _table(
    rng: np.random.Generator, one: _Episode, fps: int, first: int, cameras: Sequence[str], columns: Sequence[str]
) -> dict[str, NDArray[Any]]:
    n = len(one.true_s)
    k = np.arange(n, dtype=np.int64)
    table: dict[str, NDArray[Any]] = {
        "action": one.action,
        "observation.state": one.state,
        "timestamp": (k / fps).astype(np.float32),
        "frame_index": k,
        "episode_index": np.full(n, one.number, dtype=np.int64),
        "index": first + k,
        "task_index": np.zeros(n, dtype=np.int64),
    }
    true_ns = _START_NS + np.round(one.true_s * 1e9).astype(np.int64)
    for name in columns:
        late_s = rng.normal(CAMERA_AGE_S, 0.0005, n) if ".cam." in name else np.zeros(n)
        table[name] = true_ns - np.round(late_s * 1e9).astype(np.int64)
    return table


def _pictures(
    rng: np.random.Generator, one: _Episode, camera: int, size: tuple[int, int], frozen_at: int | None
) -> Iterator[NDArray[np.uint8]]:
    """Draw the arm before a still background: two bright links whose angles are those of the first joints."""
    high, wide = size
    y, x = np.mgrid[:high, :wide]
    still = 90 + 25 * np.sin(x / 9 + camera) + 25 * np.cos(y / 7 - camera)
    cached: NDArray[np.uint8] | None = None
    for k in range(len(one.true_s)):
        if cached is None:
            picture = still.copy()
            angles = np.deg2rad(one.state[k, :3] * 1.5) + camera
            at = np.array([high * 0.6, wide * 0.5])
            for angle in (angles[0], angles[0] + angles[1]):
                tip = at + 0.28 * high * np.array([-np.cos(angle), np.sin(angle)])
                for share in np.linspace(0, 1, 12):
                    spot = at + share * (tip - at)
                    picture[(y - spot[0]) ** 2 + (x - spot[1]) ** 2 < (0.05 * high) ** 2] = 230 - 40 * camera
                at = tip
            colour = picture[..., None] + np.array([0, -8, 8]) + rng.normal(0, _NOISE_LEVELS, (high, wide, 3))
            shown = np.clip(colour, 0, 255).astype(np.uint8)
            cached = shown if k == frozen_at else None
        yield shown if cached is None else cached


def _write_video(path: Path, pictures: Iterator[NDArray[np.uint8]], fps: int, size: tuple[int, int]) -> dict[str, Any]:
    """Encode at a constant rate, and give the statistics of a few of the pictures as LeRobot shapes them."""
    import av

    path.parent.mkdir(parents=True, exist_ok=True)
    kept = []
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=fps, options={"g": "2", "bf": "0", "crf": "23"})
        stream.height, stream.width = size
        stream.pix_fmt = "yuv420p"
        for k, picture in enumerate(pictures):
            if k % 10 == 0:
                kept.append(picture)
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame.pts, frame.time_base = k, Fraction(1, fps)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    levels = np.stack(kept).reshape(-1, 3) / 255.0
    stats = {name: np.asarray(value).reshape(3, 1, 1).tolist() for name, value in _stats(levels).items() if name != "count"}
    return stats | {"count": [len(kept)]}


def _stats(values: NDArray[np.float64]) -> dict[str, list[Any]]:
    columns = values.reshape(len(values), -1)
    found = {"min": columns.min(axis=0), "max": columns.max(axis=0), "mean": columns.mean(axis=0), "std": columns.std(axis=0)}
    found |= {f"q{100 * q:02.0f}": np.quantile(columns, q, axis=0) for q in (0.01, 0.1, 0.5, 0.9, 0.99)}
    return {**{name: value.tolist() for name, value in found.items()}, "count": [len(columns)]}


def _features(cameras: Sequence[str], columns: Sequence[str], size: tuple[int, int], fps: int) -> dict[str, Any]:
    vector = {"dtype": "float32", "shape": [len(JOINTS)], "names": list(JOINTS)}
    video = {
        "dtype": "video",
        "shape": [*size, 3],
        "names": ["height", "width", "channels"],
        "info": {
            "video.height": size[0],
            "video.width": size[1],
            "video.codec": "h264",
            "video.pix_fmt": "yuv420p",
            "video.is_depth_map": False,
            "video.fps": fps,
            "video.channels": 3,
            "has_audio": False,
        },
    }
    whole = ("frame_index", "episode_index", "index", "task_index", *columns)
    return {
        "action": vector,
        "observation.state": vector,
        **{f"observation.images.{camera}": video for camera in cameras},
        "timestamp": {"dtype": "float32", "shape": [1], "names": None},
        **{name: {"dtype": "int64", "shape": [1], "names": None} for name in whole},
    }


def _write_meta(folder: Path, features: dict[str, Any], listed: list[dict[str, Any]], total: int, fps: int, video: bool) -> None:
    """Write the episodes, the tasks and the statistics, and info.json last: what it counts is there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "meta/episodes/chunk-000/file-000.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(listed), path)
    index = "__index_level_0__"
    about = {
        "index_columns": [index],
        "column_indexes": [],
        "columns": [
            {"name": "task_index", "field_name": "task_index", "pandas_type": "int64", "numpy_type": "int64", "metadata": None},
            {"name": None, "field_name": index, "pandas_type": "unicode", "numpy_type": "object", "metadata": None},
        ],
        "pandas_version": "2.2.0",
    }
    tasks = pa.table({"task_index": pa.array([0], pa.int64()), index: pa.array([_TASK])})
    pq.write_table(tasks.replace_schema_metadata({b"pandas": json.dumps(about).encode()}), folder / "meta/tasks.parquet")
    names = sorted({key.split("/")[1] for key in listed[0] if key.startswith("stats/")})
    stats = {
        name: _pooled([{k.split("/")[2]: v for k, v in row.items() if k.startswith(f"stats/{name}/")} for row in listed])
        for name in names
    }
    (folder / "meta/stats.json").write_text(json.dumps(stats, indent=4))
    info = {
        "codebase_version": "v3.0",
        "robot_type": "simulated_arm",
        "total_episodes": len(listed),
        "total_frames": total,
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 500,
        "fps": fps,
        "splits": {"train": f"0:{len(listed)}"},
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4" if video else None,
        "features": features,
    }
    (folder / "meta/info.json").write_text(json.dumps(info, indent=4))


def _pooled(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Pool the statistics of the episodes, weighted by their counts; quantiles as LeRobot pools them, by the mean."""
    counts = np.array([row["count"][0] for row in rows], dtype=np.float64)

    def mean(name: str) -> NDArray[np.float64]:
        values = np.array([row[name] for row in rows], dtype=np.float64)
        return np.asarray(np.tensordot(counts / counts.sum(), values, axes=1))

    spread = np.array([np.square(row["std"]) + np.square(row["mean"]) for row in rows])
    std = np.sqrt(np.maximum(np.tensordot(counts / counts.sum(), spread, axes=1) - mean("mean") ** 2, 0))
    pooled: dict[str, Any] = {
        "min": np.min([row["min"] for row in rows], axis=0).tolist(),
        "max": np.max([row["max"] for row in rows], axis=0).tolist(),
        "std": std.tolist(),
        "count": [int(counts.sum())],
    }
    return pooled | {name: mean(name).tolist() for name in ("mean", "q01", "q10", "q50", "q90", "q99")}


def _write_table(path: Path, table: dict[str, NDArray[Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def column(values: NDArray[Any]) -> Any:
        single = {np.dtype(np.float32): pa.float32(), np.dtype(np.int64): pa.int64()}[values.dtype]
        return pa.array(list(values), pa.list_(single, values.shape[1])) if values.ndim == 2 else pa.array(values, single)

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({name: column(values) for name, values in table.items()}), path)
