"""Are stamps rounded, by their clock, a text or a float, and does it matter beside the period?"""

from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.timeline import Timeline
from onbeat.health.check import Evidence, Figure, Verdict
from onbeat.health.interval_plots import histogram_plot
from onbeat.health.intervals import off_line, rhythm

__all__ = ("Rounding", "Step", "judge_rounding", "rounding", "stamp_step")


@dataclass(frozen=True, slots=True)
class Step:
    """All stamps are multiples of this: their clock ticks so, or a float or a text rounded them.

    Args:
        ns: The step.
        binary: It is a power of two of a second, as a float rounds; else a decimal one, as a clock or a text does.
    """

    ns: float
    binary: bool


_STEP_SHARE, _STEP_NS = 0.05, 1_000_000  # of the period, and at all: beyond, rounding matters
_NOTE_SHARE = 0.01
_NEVER_TWO = 0.55  # of the period: two samples do not fall into a step that is shorter
_FEWEST = 20
_MANY = 20  # samples to one stamp: too many for a line against their count to show anything
_YOUNG_NS = 10**17  # 1973: not wall time
# Whole nanoseconds: 2^-9 s is the last such; and what a 32-bit float of seconds since 1970 rounds to, from 2004 to 2038.
_BINARY = (*(10**9 >> power for power in range(2, 10)), 128 * 10**9)
_CONSEQUENCES = frozenset(
    {
        "jitter",
        "repeated_stamps",
        "dropped_samples",
        "rate_not_held",
        "one_period_late",
        "future_stamps",
        "gap",
        "bursts",
        "offset",
    }
)
_OF_CLOCKS = frozenset({"step", "slew", "drift", "skew", "rate_flips", "reference_died"})


@dataclass(frozen=True, slots=True)
class Rounding:
    """Stamps of a stream that are rounded.

    Args:
        step: To what.
        period_ns: Of the stream.
    """

    step: Step
    period_ns: float

    @property
    def joins(self) -> bool:
        """Whether two neighbours may come to carry one stamp."""
        return self.step.ns >= _NEVER_TWO * self.period_ns


def rounding(evidence: Evidence, line: Timeline) -> Rounding | None:
    """Give the step of a stream's stamps where their intervals show that it rounds them; found once for all checks."""
    known: dict[str, Rounding | None] = evidence.shared.setdefault("rounding", {})
    if line.name not in known:
        known[line.name] = _rounding(line) if line.has("stamp_ns") and len(line.rows) >= _FEWEST else None
    return known[line.name]


def _true_period(line: Timeline) -> float:
    """Give the period without the help of stamps where the log times have one, else the mean interval of the stamps."""
    if line.has("log_ns", "stamp_ns"):
        logged = rhythm(line, "log_ns")
        if logged.periodic:
            return logged.period_ns
    single = line.intervals_ns()
    usual = single[single <= 20 * max(line.period_ns, 1.0)]
    return float(usual.mean()) if len(usual) else 0.0


def _rounding(line: Timeline) -> Rounding | None:
    step = stamp_step(line.column("stamp_ns")) or _few_floats(line)
    if step is None:
        return None
    single = line.intervals_ns("stamp_ns")
    period = _true_period(line)
    if line.has("log_ns") and step.ns > _MANY * period > 0:
        # The log walks away from a stamp that stands, and is caught up by the next one.
        behind = line.column("log_ns") - line.column("stamp_ns")
        if int(np.ptp(behind)) <= 1.05 * step.ns and abs(int(np.median(behind))) <= step.ns:
            return Rounding(step, period)
    if len(single) < _FEWEST - 1 or period <= 0:
        return None
    if step.ns >= 0.15 * period:
        if _off_grid_of(period, line, step):
            return Rounding(step, period)
        if step.ns >= _NEVER_TWO * period:
            return Rounding(step, period) if _late_ones_round_up(single, step) else None
    found = rhythm(line, "stamp_ns")
    if found.periodic and found.burst is None and not line.has("log_ns"):
        period = found.period_ns
    ones = np.rint(single[(single > 0.45 * period) & (single < 1.55 * period)] / step.ns)
    _, shares = np.unique(ones, return_counts=True)
    seen = len(shares) > 1 and np.sort(shares)[-2] >= max(0.002 * len(ones), 3)
    return Rounding(step, period) if seen else None


