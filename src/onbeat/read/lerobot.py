"""LeRobot data sets, v2 and v3, as streams: actions, states, true times where they were kept, and the cameras."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput, Damaged
from onbeat.read.lerobot_cameras import Clip, decoded, picture_bytes, presented_ns, shown
from onbeat.read.lerobot_layout import Layout, lay_out
from onbeat.read.pictures import gray_of
from onbeat.read.repeats import own_digest, picture_digests, unlike_at_rest
from onbeat.read.streams import Batch, Frame, StreamInfo, StreamRecording, row_dtype
from onbeat.record.joints import JointRecording
from onbeat.record.lerobot import feature_names, open_lerobot
from onbeat.record.lerobot_tables import (
    Table,
    TimeColumn,
    age_unit_s,
    counted_ns,
    says_age,
    says_time,
    table_rows,
    time_columns,
)

__all__ = ("open_lerobot_streams",)

_ACTION, _STATE = "action", "observation.state"
_COUNTED_S = 1e-4  # what LeRobot itself allows a timestamp to differ from frame_index / fps
_LONGEST_S = 4e9
_MOST_VIDEO_BYTES = 1 << 30  # to go through for presentation times


@dataclass(slots=True)
class _Facts:
    """What a first pass says: over the columns of time, and over the videos."""

    counted: bool = True
    bad_rows: int = 0
    times: tuple[TimeColumn, ...] = ()
    joints: dict[int, NDArray[np.float64]] = field(default_factory=dict)  # of the episodes whose pictures are looked at
    scale: NDArray[np.float64] | None = None  # how far each joint goes
    presented: dict[str, dict[int, NDArray[np.int64]]] = field(default_factory=dict)  # by camera and episode
    digests: dict[tuple[str, int], NDArray[np.uint64]] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)
    misfits: dict[tuple[Path, str], str] = field(default_factory=dict)  # columns of a file that do not hold what they should


def open_lerobot_streams(path: Path) -> StreamRecording:
    """Open a LeRobot data set as streams: ``action``, ``observation.state``, each column of true times or ages, each camera.

    A row's stamp is its ``timestamp``; where that is frame_index / fps throughout, as LeRobot writes it, the stream says that it
    is counted. A column whose name says time and whose numbers advance is a stream of its own, on its own stamps. A camera's
    stamps are its video's presentation times within the episode. Pictures of whole episodes, spread over the data set, are
    decoded until about 3000 were; the others have digests of their own, as if all differed.

    Args:
        path: Its folder, or anything in it.

    Raises:
        BadInput: it is no such data set, or its info.json says too little.
        MissingExtra: pyarrow is not installed.
    """
    data = lay_out(path)
    opened: JointRecording | None = None
    try:
        opened = open_lerobot(data.root)
    except BadInput as error:
        data.notes.append(f"no delay of the joints: {error}")
    return StreamRecording(
        path=data.root,
        kind=f"LeRobot {data.info['codebase_version']}",
        read=lambda: _read(data),
        frames=(lambda name, most: _frames(data, name, most)) if data.videos or data.images else None,
        joints=(lambda: open_lerobot(data.root)) if opened else None,
        notes=(*(opened.notes if opened else ()), *data.notes),
    )


def _read(data: Layout) -> Iterator[Batch]:
    facts = _first_pass(data)
    for camera, parts in data.videos.items():
        _look(data, facts, camera, parts)
    infos = _infos(data, facts)
    damage = []
    try:
        for table in table_rows(data.files, list(infos)):
            for name, info in infos.items():
                if name in table.columns and (rows := _rows(data, facts, info, table)) is not None and len(rows):
                    yield Batch(info, rows)
    except Damaged as error:
        damage.append(str(error))
    damage += facts.misfits.values()
    if facts.bad_rows:
        damage.append(f"{data.root}: timestamp is no time in {facts.bad_rows} row(s), which were left out")
    for camera, episodes in facts.presented.items():
        yield from _videos(data, facts, camera, episodes)
    damage += facts.damage
    if damage:
        raise Damaged("; ".join(damage[:3]) + (f"; and {len(damage) - 3} more" if len(damage) > 3 else ""))


def _first_pass(data: Layout) -> _Facts:
    """Go through the columns of time, and through the states, whose range tells what is motion."""
    facts = _Facts()
    lows: list[NDArray[np.float64]] = []
    highs: list[NDArray[np.float64]] = []
    looked_at: dict[int, list[NDArray[np.float64]]] = {}
    first_off_s: dict[int, float] = {}
    joints = _STATE if _STATE in data.types else _ACTION
    named = [name for name in data.types if says_time(name)]
    try:
        for table in table_rows(data.files, [*named, joints]):
            if not facts.times and len(table) > 1:
                facts.times = time_columns(named, table.columns, float(data.fps))
            good = _timed(table)
            facts.bad_rows += int(np.sum(~good))
            seconds = table.columns["timestamp"][good]
            off_s = seconds - counted_ns(table.columns["frame_index"][good], data.fps) / 1e9
            if len(off_s):
                # float32, as LeRobot stores them, is 0.2 ms coarse after half an hour
                allowed_s = _COUNTED_S + float(np.spacing(np.float32(np.abs(seconds).max())))
                first = first_off_s.setdefault(table.episode, float(off_s[0]))
                facts.counted = facts.counted and bool(np.abs(off_s - first).max() <= allowed_s)
            values = table.columns.get(joints)
            if values is None or values.ndim != 2 or not values.size or not np.isfinite(values).all():
                continue
            lows, highs = [np.min([*lows, values.min(axis=0)], axis=0)], [np.max([*highs, values.max(axis=0)], axis=0)]
            if table.episode in data.looked_at:
                looked_at.setdefault(table.episode, []).append(values)
    except Damaged:
        pass  # said by the pass that gives the rows
    facts.joints = {episode: np.concatenate(parts) for episode, parts in looked_at.items()}
    facts.scale = highs[0] - lows[0] if lows else None
    return facts


def _look(data: Layout, facts: _Facts, camera: str, parts: list[Clip]) -> None:
    """Take the presentation times of a camera, and digests of the pictures of the chosen episodes."""
    presented = facts.presented.setdefault(camera, {})
    sizes: dict[Path, int] = {}
    for part in parts:
        sizes.setdefault(part.path, part.path.stat().st_size)
        if len(sizes) > 1 and sum(sizes.values()) > _MOST_VIDEO_BYTES:
            facts.damage.append(f"videos of {camera} after the first {len(sizes) - 1} files were left out: they are too large")
            break
        try:
            presented[part.episode] = presented_ns(part, float(data.fps))
            if most := data.looked_at.get(part.episode, 0):
                pictures = shown(part, float(data.fps), most)
                joints = facts.joints.get(part.episode, np.empty((0, 0)))[: len(pictures.cells)]
                known = joints if len(joints) == len(pictures.cells) else None
                facts.digests[camera, part.episode] = picture_digests(pictures, known, facts.scale)
        except BadInput as error:
            facts.damage.append(str(error))


def _infos(data: Layout, facts: _Facts) -> dict[str, StreamInfo]:
    hz = float(data.fps)
    infos = {}
    for name, kind in ((_ACTION, "action"), (_STATE, "joints")):
        feature = data.info["features"].get(name)
        if isinstance(feature, Mapping) and name in data.types:
            columns = tuple(feature_names(feature, f"{data.root / 'meta' / 'info.json'}: {name}"))
            note = "timestamp is frame_index / fps" if facts.counted else "timestamp differs from frame_index / fps"
            infos[name] = StreamInfo(name, kind, str(feature.get("dtype") or ""), columns, hz, facts.counted, note)
    for column in facts.times:
        camera = _camera_of(column.name, data)
        note = f"true times of {camera}" if camera else ""
        infos[column.name] = StreamInfo(column.name, "image" if camera else "other", "true times", (), hz, note=note)
    for name in data.types:
        if says_age(name):
            infos[name] = StreamInfo(name, "numbers", "ages", ("age_s",), hz, facts.counted)
    for name in data.images:
        infos[name] = StreamInfo(name, "image", "image", (), hz, facts.counted)
    return infos


def _camera_of(column: str, data: Layout) -> str:
    """Give the camera feature whose last word a column's name holds: onbeat.cam.front.t_ns speaks of observation.images.front."""
    words = column.replace("/", ".").split(".")
    cameras = [
        name for name, f in data.info["features"].items() if isinstance(f, Mapping) and f.get("dtype") in ("image", "video")
    ]
    return next((name for name in cameras if column.startswith(name) or name.rpartition(".")[2] in words), "")


