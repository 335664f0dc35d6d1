"""What motion does a camera see? How its picture moves, turns and grows from frame to frame, by dense optical flow."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import MissingExtra
from onbeat.evidence.excerpts import Moving
from onbeat.evidence.signals import HOLE, Motion, Span
from onbeat.evidence.timeline import Timeline
from onbeat.read.streams import Frame

__all__ = ("camera", "picture_motion")

FloatArray = NDArray[np.float64]

# Wide enough for a shift of a hundredth of the picture, small enough for a few ms a frame.
WIDTH = 160
LEAST_WIDTH = 16


def camera(timeline: Timeline, frames: Callable[[str, int], Iterator[Frame]], most: int) -> Moving | None:
    """Look at the first pictures of a stream.

    Args:
        timeline: The stream; it has stamps.
        frames: Gives pictures, as `StreamRecording.frames` does.
        most: How many to look at.

    Returns:
        The stream as one that sees motion; None where there are too few pictures.

    Raises:
        OnbeatError: the pictures cannot be had, or OpenCV is not installed.
    """
    rows = timeline.series.rows(0, most)
    segments = rows["segment"] if timeline.has("segment") else None
    t_ns = rows["stamp_ns"]
    seen = picture_motion(frames(timeline.name, most), t_ns, np.zeros(len(rows), np.int64) if segments is None else segments)
    if seen is None:
        return None
    motion, at = seen
    of = None if segments is None else segments[at]
    spans = []
    for number in [None] if of is None else np.unique(of).tolist():
        inside = motion.t_ns if number is None else motion.t_ns[of == number]
        spans.append(Span(number, int(inside.min()), int(inside.max())))
    return Moving(timeline.name, "image", timeline.period_ns, spans, partial(_within, motion, of))


def _within(motion: Motion, of: NDArray[np.int64] | None, span: Span) -> Motion | None:
    inside = (motion.t_ns >= span.first_ns) & (motion.t_ns <= span.last_ns)
    if of is not None and span.segment is not None:
        inside &= of == span.segment
    rows = np.flatnonzero(inside)
    # A step back within a segment would leave stamps out of order.
    _, order = np.unique(motion.t_ns[rows], return_index=True)
    return motion.take(rows[order]) if len(rows) else None


def picture_motion(
    frames: Iterator[Frame], t_ns: NDArray[np.int64], segment: NDArray[np.int64]
) -> tuple[Motion, NDArray[np.int64]] | None:
    """See how the picture moves between frames that differ; a frame that is shown again is passed over.

    Args:
        frames: In the order of their rows.
        t_ns: Stamp of each row. Shape (n,).
        segment: Segment of each row. Shape (n,).

    Returns:
        Rates "picture": across, down, turning, growing, in widths of the picture a second; and as speed the flow's mean length.
        Each at the middle of two stamps, in the order of the rows, so that stamps begin anew where a segment does. And the row
        that each begins at. None where there are too few frames.

    Raises:
        MissingExtra: OpenCV is not installed.
    """
    try:
        import cv2 as imported
    except ImportError as error:
        raise MissingExtra("OpenCV, which sees the motion in pictures,", "vision") from error
    # Its own types do not know all that it has.
    cv2: Any = imported
    flow = cv2.DISOpticalFlow_create(cv2.DISOPTICAL_FLOW_PRESET_ULTRAFAST)
    found: list[tuple[int, int]] = []
    steps: list[FloatArray] = []
    last: tuple[int, NDArray[np.uint8]] | None = None
    for frame in frames:
        if frame.row >= len(t_ns):
            break
        gray = _small(cv2, frame.gray)
        if gray is None:
            continue
        if last is not None and last[1].shape == gray.shape and segment[last[0]] == segment[frame.row]:
            if np.array_equal(last[1], gray):
                continue
            if t_ns[frame.row] > t_ns[last[0]]:
                found.append((last[0], frame.row))
                steps.append(_moved(flow.calc(last[1], gray, None)))
        last = frame.row, gray
    if len(found) < 4:
        return None
    first, then = (np.array([each[k] for each in found]) for k in (0, 1))
    took_ns = t_ns[then] - t_ns[first]
    near = took_ns <= HOLE * np.median(took_ns)
    rates = np.array(steps)[near] / (took_ns[near, None] / 1e9)
    middle_ns = (t_ns[first] + took_ns // 2)[near]
    return Motion(middle_ns, {"picture": rates[:, :4]}, {"picture": rates[:, 4]}), first[near]


def _small(cv2: Any, gray: NDArray[np.uint8]) -> NDArray[np.uint8] | None:
    height, width = gray.shape
    if min(height, width) < LEAST_WIDTH:
        return None
    size = (WIDTH, max(LEAST_WIDTH, round(WIDTH * height / width)))
    small: NDArray[np.uint8] = (
        np.ascontiguousarray(gray) if width <= WIDTH else cv2.resize(gray, size, interpolation=cv2.INTER_AREA)
    )
    return small


def _moved(flow: NDArray[np.float32]) -> FloatArray:
    """Fit shift, turn and growth to a flow, and give the mean of its length; in widths of the picture. Shape (5,)."""
    height, width = flow.shape[:2]
    x = (np.arange(width) - (width - 1) / 2)[None, :]
    y = (np.arange(height) - (height - 1) / 2)[:, None]
    across, down = flow[..., 0], flow[..., 1]
    lever = float((x**2).mean() + (y**2).mean()) / width
    turn, growth = (x * down - y * across).mean() / lever, (x * across + y * down).mean() / lever
    moved: FloatArray = np.array([across.mean(), down.mean(), turn, growth, np.hypot(across, down).mean()]) / width
    return moved
