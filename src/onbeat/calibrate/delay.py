"""By how much does a measured motion trail its command? Least squares over the shift, with an interval and with refusals."""

from collections.abc import Sequence
from math import isfinite, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.calibrate.interval import Z_975, half_width, t_quantile
from onbeat.calibrate.result import CalibrationResult
from onbeat.calibrate.search import build_record, check_alternatives, check_ends, check_saturation, find_shift
from onbeat.calibrate.shift import Record, Shift
from onbeat.calibrate.signals import RefusedError, milliseconds, read_signals
from onbeat.errors import BadInput

__all__ = ("estimate_delay", "pool_delays")

FloatArray = NDArray[np.float64]

METHOD = "least-squares shift, gain and offset free"
POOL_METHOD = "mean of results, with the scatter between them"

# Resolution of stamps and of the search.
MIN_CI95_S = 1e-5
MAX_CI95_S = 0.025


def estimate_delay(
    command_t_ns: ArrayLike,
    command: ArrayLike,
    measured_t_ns: ArrayLike,
    measured: ArrayLike,
    max_delay_s: float = 0.5,
    *,
    quantity: str = "delay",
) -> CalibrationResult:
    """Estimate by how much a measured motion trails its command, from a sweep or from any log of real motion.

    The command is a path of straight lines through its stamped samples. One fixed set of measured samples is compared with
    that path at every shift, with the best positive gain and the best offset for each column; the shift of least squares is
    refined far below the grid. A response with a lag has no single delay: a sine gives its phase delay, see
    :func:`onbeat.calibrate.estimate_delay_lag` for the parts.

    Args:
        command_t_ns: Instants of the command's samples or waypoints, strictly increasing. Shape (n,), int64.
        command: Commanded positions. Shape (n,) or (n, width); columns share the delay, not the gain and offset.
        measured_t_ns: Instants of the measured samples on the same clock, increasing. Shape (m,).
        measured: Measured positions, finite. Shape (m,) or (m, width).
        max_delay_s: Longest delay looked for, s. The first ``max_delay_s`` of the command serve as its past only.
        quantity: Name of what is measured, for the result.

    Returns:
        The delay in s with the half-width of its 95 % interval, which allows for residuals that are correlated in time.
        ``conditions``: gain, offset, residual (rms, in the unit of ``measured``; tuples when there are several columns),
        r2, window_s, stalled_share (time against an obstacle, left out), max_delay_s.
        Refused, with the reason in words and numbers, when the input is constant, not finite, not sorted, too short,
        inverted, saturated or does not follow; when the best shift lies at 0, below 0 or at ``max_delay_s``; when other
        shifts fit as well (``alternatives``); when the interval is wider than 25 ms.

    Raises:
        BadInput: shapes do not fit or ``max_delay_s`` is not positive.
    """
    if not isfinite(max_delay_s) or max_delay_s <= 0:
        raise BadInput(f"max_delay_s must be a positive number of seconds, not {max_delay_s}")
    n = 0
    conditions: dict[str, Any] = {"max_delay_s": max_delay_s}
    try:
        signals = read_signals(command_t_ns, command, measured_t_ns, measured)
        n = len(signals.measured)
        record, used = build_record(signals, max_delay_s)
        n = len(record.t_s)
        best, record, scan, stalled_share = find_shift(record, max_delay_s)
        half, inflation = _interval(record, best)
        conditions.update(_describe(record, best, used, signals.command.shape[1]), stalled_share=stalled_share)
        check_alternatives(record, best, scan, inflation)
        check_ends(best, max_delay_s)
        check_saturation(record, best, used)
        if half > MAX_CI95_S:
            conditions.update(imprecise_s=best.delay_s, imprecise_ci95_s=half)
            raise RefusedError(
                f"the motion says too little about its delay: {milliseconds(best.delay_s)} +- {milliseconds(half)} at 95 %, "
                f"wanted +- {milliseconds(MAX_CI95_S)}; "
                "record more motion, or faster motion"
            )
    except RefusedError as refused:
        return CalibrationResult.refuse(
            quantity, refused.reason, n=n, method=METHOD, alternatives=refused.alternatives, **conditions
        )
    return CalibrationResult(quantity, best.delay_s, half, len(record.t_s), METHOD, conditions)


