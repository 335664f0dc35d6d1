"""How early to ask: action_latency becomes a lead here and is applied once, by `schedule`.

    send_at = t_target - action_latency

A lead is >= 0 and shifts the knots of a plan towards earlier; the plan carries it, so that a send loop whose own
lead is not 0 refuses such a plan instead of leading twice. `docs/notation.md` has the signs.

Modules with different leads lose different late rows of one chunk. Where a grasp must not be torn apart, they begin
together: at the instant of the first row that all of them can still use.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.errors import BadInput
from onbeat.motion.waypoint import Chunk
from onbeat.units import to_ns

__all__ = ("Feedback", "ahead", "feedback_warning", "first_usable_ns", "lead_ns")


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


def ahead(position: ArrayLike, velocity: ArrayLike, lead_s: float, k_ff: float = 1.0) -> NDArray[np.float64]:
    """Continue a stream of targets whose future is unknown: u = q + k_ff qdot t_lead.

    It errs by half of acceleration times lead squared: 0.016 deg for 1 Hz at 125 deg/s and 6.54 ms, 0.45 deg at 34 ms. With a
    known plan, evaluate the plan at the instant of effect instead.

    Args:
        position: q. Any shape.
        velocity: qdot, units a second. Same shape.
        lead_s: How late the device is, s.
        k_ff: Share of the lead that is made up for; 1 for all.

    Raises:
        BadInput: a lead or share that is negative or not finite, or shapes that differ.
    """
    if not (isfinite(lead_s) and lead_s >= 0 and isfinite(k_ff) and k_ff >= 0):
        raise BadInput(f"lead_s and k_ff must be finite and >= 0, not {lead_s} s and {k_ff}")
    q, rate = np.asarray(position, dtype=np.float64), np.asarray(velocity, dtype=np.float64)
    if q.shape != rate.shape:
        raise BadInput(f"position has the shape {q.shape} and velocity {rate.shape}; give one velocity for each position")
    result: NDArray[np.float64] = q + k_ff * rate * lead_s
    return result


@dataclass(frozen=True, slots=True)
class Feedback:
    """What is added to a command: k_p e + k_i (integral of e), with e = q_ref(t_sample) - q(t_sample).

    Both instants are the sample's own: a late sample compared with the present reference would show the delay as an error and
    make up for it a second time. The value is not changed; `after` gives the next one.

    Args:
        k_p: Per unit of error. Default 0.
        k_i: Per unit of error and second. Default 0.
        largest: Greatest correction of each column; the integral stops there.
        max_age_s: For how long a sample counts: after that a loop lets go of its correction, and the integral begins anew.
        integral: Of the error so far, unit times seconds; a number, or shape (width,).
        t_ns: Instant of the newest sample that was used; None before there is one.
    """

    k_p: float = 0.0
    k_i: float = 0.0
    largest: float = float("inf")
    max_age_s: float = 0.1
    integral: float | NDArray[np.float64] = 0.0
    t_ns: int | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.k_p) and self.k_p >= 0 and isfinite(self.k_i) and self.k_i >= 0 and self.largest >= 0):
            raise BadInput(f"k_p, k_i and largest must be >= 0, not {self.k_p}, {self.k_i} and {self.largest}")

        if not (isfinite(self.max_age_s) and self.max_age_s > 0):
            raise BadInput(f"max_age_s must be finite and > 0 s, not {self.max_age_s}")

    @property
    def on(self) -> bool:
        """Whether anything is fed back."""
        return self.k_p > 0 or self.k_i > 0

    def after(self, t_sample_ns: int, reference: ArrayLike, measured: ArrayLike) -> "tuple[Feedback, NDArray[np.float64]]":
        """Take one sample, and give the next value and the correction. A sample that was used already changes nothing.

        Args:
            t_sample_ns: When the sample was true.
            reference: The plan at that instant, `plan.at_ns(t_sample_ns)`: without any lead. Shape (width,).
            measured: Shape (width,).

        Raises:
            BadInput: the sample is older than the newest one, or not finite.
        """
        error = np.asarray(reference, dtype=np.float64) - np.asarray(measured, dtype=np.float64)
        if not np.isfinite(error).all():
            raise BadInput(f"the sample at {t_sample_ns} ns or its reference is not finite; leave it out")
        past_ns = 0 if self.t_ns is None else t_sample_ns - self.t_ns
        if past_ns < 0:
            raise BadInput(
                f"the sample is {-past_ns / 1e6:.3f} ms older than the newest one that was used; feed samples in order"
            )
        gap = past_ns * 1e-9 > self.max_age_s
        integral = np.zeros_like(error) if gap else self.integral + error * (past_ns * 1e-9)
        if self.k_i > 0:
            integral = np.clip(integral, -self.largest / self.k_i, self.largest / self.k_i)
        correction = np.clip(self.k_p * error + self.k_i * integral, -self.largest, self.largest)
        return replace(self, integral=integral, t_ns=t_sample_ns), correction


def feedback_warning(k_p: float, k_i: float, age_p50_s: float, age_p99_s: float) -> str:
    """Say what switching feedback on means; to be shown whenever k_p or k_i is not 0. Empty where both are 0.

    Args:
        k_p, k_i: As asked for.
        age_p50_s, age_p99_s: How old the newest sample is when a command is sent: half of the time, and one time in a hundred.
    """
    if k_p == 0 and k_i == 0:
        return ""
    limit = "" if k_p < 0.9 else "; at k_p 0.9 a delay of 6.5 ms rings, at 1.0 it does not settle, above it runs away"
    return (
        f"feedback is on (k_p {k_p:g}, k_i {k_i:g}) and acts on samples that are {age_p50_s * 1e3:.1f} ms old half of the "
        f"time and {age_p99_s * 1e3:.1f} ms one time in a hundred: it corrects the past, and a higher gain shakes the "
        f"arm{limit}; "
        "prefer an exact lead and leave k_p and k_i at 0"
    )
