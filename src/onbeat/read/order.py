"""Whether rows stand in the order of time, told while they pass by.

A clock that was set back runs on from there: its rows are as they came, and a check names the step. Rows that were shuffled or
swapped come back to where they would be, and the file is damaged. The two differ by what happens when the times reach again the
latest one that was seen: a clock goes past it at its usual pace and has then shown that stretch of time twice; a misplaced row
has taken the place of a row there.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput

__all__ = ("Disorder", "OrderWatch")

_AHEAD = 256  # rows that are looked at after a step back, and as many before it
_SMALL = 0.6  # of the usual step: less than this is jitter
_UNEVEN = 1.5  # of the usual step: a row is missing where the times pass the latest one; of the rows in a stretch: it came twice
_MANY, _EVEN = 0.1, 0.6  # parts of the steps: that go back, and that are like the usual one


@dataclass(frozen=True, slots=True)
class Disorder:
    """A row that stands before an earlier one.

    Args:
        row: Its place among the rows that were pushed, from 0.
        back_ns: By how much it is earlier than the row before it.
    """

    row: int
    back_ns: int


class OrderWatch:
    """Tells for the times of one stream how many rows are known to be in order, and the first one that is not."""

    def __init__(self) -> None:
        self._t_ns = np.empty(0, dtype=np.int64)  # some rows that were released, and then those that were not
        self._released = 0  # of these
        self._first = 0  # number of the first of these

    def push(self, t_ns: NDArray[np.int64], last: bool = False) -> tuple[int, Disorder | None]:
        """Take the next rows.

        Args:
            t_ns: Their times. Shape (n,).
            last: No more will come.

        Returns:
            How many rows, from the first on, are in order as far as is known; and what is not, after which nothing may be pushed.

        Raises:
            BadInput: the times are not one row of numbers.
        """
        if t_ns.ndim != 1:
            raise BadInput(f"times are one row of instants, not of shape {t_ns.shape}")
        self._t_ns = np.concatenate([self._t_ns, t_ns])
        n = len(self._t_ns)
        backs = np.flatnonzero(np.diff(self._t_ns[max(self._released - 1, 0) :]) < 0) + max(self._released, 1)
        for k in backs.tolist():
            if k + _AHEAD > n and not last:
                self._released = k
                break
            if _is_misplaced(self._t_ns[max(k - _AHEAD, 0) : k], self._t_ns[k : k + _AHEAD]):
                back_ns = int(self._t_ns[k - 1]) - int(self._t_ns[k])
                return self._first + k, Disorder(self._first + k, back_ns)
            self._released = k + 1
        else:
            self._released = n
        done = self._first + self._released
        drop = max(self._released - _AHEAD, 0)
        self._t_ns, self._first, self._released = self._t_ns[drop:].copy(), self._first + drop, self._released - drop
        return done, None


def _is_misplaced(before: NDArray[np.int64], after: NDArray[np.int64]) -> bool:
    """Say whether the first row of `after`, which is earlier than the last one of `before`, stands in the wrong place."""
    steps = np.concatenate([np.diff(before), np.diff(after)])
    forward = steps[steps > 0]
    if not len(forward):
        return False
    usual = float(np.median(forward))
    latest, first = int(before[-1]), int(after[0])
    passed = np.flatnonzero(after > latest)
    if len(passed) and latest - first >= _SMALL * usual:
        crossing = int(after[passed[0]]) - int(after[passed[0] - 1])
        there = int(((before >= first) & (before <= latest)).sum()) + int(((after >= first) & (after <= latest)).sum())
        if crossing > _UNEVEN * usual and there < _UNEVEN * ((latest - first) / usual + 1):
            return True
    # Shuffled: steps back everywhere, and those between them of all sizes, which a wrap or two clocks in turn do not give.
    even = np.abs(forward - usual) < 0.5 * usual
    return float(np.mean(steps < 0)) > _MANY and float(np.mean(even)) < _EVEN
