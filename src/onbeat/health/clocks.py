"""Is it a clock? The offset of log times against stamps over time, and which fault of a clock has that shape."""

from collections.abc import Iterable, Sequence

import numpy as np

from onbeat.evidence.envelope import Envelope, envelope
from onbeat.evidence.epochs import EpochChange, epoch_change, leap_between
from onbeat.evidence.lone_stamps import Leave, leaves
from onbeat.evidence.pieces import fit
from onbeat.evidence.shapes import Number, Shape
from onbeat.evidence.timeline import Timeline
from onbeat.evidence.wraps import Wrap, unwrapped, wraps
from onbeat.health.check import Check, Evidence, Figure, Mark, Verdict
from onbeat.health.clock_cases import Case, figure, plot_of, shaped
from onbeat.health.clock_words import words
from onbeat.health.offsets import Offset, offset
from onbeat.health.subtracted import Latency, changed_latency, subtracted

__all__ = ("CLOCKS", "judge_clocks")

_EPOCH_S = 3600.0  # no delay is as long as that
_ONE_EPOCH_NS = 60 * 10**9  # streams of one clock, though not of the same minute, with a simulator that does not keep up
_FUTURE_S = 1e-3
_LEAST_LEAP_S = 0.5  # below whole seconds: an offset that strays further is none of a scale of time
_LISTED = 4
_FAR_NS = 1 << 62  # a grid beyond that is of no clock
_SET = ("step", "slew", "one_period_late", "rate_flips", "reference_died", "two_clocks", "tai_utc")

FAULTS = (
    "skew",
    "step",
    "slew",
    "rate_flips",
    "reference_died",
    "drift",
    "two_clocks",
    "tai_utc",
    "wrap",
    "future_stamps",
    "one_period_late",
)


def judge_clocks(evidence: Evidence) -> Iterable[Verdict]:
    """Judge the clocks of a recording: one verdict for all streams that share a fault."""
    lines = [line for line in evidence.timelines.values() if len(line.rows)]
    logs = [int(line.column("log_ns").min()) for line in lines if line.has("log_ns")]
    origin = min(logs or [int(line.t_ns[0]) for line in lines], default=0)
    cases: list[Case] = []
    offsets: list[Offset] = []
    latencies: dict[str, list[Latency]] = {}
    for line in lines:
        if evidence.recording.onbeat and (held := subtracted(line, origin)) is not None:
            latencies[line.name] = held
            continue
        if not line.has("log_ns"):
            cases += _alone(line, origin)
            continue
        wrap = wraps(line)
        change = epoch_change(line) if wrap is None else None
        mended = unwrapped(line, wrap) if wrap is not None else None if change is None else change.stamps
        of = offset(line, origin, mended)
        if of is None:
            cases += _few(line, origin)
            continue
        offsets.append(of)
        here = _compared(of, origin)
        # A camera's arrivals move with an exposure that the file does not give; its stamps against their grid do not.
        if wrap is None and change is None and of.follows and not any(case.fault in _SET for case in here):
            here = _moved(line, leaves(line), origin, "stamp") or here
        if change is not None:  # which of its two clocks the log is far from says less than that there are two
            here = [_changed(of, change, origin), *(case for case in here if case.fault != "two_clocks")]
        cases += here
        if wrap is not None:
            plain = offset(line, origin) or of
            cases.append(_wrapped(plain, wrap, origin))
    kept = [group for group in _groups(cases) if not _is_delay(group, offsets)]
    among = len(offsets)
    notes = [case for group in kept for case in group if case.level == "note"]
    found = [_verdict(group, max(among, len(group)), origin) for group in kept if group[0].level != "note"]
    beside = [_noted(notes)] if notes else []
    changed = changed_latency(latencies)
    return [*found, *beside] if changed is None else [*found, *beside, changed]


CLOCKS = Check("clocks", FAULTS, judge_clocks)


