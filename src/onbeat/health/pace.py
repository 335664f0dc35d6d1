"""Does a stream keep its pace: the rate that it declares, even intervals, and stamps that do not slip by a period."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.timeline import Timeline
from onbeat.health.check import Check, Evidence, Figure, Verdict
from onbeat.health.interval_plots import histogram_plot, intervals_plot
from onbeat.health.intervals import Rhythm, rhythms
from onbeat.health.rounding import rounding
from onbeat.health.samples import lost_samples, rate_changes

__all__ = ("PACE", "judge_pace")

_RATE_OFF = 0.005
_TENTH, _HUNDREDTH = 0.28, 0.5  # of the period: what a tenth and a hundredth of the intervals may be off
_FEWEST = 100  # intervals, for a tail of one in a hundred
_SLIP = 3  # samples that keep their period between two slips


def judge_pace(evidence: Evidence) -> Iterator[Verdict]:
    """Name declared rates that are not held, uneven intervals, and slips by one period."""
    for name, found in rhythms(evidence).items():
        line = evidence.timelines[name]
        if found.periodic:
            yield from _rate(line, found)
            if line.has("stamp_ns") and found.burst is None:
                slip = _slip(line, found)
                if slip is not None:
                    yield slip
                elif rounding(evidence, line) is None:
                    yield from _jitter(line, found)


def _rate(line: Timeline, found: Rhythm) -> Iterator[Verdict]:
    declared = line.info.declared_hz
    if declared is None or not declared > 0:
        return
    rate = found.rate()
    low, high = rate.low or 0.0, rate.high or 0.0
    off = found.hz / declared - 1
    if abs(off) <= _RATE_OFF or low <= declared <= high:
        return
    wrong = line.span_s * abs(off)
    slow = "slower" if off < 0 else "faster"
    yield Verdict(
        "rate_not_held",
        (line.name,),
        "finding",
        f"declared {declared:.4g} Hz, true {found.hz:.4g} Hz: the loop is {slow} than its rate; whoever counts samples is "
        f"{wrong:.3g} s wrong at the end of {line.span_s:.4g} s",
        {
            "true rate": rate,
            "declared rate": Figure(declared, "Hz"),
            "off": Figure(off, "1", low / declared - 1, high / declared - 1),
            "wrong at the end": Figure(wrong, "s"),
        },
        "time the loop with one clock, first against last of a thousand samples; then time its parts: what waits for a "
        "camera or a "
        "bus longer than a period?",
        f"declare {found.hz:.4g} Hz, or make the loop keep {declared:.4g} Hz; and train on stamps, not on a count",
        intervals_plot(line, 1e9 / declared, "Intervals beside the declared period"),
        weight=wrong,
    )


def _jitter(line: Timeline, found: Rhythm) -> Iterator[Verdict]:
    times, joined = line.t_ns, line.neighbours
    # Samples that are out of order are another fault: sorted, an even source is even.
    times = np.concatenate([np.sort(part) for part in np.split(times, np.flatnonzero(~joined) + 1)])
    steps = np.diff(times)
    # So is a stamp that came again, with the interval after it.
    equal = np.concatenate([[False], steps == 0, [False]])
    # Nor does a source jitter that keeps another rate for a while, as a camera does in the dark.
    slower = rate_changes(line.index[1:], np.rint(steps / found.period_ns).astype(np.int64))
    off = steps[joined & ~slower & ~equal[1:-1] & ~equal[:-2] & ~equal[2:]] / found.period_ns - 1
    lossy = lost_samples(line, found) > 0
    off = off[off < (0.5 if lossy else 4.0)]
    if len(off) < _FEWEST:
        return
    tenth, twentieth, hundredth = np.quantile(np.abs(off), (0.9, 0.95, 0.99)).tolist()
    if not (tenth > _TENTH and hundredth > (0.4 if lossy else _HUNDREDTH)) and twentieth <= _HUNDREDTH:
        return
    catching_up = found.catching_up < -0.3
    std = float(np.std(off)) * found.period_ns / 1e9
    blocks = [float(np.std(part)) for part in np.array_split(off, 10)]
    half = 2.3 * float(np.std(blocks, ddof=1)) / len(blocks) ** 0.5 * found.period_ns / 1e9
    if catching_up:
        cause = (
            "late stamps are followed by short intervals, so the source is even and its stamps are not: transport or scheduling"
        )
        fix = "stamp at capture, or fit a line through stamp against count and take the stamps from it"
        scale = 2**-0.5
    else:
        cause = "a long interval is not made up for, so the source itself is uneven: a loop that sleeps, or waits for others"
        fix = "wait for the next tick of a grid, not for a period after the last one; and give the policy stamps, not a count"
        scale = 1.0
    yield Verdict(
        "jitter",
        (line.name,),
        "finding",
        f"intervals vary by {std * 1e3:.3g} ms (std) around {found.period_ns / 1e6:.4g} ms: a policy that takes them as "
        f"even sees "
        f"speeds wrong by more than {100 * tenth:.3g} % in one of ten, {100 * hundredth:.3g} % in one of a hundred; {cause}",
        {
            "jitter": Figure(std * scale, "s", max(std - half, 0.0) * scale, (std + half) * scale),
            "interval std": Figure(std, "s"),
            "off, one of ten": Figure(tenth, "1"),
            "off, one of a hundred": Figure(hundredth, "1"),
        },
        "stamp the same source twice, in the driver and where it is recorded: the one whose intervals are even is the source's",
        fix,
        histogram_plot(line, "Intervals: wide around the period"),
        frozenset({"repeated_stamps", "unsorted_stamps"}),
        std,
    )


def _slip(line: Timeline, found: Rhythm) -> Verdict | None:
    """Find stretches whose stamps are a period late: they begin with a repeated stamp and end with a double interval."""
    joined = line.neighbours
    relative = np.diff(line.t_ns) / found.period_ns
    zero = joined & (np.abs(relative) < 0.3)
    double = joined & (np.abs(relative - 2) < 0.3)
    events = np.flatnonzero(zero | double)
    odd = joined & (np.abs(relative - 1) > 0.3) & ~zero & ~double
    if not (zero.any() and double.any()) or odd.sum() > 0.2 * len(events):
        return None
    # Beside a real loss or a late sample, the log's interval is as unusual as the stamp's.
    logged = np.diff(line.column("log_ns")) / found.period_ns if line.has("log_ns") else None
    if logged is not None and float(np.mean(np.abs(logged[events] - 1) < 0.5)) < 0.7:
        return None
    turns = zero[events[1:]] != zero[events[:-1]]
    apart = np.diff(events) > _SLIP
    if abs(int(zero.sum()) - int(double.sum())) > 1 or float(np.mean(turns)) < 0.8 or float(np.mean(apart)) < 0.8:
        return None
    lengths = np.diff(events)[turns]
    late = int(_stretch(events, zero, lengths))
    share = late / len(line.rows)
    return Verdict(
        "one_period_late",
        (line.name,),
        "finding",
        f"stamps slip by one period of {found.period_ns / 1e6:.4g} ms and back, {len(lengths)} times: {late} samples "
        f"carry the stamp "
        "of their neighbour",
        {
            "late": Figure(found.period_ns / 1e9, "s"),
            "stretches": Figure(float(len(lengths)), "1"),
            "share of samples": Figure(min(share, 1.0), "1"),
        },
        "number the samples in the driver and print number and stamp together: at a slip one number has its neighbour's stamp",
        "take the stamp and the content from the same buffer, in the same call; and let the stamp travel with the sample",
        intervals_plot(line, found.period_ns, "Intervals: a repeated stamp, then a double interval"),
        frozenset({"repeated_stamps", "dropped_samples", "jitter", "step"}),
        found.period_ns / 1e9,
    )


def _stretch(events: NDArray[np.int64], zero: NDArray[np.bool_], lengths: NDArray[np.int64]) -> int:
    """Count the samples from each repeated stamp to the next double interval."""
    begins = zero[events[:-1]] & ~zero[events[1:]]
    total = int(np.diff(events)[begins].sum())
    return total if total else int(lengths.sum())


PACE = Check("pace", ("rate_not_held", "jitter", "one_period_late"), judge_pace)
