"""What happens to samples, beside their clocks? They are lost, repeated, out of order, uneven, or late against another stream."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.read.streams import StreamInfo
from onbeat.testing.planting import Change, Fault, Parameters, Seen

__all__ = ("SAMPLE_FAULTS",)

_BLOCK = 65_536


def _dropped_samples(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """A share of the samples, each on its own, never reaches the recorder. The source counts them: its count jumps."""

    def change(rows: NDArray[Any], first: int) -> NDArray[Any]:
        return rows[~_hit(rng, given["share"], seen, first, len(rows))]

    return change


def _told_dropped(seen: Seen, given: Parameters, rng: np.random.Generator) -> Parameters:
    lost = _total(rng, given["share"], seen)
    return {"lost": lost, "lost_share": lost / seen.n}


def _gap(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """A cable is out from at_s on for gap_s: what the source samples meanwhile never comes."""

    def change(rows: NDArray[Any], first: int) -> NDArray[Any]:
        t_s = seen.elapsed_s(rows)
        return rows[(t_s < given["at_s"]) | (t_s >= given["at_s"] + given["gap_s"])]

    return change


def _draw_gap(seen: Seen, rng: np.random.Generator) -> Parameters:
    gap_s = min(max(rng.uniform(0.5, 3), 15 * seen.period_s), seen.span_s / 4)
    return {"gap_s": gap_s, "at_s": rng.uniform(0.2, 0.7) * seen.span_s}


def _repeated_samples(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """From from_s on for for_s the driver gives each content each times, with a new stamp every time: a cached read, or, where
    each is as many as there are, a frozen one. Times and counts go on.
    """
    each = int(given["each"])
    began: int | None = None
    held: NDArray[Any] | None = None

    def change(rows: NDArray[Any], first: int) -> NDArray[Any]:
        nonlocal began, held
        t_s = seen.elapsed_s(rows)
        inside = np.flatnonzero((t_s >= given["from_s"]) & (t_s < given["from_s"] + given["for_s"]))
        if not len(inside):
            return rows
        if began is None:
            began = first + int(inside[0])
        # The number of the row that gives the content; one of an earlier batch is the row that was held.
        source = first + inside - (first + inside - began) % each
        repeated: NDArray[Any] = rows.copy()
        for field in ("value", "digest", "exposure_ns"):
            if field in seen.fields:
                repeated[field][inside] = rows[field][np.maximum(source - first, 0)]
                if held is not None:
                    repeated[field][inside[source < first]] = held[field]
        held = repeated[inside[-1]].copy()
        return repeated

    return change


def _draw_repeated(seen: Seen, rng: np.random.Generator) -> Parameters:
    if rng.random() < 0.5:
        return {"from_s": 0.0, "for_s": seen.span_s + 1, "each": float(rng.integers(2, 4))}
    long_s = min(max(rng.uniform(1, 5), 20 * seen.period_s), seen.span_s / 3)
    return {"from_s": rng.uniform(0.2, 0.6) * seen.span_s, "for_s": long_s, "each": float(seen.n)}


def _told_repeated(seen: Seen, given: Parameters, rng: np.random.Generator) -> Parameters:
    rows = min(given["for_s"], seen.span_s - given["from_s"]) / seen.period_s
    repeated = rows - max(rows / given["each"], 1.0)
    return {"repeated": repeated, "repeated_share": repeated / seen.n, "frozen": float(given["each"] >= seen.n)}


def _repeated_stamps(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """The driver forgets, for a share of the samples, to take a new stamp: they carry the one before. Log times stay."""
    held: int | None = None

    def change(rows: NDArray[Any], first: int) -> NDArray[Any]:
        nonlocal held
        hit = _hit(rng, given["share"], seen, first, len(rows))
        index = np.maximum.accumulate(np.where(hit, -1, np.arange(len(rows))))
        changed: NDArray[Any] = rows.copy()
        changed["stamp_ns"] = rows["stamp_ns"][np.maximum(index, 0)]
        if held is not None:
            changed["stamp_ns"][index < 0] = held
        held = int(changed["stamp_ns"][-1]) if len(rows) else held
        return changed

    return change


def _told_share(seen: Seen, given: Parameters, rng: np.random.Generator) -> Parameters:
    samples = _total(rng, given["share"], seen)
    return {"samples": samples, "samples_share": samples / seen.n}


def _unsorted_stamps(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """Several threads hand samples on, and a share of the samples is overtaken by the next one: the two change places, stamps,
    counts and contents together; log times are those of the places.
    """
    held: NDArray[Any] | None = None
    owed = False

    def change(rows: NDArray[Any], first: int) -> NDArray[Any]:
        nonlocal held, owed
        hit = _hit(rng, given["share"], seen, first, len(rows))
        joined = rows if held is None else np.concatenate([held, rows])
        hit = hit if held is None else np.concatenate([[owed], hit])
        order = np.arange(len(joined))
        for at in np.flatnonzero(hit[:-1]).tolist():
            if order[at] == at:
                order[at], order[at + 1] = at + 1, at
        # The last row waits for the next batch: it may be overtaken yet. If it has changed places, it stays.
        ends = first + len(rows) == seen.n or (len(joined) > 0 and order[-1] != len(joined) - 1)
        out: NDArray[Any] = joined[order]
        if "log_ns" in seen.fields:
            out["log_ns"] = joined["log_ns"]
        held, owed = (None, False) if ends or not len(joined) else (joined[-1:].copy(), bool(hit[-1]))
        return out if ends else out[:-1]

    return change


def _rate_not_held(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """The loop is slower than its configuration says: the file declares declared_hz, samples come as they come. Times stay."""
    return lambda rows, first: rows


def _declare(info: StreamInfo, given: Parameters) -> StreamInfo:
    return replace(info, declared_hz=given["declared_hz"])


def _draw_rate(seen: Seen, rng: np.random.Generator) -> Parameters:
    return {"declared_hz": 1 / seen.period_s / rng.uniform(0.65, 0.93)}


def _told_rate(seen: Seen, given: Parameters, rng: np.random.Generator) -> Parameters:
    return {"true_hz": 1 / seen.period_s}


def _jitter(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """The sampling loop wakes up too early or too late, by up to share of a period: stamps and log times move together."""

    def change(rows: NDArray[Any], first: int) -> NDArray[Any]:
        return _shifted(seen, rows, rng.uniform(-1, 1, len(rows)) * given["share"] * seen.period_s)

    return change


def _told_jitter(seen: Seen, given: Parameters, rng: np.random.Generator) -> Parameters:
    # Of an interval, the difference of two uniform shifts.
    return {"std_s": given["share"] * seen.period_s * float(np.sqrt(2 / 3))}


def _offset(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """late_s above 0: the source's pipeline holds its samples for so long and stamps what comes out: stamps and log times are
    late against the motion. Below 0: the driver takes off more latency than there is: stamps are early, log times stay.
    """
    times = ("stamp_ns", "log_ns") if given["late_s"] > 0 else ("stamp_ns",)
    return lambda rows, first: _shifted(seen, rows, given["late_s"], times)


def _action_first(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """The recorder puts an action beside an observation that was taken after it: against what is observed it is stamped and
    logged late_s late, so that the robot seems to move before it is told to.
    """
    return lambda rows, first: _shifted(seen, rows, given["late_s"])


def _shifted(seen: Seen, rows: NDArray[Any], by_s: Any, times: tuple[str, ...] = ("stamp_ns", "log_ns")) -> NDArray[Any]:
    changed: NDArray[Any] = rows.copy()
    for field in times:
        if field in seen.fields:
            changed[field] += np.rint(np.asarray(by_s) * 1e9).astype(np.int64)
    return changed


def _hit(rng: np.random.Generator, share: float, seen: Seen, first: int, count: int) -> NDArray[np.bool_]:
    """Draw which of these rows it happens to; never to the first or the last of the stream."""
    hit = rng.random(count) < share
    hit &= (np.arange(first, first + count) > 0) & (np.arange(first, first + count) < seen.n - 1)
    return hit


def _total(rng: np.random.Generator, share: float, seen: Seen) -> float:
    """Count what `_hit` will give: the same draws, ahead of time."""
    ahead = deepcopy(rng)
    return float(sum(int(_hit(ahead, share, seen, first, size).sum()) for first, size in _blocks(seen.n)))


def _blocks(n: int) -> Iterator[tuple[int, int]]:
    for first in range(0, n, _BLOCK):
        yield first, min(_BLOCK, n - first)


def _share(low: float, high: float) -> Any:
    """Draw a share of the samples, of at least ten of them."""
    return lambda seen, rng: {"share": max(float(rng.uniform(low, high)), 10 / seen.n)}


def _late(seen: Seen, rng: np.random.Generator) -> Parameters:
    return {"late_s": float(rng.choice([-1.0, 1.0]) * rng.uniform(0.03, 0.2))}


_STAMPED, _ANY = ("stamp_ns",), ()
_MOVING = ("rotation", "pose", "joints")

SAMPLE_FAULTS = {
    "dropped_samples": Fault(_share(0.01, 0.08), _dropped_samples, _ANY, told=_told_dropped),
    "gap": Fault(_draw_gap, _gap, _ANY),
    "repeated_samples": Fault(
        _draw_repeated, _repeated_samples, _ANY, ("image", *_MOVING, "numbers"), ("image", "rotation"), told=_told_repeated
    ),
    "repeated_stamps": Fault(_share(0.02, 0.2), _repeated_stamps, _STAMPED, told=_told_share),
    "unsorted_stamps": Fault(_share(0.005, 0.03), _unsorted_stamps, _STAMPED, told=_told_share),
    "rate_not_held": Fault(_draw_rate, _rate_not_held, _ANY, told=_told_rate, declare=_declare),
    "jitter": Fault(lambda seen, rng: {"share": rng.uniform(0.3, 0.45)}, _jitter, _ANY, told=_told_jitter),
    "offset": Fault(_late, _offset, (*_STAMPED, "value"), _MOVING, ("rotation", "pose")),
    "action_before_observation": Fault(
        lambda seen, rng: {"late_s": rng.uniform(0.15, 0.4)}, _action_first, ("value",), ("action",)
    ),
}
