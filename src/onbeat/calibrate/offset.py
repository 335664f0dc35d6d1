"""How far apart are the stamps of two sensors that see the same motion? Least squares over the shift, and what it refuses."""

from dataclasses import replace
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.calibrate.interval import half_width
from onbeat.calibrate.result import CalibrationResult
from onbeat.calibrate.search import MIN_SAMPLES, ambiguous, at_end, best_shift, constant, find_alternatives, shift_grid
from onbeat.calibrate.shift import Polyline, Record, Scan, Shift, golden_section
from onbeat.calibrate.signals import RefusedError, Signals, milliseconds, read_signals
from onbeat.errors import BadInput

__all__ = ("estimate_offset",)

FloatArray = NDArray[np.float64]

METHOD = "least-squares shift of the fast stream at the slow stamps, gain and level free"

# Resolution of stamps and of the search.
MIN_CI95_S = 1e-5
MAX_CI95_S = 0.01
# Unrelated motions reach 0.7 by chance when they are slow and short; 30 % of noise in both streams still leaves 0.85.
MIN_R2 = 0.8
# The fast stream is averaged over 1, 2, 4, ... of its periods on each side, up to this long: whichever leaves least unexplained.
# One period keeps the most of a fast motion; but noise then passes 4 % more on the samples than halfway between them, which
# pulls the shift. Two are always tried.
MAX_SMOOTHING_S = 0.1
FIRST_PERIODS = 2.0
WINDOW_TOLERANCE_S = 1e-4
# A line across a longer hole in the fast stream is invention.
GAP_PERIODS = 5.0


def estimate_offset(
    a_t_ns: ArrayLike,
    a: ArrayLike,
    b_t_ns: ArrayLike,
    b: ArrayLike,
    max_offset_s: float = 0.5,
    *,
    allow_inverted: bool = False,
    quantity: str = "offset",
) -> CalibrationResult:
    """Estimate the offset between the stamps of two sensors that see the same motion: ``t_a = t_b + value``.

    Add the value to a stamp of ``b`` to have it on the time line of ``a``; it may be negative. The faster stream, averaged over
    a few of its samples, is evaluated at the shifted stamps of the slower one, with the best gain and level at each shift;
    nothing is resampled onto a common grid, which would shift the result by up to 0.2 ms. Exchanging the two streams changes the
    sign.

    Args:
        a_t_ns: Instants of the samples of ``a``, strictly increasing. Shape (n,), int64.
        a: Scalar readings, finite, in any unit. Shape (n,) or (n, 1).
        b_t_ns: Instants of the samples of ``b``, on a clock that agrees with that of ``a`` to ``max_offset_s``. Shape (m,).
        b: The same motion seen by the other sensor. Shape (m,) or (m, 1). Rates may differ and be irregular.
        max_offset_s: Greatest offset looked for, of either sign, s. So much at both ends of the fast stream is set aside.
        allow_inverted: Accept a negative gain. Refused otherwise, as axes that point opposite ways are a finding of their own.
        quantity: Name of what is measured, for the result.

    Returns:
        The offset in s with the half-width of its 95 % interval, which allows for noise in both streams and for residuals that
        are correlated in time. ``conditions``: gain and level (``a = gain * b + level``), residual (rms, in the unit of the
        slower stream), r2, fast ("a" or "b"), window_s, smoothing_s, gap_share (slow samples that fell into holes of the fast
        stream, left out), max_offset_s.
        Refused, with the reason in words and numbers, when a stream is constant, not finite, not sorted or too short, when the
        two overlap too little, are inverted or unrelated (R2 below 0.8), when the best shift lies at an end of the search, when
        other shifts fit as well (``alternatives``), and when the interval is wider than 10 ms.

    Raises:
        BadInput: shapes do not fit, streams are not scalar, or ``max_offset_s`` is not positive.
    """
    if not isfinite(max_offset_s) or max_offset_s <= 0:
        raise BadInput(f"max_offset_s must be a positive number of seconds, not {max_offset_s}")
    n = 0
    conditions: dict[str, Any] = {"max_offset_s": max_offset_s}
    sign = 1.0
    try:
        signals = read_signals(b_t_ns, b, a_t_ns, a, names=("b", "a"), repeats=False)
        n = min(len(signals.command), len(signals.measured))
        if signals.command.shape[1] != 1:
            raise BadInput(
                f"an offset is between scalar streams, not {signals.command.shape[1]} columns; give one axis or a norm"
            )
        fast = "b" if _period(signals.command_s) <= _period(signals.measured_s) else "a"
        # Below, the slow stream trails the fast one by a shift: t_slow = t_fast + shift, docs/notation.md.
        if fast == "a":
            sign = -1.0
            signals = Signals(signals.measured_s, signals.measured, signals.command_s, signals.command)
        conditions["fast"] = fast
        record = _record(signals, fast, max_offset_s)
        n = len(record.t_s)
        shifts = shift_grid(-max_offset_s, max_offset_s)
        record, conditions["gap_share"] = _without_holes(record, shifts, allow_inverted=allow_inverted)
        n = len(record.t_s)
        record, best, scan, mirrored = _find(record, shifts, allow_inverted=allow_inverted)
        conditions.update(_describe(record, best, fast, mirrored=mirrored))
        half, inflation = _interval(record, best)
        _check_alternatives(record, best, scan, inflation, sign, both_signs=allow_inverted)
        if half > MAX_CI95_S:
            conditions.update(imprecise_s=sign * best.delay_s, imprecise_ci95_s=half)
            raise RefusedError(
                f"the motion says too little about the offset: {milliseconds(sign * best.delay_s)} +- {milliseconds(half)} at "
                f"95 %, wanted +- {milliseconds(MAX_CI95_S)}; record more motion, or faster motion"
            )
    except RefusedError as refused:
        return CalibrationResult.refuse(
            quantity, refused.reason, n=n, method=METHOD, alternatives=refused.alternatives, **conditions
        )
    return CalibrationResult(quantity, sign * best.delay_s, half, n, METHOD, conditions)


