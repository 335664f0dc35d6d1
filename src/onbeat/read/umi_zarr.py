"""Replay buffers of UMI and diffusion policy: a zarr folder or zip with data/* and meta/episode_ends, as streams."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput, Damaged, MissingExtra
from onbeat.read.repeats import own_digest, unlike_at_rest
from onbeat.read.streams import Batch, Frame, StreamInfo, StreamRecording, row_dtype
from onbeat.read.zarr_arrays import ZarrArray, ZarrStore
from onbeat.record.lerobot_tables import TimeColumn, counted_ns

__all__ = ("is_umi_zarr", "open_umi_zarr")

_ROWS = 4096
_PICTURE_BYTES = 1 << 24  # of one block
_MOST_PICTURES = 20_000
_GOPRO_HZ = Fraction(60_000, 1_001)
_ENDS = "meta/episode_ends"


@dataclass(frozen=True, slots=True)
class _Source:
    """One stream, and the arrays that it is made of."""

    info: StreamInfo
    arrays: tuple[ZarrArray, ...]


def is_umi_zarr(path: Path) -> bool:
    """Say whether a path is a replay buffer: a zarr folder or a zip of one that says where episodes end."""
    if path.is_dir():
        return (path / _ENDS / ".zarray").is_file()
    try:
        with path.open("rb") as file:
            if file.read(4) != b"PK\x03\x04":
                return False
        store = ZarrStore(path)
    except (Damaged, OSError):
        # A broken zip may be one; its name tells.
        return path.is_file() and ".zarr" in path.name
    try:
        return store.read(f"{_ENDS}/.zarray") is not None
    except Damaged:
        return True  # it is there, and broken
    finally:
        store.close()


def open_umi_zarr(path: Path) -> StreamRecording:
    """Open a replay buffer as streams: one for each array of `data`, poses joined where position and rotation are two arrays.

    Stamps are those of ``data/timestamp``. Without it rows are counted, at GoPro's 59.94 Hz where the names are UMI's and at one
    a second elsewhere; no rate is declared, since the file states none.

    Args:
        path: The folder (replay_buffer.zarr) or the zip (dataset.zarr.zip).

    Raises:
        BadInput: it is no replay buffer of zarr format 2.
        Damaged: it is a zip that is not whole.
    """
    store = ZarrStore(path)
    try:
        if store.read(f"{_ENDS}/.zarray") is None:
            raise BadInput(f"{path} has no {_ENDS} of zarr format 2; it is no replay buffer of UMI or diffusion policy")
        arrays = store.arrays("data")
        sources, notes = _sources(arrays)
    finally:
        store.close()
    if not sources:
        raise BadInput(f"{path} has no array of numbers or pictures in data/; it is no replay buffer")
    pictures = any(source.info.kind == "image" for source in sources)
    return StreamRecording(
        path=path,
        kind="UMI zarr",
        read=lambda: _read(path),
        frames=(lambda name, most: _frames(path, name, most)) if pictures else None,
        notes=notes,
    )


def _sources(arrays: dict[str, ZarrArray]) -> tuple[list[_Source], tuple[str, ...]]:
    stamps = arrays.get("timestamp")
    umi = any(name.startswith("camera") and name.endswith("_rgb") for name in arrays)
    rate = "59.94 Hz, GoPro's rate" if umi else "one a second"
    note = "" if stamps is not None else f"rows were counted at {rate}: the file has no data/timestamp and states no rate"
    notes = [note] if note else []
    sources, skipped = [], []
    for name, array in arrays.items():
        if name == "timestamp" or name.endswith("_eef_rot_axis_angle"):
            continue
        parts: tuple[ZarrArray, ...] = (array,)
        columns: tuple[str, ...] = ()
        kind, dims = "numbers", array.shape[1:]
        rotation = arrays.get(name.replace("_eef_pos", "_eef_rot_axis_angle")) if name.endswith("_eef_pos") else None
        if array.dtype.kind == "u" and array.dtype.itemsize == 1 and len(dims) == 3:
            kind = "image"
        elif array.dtype.kind not in "iuf" or len(dims) > 1 or len(array) == 0:
            skipped.append(name)
            continue
        elif rotation is not None and dims == rotation.shape[1:] == (3,):
            parts = (array, rotation)
            kind = "pose"
        elif name.endswith("_eef_pose") and dims == (6,):
            kind = "pose"
        elif name == "action":
            kind = "action"
        elif "joint" in name or name == "state":
            kind = "joints"
        if kind == "pose":
            columns = ("x", "y", "z", "qw", "qx", "qy", "qz")
        elif kind != "image":
            columns = tuple(f"{name}_{k}" for k in range(dims[0])) if dims else (name,)
        if kind == "image" and len(array) > _MOST_PICTURES:
            notes.append(f"only the first {_MOST_PICTURES} of {len(array)} pictures of {name} were compared with each other")
        sources.append(_Source(StreamInfo(name, kind, str(array.dtype), columns, None, stamps is None, note), parts))
    if skipped:
        notes.append(f"not looked at, being neither rows of numbers nor pictures: {', '.join(skipped)}")
    return sources, tuple(notes)


def _read(path: Path) -> Iterator[Batch]:
    store = ZarrStore(path)
    damage: list[str] = []
    try:
        arrays = store.arrays("data")
        sources, _ = _sources(arrays)
        ends = _ends(store)
        stamps = _stamps(arrays)
        moving = next((s.arrays[0] for kind in ("pose", "joints", "action") for s in sources if s.info.kind == kind), None)
        for source in sources:
            given = 0
            try:
                for rows in _rows(source, ends, stamps, moving):
                    given += len(rows)
                    yield Batch(source.info, rows)
            except (Damaged, MissingExtra) as error:
                damage.append(f"{path}: {source.info.name}: {given} of {len(source.arrays[0])} rows could be read, since {error}")
    finally:
        store.close()
    if damage:
        raise Damaged("; ".join(damage[:3]) + (f"; and {len(damage) - 3} more" if len(damage) > 3 else ""))


def _ends(store: ZarrStore) -> NDArray[np.int64]:
    array = ZarrArray(store, _ENDS)
    ends = np.asarray(array.rows(0, len(array))).ravel()
    if ends.dtype.kind not in "iu" or not len(ends) or np.any(np.diff(ends.astype(np.int64)) <= 0) or ends[0] <= 0:
        raise BadInput(f"{store.path}: {_ENDS} holds no increasing numbers of rows; make the buffer anew")
    return ends.astype(np.int64)


def _stamps(arrays: dict[str, ZarrArray]) -> NDArray[np.int64] | Fraction:
    """Give the stamps of all rows, 8 bytes each, or the rate at which they are counted."""
    array = arrays.get("timestamp")
    if array is None:
        return _GOPRO_HZ if any(name.startswith("camera") for name in arrays) else Fraction(1)
    seconds = np.asarray(array.rows(0, len(array))).reshape(len(array), -1)[:, 0].astype(np.float64)
    if not np.isfinite(seconds).all() or np.abs(seconds).max(initial=0.0) > 4e9:
        row = int(np.argmax(~(np.abs(seconds) <= 4e9)))
        raise BadInput(f"{array.key} is {seconds[row]:g} in row {row}, which is no time in seconds; correct that row")
    return TimeColumn("timestamp", 1_000_000_000).instants(seconds)[0]


def _rows(
    source: _Source, ends: NDArray[np.int64], stamps: NDArray[np.int64] | Fraction, moving: ZarrArray | None
) -> Iterator[NDArray[np.void]]:
    array, picture = source.arrays[0], source.info.kind == "image"
    motion = _motion(moving, 0, min(len(moving), 100_000)) if picture and moving is not None else None
    scale = np.ptp(motion, axis=0) if motion is not None else None
    width = len(source.info.columns)
    dtype = row_dtype(("stamp_ns", "seq", "segment", *(("digest",) if picture else ())), width)
    total = min(len(array), int(ends[-1]), len(stamps) if not isinstance(stamps, Fraction) else len(array))
    row_bytes = max(int(np.prod(array.shape[1:])) * array.dtype.itemsize, 1)
    step = max(min(_ROWS, _PICTURE_BYTES // row_bytes if picture else _ROWS) // array.chunks[0], 1) * array.chunks[0]
    for first in range(0, total, step):
        last = min(first + step, total)
        number = np.arange(first, last)
        rows = np.zeros(last - first, dtype=dtype)
        rows["segment"] = np.searchsorted(ends, number, side="right")
        rows["seq"] = number - np.concatenate([[0], ends])[rows["segment"]]
        rows["stamp_ns"] = counted_ns(rows["seq"], stamps) if isinstance(stamps, Fraction) else stamps[first:last]
        if picture:
            digests = _digests(array, first, last)
            rows["digest"] = unlike_at_rest(digests, _motion(moving, first, last) if moving is not None else None, scale)
        elif source.info.kind == "pose":
            rows["value"] = _pose(np.concatenate([_flat(one, first, last) for one in source.arrays], axis=1))
        else:
            rows["value"] = _flat(array, first, last)
        yield rows


def _motion(array: ZarrArray, first: int, last: int) -> NDArray[np.float64] | None:
    """Give what the robot did; None where that cannot be read, which its own stream says."""
    try:
        return _flat(array, first, min(last, len(array)))
    except (Damaged, MissingExtra):
        return None


def _flat(array: ZarrArray, first: int, last: int) -> NDArray[np.float64]:
    rows = array.rows(first, last)
    with np.errstate(invalid="ignore"):  # a damaged file may hold any bits
        return np.asarray(rows, dtype=np.float64).reshape(len(rows), -1)


def _digests(array: ZarrArray, first: int, last: int) -> NDArray[np.uint64]:
    """Hash pictures: as they lie there where each is a chunk of its own, so that no codec is needed; else unpacked."""
    own = array.key.encode()
    if first >= _MOST_PICTURES:
        return np.array([own_digest(own, k) for k in range(first, last)], dtype=np.uint64)
    packed = [array.chunk_bytes(k) for k in range(first, last)] if array.chunks[0] == 1 else []
    if packed and all(one is not None for one in packed):
        return np.array([own_digest(one or b"") for one in packed], dtype=np.uint64)
    return np.array([own_digest(picture.tobytes()) for picture in array.rows(first, last)], dtype=np.uint64)


def _pose(xyz_rotvec: NDArray[np.float64]) -> NDArray[np.float64]:
    """Turn position and rotation vector into x y z qw qx qy qz: q = (cos a/2, axis sin a/2)."""
    rotvec = xyz_rotvec[:, 3:]
    half = np.linalg.norm(rotvec, axis=1, keepdims=True) / 2
    return np.concatenate([xyz_rotvec[:, :3], np.cos(half), rotvec / 2 * np.sinc(half / np.pi)], axis=1)


def _frames(path: Path, name: str, most: int) -> Iterator[Frame]:
    store = ZarrStore(path)
    try:
        array = store.arrays("data").get(name)
        if array is None or array.dtype != np.uint8 or len(array.shape) != 4:
            return
        for first, pictures in array.blocks(16):
            for k, picture in enumerate(pictures):
                if first + k >= most:
                    return
                # ITU-R BT.601 weights; one channel is gray already
                gray = picture @ np.array([0.299, 0.587, 0.114]) if picture.shape[2] == 3 else picture[..., 0]
                yield Frame(first + k, np.asarray(gray, dtype=np.uint8))
    finally:
        store.close()
