"""Which fault of a clock the shape of one stream's offset is, with its numbers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.edges import Change, change
from onbeat.evidence.envelope import Envelope, envelope
from onbeat.evidence.pieces import fit, jump
from onbeat.evidence.shapes import Number, Shape, shape
from onbeat.health.check import Curve, Figure, Mark, Plot
from onbeat.health.offsets import Offset

__all__ = ("Case", "figure", "plot_of", "shaped")

_BUDGET_S = 3e-3  # of wrong time that a robot usually bears
_HOLD_S = 300.0  # a clock that spends it later than that is only noted
_SEEN_S = 0.2e-3  # of wrong time in the file, or its clocks are not judged
_JUMP_S = 1e-3  # delay itself jumps by less than that
_SPELL_S, _SPELL_MOST_S = 10.0, 0.1  # a network that is busy: for how long, by how much
_PLOTTED = 2000
_WARMING = 300e-6  # a camera's delay bends with its exposure, and by more than a crystal's rate does
_EXPOSURE_S = 0.033  # the longest change of an exposure at 30 Hz
_AROUND = 20  # frames on each side, for their period
_FASTEST = 3e-3  # a clock that is off by more than that is no crystal
_SLEWS = (500e-6, 1e5 / 1.2e6, 0.1)  # adjtime and the kernel's servo; chrony's default; its most
_Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A fault of one stream, before it is known whether others have it too.

    Args:
        fault: Its name.
        level: As in a verdict.
        of: The stream's offset.
        figures: The numbers; the first is the one that the fault is about.
        plot: The evidence.
        weight: Seconds of wrong time.
        side: Which of the two times moved: "stamp", "log", or "" where that does not show.
    """

    fault: str
    level: str
    of: Offset
    figures: dict[str, Figure]
    plot: Plot
    weight: float
    side: str = ""


def shaped(of: Offset, base: Envelope) -> list[Case]:
    """Turn the shape of the offset into faults."""
    found = shape(base)
    matters = max(_SEEN_S, 3 * found.noise, 3 * of.floor)
    if found.kind == "steps":
        return _jumps(of, base, found)
    if found.change < matters or found.kind == "constant":
        return []
    flat = found.kind == "bend" and abs(found.bend.value) * of.span**2 / 8 < matters
    if found.kind in ("line", "kink") or flat:
        rate = found.rate
        if found.kind == "kink":
            rate = max((_after(found, k) for k in range(2)), key=lambda n: abs(n.value))
        if not rate.clear or abs(rate.value) > (_WARMING if of.follows else _FASTEST):
            return []
        return [_skew(of, base, found, rate)]
    if found.kind == "bend":
        return _drift(of, base, found)
    if found.kind == "died":
        return [_died(of, base, found)]
    if found.kind == "slew":
        return _slews(of, base, found)
    if found.kind == "flips":
        return _flips(of, base, found, matters)
    return []


def _skew(of: Offset, base: Envelope, found: Shape, rate: Number) -> Case:
    error = abs(rate.value) * of.span
    hold = _BUDGET_S / abs(rate.value)
    figures = {"skew": _ppm(rate), "error": Figure(error, "s"), "hold": Figure(hold, "s")}
    level = "finding" if hold < _HOLD_S or error > _BUDGET_S else "note"
    return Case("skew", level, of, figures, plot_of(of, base, found), error)


def _drift(of: Offset, base: Envelope, found: Shape) -> list[Case]:
    swing = abs(found.bend.value) * of.span
    if not found.bend.clear or swing > (_WARMING if of.follows else _FASTEST):
        return []
    figures = {
        "drift": figure(Number(-found.bend.value * 60e6, found.bend.std * 60e6), "ppm/min"),
        "skew": _ppm(found.rate),
        "error": Figure(found.change, "s"),
    }
    return [Case("drift", "finding", of, figures, plot_of(of, base, found), found.change)]


def _died(of: Offset, base: Envelope, found: Shape) -> Case:
    at = found.edges[0].at
    figures = {"instant": figure(at, "s"), "skew": _ppm(_after(found, 1)), "error": Figure(found.change, "s")}
    return Case(
        "reference_died", "finding", of, figures, plot_of(of, base, found, [Mark(at.value, "held until here")]), found.change
    )


