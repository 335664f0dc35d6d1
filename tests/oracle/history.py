"""A stream as a sorted list: what Stream answers, said slowly."""

from bisect import bisect_right, insort
from dataclasses import dataclass, field

from tests.oracle import interpolation


@dataclass
class History:
    kind: str
    capacity: int
    max_gap_ns: int | None = None
    samples: list[tuple[int, list[float]]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("stored", "duplicate", "forgotten"), 0))

    def push(self, t_ns: int, value: list[float]) -> None:
        if any(t == t_ns for t, _ in self.samples):
            self.counts["duplicate"] += 1
        elif len(self.samples) == self.capacity and t_ns < self.samples[0][0]:
            self.counts["forgotten"] += 1
        else:
            self.counts["stored"] += 1
            insort(self.samples, (t_ns, value))
            del self.samples[: -self.capacity]

    def at(self, t_ns: int) -> tuple[str, list[float] | None]:
        """Give how, and the value where there is one."""
        times = [t for t, _ in self.samples]
        place = bisect_right(times, t_ns)
        if not times or (place == len(times) and times[-1] < t_ns):
            return "NOT_YET", None
        if place == 0:
            return "FORGOTTEN", None
        before_ns, before = self.samples[place - 1]
        if before_ns == t_ns:
            return "EXACT", before
        after_ns, after = self.samples[place]
        if self.max_gap_ns is not None and after_ns - before_ns > self.max_gap_ns:
            return "GAP", None
        u = interpolation.fraction(before_ns, t_ns, after_ns)
        if self.kind == "hold":
            return "HELD", before
        if self.kind == "linear":
            return "INTERPOLATED", interpolation.linear(before, after, u)
        return "INTERPOLATED", interpolation.pose(before, after, u)
