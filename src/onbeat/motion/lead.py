"""How early to ask: action_latency becomes a lead here and is applied once, by `schedule`.

    send_at = t_target - action_latency

A lead is >= 0 and shifts the knots of a plan towards earlier; the plan carries it, so that a send loop whose own
lead is not 0 refuses such a plan instead of leading twice. `docs/notation.md` has the signs.

Modules with different leads lose different late rows of one chunk. Where a grasp must not be torn apart, they begin
together: at the instant of the first row that all of them can still use.
"""

from collections.abc import Mapping
from math import isfinite

from onbeat.errors import BadInput
from onbeat.motion.waypoint import Chunk
from onbeat.units import to_ns

__all__ = ("first_usable_ns", "lead_ns")


def lead_ns(action_latency_s: float) -> int:
    """Turn a module's action_latency in seconds into the lead of its plans in nanoseconds.

    Raises:
        BadInput: the latency is negative or not finite: then it is not a measurement.
    """
    if not isfinite(action_latency_s) or action_latency_s < 0:
        raise BadInput(f"action_latency must be a finite number >= 0 s, not {action_latency_s}; measure it again")
    return to_ns(action_latency_s)


def first_usable_ns(chunks: Mapping[str, Chunk], leads_ns: Mapping[str, int], now_ns: int) -> int:
    """Give the instant from which all modules can follow their chunks; `schedule` takes it as first_usable_ns.

    A module can use a row while its sending instant lies after now: t_ns - lead_ns > now_ns.

    Args:
        chunks: By module.
        leads_ns: The lead of each of these modules, >= 0.
        now_ns: The instant of the decision.

    Returns:
        The latest of the modules' first usable instants. Where one of them cannot use any row, an instant after the
        last row of all: then none of them moves.

    Raises:
        BadInput: no chunks, or a module without a lead.
    """
    if not chunks:
        raise BadInput("there are no chunks to begin together")
    firsts = []
    for name, chunk in chunks.items():
        if name not in leads_ns:
            raise BadInput(f"there is no lead for the chunk of {name!r}; there are leads for {', '.join(leads_ns) or 'none'}")
        first = chunk.first_row_after(now_ns + leads_ns[name])
        if first == len(chunk):
            return max(each.t_ns(len(each) - 1) for each in chunks.values()) + 1
        firsts.append(chunk.t_ns(first))
    return max(firsts)
