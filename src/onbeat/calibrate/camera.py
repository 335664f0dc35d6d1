"""How old is a camera's picture when it arrives? From sightings of a code on a screen that carries its own instant."""

from math import hypot, isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.calibrate.result import CalibrationResult
from onbeat.errors import BadInput

__all__ = ("camera_latency",)

FloatArray = NDArray[np.float64]

METHOD = "changes of the code between two frames"
MIN_CODES = 10
COVERAGE_BINS = 10
MIN_PHASE_COVERAGE = 0.5
MAX_CI95_S = 0.008
MAX_SCATTER_S = 0.02
# A code that is drawn late keeps its predecessor on screen by so much longer.
LATE_DRAW_NS = 25_000_000
# Share of changes that may be anything: a stamp held up, a frame out of order.
OUTLIER_SHARE = 0.03
OUTLIER_DENSITY = 0.05
SCATTERS_S = np.geomspace(1e-4, MAX_SCATTER_S, 16)
SEARCH_S = 0.25


def camera_latency(
    payload_ns: ArrayLike,
    hold_ns: ArrayLike,
    receive_ns: ArrayLike,
    display_latency_s: float,
    *,
    display_ci95_s: float = 0.0,
    frames_seen: int | None = None,
) -> CalibrationResult:
    """Estimate a camera's receive latency: from the middle of the exposure to the stamp.

    Each time the screen changes from one code to the next, the last frame that shows the old code was exposed before the
    change and the first that shows the new one after it. So every change brackets the latency by one frame interval, at
    another place each time because the holds are random; the brackets, blurred by an unknown jitter and with a few that may
    be wrong, give the latency's posterior. No assumption on the number of sightings per code enters.

    Args:
        payload_ns: Instant carried by the code of each sighting, shape (n,), mapped to the clock of the stamps.
        hold_ns: How long that code stayed, shape (n,).
        receive_ns: Stamp of the frame, shape (n,).
        display_latency_s: From drawing to light, subtracted; about 1.5 refreshes when the screen is synchronised.
        display_ci95_s: Half-width of its 95 % interval; the result's interval contains it.
        frames_seen: All frames taken, read or not; for the message when there are no sightings, and the share read.

    Returns:
        The latency in s. ``conditions``: display_latency_s, display_ci95_s, statistical_ci95_s (without the display),
        codes, changes, phase_coverage (how evenly changes fell over the frame interval: 1 evenly, 0.1 in step),
        scatter_s (of one change), read_share.
        Refused: no code in view, too few codes, frames and codes in step (poor phase coverage), sightings that contradict
        each other, a display latency that is not a number, or a latency that comes out negative.

    Raises:
        BadInput: arrays that differ in shape.
    """
    payload, hold, receive = (np.asarray(values) for values in (payload_ns, hold_ns, receive_ns))
    if payload.ndim != 1 or payload.shape != hold.shape or payload.shape != receive.shape:
        raise BadInput(
            f"each sighting needs a payload, a hold and a receive stamp; shapes {payload.shape}, {hold.shape}, {receive.shape} "
            "do not fit"
        )
    n = len(payload)
    conditions: dict[str, object] = {"display_latency_s": display_latency_s, "display_ci95_s": display_ci95_s}
    if frames_seen is not None:
        conditions["read_share"] = n / frames_seen if frames_seen else 0.0

    def refuse(reason: str) -> CalibrationResult:
        return CalibrationResult("receive_latency", None, None, n, METHOD, conditions, "refused", reason)

    if not (isfinite(display_latency_s) and isfinite(display_ci95_s) and display_ci95_s >= 0):
        return refuse(
            f"the latency of the display must be known: {display_latency_s} +- {display_ci95_s} s is not; give 1.5 / refresh "
            "rate, or measure it"
        )
    if n == 0:
        seen = "no frames" if frames_seen is None else f"0 of {frames_seen} frames"
        return refuse(
            f"no code in view: {seen} could be read; point the camera at the screen, fill a third of the picture with the "
            "code, and focus"
        )
    codes = np.unique(payload)
    conditions["codes"] = len(codes)
    if len(codes) < MIN_CODES:
        return refuse(
            f"too few codes: {len(codes)} different ones in {n} sightings, and {MIN_CODES} are needed; record longer, or check "
            "that the screen is refreshing"
        )
    origin = int(codes[0])
    lower, upper = _brackets(payload.astype(np.int64) - origin, hold.astype(np.int64), receive.astype(np.int64) - origin)
    conditions["changes"] = len(lower)
    value, half, scatter = _posterior(lower - display_latency_s, upper - display_latency_s)
    closed = np.isfinite(lower) & (upper > lower)
    coverage = _coverage((value + display_latency_s - lower[closed]) / (upper - lower)[closed] % 1.0)
    conditions.update(phase_coverage=coverage, scatter_s=scatter, statistical_ci95_s=half)
    if scatter > 0.8 * MAX_SCATTER_S:
        return refuse(
            f"the sightings contradict each other: changes of the code scatter by {scatter * 1e3:.0f} ms or more; check that "
            "screen and camera share one clock, and that holds are those shown"
        )
    if half > MAX_CI95_S or coverage < MIN_PHASE_COVERAGE:
        return refuse(
            f"poor phase coverage: changes of the code fell on {coverage:.0%} of the frame interval, which leaves +- "
            f"{half * 1e3:.1f} ms (wanted {MIN_PHASE_COVERAGE:.0%} and +- {MAX_CI95_S * 1e3:.0f} ms); "
            "vary the holds at random, or record longer"
        )
    if value < 0:
        return refuse(
            f"the latency comes out negative, {value * 1e3:.1f} ms: stamps are corrected already, clocks differ, or the "
            f"display latency of {display_latency_s * 1e3:.1f} ms is too long"
        )
    return CalibrationResult("receive_latency", value, hypot(half, display_ci95_s), n, METHOD, conditions)


