"""By how much are the stamps of one stream later than those of another? Over all that is compared, and over its thirds."""

from dataclasses import dataclass
from functools import partial
from math import sqrt

import numpy as np

from onbeat.calibrate.interval import t_quantile
from onbeat.evidence.agree import Agreement, agree
from onbeat.evidence.excerpts import Moving, excerpts, moves
from onbeat.evidence.signals import motion_between, spans
from onbeat.evidence.timeline import Timeline
from onbeat.health.check import Curve, Plot

__all__ = ("Late", "Unsaid", "lateness", "lateness_plot", "moving")

# Smaller offsets matter less than what hardware, drivers and models of cameras leave.
LEAST_S = 0.002
LEAST_PERIODS = 0.1
PLOTTED_S = 6.0
MOST_POINTS = 1500


@dataclass(frozen=True, slots=True, eq=False)
class Late:
    """By how much a stream's stamps are later than those of the reference.

    Args:
        stream, reference: Their names.
        value_s: Later by so much.
        half_s: Half-width of the 95 % interval: the greatest of the estimate's own, the thirds' scatter and what closure leaves.
        thirds_s: The same of each third that could say.
        closure_s: Greatest sum around a triangle of streams; None where there is none.
        period_s: Usual interval of the slower stream.
        agreement: What it rests on; t_reference = t_stream + value.
    """

    stream: str
    reference: str
    value_s: float
    half_s: float
    thirds_s: tuple[float, ...]
    closure_s: float | None
    period_s: float
    agreement: Agreement

    @property
    def limit_s(self) -> float:
        """What an offset has to exceed to matter."""
        return max(LEAST_S, LEAST_PERIODS * self.period_s)


@dataclass(frozen=True, slots=True)
class Unsaid:
    """Why the offset between two streams that move cannot be told."""

    stream: str
    reference: str
    reason: str


def moving(timeline: Timeline) -> Moving:
    """Give a stream whose values are a motion as one to compare."""
    return Moving(timeline.name, timeline.info.kind, timeline.period_ns, spans(timeline), partial(motion_between, timeline))


def lateness(stream: Moving, reference: Moving) -> Late | Unsaid | None:
    """Measure how much later the stamps of a stream are than those of a reference that sees the same motion.

    Returns:
        None where one of them sees no motion in the time that they share.
    """
    pieces = excerpts(reference, stream)
    if not pieces or not moves([e.a for e in pieces]) or not moves([e.b for e in pieces]):
        return None
    found = agree(pieces)
    if found is None:
        return None
    value, ci95 = found.result.value, found.result.ci95
    if value is None or ci95 is None:
        return Unsaid(stream.name, reference.name, found.result.reason)
    thirds = tuple(-r.value for r in found.thirds if r.value is not None)
    if len(thirds) < 2:
        return Unsaid(
            stream.name,
            reference.name,
            f"all of it says {_ms(-value)}, but only {len(thirds)} of its three thirds can say; record longer, or move more",
        )
    half = max(ci95, t_quantile(len(thirds) - 1) * float(np.std(thirds, ddof=1)) / sqrt(len(thirds)))
    period_s = max(stream.period_ns, reference.period_ns) / 1e9
    return Late(stream.name, reference.name, -value, half, thirds, None, period_s, found)


def lateness_plot(late: Late) -> Plot:
    """Draw both signals where they are liveliest, as stamped and with the offset taken out."""
    found = late.agreement
    a_s, b_s = found.a_t_ns / 1e9, found.b_t_ns / 1e9
    a, b = ((x - x.mean()) / max(float(x.std()), 1e-300) for x in (found.a, found.b))
    energy = np.convolve(np.abs(b), np.ones(min(len(b), max(1, round(PLOTTED_S / late.period_s)))), mode="same")
    middle_s = float(b_s[int(np.argmax(energy))])
    in_a, in_b = (np.flatnonzero(np.abs(t - middle_s) <= PLOTTED_S / 2) for t in (a_s, b_s))
    in_a, in_b = (x[:: max(1, -(-len(x) // MOST_POINTS))] for x in (in_a, in_b))
    zero_s = middle_s - PLOTTED_S / 2
    return Plot(
        f"The same motion in {late.stream} and {late.reference} ({found.what})",
        "time (s)",
        "rate (of its deviation)",
        (
            Curve(late.reference, a_s[in_a] - zero_s, a[in_a]),
            Curve(f"{late.stream}, as stamped", b_s[in_b] - zero_s, b[in_b], "dots"),
            Curve(f"{late.stream}, moved by {-late.value_s * 1e3:.1f} ms", b_s[in_b] - zero_s - late.value_s, b[in_b]),
        ),
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"
