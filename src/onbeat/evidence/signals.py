"""What motion does a stream see? Rates of turning, of travelling, of its joints: at its own stamps, with nothing resampled."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.timeline import Timeline

__all__ = ("MOVING", "Motion", "Span", "motion_between", "motion_of", "spans")

FloatArray = NDArray[np.float64]

# Kinds of streams whose values are a motion.
MOVING = ("joints", "action", "pose", "rotation")
# A rate is a difference over at least this long: the noise of stamps and of positions counts by what it is divided by.
BASELINE_S = 0.02
# Across a longer hole than so many usual steps there is no rate.
HOLE = 2.5
MOST_COLUMNS = 8


@dataclass(frozen=True, slots=True, eq=False)
class Motion:
    """What a stream saw of the motion.

    Args:
        t_ns: On the stream's own stamps, strictly increasing; a difference belongs to the middle of its two. Shape (n,), int64.
        vectors: Rates by what they are, of shape (n, width): "turn" (rad/s, in the frame of the body), "turn of the world" (in
            that of the world, for poses that are the world's as the body sees it), "travel" (m/s), "joints" (a second),
            "picture" (its widths a second).
        speeds: Their magnitudes, which need no common frame. Shape (n,).
    """

    t_ns: NDArray[np.int64]
    vectors: Mapping[str, FloatArray]
    speeds: Mapping[str, FloatArray]

    def __len__(self) -> int:
        return len(self.t_ns)

    def take(self, which: Any) -> "Motion":
        """Give some of the samples, in order."""
        return Motion(
            self.t_ns[which],
            {name: values[which] for name, values in self.vectors.items()},
            {name: values[which] for name, values in self.speeds.items()},
        )


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of a stream within one segment; the number of the segment is None where the stream has none."""

    segment: int | None
    first_ns: int
    last_ns: int


def spans(timeline: Timeline) -> list[Span]:
    """Give the stretches of a stream that one run of its clock covers."""
    stamps = timeline.t_ns
    found = []
    for first, last in timeline.segments():
        segment = int(timeline.rows["segment"][first]) if timeline.has("segment") else None
        found.append(Span(segment, int(stamps[first:last].min()), int(stamps[first:last].max())))
    return found


def motion_between(timeline: Timeline, span: Span) -> Motion | None:
    """Read what a stream saw of the motion within a span.

    Returns:
        None where it carries no motion, or has too few rows there.
    """
    if timeline.info.kind not in MOVING or "value" not in (timeline.series.dtype.names or ()):
        return None
    inside = (timeline.t_ns >= span.first_ns) & (timeline.t_ns <= span.last_ns)
    segmented = span.segment is not None and timeline.has("segment")
    if segmented:
        inside &= timeline.rows["segment"] == span.segment
    hits = np.flatnonzero(inside)
    if not len(hits):
        return None
    # Rows between those that are kept lie inside as well, up to the next kept one on either side.
    first = int(timeline.index[hits[0] - 1]) + 1 if hits[0] else 0
    last = int(timeline.index[hits[-1] + 1]) if hits[-1] + 1 < len(timeline.index) else timeline.n
    rows = timeline.series.rows(first, last)
    stamps = rows["stamp_ns" if timeline.has("stamp_ns") else "log_ns"]
    wanted = (stamps >= span.first_ns) & (stamps <= span.last_ns)
    if segmented:
        wanted &= rows["segment"] == span.segment
    return motion_of(timeline.info.kind, stamps[wanted], rows["value"][wanted])


def motion_of(kind: str, t_ns: NDArray[np.int64], values: FloatArray) -> Motion | None:
    """Turn the values of a stream into rates.

    Args:
        kind: One of `MOVING`.
        t_ns: Stamps in any order; of those that repeat, the first counts. Shape (n,).
        values: As `onbeat.read.streams.KINDS` says. Shape (n, width).

    Returns:
        None where there are too few rows to tell, or where the values do not have the shape of their kind.
    """
    values = np.asarray(values, dtype=np.float64)
    finite = np.isfinite(values).all(axis=1)
    t_ns, order = np.unique(t_ns[finite], return_index=True)
    values = values[finite][order]
    if len(t_ns) < 4:
        return None
    if kind == "rotation":
        return Motion(t_ns, {"turn": values}, {"turn": np.linalg.norm(values, axis=1)}) if values.shape[1] == 3 else None
    period_ns = float(np.median(np.diff(t_ns)))
    apart = max(1, round(BASELINE_S * 1e9 / period_ns))
    if kind == "pose":
        if values.shape[1] != 7:
            return None
        norms = np.linalg.norm(values[:, 3:], axis=1)
        t_ns, values, norms = (x[norms > 0.5] for x in (t_ns, values, norms))
        attitude = values[:, 3:] / norms[:, None]
        turn = _turns(attitude, apart)
        world = _rotated(attitude[:-apart], turn)
        steps = {"turn": turn, "turn of the world": world, "travel": values[apart:, :3] - values[:-apart, :3]}
    else:
        moving = np.sort(np.argsort(-np.abs(np.diff(values, axis=0)).sum(axis=0), kind="stable")[:MOST_COLUMNS])
        steps = {"joints": values[apart:, moving] - values[:-apart, moving]}
    took_ns = t_ns[apart:] - t_ns[:-apart]
    middle_ns = t_ns[:-apart] + took_ns // 2
    near = took_ns <= HOLE * apart * period_ns
    if int(near.sum()) < 4:
        return None
    rates = {name: step[near] / (took_ns[near, None] / 1e9) for name, step in steps.items()}
    speeds = {name: np.linalg.norm(rate, axis=1) for name, rate in rates.items() if name != "turn of the world"}
    return Motion(middle_ns[near], rates, speeds)


def _turns(q: FloatArray, apart: int) -> FloatArray:
    """Give the rotation from each attitude w x y z to a later one, as a vector in the frame of the body. Shape (n - apart, 3)."""
    w0, v0 = q[:-apart, :1], q[:-apart, 1:]
    w1, v1 = q[apart:, :1], q[apart:, 1:]
    w = w0 * w1 + (v0 * v1).sum(axis=1, keepdims=True)
    v = w0 * v1 - w1 * v0 - np.cross(v0, v1)
    v = np.where(w < 0, -v, v)
    sine = np.linalg.norm(v, axis=1, keepdims=True)
    angle = 2 * np.arctan2(sine, np.abs(w))
    turn: FloatArray = v * np.divide(angle, sine, out=np.full_like(sine, 2.0), where=sine > 1e-12)
    return turn


def _rotated(q: FloatArray, v: FloatArray) -> FloatArray:
    """Rotate vectors by attitudes w x y z. Shape (n, 3)."""
    twice = 2 * np.cross(q[:, 1:], v)
    rotated: FloatArray = v + q[:, :1] * twice + np.cross(q[:, 1:], twice)
    return rotated
