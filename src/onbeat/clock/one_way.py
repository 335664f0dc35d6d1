"""Stamps that only come one way, from a sensor that cannot be asked: the line under all arrivals, its floor being unknown."""

from collections import deque

from onbeat.clock.map import ClockMap
from onbeat.errors import BadInput, NotSynced
from onbeat.units import to_ns, whole_ns

__all__ = ("OneWayEstimator",)

_MOST = 4096
_MIN_SAMPLES = 8


class OneWayEstimator:
    """Keeps the map from a source's clock to ours from messages that carry the source's stamp.

    Delays only add, so the true offset lies on or below every ``receive - stamp``. Of those the lower hull is kept, and its edge
    around the middle of the window is the line (Zhang, Liu and Xia 2002). What the fastest message took cannot be seen from one
    side: the offset is too large by that floor, and `floor_s` is what the caller knows of it (0: nothing).

    Args:
        source: Id of the source's clock.
        target: Id of ours, on which messages are received.
        window_s: How much of the past is looked at, s.
        drift_bound_ppm: How far the two rates can be apart.
        floor_s: Known least delay from the stamp to the receipt, s: taken off the offset.
    """

    def __init__(
        self, source: str, target: str, *, window_s: float = 300.0, drift_bound_ppm: float = 200.0, floor_s: float = 0.0
    ) -> None:
        if not (window_s > 0 and drift_bound_ppm > 0 and floor_s >= 0):
            raise BadInput(
                f"a one-way estimate needs a window and a drift bound above 0 and a floor of 0 or more, not {window_s} s, "
                f"{drift_bound_ppm} ppm and {floor_s} s"
            )
        self.source = source
        self.target = target
        self._window_ns = to_ns(window_s)
        self._drift_ppb = drift_bound_ppm * 1e3
        self._floor_ns = to_ns(floor_s)
        self._hull: deque[tuple[int, int]] = deque()  # (stamp, receive - stamp), the lower hull from left to right
        self._count = 0
        self._newest_ns: int | None = None

    def __repr__(self) -> str:
        return f"OneWayEstimator({self.source!r} to {self.target!r}, {self._count} messages)"

    floor_observable = False
    """The least delay cannot be seen from one side; only `floor_s` says something about it."""

    def add(self, t_source_ns: int, receive_ns: int) -> None:
        """Take a message; amortised constant time.

        Args:
            t_source_ns: Its stamp, on the source's clock.
            receive_ns: When it arrived, on ours.

        Raises:
            BadInput: the stamp is not newer than that of the message before.
        """
        t_source_ns, receive_ns = whole_ns(t_source_ns, "t_source_ns"), whole_ns(receive_ns, "receive_ns")
        if self._newest_ns is not None and t_source_ns <= self._newest_ns:
            raise BadInput(
                f"the stamp {t_source_ns} ns is {self._newest_ns - t_source_ns} ns before the one of the message before; a late "
                "message says nothing that an earlier one did not, so leave it out"
            )
        self._newest_ns = t_source_ns
        self._count += 1
        point = (t_source_ns, receive_ns - t_source_ns)
        while len(self._hull) > 1 and _above(self._hull[-2], self._hull[-1], point):
            self._hull.pop()
        self._hull.append(point)
        while len(self._hull) > 2 and (self._hull[1][0] < t_source_ns - self._window_ns or len(self._hull) > _MOST):
            self._hull.popleft()

    def map_at(self, now_ns: int) -> ClockMap:
        """Give the map from the source to ours, as it is known now on our clock.

        The bound is the hard one of a single side, one-sided and unbounded below but for causality; so the interval reaches down
        by what the newest messages took beyond the line at most, and the floor is not in it.

        Raises:
            NotSynced: fewer than eight messages came.
        """
        if self._count < _MIN_SAMPLES or len(self._hull) < 2:
            raise NotSynced(f"{self._count} messages of {self.source!r} came so far, and {_MIN_SAMPLES} are needed; wait")
        left, right = self._edge()
        skew_ppb = (right[1] - left[1]) / (right[0] - left[0]) * 1e9
        skew_ppb = min(max(skew_ppb, -self._drift_ppb), self._drift_ppb)
        anchor_ns, above_ns = right if right[0] - left[0] and self._newest_ns == right[0] else left
        offset_ns = above_ns - self._floor_ns
        return ClockMap(
            self.source,
            self.target,
            anchor_ns,
            offset_ns,
            skew_ppb,
            bound_ns=max(abs(self._edge_room()), 1),
            drift_bound_ppb=self._drift_ppb,
        )

    def _edge(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Give the edge of the hull that spans the middle of the window."""
        middle = (self._hull[0][0] + self._hull[-1][0]) // 2
        for k in range(1, len(self._hull)):
            if self._hull[k][0] >= middle:
                return self._hull[k - 1], self._hull[k]
        return self._hull[-2], self._hull[-1]

    def _edge_room(self) -> int:
        """Give by how much the newest hull point lies above the line: the line is not known better than that there."""
        left, right = self._edge()
        newest = self._hull[-1]
        on_line = left[1] + (right[1] - left[1]) * (newest[0] - left[0]) // (right[0] - left[0])
        return newest[1] - on_line


def _above(first: tuple[int, int], middle: tuple[int, int], last: tuple[int, int]) -> bool:
    """Say whether the middle point lies on or above the line between the other two; exact, as these are ints."""
    return (middle[1] - first[1]) * (last[0] - first[0]) >= (last[1] - first[1]) * (middle[0] - first[0])
