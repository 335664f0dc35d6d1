"""Where and how stamps were taken: in bursts at arrival, rounded, or at delivery instead of at capture."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from onbeat.health.check import Check, Curve, Evidence, Figure, Plot, Verdict
from onbeat.health.intervals import Rhythm, Step, rhythm, rhythms, stamp_step
from onbeat.health.timeline import Timeline

__all__ = ("STAMPS", "histogram_plot", "judge_stamps", "rounding")

_STEP_SHARE, _STEP_NS = 0.05, 1_000_000  # of the period, and at all: beyond, rounding matters
_NOTE_SHARE = 0.01
_DELIVERED_NS = 2_000_000  # from stamp to log
_QUIETER = 0.2  # how much less log minus stamp may vary than stamps do


def judge_stamps(evidence: Evidence) -> Iterator[Verdict]:
    """Name bursts, rounding and stamps taken at delivery, at most one of them for a stream."""
    for name, found in rhythms(evidence).items():
        line = evidence.timelines[name]
        step = rounding(evidence, line)
        verdict = _quantised(evidence, line, found, step)
        if verdict is None or verdict.level == "note":
            other = _burst(line, found) or _delivery(line, found)
            verdict = other or verdict
        if verdict is not None:
            yield verdict


def rounding(evidence: Evidence, line: Timeline) -> Step | None:
    """Give the step of a stream's stamps where their intervals show that it rounds them; found once for all checks."""
    known: dict[str, Step | None] = evidence.shared.setdefault("rounding", {})
    if line.name not in known:
        known[line.name] = _rounding(line) if line.has("stamp_ns") and len(line.rows) >= 20 else None
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


def _rounding(line: Timeline) -> Step | None:
    stamps = line.column("stamp_ns")
    step = stamp_step(stamps)
    if step is None:
        return None
    single = line.intervals_ns("stamp_ns")
    period = _true_period(line)
    if step.ns >= 0.5 * period:
        # Against their count, rounded stamps of an even source keep within a step of a line: lost samples walk away from it,
        # and a grid of just one step to a sample lies on it.
        if step.ns > 0.98 * period and abs(step.ns / period - round(step.ns / period)) < 0.02 and np.mean(single == 0) < 0.02:
            return None
        low, high = np.quantile(_off_line(line), (0.16, 0.84))
        if not 0.15 < (high - low) / 2 / step.ns < 0.6:
            return None
        # Equal stamps may also be groups at arrival: then the log comes in groups too, or the groups' times are on no grid.
        if line.has("log_ns"):
            logged = line.intervals_ns("log_ns")
            equal = float(np.mean(single == 0))
            return step if equal < 0.05 or float(np.mean(logged < 0.1 * period)) < 0.5 * equal + 0.05 else None
        # Rounding an even source skips a step at even distances, losing samples of an exact one at random ones.
        apart = np.diff(np.flatnonzero(np.rint(single / step.ns) != 1))
        even = len(apart) < 5 or float(apart.std()) < 0.6 * float(apart.mean()) or float(np.mean(single == 0)) > 0.02
        return step if even and (step.binary or bool(np.all(stamps % int(step.ns) < 500))) else None
    ones = np.rint(single[(single > 0.5 * period) & (single < 1.5 * period)] / step.ns)
    _, shares = np.unique(ones, return_counts=True)
    return step if len(shares) > 1 and np.sort(shares)[-2] >= 0.005 * len(ones) else None


def _off_line(line: Timeline) -> NDArray[np.float64]:
    """Give how far the stamps are from a line through each 64 neighbours, ns; an even source's, against their count."""
    times, size = line.t_ns, 64
    count = np.arange(size) - (size - 1) / 2
    parts = [np.zeros(1)]
    for first in range(0, len(times) - size + 1, size):
        block = (times[first : first + size] - times[first]).astype(np.float64)
        block -= block.mean()
        parts.append(block - count * float(count @ block) / float(count @ count))
    return np.concatenate(parts)


def _quantised(evidence: Evidence, line: Timeline, found: Rhythm, step: Step | None) -> Verdict | None:
    if step is None:
        return None
    period = _true_period(line)
    share = step.ns / period if period > 0 else 1.0
    matters = share > _STEP_SHARE or step.ns > 1.001 * _STEP_NS
    if not matters and share < _NOTE_SHARE:
        return None
    # A simulator's time goes in steps for everything in it: then stamps are not wrong.
    simulated = any(name.rpartition("/")[2] == "clock" for name in evidence.timelines)
    last_s = abs(int(line.t_ns[-1])) / 1e9
    if step.binary:
        why = f"as a 32-bit float of {last_s:.4g} s does"
    elif last_s > 1e9:
        digits = max(10 + round(-np.log10(step.ns / 1e9)), 10)
        why = f"as {digits} digits of epoch seconds do"
    else:
        why = "by their clock, or by too few digits"
    many = f", {step.ns / period:.3g} samples to one stamp" if share > 1.5 else f" at a period of {period / 1e6:.4g} ms"
    return Verdict(
        "quantised_stamps",
        (line.name,),
        "finding" if matters and not simulated else "note",
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
        frozenset(
            {"jitter", "repeated_stamps", "dropped_samples", "rate_not_held", "one_period_late", "future_stamps", "gap", "bursts"}
        ),
        step.ns / 2e9,
    )


