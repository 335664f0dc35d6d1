"""How a stream fills the time between two samples: what each kind needs, how far it may err, and how long it waits.

The arithmetic is native (cpp/include/onbeat/interpolation.hpp); this page is for choosing a kind and for budgets.
"""

from dataclasses import dataclass
from types import MappingProxyType

from onbeat.errors import BadInput

__all__ = ("METHODS", "Method", "largest_error")


@dataclass(frozen=True, slots=True)
class Method:
    """What a kind of stream does between two samples.

    Args:
        kind: As in `Stream(kind=...)`.
        order: Of the derivative that the error is proportional to, and of the power of the sampling interval.
        constant: The error is at most `constant * |derivative| * interval ** order`.
        needs_rate: Whether each sample must carry its measured rate.
        samples_after: How many samples behind the instant it waits for; `Stream.lag_ns` gives this as a time.
    """

    kind: str
    order: int
    constant: float
    needs_rate: bool
    samples_after: int


# A hold of the sample before errs by x' h (the nearest by half of it); then the remainders of interpolation at equal spacing.
# With rates slerp and pose have the order and the constant of hermite.
METHODS = MappingProxyType(
    {
        method.kind: method
        for method in (
            Method("hold", 1, 1.0, False, 1),
            Method("linear", 2, 1 / 8, False, 1),
            Method("slerp", 2, 1 / 8, False, 1),
            Method("pose", 2, 1 / 8, False, 1),
            Method("cubic", 4, 3 / 128, False, 2),
            Method("hermite", 4, 1 / 384, True, 1),
        )
    }
)


def largest_error(kind: str, derivative: float, interval_s: float) -> float:
    """Say how far a kind may err on motion whose derivative of the method's order is bounded.

    Args:
        kind: One of METHODS.
        derivative: Largest size of the derivative of that order: of linear the acceleration, of cubic and hermite the fourth.
        interval_s: Time between samples.

    Returns:
        The bound in the unit of the signal, without the noise of the samples.

    Raises:
        BadInput: an unknown kind, or a negative size or interval.
    """
    method = METHODS.get(kind)
    if method is None:
        raise BadInput(f"kind must be one of {', '.join(METHODS)}, not {kind!r}")
    if not (derivative >= 0 and interval_s >= 0):
        raise BadInput(f"derivative and interval_s must be >= 0, not {derivative} and {interval_s}")
    return float(method.constant * derivative * interval_s**method.order)
