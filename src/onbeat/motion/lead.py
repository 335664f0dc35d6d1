"""How early to ask: action_latency becomes a lead here and is applied once, by `schedule`.

    send_at = t_target - action_latency

A lead is >= 0 and shifts the knots of a plan towards earlier; the plan carries it, so that a send loop whose own
lead is not 0 refuses such a plan instead of leading twice. `docs/notation.md` has the signs.
"""

from math import isfinite

from onbeat.errors import BadInput
from onbeat.units import to_ns

__all__ = ("lead_ns",)


def lead_ns(action_latency_s: float) -> int:
    """Turn a module's action_latency in seconds into the lead of its plans in nanoseconds.

    Raises:
        BadInput: the latency is negative or not finite: then it is not a measurement.
    """
    if not isfinite(action_latency_s) or action_latency_s < 0:
        raise BadInput(f"action_latency must be a finite number >= 0 s, not {action_latency_s}; measure it again")
    return to_ns(action_latency_s)
