"""A histogram in a terminal: how late a loop woke, a line for each third of a decade."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from onbeat.machine.self_test import SelfTest

__all__ = ("bars",)

_WIDTH = 48
_EDGES_US = (0, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, float("inf"))
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def bars(test: "SelfTest") -> list[str]:
    """Draw the lateness of a run; the length of a bar goes with the logarithm of its count, so that one late cycle is seen.

    Args:
        test: The run; cycles with stolen time are left out.

    Returns:
        Lines, from the least late bin that has a cycle to the latest one.
    """
    import numpy as np

    counts = np.histogram(test.own_ns * 1e-3, _EDGES_US)[0]
    filled = np.flatnonzero(counts)
    if not len(filled):
        return []
    lines = []
    longest = np.log10(counts.max() + 1)
    for k in range(filled[0], filled[-1] + 1):
        length = _WIDTH * 8 * np.log10(counts[k] + 1) / longest
        bar = "█" * int(length // 8) + (_EIGHTHS[int(length % 8)].strip() if counts[k] else "")
        late = "  over the bar" if _EDGES_US[k] >= test.good_us and counts[k] else ""
        lines.append(f"{_label(k):>14} {counts[k]:>7} {bar}{late}")
    return lines


def _label(k: int) -> str:
    low, high = _EDGES_US[k], _EDGES_US[k + 1]
    if high == float("inf"):
        return f"over {_time(low)}"
    return f"{_time(low)} - {_time(high)}"


def _time(us: float) -> str:
    return f"{us / 1000:g} ms" if us >= 1000 else f"{us:g} us"