def _timed(table: Table) -> NDArray[np.bool_]:
    seconds = table.columns["timestamp"]
    return np.asarray(np.isfinite(seconds) & (np.abs(seconds) < _LONGEST_S))


def _rows(data: Layout, facts: _Facts, info: StreamInfo, table: Table) -> NDArray[Any] | None:
    """Give the rows of one stream in a part of the table; None where its column does not hold what it should, which is kept."""
    values = table.columns[info.name]
    if info.type != "image" and (said := _misfit(info, values)):
        facts.misfits[table.path, info.name] = f"{table.path}: {said}"
        return None
    good = _timed(table)
    frame = table.columns["frame_index"]
    own = next((column for column in facts.times if column.name == info.name), None)
    if own is not None:
        stamps, good = own.instants(values)
    elif facts.counted:
        stamps = counted_ns(frame, data.fps)[good]
    else:
        stamps = TimeColumn("timestamp", 1_000_000_000).instants(np.where(good, table.columns["timestamp"], np.nan))[0]
    fields, digest = ["stamp_ns", "seq", "segment"], None
    if own is not None and info.kind == "image" and _camera_of(info.name, data) in data.videos:
        digest = _digests(facts, _camera_of(info.name, data), table.episode, frame)
    elif info.type == "image":
        digest = _image_digests(values, table, facts)
    if digest is not None:
        fields.append("digest")
    matrix = None
    if info.columns:
        matrix = values.reshape(len(values), -1)
    rows = np.zeros(len(stamps), dtype=row_dtype(fields, len(info.columns)))
    rows["stamp_ns"], rows["seq"], rows["segment"] = stamps, frame[good], table.episode
    if digest is not None:
        rows["digest"] = digest[good]
    if matrix is not None:
        rows["value"] = matrix[good] * (age_unit_s(info.name) if info.type == "ages" else 1.0)
    return rows


