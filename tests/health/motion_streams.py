"""A motion, and streams that see it: made from sums of sines, so that its truth is known at every instant."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.timeline import timeline
from onbeat.health.check import Evidence
from onbeat.read.spool import Gathered, gather
from onbeat.read.streams import Batch, StreamInfo, StreamRecording, row_dtype

FloatArray = NDArray[np.float64]
START_NS = 1_700_000_000_000_000_000


def tones(rng: np.random.Generator, columns: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Draw amplitudes, angular frequencies and phases. Shape (columns, 5)."""
    shape = (columns, 5)
    return rng.uniform(0.1, 0.3, shape), 2 * np.pi * rng.uniform(0.2, 2.0, shape), rng.uniform(0, 2 * np.pi, shape)


def rate(motion: tuple[FloatArray, FloatArray, FloatArray], t_s: FloatArray) -> FloatArray:
    a, w, p = motion
    return np.asarray((a * w * np.cos(w * t_s[:, None, None] + p)).sum(axis=2))


def position(motion: tuple[FloatArray, FloatArray, FloatArray], t_s: FloatArray) -> FloatArray:
    a, w, p = motion
    return np.asarray((a * np.sin(w * t_s[:, None, None] + p)).sum(axis=2))


def stream(name: str, kind: str, t_s: FloatArray, values: FloatArray, late_s: float = 0.0) -> tuple[StreamInfo, NDArray[Any]]:
    """Give a stream whose samples were true at t_s and are stamped late."""
    rows = np.empty(len(t_s), row_dtype(("stamp_ns", "log_ns"), values.shape[1]))
    rows["stamp_ns"] = START_NS + np.rint((t_s + late_s) * 1e9).astype(np.int64)
    rows["log_ns"] = rows["stamp_ns"] + 1_000_000
    rows["value"] = values
    return StreamInfo(name, kind, columns=tuple(f"c{k}" for k in range(values.shape[1]))), rows


def recorded(*streams: tuple[StreamInfo, NDArray[Any]]) -> StreamRecording:
    def read() -> Iterator[Batch]:
        for info, rows in streams:
            yield Batch(info, rows)

    return StreamRecording(Path("made"), "made", read)


def evidence(recording: StreamRecording) -> tuple[Gathered, Evidence]:
    gathered = gather(recording)
    return gathered, Evidence(recording, {name: timeline(one) for name, one in gathered.series.items()})