def _off_grid_of(period: float, line: Timeline, step: Step) -> bool:
    """Say whether stamps keep within a step of a line against their count, and not on it, as rounded stamps of an even source do.

    Lost samples walk away from that line; a grid of one step to a sample lies on it.
    """
    single = line.intervals_ns("stamp_ns")
    equal = float(np.mean(single == 0))
    if abs(step.ns / period - round(step.ns / period)) < 0.02 * step.ns / period and equal < 0.02:
        return False
    low, high = np.quantile(off_line(line), (0.16, 0.84))
    if not 0.15 < (high - low) / 2 / step.ns < 0.6:
        return False
    # Equal stamps may also be groups at arrival: then the log comes in groups too, or the groups' times are on no grid.
    if line.has("log_ns"):
        return equal < 0.05 or float(np.mean(line.intervals_ns("log_ns") < 0.1 * period)) < 0.5 * equal + 0.05
    # Rounding an even source skips a step at even distances, losing samples of an exact one at random ones.
    multiples = np.rint(single / step.ns)
    apart = np.diff(np.flatnonzero(multiples != np.median(multiples)))
    even = len(apart) < 5 or float(apart.std()) < 0.6 * float(apart.mean()) or equal > 0.02
    return even and (step.binary or bool(np.all(line.column("stamp_ns") % int(step.ns) < 500)) or step.ns < 0.5 * period)


def _late_ones_round_up(single: NDArray[np.int64], step: Step) -> bool:
    """Say whether equal stamps follow a double interval, as of a late sample; a stamp that was reused comes before one."""
    steps = np.rint(single / step.ns)
    equal = np.flatnonzero(steps == 0)
    equal = equal[(equal >= 2) & (equal + 2 < len(steps))]
    return len(equal) >= 3 and float(np.mean((steps[equal - 1] == 2) | (steps[equal - 2] == 2))) > 0.5


def _steady(line: Timeline, step: Step) -> bool:
    """Say whether log minus stamp stays within two steps, so that what it does is the rounding's doing."""
    if not line.has("log_ns", "stamp_ns"):
        return False
    delay = line.column("log_ns") - line.column("stamp_ns")
    levels = [float(np.median(part)) for part in np.array_split(delay, 20)]
    return max(levels) - min(levels) < 2 * step.ns


def _simulated(evidence: Evidence) -> bool:
    """Say whether the recording is of simulated time, which goes in steps for everything in it: then stamps are not wrong."""
    if any(name.rpartition("/")[2] == "clock" for name in evidence.timelines):
        return True
    young = [line for line in evidence.timelines.values() if line.has("stamp_ns") and 0 <= line.rows["stamp_ns"][-1] < _YOUNG_NS]
    steps = [stamp_step(line.column("stamp_ns")) for line in young if len(line.rows) >= _FEWEST]
    ticks = [round(step.ns) for step in steps if step is not None and not step.binary]
    return len(ticks) >= 2 and len(ticks) == len(steps) and gcd(*ticks) >= _STEP_NS


