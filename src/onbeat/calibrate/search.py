"""Which shift fits best, and is it a delay at all? The search, and the checks that refuse."""

from math import ceil

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate.saturation import MIN_STALLED_SHARE, Stalls, find_saturation
from onbeat.calibrate.shift import Polyline, Record, Scan, Shift
from onbeat.calibrate.signals import RefusedError, Signals, milliseconds

__all__ = (
    "MIN_SAMPLES",
    "ambiguous",
    "at_end",
    "best_shift",
    "build_record",
    "check_alternatives",
    "check_ends",
    "check_saturation",
    "constant",
    "find_alternatives",
    "find_shift",
    "first_look",
    "shift_grid",
    "without_stalls",
)

FloatArray = NDArray[np.float64]

# Lags just below zero are looked at too, so that a measured motion that leads its command is seen as such.
LEAD_S = 0.03
COARSE_STEP_S = 0.004
EDGE_S = 2e-4
# The command is averaged over one of its own sample periods on each side, within these limits: see Polyline. Without it the
# joints of one real 30 Hz log come out at 122 or at 142 ms, and nothing in between.
SMOOTHING_S = (0.005, 0.04)
MIN_SAMPLES = 20
MIN_R2 = 0.95
# 99 % of chi-square with one degree of freedom.
CHI2_99 = 6.63
CONSTANT_SHARE = 1e-9


def build_record(signals: Signals, max_delay_s: float) -> tuple[Record, tuple[int, ...]]:
    """Choose the measured samples that can be compared at every shift, and the columns that move.

    Raises:
        RefusedError: the record is too short, or nothing moves.
    """
    window_s = float(np.clip(np.median(np.diff(signals.command_s)), *SMOOTHING_S))
    first, last = max_delay_s + window_s, float(signals.command_s[-1]) - LEAD_S - window_s
    inside = (signals.measured_s >= first) & (signals.measured_s <= last)
    if int(inside.sum()) < MIN_SAMPLES:
        raise RefusedError(
            f"too short: {int(inside.sum())} measured samples lie inside the command's "
            f"{milliseconds(float(signals.command_s[-1]))} once {milliseconds(max_delay_s)} of "
            f"past are set aside, and {MIN_SAMPLES} are needed; record longer, or narrow max_delay_s"
        )
    measured = signals.measured[inside]
    still = {
        name: constant(values)
        for name, values in (("command", signals.command[signals.command_s <= last]), ("measured motion", measured))
    }
    used = tuple(int(j) for j in np.flatnonzero(~still["command"]))
    if not used:
        raise RefusedError("the command is constant; a delay shows only in motion")
    dead = [j for j in used if still["measured motion"][j]]
    if dead:
        where = "" if len(still["command"]) == 1 else f" in column {dead[0]}"
        raise RefusedError(
            f"the measured motion is constant{where} while the command moves; the device did not move or is not read"
        )
    columns = list(used)
    return Record(
        Polyline(signals.command_s, signals.command[:, columns], window_s), signals.measured_s[inside], measured[:, columns]
    ), used


def constant(values: FloatArray) -> NDArray[np.bool_]:
    """Say which columns never move. Shape (width,)."""
    result: NDArray[np.bool_] = np.ptp(values, axis=0) <= CONSTANT_SHARE * np.maximum(np.abs(values).max(axis=0), 1e-300)
    return result


def first_look(record: Record, max_delay_s: float, least_r2: float) -> tuple[Shift, Scan]:
    """Find the shift of least squares.

    Raises:
        RefusedError: the response is inverted, or does not follow.
    """
    scan = record.scan(shift_grid(-LEAD_S, max_delay_s))
    best = best_shift(record, scan)
    _check_follows(record, scan, best, least_r2)
    return best, scan


def find_shift(record: Record, max_delay_s: float) -> tuple[Shift, Record, Scan, float]:
    """Find the best shift; leave out the time that a joint spent against an obstacle, and search again.

    Returns:
        The shift, the record and the scan that it rests on, and the share of time that was left out.

    Raises:
        RefusedError: the response is inverted, does not follow, or stops short too often.
    """
    scan = record.scan(shift_grid(-LEAD_S, max_delay_s))
    best = best_shift(record, scan)
    if not at_end(scan, best):
        stalls = Stalls.of(record.measured, best.predicted)
        if stalls.share >= MIN_STALLED_SHARE:
            if not stalls.few:
                _check_follows(record, scan, best, MIN_R2)
            rest = without_stalls(record, stalls)
            best, scan = first_look(rest, max_delay_s, MIN_R2)
            return best, rest, scan, stalls.share
    _check_follows(record, scan, best, MIN_R2)
    return best, record, scan, 0.0


def without_stalls(record: Record, stalls: Stalls) -> Record:
    """Leave out the time that a joint spent against an obstacle.

    Raises:
        RefusedError: there were too many stalls, or they took too long: that is a range that clips, not an obstacle.
    """
    if not stalls.few:
        raise RefusedError(
            f"saturated: the measured motion stands still {stalls.count} times, {stalls.share:.0%} of the time, "
            "while the command goes on; keep the motion inside what the hardware can reach"
        )
    return Record(record.path, record.t_s[~stalls.mask], record.measured[~stalls.mask])


def shift_grid(low_s: float, high_s: float) -> FloatArray:
    """Give the shifts at which a search begins, both ends among them."""
    return np.linspace(low_s, high_s, ceil((high_s - low_s) / COARSE_STEP_S) + 1)


def _minima(costs: FloatArray) -> list[int]:
    """Give the indices of local minima, ends included, best first."""
    padded = np.concatenate([[np.inf], costs, [np.inf]])
    found = np.flatnonzero((costs <= padded[:-2]) & (costs < padded[2:]))
    return sorted((int(k) for k in found), key=lambda k: float(costs[k]))