def _burst(line: Timeline, found: Rhythm) -> Verdict | None:
    burst = found.burst
    if burst is None:
        return None
    oldest = (burst.size - 1) * max(found.period_ns - burst.inside_ns, 0.0) / 1e9
    clock = "stamped at arrival" if line.has("stamp_ns") else "which have their arrival only as time"
    return Verdict(
        "bursts",
        (line.name,),
        "finding" if line.has("stamp_ns") else "note",
        f"samples come {burst.size} at a time, {clock}, every {burst.wait_ns / 1e6:.4g} ms: the true rate is "
        f"{found.hz:.5g} Hz, and "
        f"the oldest of each group is stamped {oldest * 1e3:.4g} ms late, {oldest * 5e2:.4g} ms on average: a sawtooth, which an "
        "estimator takes for a gyro's bias",
        {
            "oldest late": Figure(oldest, "s"),
            "group": Figure(float(burst.size), "1"),
            "group period": Figure(burst.wait_ns / 1e9, "s"),
            "true rate": found.rate(),
            "mean late": Figure(oldest / 2, "s"),
        },
        "draw the histogram of stamp differences: a peak at zero and one at the group's period are a FIFO that is read in "
        "batches, "
        "and need no motion to be seen",
        f"date back in the driver: t_rx - transport - (n - 1 - i) / {found.hz:.5g} Hz for sample i of n; or read the "
        f"sensor's own "
        "sample clock beside the FIFO",
        histogram_plot(line, "Stamp differences: groups, then a wait"),
        frozenset(
            {"repeated_stamps", "jitter", "dropped_samples", "gap", "stamped_at_delivery", "one_period_late", "rate_not_held"}
        ),
        oldest,
    )


def _delivery(line: Timeline, found: Rhythm) -> Verdict | None:
    """See whether stamps move like a transport while the log follows them closely."""
    if not (found.periodic and line.has("stamp_ns", "log_ns")):
        return None
    joined = line.neighbours
    delay = line.column("log_ns") - line.column("stamp_ns")
    usual = float(np.median(delay))
    of_stamp = _noise(line.intervals_ns("stamp_ns"))
    of_delay = _noise(np.diff(delay)[joined])
    sensor = line.info.kind in ("image", "rotation")
    least = max(300_000.0, (0.02 if sensor else 0.05) * found.period_ns)
    if not (0 <= usual < _DELIVERED_NS and of_stamp > least and of_delay < _QUIETER * of_stamp and found.catching_up < -0.25):
        return None
    late = _one_sided(line)
    if late < 1.4 and not sensor:
        return None
    blocks = [_noise(part) for part in np.array_split(line.intervals_ns("stamp_ns"), 10)]
    half = 2.3 * float(np.std(blocks, ddof=1)) / len(blocks) ** 0.5
    shape = "late ones are caught up by short intervals" + (", and none comes as early as some come late" if late >= 1.4 else "")
    why = ", though no picture can be delivered that soon after its exposure" if line.info.kind == "image" else ""
    return Verdict(
        "stamped_at_delivery",
        (line.name,),
        "finding",
        f"stamps were taken at delivery: the log follows them by {usual / 1e6:.3g} ms{why}, while they themselves vary by "
        f"{of_stamp / 1e6:.3g} ms (std) around an even {found.hz:.4g} Hz: {shape}, as a transport's delay does",
        {
            "jitter": Figure(of_stamp / 1e9, "s", max(of_stamp - half, 0.0) / 1e9, (of_stamp + half) / 1e9),
            "log minus stamp": Figure(usual / 1e9, "s"),
            "jitter of log minus stamp": Figure(of_delay / 1e9, "s"),
        },
        "compare the driver's own capture time (V4L2 stamps with the SOE or EOF flag, chunk data, SO_TIMESTAMPING) with "
        "the header "
        "for a minute: the header's jitter shows in the difference",
        "stamp at capture: the device's own stamp through a clock map (V4L2 SOE/EOF, ChunkModeActive, hardware stamps); until "
        "then subtract the mean delay, which leaves the jitter",
        histogram_plot(line, "Intervals of stamps: they vary as a transport does"),
        frozenset({"jitter", "repeated_stamps", "unsorted_stamps"}),
        of_stamp / 1e9 + usual / 1e9,
    )


def _noise(steps: NDArray[np.int64]) -> float:
    """Give the standard deviation of single times from their differences, by quantiles."""
    low, high = np.quantile(steps, (0.16, 0.84))
    return float(high - low) / 2 / 2**0.5


def _one_sided(line: Timeline) -> float:
    """Give how much further late samples stray than early ones, around an even pace; 1 is even."""
    early, middle, late = np.quantile(_off_line(line), (0.05, 0.5, 0.95))
    return float((late - middle) / max(middle - early, 1.0))


def _time(ns: float) -> str:
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.3g} ns"


def histogram_plot(line: Timeline, title: str) -> Plot:
    """Draw the histogram of a stream's intervals, up to four times the mean one."""
    single = line.intervals_ns() / 1e6
    end = 4 * float(np.mean(single)) if len(single) else 1.0
    end = max(end, float(np.quantile(single, 0.99))) if len(single) else 1.0
    shares, edges = np.histogram(single, bins=160, range=(min(0.0, float(single.min(initial=0.0))), max(end, 1e-3)))
    middle = (edges[1:] + edges[:-1]) / 2
    return Plot(title, "interval (ms)", "samples", (Curve("intervals", middle, shares.astype(np.float64), "bars"),))


STAMPS = Check("stamps", ("bursts", "quantised_stamps", "stamped_at_delivery"), judge_stamps)
