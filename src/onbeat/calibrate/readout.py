"""How long before its stamp was a polled reading true? Half of the read, and honestly no more than that."""

from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from onbeat.calibrate.result import CalibrationResult
from onbeat.errors import BadInput

__all__ = ("read_latency",)

METHOD = "half of the mean read duration"
MIN_READS = 30
# A read that was preempted lies this many robust deviations above the median; a twentieth of the median is the least deviation.
PREEMPTED_DEVIATIONS = 8.0
LEAST_DEVIATION = 0.05
MAX_PREEMPTED_SHARE = 0.1
# The device sampled somewhere inside the transaction: 95 % of that span, half on each side.
INSIDE_95 = 0.475


def read_latency(begin_ns: ArrayLike, receive_ns: ArrayLike) -> CalibrationResult:
    """Estimate the receive latency of a device that is polled, from the duration of its reads. It commands no motion.

    The stamp is taken when the read returns, and the device sampled at an unknown instant inside the transaction: between 0
    and one read duration ago. Half of the mean duration is the middle of that span. The interval adds the statistical error
    of the mean to 95 % of the half span, because where inside the transaction the device samples cannot be seen from outside
    and does not average out: a device may sample always at the start. ``statistical_ci95_s`` gives the first part alone.

    Args:
        begin_ns: Instants just before each read. Shape (n,), int64.
        receive_ns: Instants at which each read returned, on the same clock; these are the stamps.

    Returns:
        The latency in s. ``conditions``: mean_duration_s (the upper bound), statistical_ci95_s, spread_s (of durations),
        preempted (reads left out because the process was held up).
        Refused: fewer than 30 reads, a duration that is not positive, or a tenth of the reads far above the median.

    Raises:
        BadInput: the arrays differ in length or are not integers.
    """
    begin, receive = np.asarray(begin_ns), np.asarray(receive_ns)
    if begin.ndim != 1 or begin.shape != receive.shape:
        raise BadInput(f"each read needs a begin and a receive stamp; shapes {begin.shape} and {receive.shape} do not fit")
    n = len(begin)

    def refuse(reason: str) -> CalibrationResult:
        return CalibrationResult.refuse("receive_latency", reason, n=n, method=METHOD)

    if n < MIN_READS:
        return refuse(f"too few reads: {n}, and {MIN_READS} are needed; read longer")
    if not (np.issubdtype(begin.dtype, np.integer) and np.issubdtype(receive.dtype, np.integer)):
        raise BadInput(f"stamps must be integers of nanoseconds, not {begin.dtype} and {receive.dtype}; convert with to_ns")
    duration_s = (receive.astype(np.int64) - begin.astype(np.int64)) / 1e9
    wrong = int((duration_s <= 0).sum())
    if wrong:
        return refuse(
            f"{wrong} of {n} reads took no time or less (the shortest {float(duration_s.min()) * 1e3:.4f} ms); stamp before "
            "and after the read on one monotonic clock"
        )
    median = float(np.median(duration_s))
    deviation = max(1.4826 * float(np.median(np.abs(duration_s - median))), LEAST_DEVIATION * median)
    kept = duration_s[duration_s <= median + PREEMPTED_DEVIATIONS * deviation]
    preempted = n - len(kept)
    if preempted > MAX_PREEMPTED_SHARE * n:
        return refuse(
            f"{preempted} of {n} reads took more than {(median + PREEMPTED_DEVIATIONS * deviation) * 1e3:.3f} ms where the "
            f"median is {median * 1e3:.3f} ms: "
            "two kinds of read, or a machine that is busy; measure on an idle machine"
        )
    mean = float(kept.mean())
    spread = float(kept.std(ddof=1))
    statistical = 1.96 * spread / sqrt(len(kept)) / 2
    conditions = {"mean_duration_s": mean, "statistical_ci95_s": statistical, "spread_s": spread, "preempted": preempted}
    return CalibrationResult("receive_latency", mean / 2, INSIDE_95 * mean + statistical, len(kept), METHOD, conditions)