def _refine(record: Record, scan: Scan, k: int) -> Shift:
    return record.refine(float(scan.delays_s[max(k - 1, 0)]), float(scan.delays_s[min(k + 1, len(scan.delays_s) - 1)]))


def best_shift(record: Record, scan: Scan) -> Shift:
    """Find the shift of least squares."""
    candidates = [_refine(record, scan, k) for k in _minima(record.cost(scan.sse))[:3]]
    return min(candidates, key=lambda shift: shift.cost)


def at_end(scan: Scan, best: Shift) -> bool:
    """Say whether the best fit lies beyond the search; that is then what there is to be said, see check_ends."""
    return not scan.delays_s[0] + EDGE_S < best.delay_s < scan.delays_s[-1] - EDGE_S


def _check_follows(record: Record, scan: Scan, best: Shift, least_r2: float) -> None:
    r2 = best.r2(record.total)
    k = int(np.argmin(record.cost(scan.inverted_sse)))
    for j, left in enumerate(scan.inverted_sse[k] / record.total):
        if 1 - left > least_r2 and left < (1 - r2[j]) / 2:
            raise RefusedError(
                f"inverted: the measured motion follows the command with a negative gain (R2 {1 - left:.4f}; with a positive "
                f"one {r2[j]:.4f}); "
                "check the sign of the axis"
            )
    worst = int(np.argmin(r2))
    if r2[worst] < (least_r2 / 2 if at_end(scan, best) else least_r2):
        column = f" (column {worst})" if len(r2) > 1 else ""
        raise RefusedError(
            f"the measured motion does not follow the command{column}: the best shift, {milliseconds(best.delay_s)}, explains "
            f"R2 {r2[worst]:.3f} of it, "
            f"wanted {least_r2}; check that the device was engaged, and leave out columns that do not move"
        )


def check_ends(best: Shift, max_delay_s: float) -> None:
    """Refuse a best shift at the longest one looked for, at zero or below."""
    if best.delay_s >= max_delay_s - EDGE_S:
        raise RefusedError(f"the best shift is pinned at max_delay_s, {milliseconds(max_delay_s)}; widen it")
    if best.delay_s <= 0:
        more = " or more" if best.delay_s <= EDGE_S - LEAD_S else ""
        raise RefusedError(
            f"the measured motion leads the command by {milliseconds(-best.delay_s)}{more}: a negative delay means that the "
            "measurement did not track; "
            "check that both stamps are of one clock, that reads are stamped when they were true, and that the two signals are "
            "not swapped"
        )


def find_alternatives(record: Record, best: Shift, scan: Scan, inflation: float, *, first: int = 0) -> tuple[float, ...]:
    """Find the other shifts that the data cannot tell from the best one.

    Args:
        record: What is compared.
        best: The best shift, of this record or of its mirror image.
        scan: What the shifts of a grid leave unexplained.
        inflation: By how much correlation inflates the variance, at least 1.
        first: Index of the first shift of the grid that counts as a candidate.
    """
    n = len(record.t_s)
    step = float(scan.delays_s[1] - scan.delays_s[0])
    # What a path through samples can err by, (second difference) / 8, and a millionth of the signal.
    bend = (
        (np.diff(record.path.values, 2, axis=0) ** 2).mean(axis=0) / 64
        if len(record.path.values) > 2
        else np.zeros(len(best.gain))
    )
    limit = best.sse * (1 + CHI2_99 * inflation / n) + 4 * (n * best.gain**2 * bend + 1e-6 * record.total)
    worse = (scan.sse > limit).any(axis=1)
    others = []
    for k in _minima(record.cost(scan.sse)):
        if k < first or abs(float(scan.delays_s[k]) - best.delay_s) <= 2 * step:
            continue
        other = _refine(record, scan, k)
        low, high = sorted((best.delay_s, other.delay_s))
        between = (scan.delays_s > low) & (scan.delays_s < high)
        if (other.sse <= limit).all() and bool(worse[between].any()):
            others.append(other.delay_s)
    return tuple(others)


def ambiguous(shifts_s: tuple[float, ...]) -> RefusedError:
    """Build the refusal of shifts that fit equally well."""
    ordered = tuple(sorted(shifts_s))
    return RefusedError(
        f"ambiguous: the shifts {', '.join(milliseconds(d) for d in ordered)} fit equally well (a steady sine cannot "
        "tell a shift from one period more); "
        "narrow the search below one period, or use a motion of changing frequency",
        ordered,
    )


def check_alternatives(record: Record, best: Shift, scan: Scan, inflation: float) -> None:
    """Refuse a delay that has its like among the other shifts."""
    # The first shift of the grid is where the search begins, not a candidate.
    others = find_alternatives(record, best, scan, inflation, first=1)
    if others:
        raise ambiguous((*others, best.delay_s))


def check_saturation(record: Record, best: Shift, used: tuple[int, ...]) -> None:
    """Refuse a response that a capped speed or a clipped range explains."""
    for j in range(record.measured.shape[1]):
        found = find_saturation(record.path, record.t_s, record.measured[:, j], j, best.delay_s)
        if found is None:
            continue
        column = f" in column {used[j]}" if len(used) > 1 else ""
        if found.kind == "speed":
            raise RefusedError(
                f"saturated{column}: the hardware follows at no more than {found.limit:.3g} a second ({found.share:.0%} of the "
                "time), so the shift of "
                f"{milliseconds(best.delay_s)} is the speed limit's; sweep slower"
            )
        raise RefusedError(
            f"saturated{column}: the measured motion is clipped to {2 * found.limit:.3g} of the command's range "
            f"({found.share:.0%} of the time); sweep with a smaller amplitude"
        )