def _compared(of: Offset, origin_ns: int) -> list[Case]:
    """Judge a stream that has both times."""
    base = envelope(of.t, of.d, floor=of.floor)
    level_s = float(np.median(base.d)) + of.base_ns / 1e9
    if abs(level_s) > _EPOCH_S:
        return [_two_clocks(of, base)]
    found = shaped(of, base)
    leap = leap_between(level_s, origin_ns, min(0.02 + 4 * base.scatter, _LEAST_LEAP_S))
    if leap is not None:
        rest = level_s + leap.seconds
        figures = {
            "offset": Figure(float(leap.seconds), "s"),
            "rest": Figure(rest, "s", rest - base.scatter, rest + base.scatter),
        }
        return [*found, Case("tai_utc", "finding", of, figures, plot_of(of, base), float(abs(leap.seconds)))]
    margin = _FUTURE_S + 5 * base.noise + (0.0 if base.low else 0.5 * base.scatter)
    if -level_s > margin and not any(case.level == "finding" for case in found):
        figures = {"ahead": figure(Number(-level_s, base.noise), "s")}
        found.append(Case("future_stamps", "finding", of, figures, plot_of(of, base), -level_s))
    return found


def _few(line: Timeline, origin_ns: int) -> list[Case]:
    """Judge a stream of too few rows for a shape: by the size of its offset only."""
    if not line.has("stamp_ns") or line.info.counted or not line.rows["stamp_ns"].any():
        return []
    difference = line.rows["log_ns"] - line.rows["stamp_ns"]
    base = int(np.median(difference))
    if abs(base) < _EPOCH_S * 1e9:
        return []
    seconds = (line.rows["log_ns"] - origin_ns) / 1e9
    of = Offset(line, seconds, (difference - base) / 1e9, base, line.period_ns / 1e9, 1e-6)
    return [Case("two_clocks", "finding", of, {"offset": Figure(base / 1e9, "s")}, plot_of(of), 0.0)]


def _alone(line: Timeline, origin_ns: int) -> list[Case]:
    """Judge a stream that has stamps only: against its own even grid."""
    wrap = wraps(line)
    if wrap is not None:
        return [_wrapped(_grid(line, origin_ns), wrap, origin_ns)]
    change = epoch_change(line)
    if change is not None:
        return [_changed(_grid(line, origin_ns), change, origin_ns, "alone")]
    return _moved(line, leaves(line), origin_ns, "alone")


def _moved(line: Timeline, moved: list[Leave], origin_ns: int, side: str) -> list[Case]:
    """Say of stamps that left their even grid that their clock was set."""
    if not moved:
        return []
    of, cases = _grid(line, origin_ns), []
    for leave in moved:
        at = (leave.at_ns - origin_ns) / 1e9
        figures = {"step": figure(Number(-leave.size_s, leave.std_s), "s"), "instant": Figure(at, "s", at, at + of.period)}
        plot = plot_of(of, marks=[Mark(at, "stamps leave their grid")])
        cases.append(Case("step", "finding", of, figures, plot, abs(leave.size_s), side))
    return cases


def _grid(line: Timeline, origin_ns: int) -> Offset:
    """Give by how much stamps lie before their even grid, as an offset."""
    even = np.clip(np.round(line.index * line.period_ns), -_FAR_NS, _FAR_NS).astype(np.int64)
    grid = line.column("stamp_ns") - line.rows["stamp_ns"][0] - even
    seconds = line.index.astype(np.float64) * (line.period_ns / 1e9) + (int(line.rows["stamp_ns"][0]) - origin_ns) / 1e9
    return Offset(line, seconds, -grid / 1e9, 0, line.period_ns / 1e9, 1e-6)


def _wrapped(of: Offset, wrap: Wrap, origin_ns: int) -> Case:
    at = (wrap.at_ns - origin_ns) / 1e9
    figures = {
        "turn": Figure(wrap.turn_s, "s"),
        "instant": Figure(at, "s", at, at + of.period),
        "times": Figure(float(len(wrap.rows)), "1"),
        "bits": Figure(float(wrap.bits), "1"),
        "tick": Figure(wrap.turn_s / 2.0**wrap.bits, "s"),
    }
    return Case("wrap", "finding", of, figures, plot_of(of, marks=[Mark(at, "wraps")]), wrap.turn_s)


def _changed(of: Offset, change: EpochChange, origin_ns: int, side: str = "") -> Case:
    """Say that stamps come from two clocks, one after the other."""
    clock = "log_ns" if of.line.has("log_ns") else "stamp_ns"
    at = (int(of.line.rows[clock][change.row - 1]) - origin_ns) / 1e9
    jump = change.jump_ns / 1e9
    figures = {
        "jump": Figure(jump, "s"),
        "instant": Figure(at, "s", at, at + of.period),
        "times": Figure(float(change.times), "1"),
        "share": Figure(change.share, "1"),
        "other": Figure(change.other_ns / 1e9, "s"),
    }
    return Case("two_clocks", "finding", of, figures, plot_of(of, marks=[Mark(at, "another clock")]), abs(jump), side)