def _flips(of: Offset, base: Envelope, found: Shape, matters: float) -> list[Case]:
    a, b = found.rates or (found.rate, found.rate)
    period = found.period or Number(of.span, of.span)
    half = Number((a.value - b.value) / 2, float(np.hypot(a.std, b.std)) / 2)
    if abs(half.value) * period.value / 2 < matters:  # each rise and fall is to be seen by itself
        return []
    figures = {
        "amplitude": figure(Number(half.value * 1e6, half.std * 1e6), "ppm"),
        "period": figure(period, "s"),
        "fast": _ppm(b),
        "slow": _ppm(a),
    }
    marks = [Mark(e.at.value, "rate flips") for e in found.edges]
    return [Case("rate_flips", "finding", of, figures, plot_of(of, base, found, marks), found.change)]


def _slews(of: Offset, base: Envelope, found: Shape) -> list[Case]:
    cases = []
    ends = [e.at for e in found.edges]
    pieces = [(Number(float(of.t[0]), 0.0), ends[0], 0)] if len(ends) == 1 and _steep_first(found) else []
    pieces += [
        (ends[k], ends[k + 1] if k + 1 < len(ends) else Number(float(of.t[-1]), 0.0), k + 1) for k in range(0, len(ends), 2)
    ]
    if len(ends) == 1 and _steep_first(found):
        pieces = pieces[:1]
    for start, end, piece in pieces:
        own = _after(found, piece)
        rest = _after(found, piece + 1) if piece == 0 else found.rate
        rate = Number(own.value - rest.value, own.std)
        size = rate.value * (end.value - start.value)
        if not _is_slew(of, size, start.value, end.value):
            continue
        figures = {
            "rate": _ppm(rate),
            "size": Figure(size, "s"),
            "start": figure(start, "s"),
            "end": figure(end, "s"),
        }
        marks = [Mark(start.value, "slew", end.value)]
        cases.append(Case("slew", "finding", of, figures, plot_of(of, base, found, marks), abs(size)))
    return cases


def _steep_first(found: Shape) -> bool:
    return abs(_after(found, 0).value) > abs(_after(found, 1).value)


def _jumps(of: Offset, base: Envelope, found: Shape) -> list[Case]:
    """Find each jump in the rows; say what it is: a step, a fast slew, one period, or delay that came back."""
    bucket = float(np.median(np.diff(base.t)))
    changes: list[Change] = []
    for edge in found.edges:
        reach = edge.within + 1.5 * bucket
        one = change(of.t, of.d, edge.at.value - reach, edge.at.value + reach, found.rate.value)
        if one is not None:
            changes.append(_at_once(of, one) if one.ramp else one)
    if not changes:
        return []
    cuts = [c.row for c in changes] + [int(np.searchsorted(of.t, c.end)) for c in changes if c.ramp]
    exact = envelope(of.t, of.d, cuts=cuts, floor=of.floor)
    inside = np.zeros(len(exact.t), bool)
    for c in changes:
        inside |= c.ramp & (exact.t > c.start) & (exact.t < c.end)
    t, d = exact.t[~inside], exact.d[~inside]
    columns = [np.ones(len(t)), t - t[0], *(jump(t, (c.start + c.end) / 2) for c in changes)]
    fitted = fit(columns, d, exact.noise, places=len(changes))
    sizes = [Number(float(fitted.theta[2 + k]), fitted.std(2 + k)) for k in range(len(changes))]
    curve = np.interp(exact.t, t, fitted.values)
    final = replace(found, curve=curve, rate=Number(float(fitted.theta[1]), fitted.std(1)), away=np.zeros(0, bool))
    smallest = max(_JUMP_S, 2 * of.floor, base.noise * 3)
    kept = [(c, s) for c, s in zip(changes, sizes, strict=True) if abs(s.value) > smallest and s.clear]
    kept = [(c, s) for c, s in kept if not c.ramp or _is_slew(of, s.value, c.start, c.end)]
    cases = [_jump(of, exact, final, c, s, _side(of, c, s.value)) for c, s in kept]
    if of.follows:  # an exposure changes within a frame too, and moves log times only
        cases = [case for case in cases if case.fault == "slew" or case.side == "stamp" or case.weight > _EXPOSURE_S]
    return _without_delay([case for case in cases if not _is_spell(of, case)])


