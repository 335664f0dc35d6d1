"""What do faulty clocks do to stamps? Here the source's clock moves and the recorder's does not: stamps change, log times stay.

Each fault is a function of time: what the faulty clock shows more than the good one. Positive: it is ahead.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.testing.planting import Change, Fault, Parameters, Seen

__all__ = ("CLOCK_FAULTS",)

FloatArray = NDArray[np.float64]
Warp = Callable[[FloatArray, Parameters], FloatArray]
_PPM = 1e-6
_LEAPS_S = (37.0, 18.0, -37.0, -18.0)  # TAI and GPS time are ahead of UTC by 37 s and 18 s since 2017
_COUNTERS = ((32, 1e-6), (32, 1e-9), (24, 1e-6), (32, 1e-7))  # bits, s: us and ns counters, and 100 ns ones


def _skew(t_s: FloatArray, given: Parameters) -> FloatArray:
    """The source's crystal runs fast by skew_ppm, and nobody corrects it."""
    return given["skew_ppm"] * _PPM * t_s


def _draw_skew(seen: Seen, rng: np.random.Generator) -> Parameters:
    return {"skew_ppm": _sign(rng) * max(_log_uniform(rng, 20, 150), 2e-3 / seen.span_s / _PPM)}


def _step(t_s: FloatArray, given: Parameters) -> FloatArray:
    """At at_s somebody sets the source's clock: it jumps by step_s and goes on at the same rate."""
    return np.where(t_s >= given["at_s"], given["step_s"], 0.0)


def _draw_step(seen: Seen, rng: np.random.Generator) -> Parameters:
    return {"step_s": _sign(rng) * _log_uniform(rng, 5e-3, 0.2), "at_s": seen.span_s * rng.uniform(0.25, 0.75)}


def _slew(t_s: FloatArray, given: Parameters) -> FloatArray:
    """A daemon corrects the source's clock by letting it run at another rate, by slew_ppm, from from_s on for for_s."""
    return given["slew_ppm"] * _PPM * np.clip(t_s - given["from_s"], 0, given["for_s"])


def _draw_slew(seen: Seen, rng: np.random.Generator) -> Parameters:
    length_s = seen.span_s * rng.uniform(0.1, 0.3)
    rate = max(rng.uniform(400, 800), 4e-3 / length_s / _PPM)
    return {"slew_ppm": _sign(rng) * rate, "from_s": seen.span_s * rng.uniform(0.2, 0.5), "for_s": length_s}


def _rate_flips(t_s: FloatArray, given: Parameters) -> FloatArray:
    """A servo cannot hold the source's clock: it runs by rate_ppm fast and then as much slow, each for every_s."""
    turn = (t_s + given["phase_s"]) / given["every_s"]
    return (
        given["rate_ppm"]
        * _PPM
        * given["every_s"]
        * (_triangle(turn) - _triangle(np.asarray(given["phase_s"] / given["every_s"])))
    )


def _triangle(turn: FloatArray) -> FloatArray:
    """Rise by 1 in each even unit and fall by 1 in each odd one."""
    return np.asarray(1 - np.abs(np.mod(turn, 2) - 1))


def _draw_rate_flips(seen: Seen, rng: np.random.Generator) -> Parameters:
    every_s = seen.span_s / rng.uniform(5, 9)
    rate = max(rng.uniform(80, 200), 2e-3 / every_s / _PPM)
    return {"rate_ppm": rate, "every_s": every_s, "phase_s": rng.uniform(0, 2 * every_s)}


def _reference_died(t_s: FloatArray, given: Parameters) -> FloatArray:
    """The daemon that held the source's clock stops at at_s; from then on the crystal runs free, fast by rate_ppm."""
    return given["rate_ppm"] * _PPM * np.maximum(t_s - given["at_s"], 0)


def _draw_reference_died(seen: Seen, rng: np.random.Generator) -> Parameters:
    at_s = seen.span_s * rng.uniform(0.3, 0.6)
    rate = max(_log_uniform(rng, 20, 150), 3e-3 / (seen.span_s - at_s) / _PPM)
    return {"rate_ppm": _sign(rng) * rate, "at_s": at_s}


def _drift(t_s: FloatArray, given: Parameters) -> FloatArray:
    """The source warms up: its clock's rate grows by drift_ppm_per_s, so that the offset is a parabola."""
    return 0.5 * given["drift_ppm_per_s"] * _PPM * t_s**2


def _draw_drift(seen: Seen, rng: np.random.Generator) -> Parameters:
    # A board that warms up does 0.03 ppm/s; what stands less than 0.5 ms above its chord (a T^2 / 8) is lost in any transport.
    return {"drift_ppm_per_s": _sign(rng) * max(_log_uniform(rng, 0.03, 0.3), 8 * 0.5e-3 / seen.span_s**2 / _PPM)}


