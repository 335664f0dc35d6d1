"""The videos of a LeRobot data set: where each episode's pictures lie, when they are presented, and what they show."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import Damaged
from onbeat.read.repeats import Pictures, signature
from onbeat.read.video import luminance, opened_video
from onbeat.record.lerobot_tables import listed_rows

__all__ = ("Clip", "clips", "decoded", "have_av", "listed_episodes", "picture_bytes", "presented_ns", "shown", "whole")

_MOST_PICTURE_BYTES = 1 << 26


@dataclass(frozen=True, slots=True)
class Clip:
    """Where the pictures of one episode lie.

    Args:
        path: The mp4.
        episode: Number of the episode.
        from_s, to_s: The part of the file that is its own; None for the whole file.
    """

    path: Path
    episode: int
    from_s: float = 0.0
    to_s: float | None = None


def have_av() -> bool:
    """Say whether videos can be opened."""
    return find_spec("av") is not None


def listed_episodes(root: Path, version: str) -> dict[int, Mapping[str, Any]]:
    """Give what the data set's meta folder says of each episode, without its statistics; empty where there is no list.

    Raises:
        Damaged: the list of episodes cannot be read.
        MissingExtra: pyarrow is not installed.
    """
    rows = _listed_in_parquet(root) if version == "v3.0" else _listed_in_json(root)
    return {int(row["episode_index"]): row for row in rows if whole(row.get("episode_index"))}


def clips(root: Path, info: Mapping[str, Any], camera: str, episodes: Mapping[int, Mapping[str, Any]]) -> list[Clip]:
    """Give where the pictures of a camera lie, of the episodes whose files are on this disk.

    Args:
        root: The data set.
        info: Its info.json.
        camera: Name of the feature.
        episodes: What `listed_episodes` says.

    Raises:
        Damaged: info.json names no place for them that can be understood.
    """
    version, pattern = str(info["codebase_version"]), info.get("video_path")
    if not isinstance(pattern, str):
        return []
    found = []
    for number, row in sorted(episodes.items()):
        at = f"videos/{camera}/"
        chunk_size = info.get("chunks_size")
        places: dict[str, Any] = {"video_key": camera, "episode_index": number}
        places["episode_chunk"] = number // chunk_size if whole(chunk_size) and chunk_size else 0
        places["chunk_index"], places["file_index"] = row.get(at + "chunk_index", 0), row.get(at + "file_index", 0)
        try:
            path = root / pattern.format(**places)
        except (KeyError, IndexError, ValueError, AttributeError, TypeError, MemoryError) as error:
            raise Damaged(f"{root / 'meta/info.json'} has the video_path {pattern!r}, which gives no name ({error})") from error
        start, end = row.get(at + "from_timestamp"), row.get(at + "to_timestamp")
        if path.is_file():
            cut = version == "v3.0" and _number(start) and _number(end)
            found.append(Clip(path, number, float(start or 0.0), float(end or 0.0)) if cut else Clip(path, number))
    return found


def presented_ns(part: Clip, fps: float) -> NDArray[np.int64]:
    """Give when each picture of an episode is presented, in order, from the episode's begin on; nothing is decoded.

    Raises:
        Damaged: the video is broken.
    """
    with opened_video(part.path) as (container, stream):
        tick_ns = Fraction(stream.time_base) * 1_000_000_000
        begin, end = _span(part, fps, stream)
        if begin > 0:
            container.seek(begin, stream=stream)
        times = []
        for packet in container.demux(stream):
            if packet.pts is None:
                continue
            if end is not None and packet.dts is not None and packet.dts >= end:
                break
            if packet.pts >= begin and (end is None or packet.pts < end):
                times.append(packet.pts)
    pts = np.array(sorted(times), dtype=np.int64)
    return np.asarray(pts * tick_ns.numerator // tick_ns.denominator - round(part.from_s * 1e9), dtype=np.int64)


def decoded(part: Clip, fps: float, most: int) -> Iterator[tuple[NDArray[np.uint8], bool]]:
    """Give the luminance of an episode's first pictures, and whether each is a key.

    Raises:
        Damaged: the video is broken.
    """
    with opened_video(part.path) as (container, stream):
        begin, end = _span(part, fps, stream)
        if begin > 0:
            container.seek(begin, stream=stream)
        given = 0
        for frame in container.decode(stream):
            if frame.pts is None or frame.pts < begin:
                continue
            if given >= most or (end is not None and frame.pts >= end):
                break
            given += 1
            yield luminance(frame), bool(frame.key_frame)


def shown(part: Clip, fps: float, most: int) -> Pictures:
    """Give what an episode's first pictures show, a little of each.

    Raises:
        Damaged: the video is broken.
    """
    cells, exact, keys = [], [], []
    for gray, key in decoded(part, fps, most):
        cells.append(signature(gray))
        exact.append(crc32(gray.tobytes()) if key else 0)
        keys.append(key)
    stacked = np.array(cells, dtype=np.float32) if cells else np.empty((0, 1), dtype=np.float32)
    return Pictures(stacked, np.array(exact, dtype=np.uint32), np.array(keys, dtype=bool))


def picture_bytes(root: Path, cell: Any) -> bytes:
    """Give the bytes of a picture; none where it is not there. A name that leads out of the data set is not followed."""
    if not isinstance(cell, Mapping):
        return b""
    content, path = cell.get("bytes"), cell.get("path")
    if isinstance(content, bytes) and content:
        return content
    if not isinstance(path, str) or not path or "\0" in path:
        return b""
    file = (root / path).resolve()
    if not file.is_relative_to(root.resolve()) or not file.is_file() or file.stat().st_size > _MOST_PICTURE_BYTES:
        return b""
    return file.read_bytes()


def whole(value: object) -> bool:
    """Say whether a value of a file is a whole number that is not negative."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 1e9


def _listed_in_parquet(root: Path) -> Iterator[Mapping[str, Any]]:
    for path in sorted((root / "meta" / "episodes").glob("chunk-*/*.parquet")):
        yield from listed_rows(path)


def _listed_in_json(root: Path) -> Iterator[Mapping[str, Any]]:
    path = root / "meta" / "episodes.jsonl"
    if not path.is_file():
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            if line.strip():
                try:
                    row = json.loads(line)
                except (json.JSONDecodeError, RecursionError) as error:
                    raise Damaged(f"line {number} of {path} is not JSON ({error}); download the meta folder again") from error
                if isinstance(row, dict):
                    yield row


def _span(part: Clip, fps: float, stream: Any) -> tuple[int, int | None]:
    """Give the first pts of an episode and the one after its last; half a period early, as seconds were rounded."""
    per_s = 1 / Fraction(stream.time_base)
    if part.to_s is None:
        return 0, None
    early = Fraction(1, 2) / Fraction(fps)
    return max(round((Fraction(part.from_s) - early) * per_s), 0), round((Fraction(part.to_s) - early) * per_s)