def _interval(record: Record, best: Shift) -> tuple[float, float]:
    """Give the half-width of the 95 % interval, and by how much correlation inflates the variance."""
    slope = record.sensitivity(best)
    n = len(slope)
    variance = np.maximum(best.sse / max(n - 3, 1), 1e-18 * record.total / n)
    information = float((slope**2 / variance).sum())
    if information <= 0:
        raise RefusedError(
            "the motion says nothing about its delay, since a shift looks like a change of gain; record one that speeds up and "
            "slows down"
        )
    half, inflation = half_width(slope / information, best.residual, variance)
    return max(half, MIN_CI95_S), inflation


def _describe(record: Record, best: Shift, used: tuple[int, ...], width: int) -> dict[str, Any]:
    residual = np.sqrt(best.sse / len(record.t_s))
    described: dict[str, Any] = {
        "gain": best.gain,
        "offset": best.offset,
        "residual": residual,
        "r2": best.r2(record.total),
    }
    result: dict[str, Any] = {
        name: float(values[0]) if width == 1 else tuple(float(v) for v in values) for name, values in described.items()
    }
    if width > 1:
        result["columns"] = used
    result["window_s"] = float(record.t_s[-1] - record.t_s[0])
    return result


def pool_delays(results: Sequence[CalibrationResult], *, quantity: str | None = None) -> CalibrationResult:
    """Combine the delays of several joints or episodes, with the scatter between them, into one with an honest interval.

    Each result counts by its own variance plus the variance between results (DerSimonian and Laird 1986). Where results
    scatter more than their own intervals say, the interval of the mean is that of Hartung and Knapp. A result that was refused
    only because its interval is too wide counts with that wide interval; all others that were refused are left out.

    Args:
        results: Results of one quantity.
        quantity: Name of the pooled quantity; that of the first result when not given.

    Returns:
        The pooled value. ``conditions``: between_std_s, groups, refused (left out), imprecise (counted though refused).

    Raises:
        BadInput: there is no result at all, or they are of different quantities.
    """
    names = {result.quantity for result in results}
    if not results or (quantity is None and len(names) > 1):
        raise BadInput(f"pooling needs results of one quantity, not {sorted(names)}")
    name = quantity or results[0].quantity
    members: list[tuple[float, float, int]] = []
    imprecise = 0
    for r in results:
        if r.accepted and r.value is not None and r.ci95 is not None:
            members.append((r.value, r.ci95, r.n))
        elif "imprecise_s" in r.conditions:
            members.append((r.conditions["imprecise_s"], r.conditions["imprecise_ci95_s"], r.n))
            imprecise += 1
    refused = len(results) - len(members)
    if len(members) == imprecise:
        return CalibrationResult.refuse(
            name, f"none of {len(results)} results was accepted; the first: {results[0].reason}", n=0, method=POOL_METHOD
        )
    values, halves, counts = (np.array(column) for column in zip(*members, strict=True))
    fixed = 1 / np.maximum(halves / Z_975, 1e-9) ** 2
    groups = len(values)
    mean = float((fixed * values).sum() / fixed.sum())
    excess = float((fixed * (values - mean) ** 2).sum()) - (groups - 1)
    between = max(0.0, excess / float(fixed.sum() - (fixed**2).sum() / fixed.sum())) if groups > 1 else 0.0
    weight = 1 / (1 / fixed + between)
    pooled = float((weight * values).sum() / weight.sum())
    half = Z_975 / sqrt(float(weight.sum()))
    if between > 0:
        scatter = float((weight * (values - pooled) ** 2).sum()) / (groups - 1)
        half = max(half, t_quantile(groups - 1) * sqrt(scatter / float(weight.sum())))
    conditions = {"groups": groups, "refused": refused, "imprecise": imprecise, "between_std_s": sqrt(between)}
    return CalibrationResult(name, pooled, half, int(counts.sum()), POOL_METHOD, conditions)