def _jump(of: Offset, base: Envelope, found: Shape, c: Change, size: Number, side: str) -> Case:
    shown = Figure(size.value, "s", size.value - 2 * size.std, size.value + 2 * size.std)
    marks = [Mark(c.start, "clock was set" if not c.ramp else "slew", c.end if c.ramp else None)]
    plot = plot_of(of, base, found, marks)
    if c.ramp:
        rate = size.value / (c.end - c.start)
        slack = abs(rate) * (of.period / (c.end - c.start) + 2 * size.std / abs(size.value))
        figures = {
            "rate": Figure(-rate * 1e6, "ppm", (-rate - slack) * 1e6, (-rate + slack) * 1e6),
            "size": shown,
            "start": Figure(c.start, "s", c.start - of.period, c.start + of.period),
            "end": Figure(c.end, "s", c.end - of.period, c.end + of.period),
        }
        return Case("slew", "finding", of, figures, plot, abs(size.value))
    at = min(c.end, c.start + of.period)  # the log's own step leaves a hole in its time, which begins there
    figures = {"step": shown, "instant": Figure(at, "s", min(c.low, at) - of.period, max(c.high, at))}
    whole = abs(abs(size.value) - of.period) <= max(3 * size.std, 0.003 * of.period)
    fault = "one_period_late" if whole and size.std < 0.1 * of.period and abs(size.value) < 0.5 else "step"
    return Case(fault, "finding", of, figures, plot, abs(size.value), side)


def _at_once(of: Offset, ramp: Change) -> Change:
    """Take a ramp for a step where one interval of the stamps holds all of it: delay was in the way of seeing that."""
    rows = np.flatnonzero((of.t >= ramp.start - of.period) & (of.t <= ramp.end + of.period))
    stamps = of.line.column("stamp_ns")
    if len(rows) < 2 or len(stamps) != len(of.t):
        return ramp
    steps = np.diff(stamps[rows]) / 1e9 - of.period
    usual = float(np.percentile(np.abs(of.line.intervals_ns("stamp_ns") / 1e9 - of.period), 90))
    whole = np.flatnonzero(np.abs(steps + ramp.size) < 0.15 * abs(ramp.size) + usual)
    if len(whole) != 1 or usual > 0.3 * abs(ramp.size):
        return ramp
    row = int(rows[whole[0]]) + 1
    start, end = float(of.t[row - 1]), float(of.t[row])
    return Change(row, start, end, start, end, False, ramp.size)


def _side(of: Offset, c: Change, size: float) -> str:
    """Say which of the two times left its even spacing at the jump."""
    if of.line.has("segment") or not 0 < c.row < len(of.line.rows):
        return ""
    rows = of.line.rows[c.row - 1 : c.row + 1]
    joined = int(of.line.index[c.row]) - int(of.line.index[c.row - 1]) == 1
    if not joined:
        return ""
    off = {name: float(int(rows[name][1]) - int(rows[name][0])) / 1e9 - of.period for name in ("stamp_ns", "log_ns")}
    usual = {name: float(np.percentile(np.abs(of.line.intervals_ns(name) / 1e9 - of.period), 90)) for name in off}
    stamp, log = abs(off["stamp_ns"] + size) < 0.4 * abs(size), abs(off["log_ns"] - size) < 0.4 * abs(size)
    if stamp and not log and usual["stamp_ns"] < 0.3 * abs(size):
        return "stamp"
    if log and not stamp and usual["log_ns"] < 0.3 * abs(size):
        return "log"
    return ""


def _is_spell(of: Offset, case: Case) -> bool:
    """Say whether delay rose shortly before the end, or fell shortly after the beginning, and stamps stayed: it may come back."""
    if case.fault == "slew" or case.side == "stamp" or case.weight > _SPELL_MOST_S:
        return False
    at, size = case.figures["instant"].value, case.figures["step"].value
    near = min(_SPELL_S, 0.15 * of.span)
    return bool(of.t[-1] - at < near if size > 0 else at - of.t[0] < near)


