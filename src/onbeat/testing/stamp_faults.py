"""What goes wrong where a stamp is taken? At delivery, in batches, on the neighbour, rounded, or at an end of the exposure.

Each fault says which times move. Where a sample is held back, both do: it is logged later, and stamped then.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.testing.planting import Change, Fault, Parameters, Seen

__all__ = ("STAMP_FAULTS",)

_READ_NS = 50_000  # from a sample's arrival in the driver to its log time, where the stamp is taken at arrival
_LOGGED_APART_NS = 2_000
_CONTENT = ("value", "digest", "exposure_ns", "seq")


def _stamped_at_delivery(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """A transport holds each sample for delay_s plus an exponential wait of mean jitter_s, and the host stamps it when it comes:
    log times move, and the stamp is the log time less what the driver takes.
    """
    latest = seen.first_ns

    def change(rows: NDArray[Any], first: int) -> NDArray[Any]:
        nonlocal latest
        waits_s = given["delay_s"] + rng.exponential(given["jitter_s"], len(rows))
        moved: NDArray[Any] = rows.copy()
        arrival_ns = np.maximum.accumulate(np.maximum(rows["log_ns"] + _ns(waits_s), latest))
        latest = int(arrival_ns[-1]) if len(rows) else latest
        moved["log_ns"] = arrival_ns
        moved["stamp_ns"] = arrival_ns - _READ_NS
        return moved

    return change


def _draw_delivery(seen: Seen, rng: np.random.Generator) -> Parameters:
    return {"delay_s": rng.uniform(0.03, 0.12), "jitter_s": rng.uniform(0.15, 0.4) * max(seen.period_s, 0.01)}


def _told_delivery(seen: Seen, given: Parameters, rng: np.random.Generator) -> Parameters:
    # Of an exponential wait the median is ln 2 of its mean.
    return {"late_s": given["delay_s"] + given["jitter_s"] * float(np.log(2)) + (seen.latency_ns - _READ_NS) / 1e9}


def _bursts(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """The source fills a queue that is read every samples periods; what came in between is delivered at once, stamped with that
    moment, each apart_s after the one before: both times move.
    """
    every_ns = round(given["samples"] * seen.period_ns)
    zero_ns = seen.first_ns - int(rng.integers(every_ns))
    spikes_ns = _ns(rng.exponential(given["jitter_s"], 4096))
    apart_ns = round(given["apart_s"] * 1e9)
    last_turn, place = -1, 0

    def change(rows: NDArray[Any], first: int) -> NDArray[Any]:
        nonlocal last_turn, place
        if not len(rows):
            return rows
        turn = np.maximum.accumulate((rows["log_ns"] - zero_ns) // every_ns)
        fresh = np.diff(turn, prepend=last_turn) != 0
        index = np.arange(len(rows))
        began = np.maximum.accumulate(np.where(fresh, index, -place))
        places = index - began
        last_turn, place = int(turn[-1]), int(places[-1]) + 1
        read_ns = zero_ns + (turn + 1) * every_ns + np.minimum(spikes_ns[turn % len(spikes_ns)], every_ns // 2)
        moved: NDArray[Any] = rows.copy()
        moved["stamp_ns"] = read_ns + places * apart_ns
        moved["log_ns"] = read_ns + places * np.maximum(apart_ns, _LOGGED_APART_NS) + _READ_NS
        return moved

    return change


def _draw_bursts(seen: Seen, rng: np.random.Generator) -> Parameters:
    return {
        "samples": float(rng.integers(4, 33)),
        "apart_s": float(rng.choice([0.0, 0.0, 5e-6, 2e-5])),
        "jitter_s": rng.uniform(0.02, 0.1) * seen.period_s,
    }


def _told_bursts(seen: Seen, given: Parameters, rng: np.random.Generator) -> Parameters:
    return {"every_s": given["samples"] * seen.period_s, "oldest_late_s": (given["samples"] - 1) * seen.period_s}


def _one_period_late(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """Periods +1: the driver hands a sample on when the next one comes, with the next one's times: content moves on by one row.
    periods -1: the driver writes the stamp of the sample before: stamps move on by one row, log times stay.
    """
    held: NDArray[Any] | None = None

    def change(rows: NDArray[Any], first: int) -> NDArray[Any]:
        nonlocal held
        joined = rows if held is None else np.concatenate([held, rows])
        held = rows[-1:].copy() if len(rows) else held
        moved: NDArray[Any] = joined[1:].copy()
        for field in _CONTENT if given["periods"] > 0 else ("stamp_ns",):
            if field in seen.fields:
                moved[field] = joined[:-1][field]
        return moved

    return change


def _told_one_period(seen: Seen, given: Parameters, rng: np.random.Generator) -> Parameters:
    return {"late_s": given["periods"] * seen.period_s}


def _quantised_stamps(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """Stamps are rounded to ticks of tick_s: cut off (nearest 0), or to the nearest one (nearest 1). With uptime_s above 0 they
    are seconds since the boot in a float of 32 bits, that many at the first row: the tick is the float's. Log times stay.
    """
    tick_ns = round(given["tick_s"] * 1e9)
    uptime_ns = round(given["uptime_s"] * 1e9)

    def change(rows: NDArray[Any], first: int) -> NDArray[Any]:
        moved: NDArray[Any] = rows.copy()
        if uptime_ns:
            since_ns = rows["stamp_ns"] - (seen.first_ns - uptime_ns)
            rounded_s = (since_ns / 1e9).astype(np.float32).astype(np.float64)
            moved["stamp_ns"] += _ns(rounded_s) - since_ns
        else:
            moved["stamp_ns"] = (rows["stamp_ns"] + (tick_ns // 2 if given["nearest"] else 0)) // tick_ns * tick_ns
        return moved

    return change


def _draw_quantised(seen: Seen, rng: np.random.Generator) -> Parameters:
    # Of the usual ticks one that is a good part of the period, and below it: stamps stay different.
    ticks_s = [tick for tick in (1e-3, 2e-3, 4e-3, 5e-3, 0.01, 0.02) if 0.1 * seen.period_s < tick < 0.9 * seen.period_s] or [
        seen.period_s / 4
    ]
    if rng.random() < 0.3:
        # The last 2^k s below the period whose float has such ticks: 24 bits of mantissa.
        uptime_s = float(2.0 ** (np.floor(np.log2(0.9 * seen.period_s)) + 23) * rng.uniform(1.0, 1.9))
        return {"tick_s": _float_tick(uptime_s), "nearest": 1.0, "uptime_s": uptime_s}
    return {"tick_s": float(rng.choice(ticks_s)), "nearest": float(rng.integers(2)), "uptime_s": 0.0}


def _told_quantised(seen: Seen, given: Parameters, rng: np.random.Generator) -> Parameters:
    return {"tick_s": _float_tick(given["uptime_s"])} if given["uptime_s"] else {}


def _float_tick(value: float) -> float:
    return float(np.spacing(np.float32(value)))


def _exposure_shift(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """Stamps are taken at the beginning (place -0.5) or at the end (place 0.5) of the exposure, instead of in its middle: stamps
    move by that share of each frame's exposure, log times stay.
    """

    def change(rows: NDArray[Any], first: int) -> NDArray[Any]:
        moved: NDArray[Any] = rows.copy()
        moved["stamp_ns"] += _ns(given["place"] * rows["exposure_ns"] / 1e9)
        return moved

    return change


def _ns(seconds: Any) -> NDArray[np.int64]:
    return np.asarray(np.rint(np.asarray(seconds) * 1e9), dtype=np.int64)


STAMP_FAULTS = {
    "stamped_at_delivery": Fault(_draw_delivery, _stamped_at_delivery, best=("image",), told=_told_delivery),
    "bursts": Fault(_draw_bursts, _bursts, best=("rotation", "joints"), told=_told_bursts),
    "one_period_late": Fault(
        lambda seen, rng: {"periods": float(rng.choice([-1.0, 1.0]))},
        _one_period_late,
        ("stamp_ns", "value"),
        best=("rotation", "pose"),
        told=_told_one_period,
    ),
    "quantised_stamps": Fault(_draw_quantised, _quantised_stamps, ("stamp_ns",), told=_told_quantised),
    "exposure_shift": Fault(
        lambda seen, rng: {"place": float(rng.choice([-0.5, 0.5]))}, _exposure_shift, ("stamp_ns", "log_ns", "exposure_ns")
    ),
}
