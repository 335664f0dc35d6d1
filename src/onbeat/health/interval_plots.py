"""The pictures of a stream's intervals: how many of each length, and when."""

from collections.abc import Iterable

import numpy as np

from onbeat.evidence.timeline import Timeline
from onbeat.health.check import Curve, Mark, Plot

__all__ = ("histogram_plot", "intervals_plot")


def histogram_plot(line: Timeline, title: str) -> Plot:
    """Draw the histogram of a stream's intervals, up to four times the mean one."""
    single = line.intervals_ns() / 1e6
    end = 4 * float(np.mean(single)) if len(single) else 1.0
    end = max(end, float(np.quantile(single, 0.99))) if len(single) else 1.0
    shares, edges = np.histogram(single, bins=160, range=(min(0.0, float(single.min(initial=0.0))), max(end, 1e-3)))
    middle = (edges[1:] + edges[:-1]) / 2
    return Plot(title, "interval (ms)", "samples", (Curve("intervals", middle, shares.astype(np.float64), "bars"),))


def intervals_plot(
    line: Timeline, period_ns: float, title: str, spans_ns: Iterable[tuple[int, int]] = (), field: str | None = None
) -> Plot:
    """Draw intervals against time: 2000 of them, and all the longest ones.

    Args:
        line: The stream.
        period_ns: Drawn beside them.
        title: Of the picture.
        spans_ns: What to mark, from the first row.
        field: The time that was judged, "stamp_ns" or "log_ns"; two clocks may tell one silence as two lengths. Else `t_ns`.
    """
    joined = line.neighbours
    t_ns = line.t_ns if field is None else line.column(field)
    at = (t_ns[1:] - t_ns[0])[joined] / 1e9
    steps = line.intervals_ns(field) / 1e6
    keep = np.arange(len(steps))
    if len(steps) > 2000:
        keep = np.unique(np.concatenate([keep[:: len(steps) // 1500 + 1], np.argsort(np.abs(steps - period_ns / 1e6))[-500:]]))
    ends = np.array([at[0], at[-1]]) if len(at) else np.zeros(2)
    return Plot(
        title,
        "time (s)",
        "interval (ms)",
        (Curve("interval", at[keep], steps[keep], "dots"), Curve("period", ends, np.full(2, period_ns / 1e6), "line")),
        tuple(Mark(a / 1e9, "gap", b / 1e9) for a, b in spans_ns),
    )
