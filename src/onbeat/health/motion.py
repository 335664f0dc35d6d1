"""Are two streams that see the same motion shifted in time? Each against the one that sees it best, in three thirds."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from onbeat.errors import OnbeatError
from onbeat.evidence.excerpts import Moving
from onbeat.evidence.flow import camera
from onbeat.evidence.timeline import Timeline
from onbeat.health.check import Check, Evidence, Figure, Verdict
from onbeat.health.lateness import LEAST_S, Late, Unsaid, lateness, lateness_plot, moving

__all__ = ("MOTION", "offsets")

# An offset that is a period within so much of one is the neighbour's stamp.
NEIGHBOUR = 0.15
SLOWEST_HZ = 4.0
MOST_STREAMS = 8
# Half-widths: the interval is of one comparison, and a recording has many.
SURE = 2.5
# Two streams of one body explain each other; less is chance, noise or another body.
LEAST_R2 = 0.9
MOST_CLOSURES = 3
# The kinds whose values are a motion, those that see it best first.
BEST_FIRST = ("rotation", "pose", "joints")
MOST_FRAMES = 1200


def offsets(evidence: Evidence) -> tuple[Late | Unsaid, ...]:
    """Measure every stream that carries motion against one reference; the result is kept in ``evidence.shared``."""
    if "offsets" not in evidence.shared:
        evidence.shared["offsets"] = tuple(_offsets(evidence))
    found: tuple[Late | Unsaid, ...] = evidence.shared["offsets"]
    return found


def _offsets(evidence: Evidence) -> Iterator[Late | Unsaid]:
    streams = _moving(evidence)
    seen, unseen = _cameras(evidence, streams)
    streams = [*streams, *seen][:MOST_STREAMS]
    yield from unseen
    if len(streams) < 2:
        return
    reference = streams[0]
    found: dict[str, Late] = {}
    for one in streams[1:]:
        late = lateness(one, reference)
        if isinstance(late, Unsaid):
            yield late
        elif late is not None:
            found[one.name] = late
    if any(_matters(evidence, one) for one in found.values()):
        yield from _closed([one for one in streams[1:] if one.name in found], found)
    else:
        yield from found.values()


def _moving(evidence: Evidence) -> list[Moving]:
    """Give the streams whose values are a motion, the reference first."""
    found = [moving(one) for one in evidence.timelines.values() if one.info.kind in BEST_FIRST and _is_stamped(one)]
    return sorted(found, key=lambda one: (BEST_FIRST.index(one.kind), one.period_ns))


def _is_stamped(timeline: Timeline) -> bool:
    return timeline.has("stamp_ns") and 0 < timeline.period_ns < 1e9 / SLOWEST_HZ


def _cameras(evidence: Evidence, others: list[Moving]) -> tuple[list[Moving], list[Unsaid]]:
    """Look at the pictures of a recording that has other motion, or two cameras; say why where that cannot be done."""
    frames = evidence.recording.frames
    cameras = [one for one in evidence.timelines.values() if one.info.kind == "image" and _is_stamped(one)]
    if frames is None or len(others) + len(cameras) < 2:
        return [], []
    most = min(MOST_FRAMES, 2 * MOST_FRAMES // max(len(cameras), 1))
    found, unseen = [], []
    for one in cameras:
        try:
            seen = camera(one, frames, most)
        except OnbeatError as error:
            unseen.append(Unsaid(one.name, others[0].name if others else cameras[-1].name, str(error)))
            continue
        if seen is not None:
            found.append(seen)
    return found, unseen


def _closed(streams: list[Moving], found: dict[str, Late]) -> Iterable[Late]:
    """Go around the triangles of the reference and two more streams: what does not sum up to nothing is error.

    Each side has its part of it, as its own interval is of all three.
    """
    pairs = [(a.name, b.name, lateness(b, a)) for k, a in enumerate(streams) for b in streams[k + 1 : k + 2]][:MOST_CLOSURES]
    for a, b, between in pairs:
        if isinstance(between, Late):
            left = found[a].value_s + between.value_s - found[b].value_s
            whole = sqrt(found[a].half_s ** 2 + found[b].half_s ** 2 + between.half_s**2)
            for name in (a, b):
                closure = max(found[name].closure_s or 0.0, left, key=abs)
                half = max(found[name].half_s, abs(left) * found[name].half_s / whole)
                found[name] = replace(found[name], half_s=half, closure_s=closure)
    return found.values()


def _judge(evidence: Evidence) -> Iterator[Verdict]:
    said = offsets(evidence)
    late = [one for one in said if isinstance(one, Late)]
    wrong = [one for one in late if _matters(evidence, one) and _r2(one) >= LEAST_R2]
    odd = bool(wrong) and _reference_is_odd(late)
    for one in [max(wrong, key=lambda x: abs(x.value_s) / x.half_s)] if odd else wrong:
        yield _verdict(evidence, one, odd or (len(late) == 1 and _is_early(evidence, one)))
    for one in late:
        if one not in wrong:
            yield _doubt(evidence, one) or _note(one)
    for each in said:
        if isinstance(each, Unsaid):
            yield _unjudged(each.stream, each.reference, f"cannot be told: {each.reason}")


def _reference_is_odd(late: Sequence[Late]) -> bool:
    """Say whether all streams are late by one number against the reference: of three streams and more, most are right."""
    if len(late) < 2:
        return False
    values = np.array([one.value_s for one in late])
    std = np.array([max(one.half_s, LEAST_S / 2) / 2 for one in late])
    common = float((values / std**2).sum() / (1 / std**2).sum())
    apart, right = ((values - common) / std) ** 2, (values / std) ** 2
    # Either the reference is off by that number, or the one that is furthest off is wrong itself, and the others are right.
    return float(apart.sum()) < float(right.sum() - right.max())


def _matters(evidence: Evidence, late: Late) -> bool:
    beside = any(_is_period(late, evidence.timelines[name].period_ns / 1e9) for name in (late.stream, late.reference))
    return beside or abs(late.value_s) > max(late.limit_s + late.half_s, SURE * late.half_s)


def _r2(late: Late) -> float:
    return float(late.agreement.result.conditions["r2"])


def _is_early(evidence: Evidence, late: Late) -> bool:
    """Say which of two streams is wrong: the one whose period it is, else the later one, as nothing is seen before it happens."""
    own, others = (_is_period(late, evidence.timelines[name].period_ns / 1e9) for name in (late.stream, late.reference))
    return others if own != others else late.value_s < 0


def _doubt(evidence: Evidence, late: Late) -> Verdict | None:
    """Say why an offset that was estimated is not believed, or says too little."""
    reason = ""
    if np.ptp(late.thirds_s) > max(2 * late.limit_s, 3 * (late.agreement.result.ci95 or 0.0)):
        parts = ", ".join(f"{third * 1e3:.1f}" for third in late.thirds_s)
        reason = f"is no single number: {parts} ms in the thirds that can say"
    elif _matters(evidence, late):
        reason = (
            f"would be {_ms(late.value_s)}, but one explains too little of the other to believe it (R2 {_r2(late):.2f}, wanted "
            f"{LEAST_R2}); see that both are mounted on the same body, and move more"
        )
    elif late.half_s > 2 * late.limit_s or abs(late.value_s) > late.limit_s + late.half_s:
        reason = (
            f"is {_ms(late.value_s)}, known to +- {_ms(late.half_s)} only, and {_ms(late.limit_s)} would matter; move more, or "
            "faster"
        )
    return _unjudged(late.stream, late.reference, reason, late) if reason else None


def _unjudged(stream: str, reference: str, reason: str, late: Late | None = None) -> Verdict:
    return Verdict(
        "offset",
        (stream, reference),
        "unjudged",
        f"the offset between {stream} and {reference} {reason}",
        {} if late is None else _figures(late, late.value_s),
        plot=None if late is None else lateness_plot(late),
    )


def _is_period(late: Late, period_s: float) -> bool:
    """Say whether an offset is one period, and surely not none."""
    size_s = abs(late.value_s)
    near = abs(size_s - period_s) <= max(late.half_s, NEIGHBOUR * period_s)
    return near and size_s > LEAST_S and late.half_s < min(period_s / 2, size_s - period_s / 4)


def _verdict(evidence: Evidence, late: Late, reference_is_wrong: bool) -> Verdict:
    mend, other = (late.reference, late.stream) if reference_is_wrong else (late.stream, late.reference)
    value_s = -late.value_s if reference_is_wrong else late.value_s
    period_s = evidence.timelines[mend].period_ns / 1e9
    neighbour = _is_period(late, period_s)
    behind = "behind" if value_s > 0 else "ahead of"
    low, high = sorted((abs(value_s) - late.half_s, abs(value_s) + late.half_s))
    sentence = f"{mend} is {_ms(abs(value_s))} {behind} {other} (95 %: {low * 1e3:.1f} to {high * 1e3:.1f} ms)"
    if neighbour:
        sentence += f", which is one of its periods of {_ms(period_s)}: its stamps belong to the neighbouring sample"
        fix = f"give each sample of {mend} its own stamp; until then {_correct(value_s, period_s)} its stamps"
        confirm = f"record {mend} at half its rate: the offset doubles with the period, and a delay of transport would stay"
    else:
        cause = _cause(evidence, mend, value_s)
        sentence += f": {cause}"
        fix = (
            f"stamp {mend} when its sample is true, not when it arrives; until then {_correct(value_s, abs(value_s))} its stamps"
        )
        confirm = (
            f"knock on what both are mounted on, once, at rest: {mend} must stamp the knock "
            f"{_ms(abs(value_s))} {'after' if value_s > 0 else 'before'} {other}"
        )
    return Verdict(
        "one_period_late" if neighbour else "offset",
        (mend, other),
        "finding",
        sentence,
        _figures(late, value_s),
        confirm,
        fix,
        lateness_plot(late),
        frozenset({"offset"}) if neighbour else frozenset(),
        abs(value_s),
    )


def _correct(value_s: float, by_s: float) -> str:
    return f"{'subtract' if value_s > 0 else 'add'} {_ms(by_s)} {'from' if value_s > 0 else 'to'}"


def _cause(evidence: Evidence, mend: str, value_s: float) -> str:
    timeline = evidence.timelines[mend]
    if timeline.has("exposure_ns"):
        half_s = float(np.median(timeline.column("exposure_ns"))) / 2e9
        if half_s > 0 and abs(abs(value_s) - half_s) < 0.2 * half_s:
            return (
                f"that is half of its exposure of {_ms(2 * half_s)}, so stamps are of its {'end' if value_s > 0 else 'beginning'}"
            )
    if value_s > 0:
        return "its stamps are taken at delivery, or later than the motion by a fixed delay"
    return "its stamps are earlier than the motion that they stand for, or those of the other are late"


def _figures(late: Late, value_s: float) -> dict[str, Figure]:
    figures = {
        "offset": Figure(value_s, "s", value_s - late.half_s, value_s + late.half_s),
        "r2": Figure(float(late.agreement.result.conditions["r2"]), "1"),
    }
    if late.closure_s is not None:
        figures["closure"] = Figure(late.closure_s, "s")
    return figures


def _note(late: Late) -> Verdict:
    return Verdict(
        "offset",
        (late.stream, late.reference),
        "note",
        f"{late.stream} and {late.reference} see the same motion at the same time: offset {late.value_s * 1e3:.2f} ms "
        f"(95 %: +- {late.half_s * 1e3:.2f} ms; below {_ms(late.limit_s)} it does not matter)",
        _figures(late, late.value_s),
    )


def _ms(seconds: float) -> str:
    return f"{seconds * 1e3:.1f} ms"


MOTION = Check("motion", ("offset", "one_period_late"), _judge)
