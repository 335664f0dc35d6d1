"""A recording that can be checked by hand: 100 Hz, 60 s, logged 4 ms after its stamps, and one batch at a time as it is asked."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from onbeat.read import Batch, StreamInfo, StreamRecording, row_dtype
from onbeat.testing.faults import Planted, plant

START_NS, PERIOD_NS, LATENCY_NS, N = 1_750_000_000_000_000_000, 10_000_000, 4_000_000, 6001
FIELDS = ("stamp_ns", "log_ns", "seq", "exposure_ns", "digest")


def plain_rows(fields: tuple[str, ...] = FIELDS, width: int = 2) -> np.ndarray:
    k = np.arange(N)
    rows = np.zeros(N, dtype=row_dtype(fields, width))
    whole = {
        "stamp_ns": START_NS + k * PERIOD_NS,
        "log_ns": START_NS + k * PERIOD_NS + LATENCY_NS,
        "seq": 7 + k,
        "exposure_ns": 1_000_000 * (1 + k // 1000),
        "digest": 1000 + k,
    }
    for field in fields:
        rows[field] = whole[field]
    if width:
        rows["value"] = k[:, None] + [0.0, 0.5]
    return rows


def plain(rows: np.ndarray | None = None, kind: str = "rotation", size: int = 997) -> StreamRecording:
    """One stream "s" of that kind beside one that speaks twice, in batches of that size."""
    own = plain_rows() if rows is None else rows
    other = np.zeros(2, dtype=row_dtype(("log_ns",)))
    other["log_ns"] = START_NS + np.array([0, 10**10])

    def read() -> Iterator[Batch]:
        yield Batch(StreamInfo("events"), other)
        for first in range(0, len(own), size):
            yield Batch(StreamInfo("s", kind), own[first : first + size])

    return StreamRecording(Path("plain.mcap"), "made", read)


def rows_of(recording: StreamRecording, name: str = "s") -> np.ndarray:
    return np.concatenate([batch.rows for batch in recording.read() if batch.info.name == name])


def planted(fault: str, seed: int = 0, kind: str = "rotation", **parameters: float) -> tuple[np.ndarray, np.ndarray, Planted]:
    """Rows before and after; the same whether they come in large batches, in small ones, or a second time."""
    found = []
    for size in (10_000, 997, 13):
        made, truth = plant(plain(kind=kind, size=size), fault, np.random.default_rng(seed), "s", **parameters)
        found += [rows_of(made), rows_of(made)]
    for again in found[1:]:
        np.testing.assert_array_equal(found[0], again)
    return plain_rows(), found[0], truth
