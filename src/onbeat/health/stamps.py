"""Where and how stamps were taken: in bursts at arrival, rounded, or at delivery instead of at capture."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.timeline import Timeline
from onbeat.health.check import Check, Evidence, Figure, Verdict
from onbeat.health.interval_plots import histogram_plot
from onbeat.health.intervals import Rhythm, off_line, rhythms
from onbeat.health.rounding import judge_rounding

__all__ = ("STAMPS", "judge_stamps")

_DELIVERED_NS = 2_000_000  # from stamp to log
_TOO_SOON_NS = 1_000_000
_QUIETER = 0.2  # how much less log minus stamp may vary than stamps do


def judge_stamps(evidence: Evidence) -> Iterator[Verdict]:
    """Name bursts, rounding and stamps taken at delivery, at most one of them for a stream."""
    for name, found in rhythms(evidence).items():
        line = evidence.timelines[name]
        verdict = judge_rounding(evidence, line)
        if verdict is None or verdict.level == "note":
            other = _burst(line, found) or _delivery(line, found)
            verdict = other or verdict
        if verdict is not None:
            yield verdict


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
            {
                "repeated_stamps",
                "jitter",
                "dropped_samples",
                "gap",
                "stamped_at_delivery",
                "one_period_late",
                "rate_not_held",
                "exposure_shift",
            }
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
    late = _one_sided(line)
    if not (0 <= usual < _DELIVERED_NS and of_stamp > least and of_delay < _QUIETER * of_stamp and found.catching_up < -0.25):
        return None
    # Transports hold samples back and never send them early; but no picture is in hand so soon after its exposure.
    if late < 1.4 and not (line.info.kind == "image" and usual < _TOO_SOON_NS):
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
        frozenset({"jitter", "repeated_stamps", "unsorted_stamps", "exposure_shift"}),
        of_stamp / 1e9 + usual / 1e9,
    )


def _noise(steps: NDArray[np.int64]) -> float:
    """Give the standard deviation of single times from their differences, by quantiles."""
    low, high = np.quantile(steps, (0.16, 0.84))
    return float(high - low) / 2 / 2**0.5


def _one_sided(line: Timeline) -> float:
    """Give how much further late samples stray than early ones, around an even pace; 1 is even."""
    early, middle, late = np.quantile(off_line(line), (0.05, 0.5, 0.95))
    return float((late - middle) / max(middle - early, 1.0))


STAMPS = Check("stamps", ("bursts", "quantised_stamps", "stamped_at_delivery"), judge_stamps)
