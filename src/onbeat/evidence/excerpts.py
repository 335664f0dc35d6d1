"""Which stretches of two streams are compared? All of a short recording; of a long one the liveliest stretches of each third."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.agree import THIRDS, Excerpt
from onbeat.evidence.signals import Motion, Span

__all__ = ("Moving", "excerpts", "moves")

FloatArray = NDArray[np.float64]

PIECE_NS = 10_000_000_000
MOST_NS = 60_000_000_000
# So many pieces are looked at to choose the liveliest ones.
MOST_SEEN = 48
# A piece needs so many samples of each stream.
LEAST = 8
# A motion goes on from one tenth of a second to the next, which noise does not.
BIN_NS = 100_000_000
LEAST_PERSISTENCE = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Moving:
    """A stream that may see the motion.

    Args:
        name: Its name.
        kind: One of `onbeat.read.streams.KINDS`.
        period_ns: Its usual interval.
        spans: The stretches that one run of its clock covers.
        read: Gives what it saw within a span, None where that is nothing.
    """

    name: str
    kind: str
    period_ns: float
    spans: Sequence[Span]
    read: Callable[[Span], Motion | None]


def excerpts(a: Moving, b: Moving) -> list[Excerpt]:
    """Read what two streams saw of the same time, up to a minute of it.

    Args:
        a: Its liveliness decides which pieces of a long recording are taken.
        b: The other one.

    Returns:
        In order of time; empty where they share none.
    """
    pieces = _pieces(_shared(a.spans, b.spans))
    if len(pieces) > MOST_SEEN:
        pieces = [pieces[k] for k in np.linspace(0, len(pieces) - 1, MOST_SEEN).astype(int)]
    third = [THIRDS * k // len(pieces) for k in range(len(pieces))]
    energy = {}
    for k, piece in enumerate(pieces):  # what is wanted is read again: all of it is much
        if (motion := a.read(piece)) is not None and len(motion) >= LEAST:
            energy[k] = _energy(motion)
    chosen = [k for part in range(THIRDS) for k in _liveliest(pieces, {k: e for k, e in energy.items() if third[k] == part})]
    both = {k: (a.read(pieces[k]), b.read(pieces[k])) for k in sorted(chosen)}
    return [Excerpt(third[k], x, y) for k, (x, y) in both.items() if x is not None and y is not None and len(y) >= LEAST]


def _liveliest(pieces: Sequence[Span], energy: Mapping[int, float]) -> list[int]:
    """Choose the liveliest pieces of a third, as many as there is time for."""
    chosen: list[int] = []
    left_ns = MOST_NS // THIRDS
    for k in sorted(energy, key=lambda k: -energy[k]):
        if left_ns > 0:
            chosen.append(k)
            left_ns -= pieces[k].last_ns - pieces[k].first_ns
    return chosen


def _shared(a: Sequence[Span], b: Sequence[Span]) -> list[Span]:
    found = []
    for one in a:
        for other in b:
            if None not in (one.segment, other.segment) and one.segment != other.segment:
                continue
            first_ns, last_ns = max(one.first_ns, other.first_ns), min(one.last_ns, other.last_ns)
            if last_ns > first_ns:
                found.append(Span(one.segment if one.segment is not None else other.segment, first_ns, last_ns))
    return found


def _pieces(shared: Sequence[Span]) -> list[Span]:
    """Cut what is shared into pieces of about 10 s, at least three of them."""
    total_ns = sum(span.last_ns - span.first_ns for span in shared)
    length_ns = min(PIECE_NS, max(total_ns // THIRDS, 1))
    pieces = []
    for span in shared:
        count = max(1, round((span.last_ns - span.first_ns) / length_ns))
        edges = [span.first_ns + (span.last_ns - span.first_ns) * k // count for k in range(count + 1)]
        pieces += [Span(span.segment, edges[k], edges[k + 1]) for k in range(count)]
    return pieces


def _energy(motion: Motion) -> float:
    return sum(float(np.var(speed)) for speed in motion.speeds.values())


def moves(motions: Sequence[Motion]) -> bool:
    """Say whether what a stream saw is a motion, and not only noise or nothing."""
    for name in motions[0].vectors if motions else ():
        for column in range(motions[0].vectors[name].shape[1]):
            if _persists([(m.t_ns, m.vectors[name][:, column]) for m in motions]):
                return True
    return False


def _persists(parts: Sequence[tuple[NDArray[np.int64], FloatArray]]) -> bool:
    now, later = [], []
    for t_ns, values in parts:
        cell = (t_ns - t_ns[0]) // BIN_NS
        counts = np.bincount(cell)
        means = np.bincount(cell, weights=values) / np.maximum(counts, 1)
        both = (counts[:-1] > 0) & (counts[1:] > 0)
        now.append(means[:-1][both])
        later.append(means[1:][both])
    x, y = np.concatenate(now), np.concatenate(later)
    if len(x) < LEAST:
        return False
    rest = len(x) * (1e-9 * float(np.abs(x).max())) ** 2
    x, y = x - x.mean(), y - y.mean()
    power = float(np.sqrt((x @ x) * (y @ y)))
    return power > rest and float(x @ y) / power > LEAST_PERSISTENCE
