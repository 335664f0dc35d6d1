"""Videos as streams: when each picture is presented, read from the packets, and what repeats, decoded where that is quick."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput, Damaged, MissingExtra
from onbeat.read.repeats import Pictures, picture_digests, signature
from onbeat.read.streams import Batch, Frame, StreamInfo, StreamRecording, row_dtype

__all__ = ("VideoRows", "is_video", "luminance", "open_video", "opened_video", "video_frames", "video_rows")

_MOST_FRAMES, _MOST_PIXELS = 5000, 1.5e9  # decoded for the digests: some seconds
_BATCH = 4096
_FASTEST_HZ = 1000


@dataclass(frozen=True, slots=True, eq=False)
class VideoRows:
    """The pictures of a video, in the order in which they are shown.

    Args:
        pts_ns: When each is presented; shape (n,).
        digests: Equal ones mean that the same picture came again while the scene moved; None where that was not decoded.
        declared_hz: The rate that the file states, None where it states none.
        codec: "h264".
        counted: All intervals are the same to one tick of the file's clock: the writer counted pictures.
        damage: What could not be read, a sentence or "".
    """

    pts_ns: NDArray[np.int64]
    digests: NDArray[np.uint64] | None
    declared_hz: float | None
    codec: str
    counted: bool
    damage: str


def is_video(path: Path) -> bool:
    """Say whether a file begins like an mp4, mov, mkv, webm or avi."""
    with path.open("rb") as file:
        head = file.read(12)
    return (
        head[4:8] in (b"ftyp", b"moov", b"mdat", b"wide", b"skip")
        or head.startswith(b"\x1a\x45\xdf\xa3")
        or (head[:4] == b"RIFF" and head[8:12] == b"AVI ")
    )


def open_video(path: Path) -> StreamRecording:
    """Open a video: one stream of pictures, whose stamps are their presentation times.

    Raises:
        BadInput: it has no pictures.
        Damaged: it is broken from the start on.
        MissingExtra: PyAV is not installed.
    """
    with opened_video(path) as (container, stream):
        kind = f"video, {container.format.name.split(',')[0]}, {stream.codec_context.name}"
    return StreamRecording(
        path=path,
        kind=kind,
        read=lambda: _read(path),
        frames=lambda name, most: (Frame(row, gray) for row, gray in video_frames(path, most)) if name == path.stem else iter(()),
    )


def video_rows(path: Path, decode: bool = True) -> VideoRows:
    """Read when each picture is presented, from the packets alone, and tell which came again.

    Args:
        path: The video.
        decode: Whether to decode it for the digests, where it is short enough: below 5000 pictures and 1.5e9 pixels.

    Raises:
        BadInput: it has no pictures, or no times.
        Damaged: it is broken from the start on.
        MissingExtra: PyAV is not installed.
    """
    with opened_video(path) as (container, stream):
        pts, damage = _presented(path, container, stream)
        tick_ns = Fraction(stream.time_base) * 1_000_000_000
        pixels = stream.codec_context.width * stream.codec_context.height
        rates = [float(hz) for hz in (stream.codec_context.framerate, stream.average_rate) if hz and 0 < hz <= _FASTEST_HZ]
        said = stream.frames
        codec = str(stream.codec_context.name)
    if not len(pts):
        raise BadInput(f"{path} has no presentation times; wrap the pictures in an mp4 or mkv with times and open that")
    if said > len(pts) and not damage:
        damage = f"{path} ends early: it should have {said} pictures; {len(pts)} were read; copy it again"
    shown = None
    if decode and len(pts) <= _MOST_FRAMES and len(pts) * pixels <= _MOST_PIXELS:
        shown = _shown(path, pts)
    return VideoRows(
        pts_ns=np.array([round(int(p) * tick_ns) for p in pts], dtype=np.int64),
        digests=shown,
        declared_hz=rates[0] if rates else None,
        codec=codec,
        counted=len(pts) > 2 and int(np.ptp(np.diff(pts))) <= 1,  # a rate that is no whole number of ticks alternates
        damage=damage,
    )


def video_frames(path: Path, most: int) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Decode pictures: all, or so many neighbours from the middle where there are more.

    Gives:
        The number of each in the order of presentation, and its luminance, shape (height, width).

    Raises:
        Damaged: it is broken.
        MissingExtra: PyAV is not installed.
    """
    with opened_video(path) as (container, stream):
        pts, _ = _presented(path, container, stream)
    first = max((len(pts) - most) // 2, 0)
    wanted = pts[first : first + most]
    if not len(wanted):
        return
    with opened_video(path) as (container, stream):
        stream.thread_type = "AUTO"
        if first:
            container.seek(int(wanted[0]), stream=stream)
        for frame in container.decode(stream):
            if frame.pts is None or frame.pts < wanted[0]:
                continue
            if frame.pts > wanted[-1]:
                break
            yield int(np.searchsorted(pts, frame.pts)), luminance(frame)


def _read(path: Path) -> Iterator[Batch]:
    rows = video_rows(path)
    note = ""
    if rows.counted:
        note = "all intervals are the same to a tick of the file's clock, as from a writer that counts: they show no jitter"
    elif rows.digests is None:
        note = "it is long, so it was not decoded to look for pictures that came again"
    info = StreamInfo(path.stem, "image", rows.codec, declared_hz=rows.declared_hz, counted=rows.counted, note=note)
    dtype = row_dtype(["stamp_ns"] if rows.digests is None else ["stamp_ns", "digest"])
    for first in range(0, len(rows.pts_ns), _BATCH):
        part = np.zeros(len(rows.pts_ns[first : first + _BATCH]), dtype=dtype)
        part["stamp_ns"] = rows.pts_ns[first : first + _BATCH]
        if rows.digests is not None:
            part["digest"] = rows.digests[first : first + _BATCH]
        yield Batch(info, part)
    if rows.damage:
        raise Damaged(rows.damage)


def _presented(path: Path, container: Any, stream: Any) -> tuple[NDArray[np.int64], str]:
    """Give the presentation times in ticks, sorted, and what could not be read."""
    import av

    times: list[int] = []
    damage = ""
    try:
        for packet in container.demux(stream):
            t = packet.pts if packet.pts is not None else packet.dts
            if packet.size and t is not None and not packet.is_discard:
                times.append(t)
                if packet.is_corrupt and not damage:
                    damage = f"{path} is broken at picture {len(times)} (byte {packet.pos})"
    except (av.FFmpegError, EOFError, ValueError) as error:
        damage = f"{path} is broken after {len(times)} pictures ({_said(error)}); those were read"
    if damage and "were read" not in damage:
        damage += f"; the times of {len(times)} pictures were read; copy it again"
    return np.array(sorted(times), dtype=np.int64), damage


def _shown(path: Path, pts: NDArray[np.int64]) -> NDArray[np.uint64] | None:
    """Give the digests, None where the pictures do not fit their times."""
    cells, exact, keys = [], [], []
    try:
        with opened_video(path) as (container, stream):
            stream.thread_type = "AUTO"
            for frame in container.decode(stream):
                gray = luminance(frame)
                cells.append(signature(gray))
                exact.append(crc32(gray.tobytes()) if frame.key_frame else 0)
                keys.append(bool(frame.key_frame))
    except Damaged:
        return None
    if len(cells) != len(pts) or len({len(one) for one in cells}) != 1:
        return None
    pictures = Pictures(np.array(cells, dtype=np.float32), np.array(exact, dtype=np.uint32), np.array(keys, dtype=bool))
    return picture_digests(pictures, None, None)


@contextmanager
def opened_video(path: Path) -> Iterator[tuple[Any, Any]]:
    """Open a video and its first stream of pictures, as PyAV's container and stream; what goes wrong within is `Damaged`.

    Raises:
        BadInput: it has no pictures.
        Damaged: it is broken, there or where it is read.
        MissingExtra: PyAV is not installed.
    """
    try:
        import av
    except ImportError as error:
        raise MissingExtra("PyAV, which opens videos,", "vision") from error
    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                raise BadInput(f"{path} has no video stream; name a file that has pictures")
            stream = container.streams.video[0]
            if stream.codec_context is None or not stream.time_base:
                raise Damaged(f"{path} does not say how its pictures are coded; copy or record it again")
            yield container, stream
    except (av.FFmpegError, EOFError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        size = path.stat().st_size
        raise Damaged(f"{path} ({size} bytes) is no whole video ({_said(error)}); copy or record it again") from error


def _said(error: BaseException) -> str:
    return " ".join(str(getattr(error, "strerror", "") or error).split())[:80].rstrip(".").lower() or type(error).__name__


def luminance(frame: Any) -> NDArray[np.uint8]:
    """Give the levels of a picture; a plane of its own is copied, which costs little."""
    if frame.format.name.startswith(("yuv4", "yuvj4", "gray", "nv12")) and frame.format.components[0].bits == 8:
        plane = frame.planes[0]
        levels = np.frombuffer(plane, dtype=np.uint8)[: plane.line_size * frame.height].reshape(frame.height, plane.line_size)
        return np.ascontiguousarray(levels[:, : frame.width])
    return np.asarray(frame.to_ndarray(format="gray"), dtype=np.uint8)
