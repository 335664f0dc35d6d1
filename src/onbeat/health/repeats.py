"""What comes again: content with a new stamp, stamps with new content, and stamps that go back."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.timeline import Timeline
from onbeat.health.check import Check, Curve, Evidence, Figure, Plot, Verdict
from onbeat.health.interval_plots import intervals_plot
from onbeat.health.intervals import rhythms, wilson
from onbeat.health.rounding import rounding
from onbeat.health.samples import is_command
from onbeat.health.subtracted import subtracted

__all__ = ("REPEATS", "judge_repeats")

_PICTURES = ("Image", "CompressedImage", "PointCloud2", "CompressedVideo")
# Many publishers write to these topics, each with stamps of its own.
_SHARED = ("TFMessage", "DiagnosticArray", "Log", "ParameterEvent", "Marker", "MarkerArray")
_BODIES = ("rotation", "pose", "joints")
_SWIFT = 50  # samples of that kind, below which nothing is said
_IN_RHYTHM = 0.9
_FEWEST = 3
_LEAST_SHARE = 0.005
_FROZEN_NS = 200_000_000
_ONE_STAMP = 20  # rows
_BACK_FOR = 16  # samples: a stamp that stays behind longer is a clock that was set


def judge_repeats(evidence: Evidence) -> Iterator[Verdict]:
    """Name repeated content, repeated stamps and samples out of order."""
    for line in evidence.timelines.values():
        again = _again(line)
        if again is not None:
            verdict = _repeated(line, again)
            if verdict is not None:
                yield verdict
        if line.info.counted or not line.has("stamp_ns") or line.info.type.rpartition("/")[2] in _SHARED:
            continue
        found = rhythms(evidence)[line.name]
        rounded = rounding(evidence, line)
        if found.burst is None and (rounded is None or not rounded.joins):
            yield from _equal_stamps(line, rounded is not None)
        # A receive_latency that grew takes stamps back over the ones before, and is said by itself.
        if not (evidence.recording.onbeat and len(subtracted(line, 0) or ()) > 1):
            yield from _unsorted(line)


def _again(line: Timeline) -> NDArray[np.bool_] | None:
    """Say of every row whether its content is that of the row before, impossibly, with a new stamp; None where none can say."""
    clock = "stamp_ns" if line.has("stamp_ns") else "log_ns"
    kind, picture = line.info.kind, line.info.type.rpartition("/")[2] in _PICTURES
    if line.has("digest") and (kind == "image" or picture):
        parts, last = [np.zeros(1, dtype=bool)], line.series.rows(0, 1)
        for block in line.series.blocks():
            rows = np.concatenate([last, block])[0 if len(parts) > 1 else 1 :]
            parts.append((np.diff(rows["digest"]) == 0) & (np.diff(rows[clock]) != 0))
            last = rows[-1:]
        return np.concatenate(parts)
    # Commands are held, and transforms are sent again and again so that whoever comes later has them.
    held = kind == "action" or is_command(line) or line.info.type.rpartition("/")[2] in _SHARED
    if "value" not in (line.series.dtype.names or ()) or held:
        return None
    parts = []
    overlap = 2048  # a freeze across two blocks is seen by one of them
    first = 0
    while first < line.n:
        rows = line.series.rows(max(first - overlap, 0), first + 65_536)
        lead = min(first, overlap)
        new = np.concatenate([[True], np.diff(rows[clock]) != 0])
        parts.append((_frozen(rows["value"], kind) & new)[lead:])
        first += 65_536
    return np.concatenate(parts) if parts else None


def _frozen(values: NDArray[np.float64], kind: str) -> NDArray[np.bool_]:
    """Find rows equal to the one before although what they measure moved on.

    At rest, numbers repeat rightly. They do not where motion goes on behind them: the first new row is several steps away,
    in the way the motion went before; or where every row carries noise.
    """
    again = np.zeros(len(values), dtype=bool)
    if len(values) < 8:
        return again
    # What is no number is the same as another that is none; and no float is so large that its square is not one.
    steps = np.diff(np.clip(np.where(np.isfinite(values), values, 0), -1e100, 1e100), axis=0)
    same = np.all(steps == 0, axis=1)
    if not same.any() or same.all():
        return again
    noisy = _noisy(steps, same, kind) if kind in ("rotation", "numbers") else False
    edges = np.flatnonzero(np.diff(np.concatenate([[False], same, [False]]).astype(np.int8)))
    begins, ends = edges[::2], edges[1::2]  # steps begins..ends-1 are zero
    impossible = np.full(len(begins), noisy) | _went_on(steps, same, begins, ends)
    if kind in _BODIES:
        impossible |= _cached(steps, same, ends)
    if impossible.sum() >= 10:
        # A cache that is read too often repeats in slow motion too, where one repeat by itself would prove nothing.
        impossible |= ends - begins <= np.quantile((ends - begins)[impossible], 0.9)
    for begin, end in zip(begins[impossible].tolist(), ends[impossible].tolist(), strict=True):
        again[begin + 1 : end + 1] = True
    return again


def _went_on(
    steps: NDArray[np.float64], same: NDArray[np.bool_], begins: NDArray[np.int64], ends: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Say after which standstills a jump makes up for the time: motion before and after in one direction, and more in between."""
    moving = steps[~same]
    resolution = np.array([np.min(np.abs(c[c != 0]), initial=np.inf) for c in moving.T])
    at = np.searchsorted(np.flatnonzero(~same), begins)  # of the jump, among the steps that move
    inside = (at >= 2) & (at + 2 < len(moving))
    at = np.clip(at, 2, max(len(moving) - 3, 2))
    if len(moving) < 5:
        return np.zeros(len(begins), dtype=bool)
    jump = moving[at]
    near = np.stack([moving[at + k] for k in (-2, -1, 1, 2)])
    usual = np.median(np.abs(near), axis=0)
    held = (ends - begins)[:, None]
    way = np.sign(near)
    one_way = np.all(way == np.sign(jump), axis=0) | (held > 5)
    # A coarse encoder at rest waits, and then goes on by one of its steps; in fast motion nothing stands still for a sample.
    made_up = (usual >= 4 * resolution) & (np.abs(jump) > 1.5 * usual) & (np.abs(jump) > np.minimum(0.3 * held, 3) * usual)
    found: NDArray[np.bool_] = inside & np.any(one_way & made_up, axis=1)
    return found


