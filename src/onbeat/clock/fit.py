"""Two clocks seen at the same instants, after the fact: offset and skew of one against the other by least squares."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.errors import BadInput

__all__ = ("ClockFit", "fit_clock")


@dataclass(frozen=True, slots=True)
class ClockFit:
    """The line of a device's clock over a reference.

    Args:
        offset_ns: Device minus reference at the first reference instant.
        skew_ppm: Positive: the device runs fast.
        offset_std_ns: Standard deviation of the offset, for residuals that are white.
        skew_std_ppm: The same of the skew.
        residual_ns: Root mean square of what the line leaves.
        n: Pairs.
    """

    offset_ns: float
    skew_ppm: float
    offset_std_ns: float
    skew_std_ppm: float
    residual_ns: float
    n: int


def fit_clock(t_ref_ns: ArrayLike, t_dev_ns: ArrayLike) -> ClockFit:
    """Fit ``t_dev = (1 + skew) t_ref + offset`` to pairs of readings of the same instants.

    Delays between the two readings are taken for noise about zero: for stamps of messages take `OneWayEstimator`.

    Args:
        t_ref_ns: Readings of the reference, strictly increasing. Shape (n,), int64, n >= 3.
        t_dev_ns: Readings of the device at the same instants. Shape (n,).

    Raises:
        BadInput: the shapes disagree, there are fewer than three pairs, stamps are not whole nanoseconds, or the reference does
            not increase.
    """
    reference, device = _stamps("t_ref_ns", t_ref_ns), _stamps("t_dev_ns", t_dev_ns)
    if len(reference) != len(device) or len(reference) < 3:
        raise BadInput(
            f"a clock's line needs three or more pairs, not {len(reference)} reference and {len(device)} device stamps"
        )
    if not np.all(reference[1:] > reference[:-1]):
        raise BadInput("the reference's stamps do not increase; sort the pairs and drop repeats")
    # Subtract first, then float.
    since_s = (reference - reference[0]) / 1e9
    start_ns = int(device[0]) - int(reference[0])
    gained_ns = ((device - device[0]) - (reference - reference[0])).astype(np.float64)
    mean_s = float(since_s.mean())
    spread = float(((since_s - mean_s) ** 2).sum())
    slope = float(((since_s - mean_s) * gained_ns).sum() / spread)
    level = float(gained_ns.mean()) - slope * mean_s
    left = gained_ns - level - slope * since_s
    n = len(reference)
    variance = float((left**2).sum()) / (n - 2)
    return ClockFit(
        offset_ns=start_ns + level,
        skew_ppm=slope * 1e-3,  # ns per s is ppb
        offset_std_ns=float(np.sqrt(variance * (1 / n + mean_s**2 / spread))),
        skew_std_ppm=float(np.sqrt(variance / spread)) * 1e-3,
        residual_ns=float(np.sqrt((left**2).mean())),
        n=n,
    )


def _stamps(name: str, values: ArrayLike) -> NDArray[np.int64]:
    stamps = np.asarray(values)
    if stamps.ndim != 1 or (len(stamps) and not np.issubdtype(stamps.dtype, np.integer)):
        raise BadInput(
            f"{name} must be one row of whole nanoseconds, not {stamps.dtype} of shape {stamps.shape}; convert with to_ns"
        )
    return stamps.astype(np.int64)
