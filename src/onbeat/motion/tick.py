"""When does the device take its commands? The beat of its reports, and the instant at which to send so that no tick is missed.

A device that takes the newest command at a tick of its own loses one, or sends two, when ours arrive right at the tick: 0.2 ms
before it with 0.5 ms of jitter, a fifth of the ticks go without. In the middle between two ticks none do.
"""

from dataclasses import dataclass
from math import ceil, isfinite, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.errors import BadInput

__all__ = ("Tick", "find_tick")

_MIN_REPORTS = 20
_OUTLIER = 4.0
_FOLLOWED = 1e-3  # how far a loop's rate may be from the beat that it keeps


@dataclass(frozen=True, slots=True)
class Tick:
    """A beat: tick k lies at t_ns + k period_ns.

    Args:
        t_ns: One tick, on the clock of the reports' stamps.
        period_ns: Between ticks; not a whole number.
        jitter_ns: Standard deviation of the reports about the beat.
        ci95_ns: Half-width of the 95 % interval of a tick near t_ns.
        reports: How many speak.

    Raises:
        BadInput: a period that is not finite and above 0, a negative jitter or interval.
    """

    t_ns: int
    period_ns: float
    jitter_ns: float
    ci95_ns: float
    reports: int

    def __post_init__(self) -> None:
        if not (isfinite(self.period_ns) and self.period_ns > 0):
            raise BadInput(f"a tick's period must be finite and > 0 ns, not {self.period_ns}")
        if not (self.jitter_ns >= 0 and self.ci95_ns >= 0):
            raise BadInput(f"a tick's jitter_ns and ci95_ns must be >= 0, not {self.jitter_ns} and {self.ci95_ns}")

    def after(self, t_ns: int) -> int:
        """Give the first tick that is not before an instant."""
        return self.t_ns + round(ceil((t_ns - self.t_ns) / self.period_ns - 1e-9) * self.period_ns)

    def send_at(self, t_ns: int, margin_ns: int, travel_ns: int = 0) -> int:
        """Give the first instant from t_ns on to send at, so that the command is there margin_ns before a tick.

        Args:
            t_ns: Not before.
            margin_ns: How long before the tick; half a period is in the middle.
            travel_ns: From sending to being there.

        Raises:
            BadInput: the margin is not inside a period, or smaller than what is known of the tick.
        """
        if not 0 <= margin_ns <= self.period_ns:
            raise BadInput(
                f"margin is {margin_ns / 1e6:.3f} ms; it must lie inside the tick's period of {self.period_ns / 1e6:.3f} ms"
            )
        if margin_ns < self.ci95_ns:
            raise BadInput(
                f"margin is {margin_ns / 1e6:.3f} ms and the tick is known only to {self.ci95_ns / 1e6:.3f} ms; "
                "take a larger margin, or more reports"
            )
        early = margin_ns + travel_ns
        return self.after(t_ns + early) - early

    def beat_ns(self, period_ns: float) -> float:
        """Give the beat that a loop of this period can keep: the tick's own, or that part of it that is one of its periods.

        Raises:
            BadInput: neither period is a whole number of the other, within 0.1 %.
        """
        parts = max(1, round(self.period_ns / period_ns))
        beat = self.period_ns / parts
        kept = beat * max(1, round(period_ns / beat))
        if abs(kept / period_ns - 1) > _FOLLOWED:
            raise BadInput(
                f"the loop sends every {period_ns / 1e6:.3f} ms and the device's tick comes every {self.period_ns / 1e6:.3f} ms: "
                f"they have no beat in common; run the loop at {1e9 / kept:.6g} Hz"
            )
        return beat

    def margin_for(self, jitter_ns: float) -> int:
        """Give a margin that jitter of sending does not use up: four standard deviations and what is unknown of the tick.

        Raises:
            BadInput: no margin inside half a period is that large; the jitter must come down first.
        """
        margin = ceil(4 * jitter_ns + self.ci95_ns)
        if margin > self.period_ns / 2:
            raise BadInput(
                f"a jitter of {jitter_ns / 1e6:.3f} ms needs a margin of {margin / 1e6:.3f} ms, more than half of the tick's "
                f"{self.period_ns / 1e6:.3f} ms; make sending steadier first"
            )
        return margin


def find_tick(report_t_ns: ArrayLike, per_report: int = 1) -> Tick:
    """Find the beat of a device from the stamps of its reports: a line of stamps on their number, outliers left out.

    Args:
        report_t_ns: Increasing; lost reports are allowed. Shape (n,), int64.
        per_report: Ticks from one report to the next, where the device reports on every so many of its ticks.

    Raises:
        BadInput: too few reports, not sorted, or no beat in them.
    """
    stamps = np.asarray(report_t_ns)
    if stamps.ndim != 1 or not np.issubdtype(stamps.dtype, np.integer) or per_report < 1:
        raise BadInput("reports must be a row of integer nanoseconds, and per_report at least 1")
    if len(stamps) < _MIN_REPORTS:
        raise BadInput(f"{len(stamps)} reports do not show a beat; record {_MIN_REPORTS} or more")
    t = (stamps - stamps[0]).astype(np.float64)
    if (np.diff(t) <= 0).any():
        raise BadInput("stamps of reports are not increasing; sort them and drop repeats")
    period = float(np.median(np.diff(t)))
    number = np.concatenate([[0.0], np.cumsum(np.maximum(np.rint(np.diff(t) / period), 1))])
    kept = np.ones(len(t), dtype=np.bool_)
    for _ in range(5):
        slope, start = np.polyfit(number[kept], t[kept], 1)
        off = t - start - slope * number
        spread = 1.4826 * float(np.median(np.abs(off[kept] - np.median(off[kept]))))
        again: NDArray[np.bool_] = np.abs(off - np.median(off[kept])) <= max(_OUTLIER * spread, 1.0)
        if (again == kept).all() or int(again.sum()) < _MIN_REPORTS // 2:
            break
        kept = again
    jitter = float(off[kept].std())
    if jitter > 0.25 * slope:
        raise BadInput(
            f"reports come every {slope / 1e6:.3f} ms with {jitter / 1e6:.3f} ms of jitter: there is no beat to keep; "
            "take the device's own stamps"
        )
    middle = float(number[kept].mean())
    at = int(stamps[0]) + round(start + slope * round(middle))
    ci95 = 2 * jitter / sqrt(int(kept.sum()))
    return Tick(at, float(slope) / per_report, jitter, ci95, int(kept.sum()))