def _cached(steps: NDArray[np.float64], same: NDArray[np.bool_], ends: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which standstills are those of a cache that is read faster than it is filled: in swift motion, and in its rhythm.

    Nothing that moves by several steps of its encoder stands still for a sample and goes on as before. A joint that sticks and
    slips does nearly so, but for as long as it happens to; a cache holds each content for one number of samples, or the next.
    """
    none = np.zeros(len(ends), dtype=bool)
    moves = np.flatnonzero(~same)
    moving = steps[moves]
    if len(moving) < 2 * _SWIFT:
        return none
    resolution = np.array([np.min(np.abs(c[c != 0]), initial=np.inf) for c in moving.T])
    before, after = moving[:-1], moving[1:]
    small, large = np.minimum(np.abs(before), np.abs(after)), np.maximum(np.abs(before), np.abs(after))
    swift = np.any((np.sign(before) == np.sign(after)) & (small >= 4 * resolution) & (large <= 2 * small), axis=1)
    waits = np.diff(moves)
    held = waits[swift]
    if np.count_nonzero(held > 1) < max(_SWIFT, 0.05 * len(held)):
        return none
    usual = int(np.median(held))
    if max(float(np.mean((held == k) | (held == k + 1))) for k in (usual - 1, usual)) < _IN_RHYTHM:
        return none
    stopped: NDArray[np.bool_] = np.isin(ends, moves[1:][swift & (waits > 1)])
    return stopped


def _noisy(steps: NDArray[np.float64], same: NDArray[np.bool_], kind: str) -> bool:
    """Say whether every row carries noise of its own, so that equal rows cannot be."""
    alive = ~(same[2:] | same[1:-1] | same[:-2])
    left, right = np.diff(steps, axis=0)[:-1][alive], np.diff(steps, axis=0)[1:][alive]
    moving = steps[1:-1][alive]
    if alive.sum() < _SWIFT and kind == "rotation":  # rows that come twice each; numbers may be set at random, and held
        moving = steps[~same]
        left, right = np.diff(moving, axis=0)[:-1], np.diff(moving, axis=0)[1:]
    if len(moving) < _SWIFT or len(left) < _SWIFT or same.mean() > 0.9:
        return False
    # Motion is smooth, so that its second differences are of one sign for long; those of white noise have correlation -2/3.
    power = (left * left).sum(axis=0) + (right * right).sum(axis=0)
    live = power > 0
    if not live.any():
        return False
    correlation = 2 * (left * right).sum(axis=0)[live] / power[live]
    # Of noise of few steps of its converter many rows are equal by chance: its density at 0, times that step.
    step = np.array([np.min(np.abs(c[c != 0]), initial=np.inf) for c in moving.T[live]])
    by_density = np.minimum(step / (np.sqrt(2 * np.pi * (moving[:, live] ** 2).mean(axis=0)) + 1e-300), 1.0)
    chance = np.prod(np.maximum(np.mean(moving == 0, axis=0)[live], by_density))
    return bool(np.median(correlation) < -0.5 and chance < 1e-4)


def _repeated(line: Timeline, again: NDArray[np.bool_]) -> Verdict | None:
    count = int(again.sum())
    if not count:
        return None
    share = count / len(again)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], again, [False]]).astype(np.int8)))
    runs = edges[1::2] - edges[::2]
    period = line.period_ns if line.period_ns > 0 else 0.0
    longest, start = int(runs.max()), int(edges[::2][int(np.argmax(runs))])
    ends = line.series.rows(max(start - 1, 0), start + longest)
    clock = "stamp_ns" if line.has("stamp_ns") else "log_ns"
    lasted = abs(int(ends[clock][-1]) - int(ends[clock][0])) if len(ends) else 0
    lasted = lasted if lasted > 0 else int(longest * period)
    frozen = lasted >= _FROZEN_NS and longest >= _FEWEST
    if not frozen and (count < _FEWEST or share < _LEAST_SHARE):
        return None
    if line.info.kind == "image" and share > 0.95:
        return Verdict(
            "repeated_samples",
            (line.name,),
            "unjudged",
            f"{100 * share:.3g} % of the frames are equal to the one before: a frozen camera, or a picture in which "
            f"nothing moves; "
            "move something before the camera",
            {"share": Figure(share, "1")},
        )
    begin = line.place(max(start - 1, 0), clock)
    if longest >= 5 or frozen:
        what = f"the source froze {len(runs)} times, for up to {lasted / 1e9:.3g} s at {begin}" if len(runs) > 1 else (
            f"the source froze for {lasted / 1e9:.3g} s at {begin}"
        )  # fmt: skip
        why = "old content with new stamps"
    else:
        what = f"{count} of {len(again)} samples repeat the content before them, at most {longest} in a row"
        why = "read from a cache that is filled more slowly"
    low, high = wilson(count, len(again))
    return Verdict(
        "repeated_samples",
        (line.name,),
        "finding",
        f"{what}: {100 * share:.2g} % of all are {why}",
        {
            "share repeated": Figure(share, "1", low, high),
            "longest": Figure(lasted / 1e9, "s"),
            "repeated": Figure(float(count), "1"),
            "runs": Figure(float(len(runs)), "1"),
        },
        "log the source's own frame number or stamp beside the content: where it stands still, the content was read twice from a "
        "cache; where it goes on, the sensor itself froze",
        "stamp when the content is taken, not when it is read; hand on only what is new, and mark what is held; cut out "
        "the frozen "
        "part before training",
        _runs_plot(line, edges[::2], runs),
        frozenset({"offset", "one_period_late", "action_before_observation"}),
        max(lasted / 1e9, share * line.span_s / 10),
    )


def _runs_plot(line: Timeline, starts: NDArray[np.int64], runs: NDArray[np.int64]) -> Plot:
    keep = np.argsort(runs)[-1000:]
    return Plot(
        "Repeated content: samples in a row",
        "sample",
        "repeats in a row",
        (Curve("repeats", starts[keep].astype(np.float64), runs[keep].astype(np.float64), "dots"),),
    )


def _equal_stamps(line: Timeline, rounded: bool) -> Iterator[Verdict]:
    """Name stamps that came again; of rounded ones only rows that are there twice, which is worth a note."""
    joined = line.neighbours
    equal = joined & (np.diff(line.column("stamp_ns")) == 0)
    count, n = int(equal.sum()), int(joined.sum())
    if count < 2 or not line.column("stamp_ns").any():
        return
    if line.period_ns <= 0 and not _stands(line):
        return
    same = ""
    names = [name for name in ("digest", "value") if name in (line.series.dtype.names or ())]
    if names and line.whole:
        rows = line.series.rows()
        at = np.flatnonzero(equal)
        whole = np.array([all(np.array_equal(rows[name][i], rows[name][i + 1]) for name in names) for i in at[:1000].tolist()])
        if whole.mean() > 0.9:
            same = ", with the same content: they were published or recorded twice"
    if rounded and not same:
        return
    low, high = wilson(count, n)
    yield Verdict(
        "repeated_stamps",
        (line.name,),
        "note" if rounded else "finding",
        f"{count} of {n + 1} samples carry the stamp of the sample before them{same}",
        {"share": Figure(count / n, "1", low, high), "repeated": Figure(float(count), "1")},
        "print number and stamp of each sample in the driver: where the number goes on and the stamp does not, a stamp "
        "was reused",
        "take a stamp for each sample, and drop the second of two that are the same; interpolation across two values at "
        "one stamp "
        "has no answer",
        intervals_plot(line, line.period_ns, "Intervals: zero where a stamp came again"),
        frozenset(),
        count / n * line.period_ns / 1e9,
    )


def _stands(line: Timeline) -> bool:
    """Say whether one stamp is on all rows while time and content go on: not one message that is sent again and again."""
    names = [name for name in ("digest", "value") if name in (line.series.dtype.names or ())]
    if not names or not line.has("log_ns") or line.n < _ONE_STAMP or len(np.unique(line.column("stamp_ns"))) > 1:
        return False
    first, last = line.series.rows(0, 1)[0], line.series.rows(line.n // 2, line.n)
    goes_on = any(bool(np.any(last[name] != first[name])) for name in names)
    return goes_on and int(line.column("log_ns")[-1]) > int(line.column("log_ns")[0])


def _unsorted(line: Timeline) -> Iterator[Verdict]:
    """Count samples whose stamp is before one that was already there, and soon after is not any more."""
    count, deepest, sets, n = 0, 0, 0, 0
    has_log = line.has("log_ns")
    top, behind, depth = None, 0, 0
    for block in line.series.blocks():
        stamps = block["stamp_ns"]
        segments = block["segment"] if line.has("segment") else np.zeros(len(stamps), np.int64)
        n += len(stamps)
        for part in np.split(stamps, np.flatnonzero(np.diff(segments)) + 1):
            if line.has("segment"):
                top = None
            level = np.maximum.accumulate(part if top is None else np.concatenate([[top], part]))
            level = level if top is None else level[1:]
            back = part < level
            edges = np.flatnonzero(np.diff(np.concatenate([[False], back, [False]]).astype(np.int8)))
            for begin, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True):
                low = int((level[begin:end] - part[begin:end]).max())
                if end - begin > _BACK_FOR:
                    sets += 1
                    depth = max(depth, low)
                else:
                    count, deepest = count + end - begin, max(deepest, low)
            behind = len(part) - int(edges[-2]) if len(edges) and edges[-1] == len(part) else 0
            top = int(level[-1]) if len(level) and not behind > _BACK_FOR else (int(part[-1]) if len(part) else top)
    if sets and not has_log and not count:
        count, deepest = sets, depth
        what = f"stamps go back {sets} times, by up to {depth / 1e6:.4g} ms, and stay: a clock was set, or recordings were joined"
    elif count:
        what = f"{count} of {n} stamps go back and then forth, by up to {deepest / 1e6:.4g} ms: samples are out of order"
    else:
        return
    yield Verdict(
        "unsorted_stamps",
        (line.name,),
        "finding",
        what,
        {
            "back": Figure(deepest / 1e9, "s"),
            "out of order": Figure(float(count), "1"),
            "share": Figure(count / n, "1", *wilson(min(count, n), n)),
        },
        "look whether the source's own count goes back with the stamps: then the transport or the recorder turned samples round; "
        "where it does not, their clock went back",
        "sort by stamp within a window that is longer than the largest step back, before anything interpolates; use one "
        "connection "
        "that keeps order (TCP, reliable QoS), or one publisher for each topic",
        intervals_plot(line, line.period_ns, "Intervals: negative where stamps go back"),
        frozenset({"repeated_stamps", "dropped_samples", "gap", "bursts"}),
        deepest / 1e9,
    )


REPEATS = Check("repeats", ("repeated_samples", "repeated_stamps", "unsorted_stamps"), judge_repeats)