def _brackets(payload: NDArray[np.int64], hold: NDArray[np.int64], receive: NDArray[np.int64]) -> tuple[FloatArray, FloatArray]:
    """Bracket (latency + display latency) at each change of the code: least and greatest, s; infinite where nothing bounds it."""
    start, index = np.unique(payload, return_inverse=True)
    count = len(start)
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, np.iinfo(np.int64).min)
    end = np.zeros(count, dtype=np.int64)
    np.minimum.at(first, index, receive)
    np.maximum.at(last, index, receive)
    end[index] = payload + hold
    lower, upper = [], []
    for k in range(count):
        before = last[k - 1] if k else None
        follows = bool(k) and abs(int(start[k] - end[k - 1])) <= LATE_DRAW_NS
        lower.append((int(before) - int(start[k])) / 1e9 if before is not None else -np.inf)
        upper.append((int(first[k]) - int(start[k])) / 1e9)
        if k and not follows:
            # A code in between was never seen: the end of the one before is a change of its own.
            lower.append((int(last[k - 1]) - int(end[k - 1])) / 1e9)
            upper.append((int(first[k]) - int(end[k - 1])) / 1e9)
    return np.array(lower), np.array(upper)


def _posterior(lower: FloatArray, upper: FloatArray) -> tuple[float, float, float]:
    """Give mean, half-width of the central 95 % and mean scatter; flat priors on the latency and on the log of the scatter."""
    middle = (lower + upper) / 2
    centre = float(np.median(middle[np.isfinite(middle)])) if np.isfinite(middle).any() else float(np.median(upper))
    reach, points = SEARCH_S, 501
    for _ in range(3):
        grid = centre + np.linspace(-reach, reach, points)
        log = np.zeros((len(SCATTERS_S), points))
        for i, scatter in enumerate(SCATTERS_S):
            inside = _logistic((upper[:, None] - grid) / scatter) - _logistic((lower[:, None] - grid) / scatter)
            # A stamp that was held up can turn a bracket round; it then speaks only as an outlier.
            log[i] = np.log((1 - OUTLIER_SHARE) * np.maximum(inside, 0.0) + OUTLIER_SHARE * OUTLIER_DENSITY).sum(axis=0)
        weight = np.exp(log - log.max())
        density = weight.sum(axis=0)
        density /= density.sum()
        mean = float(density @ grid)
        mass = np.cumsum(density)
        low, high = float(np.interp(0.025, mass, grid)), float(np.interp(0.975, mass, grid))
        scatter_mean = float((weight.sum(axis=1) @ SCATTERS_S) / weight.sum())
        centre = mean
        reach = max(3 * max(high - mean, mean - low), 2e-4)
    # The logistic's standard deviation is 1.81 of its scale.
    return mean, max(high - mean, mean - low), scatter_mean * np.pi / np.sqrt(3)


def _logistic(z: FloatArray) -> FloatArray:
    result: FloatArray = 0.5 * (1 + np.tanh(0.5 * z))
    return result


def _coverage(places: FloatArray) -> float:
    """Give the effective share of ten bins of the frame interval that changes fell in: 1 when spread evenly, 0.1 when in step.

    Simpson's index, free of bias for small numbers, so that a few stray changes do not pass for a spread.
    """
    n = len(places)
    if n < 2:
        return 0.0
    counts = np.bincount(np.minimum((places * COVERAGE_BINS).astype(np.int64), COVERAGE_BINS - 1), minlength=COVERAGE_BINS)
    together = float((counts * (counts - 1)).sum()) / (n * (n - 1))
    return min(1.0, 1 / (COVERAGE_BINS * max(together, 1 / COVERAGE_BINS)))