def _two_clocks(of: Offset, base: Envelope) -> Case:
    line = fit([np.ones(len(base.t)), base.t - base.t[0]], base.d, base.noise)
    slope = Number(float(line.theta[1]), line.std(1))
    figures = {
        "offset": Figure(of.base_ns / 1e9, "s"),
        "rate": figure(Number(1 - slope.value, slope.std), "1"),
        "unsteady": Figure(float(np.max(np.abs(base.d - line.values))), "s"),
    }
    found = Shape("line", slope, line.values, float(np.sqrt(line.loss)))
    return Case("two_clocks", "finding", of, figures, plot_of(of, base, found), abs(of.base_ns / 1e9))


def _groups(cases: Sequence[Case]) -> list[list[Case]]:
    """Put together what is the same fault of several streams."""
    groups: list[list[Case]] = []
    for case in cases:
        for group in groups:
            if all(case.of is not other.of for other in group) and _same(group[0], case):
                group.append(case)
                break
        else:
            groups.append([case])
    return groups


def _is_delay(group: list[Case], offsets: Sequence[Offset]) -> bool:
    """Say whether log times of one stream moved while its stamps stayed even, and the other streams saw nothing of it."""
    case = group[0]
    if len(group) > 1 or case.fault not in ("step", "one_period_late") or case.side != "log":
        return False
    at = case.figures["instant"].value
    return any(o is not case.of and o.t[0] < at - 1 and o.t[-1] > at + 1 for o in offsets)


def _same(a: Case, b: Case) -> bool:
    if a.fault != b.fault or a.level != b.level or a.figures.keys() != b.figures.keys():
        return False
    if a.fault == "two_clocks" and "jump" not in a.figures:
        return abs(a.of.base_ns - b.of.base_ns) < _ONE_EPOCH_NS
    slack = 2 * max(a.of.period, b.of.period)
    for name in a.figures.keys() & b.figures.keys():
        x, y = a.figures[name], b.figures[name]
        if name in ("error", "hold", "unsteady", "rest", "end"):
            continue
        wide = sum((f.high - f.low) / 2 for f in (x, y) if f.high is not None and f.low is not None)
        if a.fault == "drift" and name == "skew":  # it says where the bend is met, which delay moves
            continue
        near = (0.3 if a.fault == "drift" else 0.1) * max(abs(x.value), abs(y.value)) + wide + (slack if x.unit == "s" else 0)
        if abs(x.value - y.value) > near:
            return False
    return True


def _verdict(group: list[Case], among: int, origin_ns: int) -> Verdict:
    worst = max(group, key=lambda c: c.weight)
    names = (worst.of.name, *(c.of.name for c in group if c is not worst))
    said = words(worst.fault, worst.figures, names, among, worst.side, origin_ns, worst.of.base_ns)
    of = worst.of.line
    where = ""
    if of.has("segment"):  # the longest one was looked at
        first, _ = max(of.segments(), key=lambda s: s[1] - s[0])
        where = f"; seen in episode {int(of.rows['segment'][first])}"
    return Verdict(
        worst.fault,
        names,
        worst.level,
        said.sentence + where,
        worst.figures,
        said.confirm,
        said.fix,
        worst.plot,
        said.explains,
        worst.weight,
    )


def _noted(cases: list[Case]) -> Verdict:
    """Say in one sentence what rates there are that do no harm here."""
    cases = sorted(cases, key=lambda c: -c.weight)
    rates = [f"{c.of.name} {c.figures['skew'].value:+.2g} ppm" for c in cases]
    more = f" and {len(rates) - _LISTED} more" if len(rates) > _LISTED else ""
    error, hold = (cases[0].figures[name].value for name in ("error", "hold"))
    return Verdict(
        "skew",
        tuple(c.of.name for c in cases),
        "note",
        f"the stamps' clocks run a little beside the log: {', '.join(rates[:_LISTED])}{more}; that is {error * 1e3:.2g} ms over "
        f"this file at most, and a 3 ms budget lasts {hold:.3g} s",
        cases[0].figures,
        plot=cases[0].plot,
        weight=cases[0].weight,
    )
