"""Streams made for the tests of checks: what a healthy source looks like, and evidence of some streams."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.health import Evidence, Timeline, Verdict, timeline
from onbeat.read import Series, StreamInfo, StreamRecording, row_dtype

START_NS = 1_700_000_000_123_456_789


def line(name: str, info: dict[str, Any] | None = None, /, **columns: Any) -> Timeline:
    """Make a stream of these columns."""
    value = columns.pop("value", None)
    width = 0 if value is None else value.shape[1]
    dtype = row_dtype(tuple(columns), width)
    n = len(next(iter(columns.values())))
    rows = np.zeros(n, dtype=dtype)
    for field, values in columns.items():
        rows[field] = values
    if value is not None:
        rows["value"] = value
    series = Series(StreamInfo(name, **(info or {})), dtype)
    series.append(rows)
    return timeline(series)


def evidence(*lines: Timeline) -> Evidence:
    """Give evidence of some streams."""
    recording = StreamRecording(Path("made"), "made", lambda: iter(()))
    return Evidence(recording, {one.name: one for one in lines})


def findings(said: Iterable[Verdict]) -> list[str]:
    """Name the faults that were found."""
    return [one.fault for one in said if one.level == "finding"]


def healthy(
    rng: np.random.Generator, hz: float, seconds: float, jitter: float = 0.01, transport_s: float = 0.004
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give stamps at capture, which jitter by a share of the period, and log times after an uneven transport."""
    n = int(hz * seconds)
    period = 1e9 / hz
    capture = np.arange(n) * period + rng.normal(0, jitter * period, n)
    delay = 1e9 * transport_s * (1 + rng.exponential(0.3, n))
    stamp = START_NS + np.rint(capture).astype(np.int64)
    return stamp, stamp + np.rint(delay).astype(np.int64)
