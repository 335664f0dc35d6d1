"""Which samples of a stream are missing: lost here and there, or silence for much longer than its period."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.timeline import Timeline
from onbeat.health.check import Check, Evidence, Figure, Verdict
from onbeat.health.interval_plots import intervals_plot
from onbeat.health.intervals import Rhythm, rhythms, wilson

__all__ = ("SAMPLES", "is_command", "judge_samples", "lost_samples", "rate_changes")

_GAP_PERIODS, _GAP_NS = 5, 250_000_000
_FEWEST_LOST = 3  # by intervals; two long intervals may be anything
_LEAST_SHARE = 0.001
# Beyond, a stream without a count is rather published on change than lossy.
_MOST_SHARE = 1 / 3
_RATE_CHANGE = 8  # equal multiples in a row: the source changed its rate, as a camera does in the dark
# These see the world at a period of their own, so that a hole in their stamps is a loss, also where a recorder's count goes on.
_SENSORS = ("image", "rotation", "pose", "joints")
_COMMANDS = ("Twist", "TwistStamped", "Joy", "Path", "JointTrajectory", "Goal")


@dataclass(frozen=True, slots=True)
class _Steps:
    """Steps between neighbours: all of a stream that is here whole, else the unusual ones. The others are of one period."""

    index: NDArray[np.int64]  # of the row after
    at_ns: NDArray[np.int64]  # of the row before, on the clock of the log where there is one
    wait_ns: NDArray[np.int64]  # on that same clock
    interval_ns: NDArray[np.int64]
    count: NDArray[np.int64] | None  # steps of the source's own count
    n: int  # rows that were looked at


@dataclass(frozen=True, slots=True)
class _Silence:
    line: Timeline
    row: int  # the first one after it
    start_ns: int
    end_ns: int
    lost: int | None  # by the source's own count


@dataclass(frozen=True, slots=True)
class _Losses:
    lost: int
    total: int
    by_count: bool
    longest: int  # run
    counted_on: bool = False  # by intervals, while the count went on without a jump

    @property
    def share(self) -> float:
        return self.lost / self.total if self.lost else 0.0

    @property
    def matter(self) -> bool:
        if self.by_count:
            return self.lost >= _FEWEST_LOST or self.share >= 1e-4
        return self.lost >= _FEWEST_LOST and self.share >= _LEAST_SHARE


def judge_samples(evidence: Evidence) -> Iterator[Verdict]:
    """Name lost samples and gaps, stream by stream; gaps of many streams at one instant are one verdict."""
    silences: list[_Silence] = []
    for name, found in rhythms(evidence).items():
        line = evidence.timelines[name]
        if not found.periodic:
            continue
        steps = _steps(line)
        losses, quiet = _losses(line, steps, found)
        if losses.matter:
            yield _dropped(line, found, losses)
        silences += [one for one in _silences(line, steps, quiet) if not _made_up(line, one, found)]
    yield from _gaps(evidence, silences)


def is_command(line: Timeline) -> bool:
    """Say whether its type is one that commands have: sent when there is something to say, and held."""
    return line.info.type.rpartition("/")[2] in _COMMANDS or line.info.type.startswith("std_msgs/")


def lost_samples(line: Timeline, found: Rhythm) -> int:
    """Count the samples that were lost here and there, outside of gaps; 0 where they do not matter."""
    losses, _ = _losses(line, _steps(line), found)
    return losses.lost if losses.matter else 0


def _losses(line: Timeline, steps: _Steps, found: Rhythm) -> tuple[_Losses, NDArray[np.bool_]]:
    quiet = _quiet(steps, found)
    losses = _lost(line, steps, found, quiet)
    if losses.lost:
        # A run that chance explains at this rate of loss is no gap.
        run = np.maximum(steps.interval_ns / found.period_ns - 1, 0)
        quiet &= steps.n * losses.share**run < 0.01
        losses = _lost(line, steps, found, quiet)
    return losses, quiet


def _steps(line: Timeline) -> _Steps:
    if line.whole:
        joined = line.neighbours
        before, after, index = line.rows[:-1][joined], line.rows[1:][joined], line.index[1:][joined]
        n = line.n
    else:
        before, after, index = line.breaks.before, line.breaks.after, line.breaks.index
        n = line.n if line.breaks.total == len(index) else int(index[-1])
    clock = "stamp_ns" if line.has("stamp_ns") else "log_ns"
    wall = "log_ns" if line.has("log_ns") else clock
    return _Steps(
        index, before[wall], after[wall] - before[wall], after[clock] - before[clock], _count(line, before, after), n
    )  # fmt: skip


def _count(line: Timeline, before: NDArray[Any], after: NDArray[Any]) -> NDArray[np.int64] | None:
    if not line.has("seq"):
        return None
    stride = np.diff(line.column("seq"))[line.neighbours]
    usual = int(np.median(stride)) if len(stride) else 0
    if usual < 1 or float(np.mean(stride == usual)) < 0.5 or (usual > 1 and not line.whole):
        return None
    found: NDArray[np.int64] = (after["seq"] - before["seq"]) // usual
    return found


def _quiet(steps: _Steps, found: Rhythm) -> NDArray[np.bool_]:
    """Say which steps are silence, on both clocks: a stamp that jumps alone is a clock's fault, a late log the recorder's."""
    usual = found.burst.wait_ns if found.burst else found.period_ns
    shortest = max(_GAP_PERIODS * usual, _GAP_NS)
    quiet: NDArray[np.bool_] = (steps.interval_ns >= shortest) & (steps.wait_ns >= 0.5 * steps.interval_ns)
    return quiet


def _lost(line: Timeline, steps: _Steps, found: Rhythm, quiet: NDArray[np.bool_]) -> _Losses:
    """Count lost samples outside of silences."""
    none = _Losses(0, steps.n, False, 0)
    if steps.count is not None:
        # A jump far beyond the time that passed is a counter that was set; a step back a little is a sample out of order.
        most = 10 + 3 * np.maximum(steps.interval_ns, steps.wait_ns) / found.period_ns
        real = (steps.count > -100) & ((steps.count <= most) | (steps.count <= 100)) & ~quiet
        lost = int((steps.count[real] - 1).sum())
        if lost > 0:
            return _Losses(lost, lost + steps.n, True, int(steps.count[real].max()) - 1)
        # Many recorders count what reaches them, and drivers what they send: what was lost before that, they cannot know.
        if line.info.kind not in _SENSORS:
            return none
    if found.burst is not None:
        return none
    periods = np.rint(steps.interval_ns / found.period_ns).astype(np.int64)
    used = ~quiet & (np.abs(periods) <= 1000) & ~rate_changes(steps.index, periods)
    # A late sample makes a long interval and then short ones: in the sum over all, it is not lost.
    lost = int((periods[used] - 1).sum())
    log_lost = int((np.rint(steps.wait_ns[used] / found.period_ns) - 1).sum())
    if lost <= 0 or log_lost < 0.5 * lost or lost > _MOST_SHARE * (lost + steps.n):
        return none
    if lost < steps.n * (found.high_ns - found.low_ns) / (2 * found.period_ns):
        return none  # no more than the period is unsure of
    relative = line.intervals_ns() / found.period_ns
    # Jitter spreads intervals to both sides of one period; losses put them near two, and leave a valley before it.
    doubled = _between(relative, 1.75, 2.25) - _between(relative, -0.25, 0.25)
    valley = _between(relative, 1.25, 1.75) - _between(relative, 0.25, 0.75)
    if doubled < 1 or valley > 0.5 * doubled:
        return none
    return _Losses(lost, lost + steps.n, False, int(periods[used].max()) - 1, steps.count is not None)


def rate_changes(index: NDArray[np.int64], periods: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Say which steps are part of a long run of one and the same multiple of the period."""
    if len(periods) < _RATE_CHANGE:
        return np.zeros(len(periods), dtype=bool)
    edges = np.flatnonzero((np.diff(periods) != 0) | (np.diff(index) != 1)) + 1
    starts, ends = np.concatenate([[0], edges]), np.concatenate([edges, [len(periods)]])
    long = (ends - starts >= _RATE_CHANGE) & (periods[starts] >= 2)
    return np.repeat(long, ends - starts)


