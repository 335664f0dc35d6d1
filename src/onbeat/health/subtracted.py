"""Stamps that onbeat made by taking a receive_latency off the receipt: a latency that was changed is no clock that was set."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from onbeat.evidence.timeline import Timeline
from onbeat.health.check import Figure, Verdict

__all__ = ("Latency", "changed_latency", "subtracted")

_FEWEST_ROWS = 20  # that a latency holds for, on average: a clock moves the offset at every row
_LISTED = 4

Latency = tuple[float, int]


def subtracted(line: Timeline, origin_ns: int) -> list[Latency] | None:
    """Give the latencies that were taken off a stream of an onbeat recording.

    The log time of such a stream is the receipt, and its stamp the receipt less a number of the module's YAML. So the offset is
    the same number to the nanosecond, row by row, and says nothing of any clock.

    Args:
        line: A stream that onbeat recorded.
        origin_ns: Where time begins in what is said.

    Returns:
        Since when each latency held (s from the origin), and the latency (ns); None where stamps were made in another way.
    """
    if not line.has("stamp_ns", "log_ns") or not len(line.rows):
        return None
    log = line.column("log_ns")
    latency = log - line.column("stamp_ns")
    begins = np.flatnonzero(np.diff(latency, prepend=latency[0] - 1))
    if len(begins) > 1 and len(begins) * _FEWEST_ROWS > len(latency):
        return None
    return [((int(log[row]) - origin_ns) / 1e9, int(latency[row])) for row in begins]


def changed_latency(latencies: Mapping[str, Sequence[Latency]]) -> Verdict | None:
    """Note that latencies were changed while they were recorded; None where none was.

    Args:
        latencies: Of each stream, as `subtracted` gives them.
    """
    changes = {
        name: max(abs(b - a) for (_, a), (_, b) in pairwise(held)) / 1e9 for name, held in latencies.items() if len(held) > 1
    }
    if not changes:
        return None
    streams = sorted(changes, key=lambda name: -changes[name])
    worst = streams[0]
    (_, first), *later = latencies[worst]
    told = [f"{first / 1e6:.4g} ms", *(f"{ns / 1e6:.4g} ms from {at:.1f} s on" for at, ns in later[:_LISTED])]
    more = f" and {len(later) - _LISTED} more" if len(later) > _LISTED else ""
    others = f" (and of {len(streams) - 1} more)" if len(streams) > 1 else ""
    return Verdict(
        "step",
        tuple(streams),
        "note",
        f"the receive_latency of {worst}{others} was changed while it was recorded: {', '.join(told)}{more}; no clock was set, "
        "but stamps before and after a change do not compare",
        {"largest change": Figure(changes[worst], "s")},
        weight=changes[worst],
    )