def _without_delay(cases: list[Case]) -> list[Case]:
    """Drop pairs of jumps that cancel while the stamps stayed even: delay that rose, or fell, and came back."""
    kept: list[Case] = []
    for case in cases:
        if kept and case.fault != "slew" and "stamp" not in (case.side, kept[-1].side) and kept[-1].fault != "slew":
            a, b = kept[-1].figures["step"], case.figures["step"]
            if abs(a.value + b.value) <= 0.15 * abs(a.value) + (b.high or 0) - (b.low or 0):
                kept.pop()
                continue
        kept.append(case)
    return kept


def _is_slew(of: Offset, size: float, start: float, end: float) -> bool:
    """Say whether a ramp is a clock's: a camera's delay ramps with its exposure, so there its rate or its stamps must say so."""
    rate = size / (end - start)
    return not of.follows or any(abs(abs(rate) / known - 1) < 0.05 for known in _SLEWS) or _ramps_in_stamps(of, size, start, end)


def _ramps_in_stamps(of: Offset, size: float, start: float, end: float) -> bool:
    """Say whether the stamps themselves run away from their even spacing by the ramp: an exposure moves arrivals, not a clock.

    Frames are counted by whole periods, so that lost ones do not matter; the period is that of the time around the ramp.
    """
    if not of.line.has("stamp_ns") or not of.line.whole or of.line.has("segment"):
        return False
    stamps = (of.line.column("stamp_ns") - of.line.column("stamp_ns")[0]) / 1e9
    if len(stamps) != len(of.t):
        return False
    count = np.concatenate([[0.0], np.cumsum(np.rint(np.diff(stamps) / of.period))])
    inside = (of.t >= start) & (of.t <= end)
    around = ~inside & (of.t > start - 3 * (end - start) - 5) & (of.t < end + 3 * (end - start) + 5)
    before, after = around & (of.t < start), around & (of.t > end)
    if min(int(before.sum()), int(after.sum())) < _AROUND or inside.sum() < 3:
        return False
    # One line through the stamps before and after, with a jump between them: the jump is what the ramp gained.
    rows = np.flatnonzero(before | after)
    design = np.stack([np.ones(len(rows)), count[rows] - count[rows[0]], (of.t[rows] > end).astype(float)], axis=1)
    solved, *_ = np.linalg.lstsq(design, stamps[rows] - stamps[rows[0]], rcond=None)
    return bool(abs(solved[2] + size) < 0.3 * abs(size))


def _after(found: Shape, k: int) -> Number:
    """Give the slope of piece k."""
    value = found.rate.value + sum(e.size.value for e in found.edges[:k])
    std = float(np.hypot(found.rate.std, found.edges[k - 1].size.std)) if k else found.rate.std
    return Number(value, std)


def plot_of(of: Offset, base: Envelope | None = None, found: Shape | None = None, marks: Sequence[Mark] = ()) -> Plot:
    """Draw the offset over time, its baseline, the shape that it has, and where to look."""
    pick = np.unique(np.linspace(0, len(of.t) - 1, _PLOTTED).astype(np.int64))
    curves = [Curve("log time minus stamp", of.t[pick], of.d[pick] * 1e3, "dots")]
    if base is not None:
        curves.append(Curve("least delays", base.t, base.d * 1e3))
    if base is not None and found is not None:
        curves.append(Curve("what was fitted", base.t, found.curve * 1e3))
    title = f"{of.name}: the offset of its clock"
    return Plot(title, "time (s)", "log time minus stamp, less its median (ms)", tuple(curves), tuple(marks))


def figure(number: Number, unit: str) -> Figure:
    """Give a number with its 95 % interval."""
    return Figure(number.value, unit, number.value - 1.96 * number.std, number.value + 1.96 * number.std)


def _ppm(slope: Number) -> Figure:
    """Give the rate of the stamps' clock against the log's: the offset falls where it runs fast."""
    return figure(Number(-slope.value * 1e6, slope.std * 1e6), "ppm")
