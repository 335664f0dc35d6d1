"""A burst arrives together; when was each of its samples taken?"""

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.units import TimeGrid

__all__ = ("burst_capture_ns",)


def burst_capture_ns(receive_ns: int, n: int, rate_hz: float, transport_ns: int) -> NDArray[np.int64]:
    """Give the instants at which the samples of one burst were taken: `receive - transport - (n - 1 - i) / rate`.

    Args:
        receive_ns: When the burst arrived, on the caller's clock.
        n: Samples in the burst, >= 1.
        rate_hz: The device's sample rate, > 0; what it is off by is the error of the oldest sample times n - 1 periods.
        transport_ns: From the newest sample to the arrival, >= 0.

    Returns:
        Instants on the caller's clock, oldest first. Shape (n,). The last one is exact, the others are rounded by less than 1 ns.

    Raises:
        BadInput: an empty burst, a negative transport, or a rate that is not in (0, 1e9] Hz.
    """
    if n < 1:
        raise BadInput(f"a burst needs at least one sample, not {n}")
    if transport_ns < 0:
        raise BadInput(f"transport_ns must be >= 0, not {transport_ns}")
    newest = TimeGrid(int(receive_ns) - int(transport_ns), rate_hz)
    return np.array([newest.tick_ns(k) for k in range(1 - int(n), 1)], dtype=np.int64)