def judge_rounding(evidence: Evidence, line: Timeline) -> Verdict | None:
    """Name rounded stamps: a finding where it matters, a note where it can just be seen."""
    found = rounding(evidence, line)
    if found is None:
        return None
    step, period = found.step, found.period_ns
    share = step.ns / period if period > 0 else 1.0
    matters = share > _STEP_SHARE or step.ns > 1.001 * _STEP_NS
    if (not matters and share < _NOTE_SHARE) or _simulated(evidence):
        return None
    last_s = abs(int(line.t_ns[-1])) / 1e9
    if step.binary:
        why = f"as a 32-bit float of {step.ns * 2**23 / 1e9:.4g} s or more does"
    elif last_s > 1e9:
        digits = max(10 + round(-np.log10(step.ns / 1e9)), 10)
        why = f"as {digits} digits of epoch seconds do"
    else:
        why = "by their clock, or by too few digits"
    many = f", {step.ns / period:.3g} samples to one stamp" if share > 1.5 else f" at a period of {period / 1e6:.4g} ms"
    return Verdict(
        "quantised_stamps",
        (line.name,),
        "finding" if matters else "note",
        f"stamps are rounded to {_time(step.ns)}, {why}{many}: each is wrong by up to {_time(step.ns / 2)}",
        {
            "step": Figure(step.ns / 1e9, "s"),
            "error (std)": Figure(step.ns / 1e9 / 12**0.5, "s"),
            "step over period": Figure(share, "1"),
        },
        "print a few raw stamps of the source with all digits, before the file is written: where they lie between the steps, "
        "the writer rounded them, else the source's clock ticks so",
        "keep stamps as integer nanoseconds, or as float64 since the start of the recording; where the clock itself ticks so "
        "coarsely, fit a line through stamp against count and take the stamps from it",
        histogram_plot(line, "Stamp differences: only multiples of one step"),
        _CONSEQUENCES - (set() if found.joins else {"repeated_stamps"}) | (_OF_CLOCKS if _steady(line, step) else frozenset()),
        step.ns / 2e9,
    )


def stamp_step(times: NDArray[np.int64]) -> Step | None:
    """Find the step of which all these stamps are multiples, 1 us or more; None where there is none.

    A float's step grows with its value, so it is looked for in the last quarter too.
    """
    for part in (times, times[-max(len(times) // 4, _FEWEST) :]):
        for found in (_decimal_step(part), _binary_step(part)):
            if found is not None:
                return found
    return None


def _few_floats(line: Timeline) -> Step | None:
    """Give the step of 32-bit floats where the recording is too short for more than two of them: 128 s since 1970."""
    stamps = line.column("stamp_ns")
    if int(stamps.min()) < _YOUNG_NS:
        return None
    step = 1e9 * 2.0 ** (int(stamps.max()) // 10**9).bit_length() / 2**24
    return Step(step, True) if step >= 1e9 and not np.any(stamps % round(step)) else None


def _decimal_step(times: NDArray[np.int64]) -> Step | None:
    from_first = times - times[0]
    if len(np.unique(from_first)) < 3:
        return None
    for decade in range(9, 2, -1):
        for digit in (5, 2, 1):
            step = digit * 10**decade
            # A text read through a float of epoch seconds is off by up to 240 ns.
            if _off_grid(from_first, step) <= min(step // 100, 500):
                common = int(np.gcd.reduce((from_first + step // 2) // step))
                if common:  # else all stamps lie around one tick
                    found = step * common
                    return Step(float(found), found in _BINARY)
    return None


def _binary_step(times: NDArray[np.int64]) -> Step | None:
    from_first = times - times.min()
    if len(np.unique(from_first)) < 3:
        return None
    seconds, rest = np.divmod(from_first, 1_000_000_000)
    for power in range(10, -21, -1):
        if power > 0:
            on_grid = bool(np.all(rest == 0) and np.all(seconds % 2**power == 0))
        else:
            # In units of 2^power s; each of two times is rounded to a nanosecond, which is 2^-power of these billionths.
            left = (rest << -power) % 1_000_000_000
            on_grid = bool(np.all(np.minimum(left, 1_000_000_000 - left) <= 2.01 * 2**-power))
        if on_grid:
            return Step(1e9 * 2.0**power, True)
    return None


def _off_grid(times: NDArray[np.int64], step: int) -> int:
    rest = times % step
    return int(np.minimum(rest, step - rest).max())


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.3g} ns"