def _misfit(info: StreamInfo, values: NDArray[Any]) -> str:
    width = len(info.columns) or 1
    if values.dtype.kind not in "iuf":
        return f"column {info.name!r} holds no numbers, and was left out; correct it"
    if values.ndim > 2 or values.reshape(len(values), -1).shape[1] != width:
        return f"column {info.name!r} has {values.shape[1:]} values a row and {width} in meta/info.json, and was left out"
    return ""


def _digests(facts: _Facts, camera: str, episode: int, frame: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Give the digests of an episode's pictures by number; one that was not looked at gets its own."""
    known = facts.digests.get((camera, episode), np.empty(0, np.uint64))
    own = f"{camera} {episode}".encode()
    return np.array([known[k] if 0 <= k < len(known) else own_digest(own, k) for k in frame.tolist()], dtype=np.uint64)


def _image_digests(cells: NDArray[Any], table: Table, facts: _Facts) -> NDArray[np.uint64]:
    """Give digests of pictures that lie in the table itself: of their bytes, or of the name of their file."""
    contents = [(c.get("bytes") or str(c.get("path")).encode()) if isinstance(c, Mapping) else repr(c).encode() for c in cells]
    exact = np.array([own_digest(content) for content in contents], dtype=np.uint64)
    joints = table.columns.get(_STATE, table.columns.get(_ACTION))
    return unlike_at_rest(exact, joints if joints is not None and joints.ndim == 2 else None, facts.scale)


def _videos(data: Layout, facts: _Facts, camera: str, episodes: Mapping[int, NDArray[np.int64]]) -> Iterator[Batch]:
    def counted(stamps: NDArray[np.int64]) -> bool:
        off = stamps - counted_ns(np.arange(len(stamps)), data.fps)
        return not len(off) or bool(np.abs(off - off[0]).max() <= _COUNTED_S * 1e9)

    # A repeat is said once: of the true times, where they were kept.
    twice = any(_camera_of(column.name, data) == camera for column in facts.times)
    fields = ("stamp_ns", "seq", "segment") if twice else ("stamp_ns", "seq", "digest", "segment")
    note = "stamps are the video's presentation times within the episode"
    info = StreamInfo(camera, "image", "video", (), float(data.fps), all(map(counted, episodes.values())), note)
    for episode, stamps in episodes.items():
        if len(stamps):
            rows = np.zeros(len(stamps), dtype=row_dtype(fields))
            rows["stamp_ns"], rows["seq"], rows["segment"] = stamps, np.arange(len(stamps)), episode
            if "digest" in fields:
                rows["digest"] = _digests(facts, camera, episode, rows["seq"])
            yield Batch(info, rows)


def _frames(data: Layout, name: str, most: int) -> Iterator[Frame]:
    if name in data.images:
        with suppress(Damaged):  # said by the pass that gives the rows
            yield from _table_frames(data, name, most)
        return
    row = 0
    for part in data.videos.get(name, ()):
        for gray, _ in decoded(part, float(data.fps), most - row):
            yield Frame(row, gray)
            row += 1
        if row >= most:
            return


def _table_frames(data: Layout, name: str, most: int) -> Iterator[Frame]:
    """Decode the pictures of the first rows that lie in the table itself, or in files that it names."""
    row = 0
    for table in table_rows(data.files, [name]):
        cells = table.columns.get(name, ())
        for cell, good in zip(cells, _timed(table), strict=False):
            if row >= most:
                return
            if good:
                gray = gray_of({"data": picture_bytes(data.root, cell)})
                if gray is not None:
                    yield Frame(row, gray)
                row += 1