def _between(values: NDArray[np.float64], low: float, high: float) -> int:
    return int(np.count_nonzero((values > low) & (values < high)))


def _dropped(line: Timeline, found: Rhythm, losses: _Losses) -> Verdict:
    lost, total, longest = losses.lost, losses.total, losses.longest
    share, (low, high) = losses.share, wilson(lost, total)
    how = "by the source's own count" if losses.by_count else "by intervals of whole periods"
    how += ", while the count goes on: before it was given" if losses.counted_on else ""
    clock = "stamps" if line.has("stamp_ns") else "arrivals"
    run = f", at most {longest} in a row" if longest > 1 else ""
    return Verdict(
        "dropped_samples",
        (line.name,),
        "finding",
        f"{100 * share:.2g} % of the samples were lost ({lost} of {total}{run}), {how}: "
        f"a pipeline that counts frames makes the path {100 * share:.2g} % too short",
        {
            "share lost": Figure(share, "1", low, high),
            "lost": Figure(float(lost), "1"),
            "longest run": Figure(float(max(longest, 1)), "1"),
            "true rate": found.rate(),
        },
        "read the driver's own counter (the frame number of the camera, the packet number of the bus) beside the recorded one: "
        "where it jumps, the source or its cable lost samples; where it does not, the recorder's queue did",
        "integrate over stamps, never over a count of frames; then give the stream a queue of its own, or less to carry",
        intervals_plot(line, found.period_ns, f"Intervals of {clock}: lost samples make whole multiples"),
        frozenset({"rate_not_held", "jitter"}),
        share * line.span_s,
    )