def _period(times_s: FloatArray) -> float:
    return float(np.median(np.diff(times_s)))


def _windows(period_s: float) -> list[float]:
    """Give the half-lengths of the averages that are tried."""
    longest_s = max(MAX_SMOOTHING_S, FIRST_PERIODS * period_s)
    return [period_s * 2**k for k in range(int(np.log2(longest_s / period_s) + 1e-9) + 1)]


def _record(signals: Signals, fast: str, max_offset_s: float) -> Record:
    """Choose the slow samples that lie inside the fast stream at every shift."""
    slow = "a" if fast == "b" else "b"
    period = _period(signals.command_s)
    margin = max_offset_s + max(_windows(period))
    start, end = float(signals.command_s[0]), float(signals.command_s[-1])
    slow_start, slow_end = float(signals.measured_s[0]), float(signals.measured_s[-1])
    shared = min(end, slow_end) - max(start, slow_start)
    for name, length in ((fast, end - start), (slow, slow_end - slow_start)):
        if length <= 2 * margin:
            raise RefusedError(
                f"too short: {name} lasts {milliseconds(length)}, and {milliseconds(2 * margin)} go to the search alone; record "
                "longer, or narrow max_offset_s"
            )
    if shared <= 2 * margin:
        raise RefusedError(
            f"too little overlap: a and b share {milliseconds(max(shared, 0.0))}"
            f"{'' if shared > 0 else f' and lie {-shared:.3f} s apart'}, and {milliseconds(2 * margin)} go to the search alone; "
            "give streams of the same time, on clocks that roughly agree"
        )
    inside = (signals.measured_s >= start + margin) & (signals.measured_s <= end - margin)
    _check_count(int(inside.sum()), f"once {milliseconds(margin)} are set aside at both ends")
    measured = signals.measured[inside]
    for name, values in ((fast, signals.command), (slow, measured)):
        if constant(values).any():
            raise RefusedError(f"{name} is constant; an offset shows only in motion that both sensors see")
    return Record(Polyline(signals.command_s, signals.command, FIRST_PERIODS * period), signals.measured_s[inside], measured)


def _check_count(count: int, where: str) -> None:
    if count < MIN_SAMPLES:
        raise RefusedError(
            f"too short: {count} samples of the slow stream lie inside the fast one {where}, and {MIN_SAMPLES} are needed; "
            "record longer, or narrow max_offset_s"
        )


def _find(record: Record, shifts_s: FloatArray, *, allow_inverted: bool) -> tuple[Record, Shift, Scan, bool]:
    """Find the best shift, the smoothing that suits it, and whether the slow stream had to be mirrored for it.

    Raises:
        RefusedError: the streams are inverted or unrelated, or the best shift lies at an end.
    """
    scan = record.scan(shifts_s)
    best = best_shift(record, scan)
    total, mirrored = float(record.total[0]), False
    if allow_inverted:
        mirror, mirror_scan = _mirror(record, scan)
        other = best_shift(mirror, mirror_scan)
        if other.cost < best.cost:
            record, best, scan, mirrored = mirror, other, mirror_scan, True
    else:
        # Half a period of a sine looks like a change of sign: only a clearly better fit says that an axis is inverted.
        left, right = float(scan.inverted_sse.min()) / total, float(best.sse[0]) / total
        if left < min(1 - MIN_R2, right / 2):
            raise RefusedError(
                f"inverted: the streams agree with a negative gain (R2 {1 - left:.4f}; with a positive one {1 - right:.4f}); "
                "check the sign of the axis, or pass allow_inverted=True"
            )
    step = float(shifts_s[1] - shifts_s[0])
    low, high = (float(np.clip(best.delay_s + side * step, shifts_s[0], shifts_s[-1])) for side in (-1, 1))
    period = _period(record.path.times_s)
    candidates = [
        Record(Polyline(record.path.times_s, record.path.values, window_s), record.t_s, record.measured)
        for window_s in _windows(period)
    ]
    smoothed = min(candidates, key=lambda candidate: _least_cost(candidate, low, high))
    if smoothed.path.window_s != record.path.window_s:
        record = smoothed
        scan = record.scan(shifts_s)
        best = best_shift(record, scan)
    r2, pinned = float(best.r2(record.total)[0]), at_end(scan, best)
    if r2 < (MIN_R2 / 2 if pinned else MIN_R2):
        raise RefusedError(
            f"unrelated: the best shift explains R2 {r2:.3f} of the slow stream by the fast one, wanted {MIN_R2}; check that "
            "both sensors see the same motion, or move more than their noise"
        )
    if pinned:
        raise RefusedError(
            f"the best shift is pinned at an end of the search, {milliseconds(float(shifts_s[-1]))} of either sign; widen "
            "max_offset_s"
        )
    return record, best, scan, mirrored