def _ahead(t_s: FloatArray, given: Parameters) -> FloatArray:
    """The source maps its clock to the host's by a constant that is too large: every stamp is ahead_s ahead."""
    return np.full_like(t_s, given["ahead_s"])


def _draw_ahead(seen: Seen, rng: np.random.Generator) -> Parameters:
    return {"ahead_s": seen.latency_ns / 1e9 + _log_uniform(rng, 0.03, 0.5)}


def _tai_utc(t_s: FloatArray, given: Parameters) -> FloatArray:
    """A PTP or GPS receiver stamps in a scale without leap seconds: leap_s ahead of UTC; below 0 the recorder does."""
    return np.full_like(t_s, given["leap_s"])


def _two_clocks(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """The source stamps with the time since its boot, uptime_s at its first row, and the recorder logs wall time."""
    shift_ns = round(given["uptime_s"] * 1e9) - seen.first_ns
    return lambda rows, first: _moved(rows, shift_ns)


def _wrap(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
    """The source counts ticks of tick_s in so many bits, and its driver does not unwrap them: at at_s, and a whole turn later
    again, stamps fall by 2^bits ticks. They are whole ticks.
    """
    tick_ns = round(given["tick_s"] * 1e9)
    turn_ns = tick_ns << int(given["bits"])
    wrap_ns = seen.first_ns + round(given["at_s"] * 1e9)

    def change(rows: NDArray[Any], first: int) -> NDArray[Any]:
        counted = rows["stamp_ns"] - wrap_ns
        whole = counted // tick_ns * tick_ns
        # What is before the first wrap stays; each turn after it begins anew.
        return _moved(rows, whole - counted - turn_ns * (np.maximum(counted, -1) // turn_ns + 1))

    return change


def _draw_wrap(seen: Seen, rng: np.random.Generator) -> Parameters:
    bits, tick_s = _COUNTERS[rng.integers(len(_COUNTERS))]
    turn_s = tick_s * 2**bits
    return {"bits": float(bits), "tick_s": tick_s, "at_s": min(seen.span_s, turn_s) * rng.uniform(0.2, 0.8)}


def _told_wrap(seen: Seen, given: Parameters, rng: np.random.Generator) -> Parameters:
    return {"jump_s": given["tick_s"] * 2.0 ** given["bits"]}


def _told_two_clocks(seen: Seen, given: Parameters, rng: np.random.Generator) -> Parameters:
    return {"apart_s": seen.first_ns / 1e9 - given["uptime_s"]}


def _told_ahead(seen: Seen, given: Parameters, rng: np.random.Generator) -> Parameters:
    return {"after_log_s": given["ahead_s"] - seen.latency_ns / 1e9}


def _told_slew(seen: Seen, given: Parameters, rng: np.random.Generator) -> Parameters:
    return {"slewed_s": given["slew_ppm"] * _PPM * given["for_s"]}


def _warped(warp: Warp) -> Callable[[Seen, Parameters, np.random.Generator], Change]:
    def begin(seen: Seen, given: Parameters, rng: np.random.Generator) -> Change:
        return lambda rows, first: _moved(rows, np.rint(warp(seen.elapsed_s(rows), given) * 1e9).astype(np.int64))

    return begin


def _moved(rows: NDArray[Any], shift_ns: Any) -> NDArray[Any]:
    moved: NDArray[Any] = rows.copy()
    moved["stamp_ns"] += shift_ns
    return moved


def _sign(rng: np.random.Generator) -> float:
    return float(rng.choice([-1.0, 1.0]))


def _log_uniform(rng: np.random.Generator, low: float, high: float) -> float:
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


CLOCK_FAULTS = {
    "skew": Fault(_draw_skew, _warped(_skew)),
    "step": Fault(_draw_step, _warped(_step)),
    "slew": Fault(_draw_slew, _warped(_slew), told=_told_slew),
    "rate_flips": Fault(_draw_rate_flips, _warped(_rate_flips)),
    "reference_died": Fault(_draw_reference_died, _warped(_reference_died)),
    "drift": Fault(_draw_drift, _warped(_drift)),
    "two_clocks": Fault(lambda seen, rng: {"uptime_s": _log_uniform(rng, 100, 1e6)}, _two_clocks, told=_told_two_clocks),
    "tai_utc": Fault(lambda seen, rng: {"leap_s": float(rng.choice(_LEAPS_S))}, _warped(_tai_utc)),
    "wrap": Fault(_draw_wrap, _wrap, told=_told_wrap),
    "future_stamps": Fault(_draw_ahead, _warped(_ahead), told=_told_ahead),
}