def _silences(line: Timeline, steps: _Steps, quiet: NDArray[np.bool_]) -> list[_Silence]:
    found = []
    for i in np.flatnonzero(quiet).tolist():
        start = int(steps.at_ns[i])
        lost = None if steps.count is None else max(int(steps.count[i]) - 1, 0)
        found.append(_Silence(line, int(steps.index[i]), start, start + int(steps.wait_ns[i]), lost))
    return found


def _made_up(line: Timeline, silence: _Silence, found: Rhythm) -> bool:
    """Say whether the samples of a silence came after it, in a hurry: then they were late and not missing."""
    missing = (silence.end_ns - silence.start_ns) / found.period_ns
    rows = line.series.rows(silence.row, silence.row + int(missing) + 1)
    times = rows["stamp_ns" if line.has("stamp_ns") else "log_ns"]
    return len(times) > missing and float(times[-1] - times[0]) < 0.5 * missing * found.period_ns


def _gaps(evidence: Evidence, silences: list[_Silence]) -> Iterator[Verdict]:
    """Say gaps: together those of streams that fall silent at the same instants, since one cause stopped them all."""
    by_stream: dict[str, list[_Silence]] = {}
    for silence in silences:
        by_stream.setdefault(silence.line.name, []).append(silence)
    groups: list[list[list[_Silence]]] = []
    for mine in by_stream.values():
        for group in groups:
            if _together(group[0], mine):
                group.append(mine)
                break
        else:
            groups.append([mine])
    for group in groups:
        if any(not _may_pause(mine) for mine in group):
            yield _gap(evidence, group)


def _together(left: list[_Silence], right: list[_Silence]) -> bool:
    if len(left) != len(right):
        return False
    for a, b in zip(left, right, strict=True):
        common = min(a.end_ns, b.end_ns) - max(a.start_ns, b.start_ns)
        if common < 0.5 * max(a.end_ns - a.start_ns, b.end_ns - b.start_ns):
            return False
    return True


def _may_pause(mine: list[_Silence]) -> bool:
    """Say whether silence is this stream's right: commands, and what is published on and off."""
    line = mine[0].line
    if mine[0].lost is not None:
        return False
    if line.info.kind == "other" or is_command(line):
        return True
    silent = sum(s.end_ns - s.start_ns for s in mine) / 1e9
    return line.info.kind in ("numbers", "action") and (len(mine) >= 3 or silent > 0.2 * line.span_s)


def _gap(evidence: Evidence, group: list[list[_Silence]]) -> Verdict:
    mine = max(group, key=lambda one: sum(s.end_ns - s.start_ns for s in one))
    line = mine[0].line
    long_s = [(s.end_ns - s.start_ns) / 1e9 for s in mine]
    span_s = max(line.span_s, max(long_s))
    share = min(sum(long_s) / span_s, 1.0)
    found = rhythms(evidence)[line.name]
    lost = None if any(s.lost is None for s in mine) else sum(s.lost or 0 for s in mine)
    clock = "log_ns" if line.has("log_ns") else "stamp_ns"
    begin = int(line.column(clock)[0])
    worst = mine[int(np.argmax(long_s))]
    at = line.place(max(worst.row - 1, 0), clock)
    if len(group) > 1:
        what = f"{len(group)} streams fall silent together"
        why = "the recorder or what they share stalled"
    elif lost is None:
        what, why = "the stream falls silent", "lost or never taken, which only a count would tell"
    elif lost == 0:
        what, why = "the stream falls silent", "its own count goes on without a jump: the source paused"
        why += "" if line.has("log_ns") else ", or its clock was set, which only a log time would tell"
    else:
        what, why = "the stream falls silent", f"its own count jumps by {lost}: those samples were taken and lost"
    times = "once" if len(mine) == 1 else f"{len(mine)} times"
    figures = {
        "longest gap": Figure(max(long_s), "s"),
        "gaps": Figure(float(len(mine)), "1"),
        "share of time": Figure(share, "1"),
        "period": Figure(found.period_ns / 1e9, "s"),
    }
    if lost is not None:
        figures["lost"] = Figure(float(lost), "1")
    return Verdict(
        "gap",
        tuple(one[0].line.name for one in group),
        "finding",
        f"{what} {times}, for {'' if len(mine) == 1 else 'up to '}{max(long_s):.3g} s at {at}, {100 * share:.2g} % of the "
        f"time (period {found.period_ns / 1e6:.4g} ms): {why}",
        figures,
        "compare the source's own counter before and after the gap, and "
        + (
            "look into the log of the recording machine at that time (dmesg, its disk)"
            if len(group) > 1
            else "whether other streams of the same machine stop too"
        ),
        "cut the recording there, and never interpolate across it; then look at what blocks for that long: disk, USB, a lock",
        intervals_plot(
            line, found.period_ns, "Intervals: silence", [(s.start_ns - begin, s.end_ns - begin) for s in mine[:20]], clock
        ),
        frozenset({"dropped_samples", "jitter", "rate_not_held"}),
        sum(long_s),
    )


SAMPLES = Check("missing samples", ("dropped_samples", "gap"), judge_samples)