def _least_cost(record: Record, low_s: float, high_s: float) -> float:
    return record.fit(golden_section(lambda d: record.fit(d).cost, low_s, high_s, WINDOW_TOLERANCE_S)).cost


def _mirror(record: Record, scan: Scan) -> tuple[Record, Scan]:
    """Turn the slow stream upside down; what the scan says of negative gains is then said of positive ones."""
    return Record(record.path, record.t_s, -record.measured), replace(scan, sse=scan.inverted_sse, inverted_sse=scan.sse)


def _without_holes(record: Record, shifts_s: FloatArray, *, allow_inverted: bool) -> tuple[Record, float]:
    """Leave out the slow samples that rest on a line across a hole of the fast stream, at the shift that fits best so far.

    Returns:
        The rest, and the share that was left out.

    Raises:
        RefusedError: hardly anything is left.
    """
    times_s, period = record.path.times_s, _period(record.path.times_s)
    holes = np.concatenate([[0], np.cumsum(np.diff(times_s) > GAP_PERIODS * period)])
    if holes[-1] == 0:
        return record, 0.0
    scan = record.scan(shifts_s)
    found = [best_shift(record, scan)] + ([best_shift(*_mirror(record, scan))] if allow_inverted else [])
    at_s = record.t_s - min(found, key=lambda shift: shift.cost).delay_s
    window_s = max(_windows(period))
    before = np.searchsorted(times_s, at_s - window_s, side="right") - 1
    after = np.searchsorted(times_s, at_s + window_s, side="left")
    apart = holes[np.clip(before, 0, None)] == holes[np.clip(after, None, len(times_s) - 1)]
    _check_count(int(apart.sum()), "and outside its holes")
    return Record(record.path, record.t_s[apart], record.measured[apart]), float(1 - apart.mean())


def _interval(record: Record, best: Shift) -> tuple[float, float]:
    """Give the half-width of the 95 % interval, and by how much correlation inflates the variance."""
    n = len(record.t_s)
    slope = record.sensitivity(best)
    variance = np.maximum(best.sse / max(n - 3, 1), 1e-18 * record.total / n)
    information = float((slope**2).sum())
    if information <= 0:
        raise RefusedError("the motion says nothing about the offset, since other shifts fit alike; record a livelier one")
    half, inflation = half_width(slope * variance / information, best.residual, variance)
    for _ in range(3):
        # Noise makes the fast stream steeper than the motion, which says nothing. The misfit's growth away from the best shift
        # has no such excess, but within the interval it is rough, and the best shift is the bottom of a dent. So: the smaller
        # of the two, and the growth over no less than the interval.
        step_s = max(half, record.path.window_s / 8)
        grown = sum(record.fit(best.delay_s + side * step_s).sse for side in (-1, 1)) - 2 * best.sse
        curvature = max(float(grown[0]) / (2 * step_s**2), 1e-6 * information)
        half, inflation = half_width(slope * variance / min(information, curvature), best.residual, variance)
        if not step_s < half <= MAX_CI95_S:
            break
    return max(half, MIN_CI95_S), inflation


def _check_alternatives(record: Record, best: Shift, scan: Scan, inflation: float, sign: float, *, both_signs: bool) -> None:
    others = find_alternatives(record, best, scan, inflation)
    if both_signs:
        mirror, mirror_scan = _mirror(record, scan)
        others += find_alternatives(mirror, best, mirror_scan, inflation)
    if others:
        raise ambiguous(tuple(sign * shift for shift in (*others, best.delay_s)))


def _describe(record: Record, best: Shift, fast: str, *, mirrored: bool) -> dict[str, Any]:
    gain, level = float(best.gain[0]), float(best.offset[0])
    if mirrored:
        gain, level = -gain, -level
    if fast == "a":
        gain, level = 1 / gain, -level / gain
    return {
        "gain": gain,
        "level": level,
        "residual": float(np.sqrt(best.sse[0] / len(record.t_s))),
        "r2": float(best.r2(record.total)[0]),
        "window_s": float(record.t_s[-1] - record.t_s[0]),
        "smoothing_s": record.path.window_s,
    }
