"""Counters of few bits, made whole: a sensor's 32-bit microseconds come round every 71 minutes."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.errors import BadInput

__all__ = ("Unwrapped", "unwrap_ticks")


@dataclass(frozen=True, slots=True, eq=False)
class Unwrapped:
    """A counter with its wraps added.

    Args:
        t_ns: Ticks with the wraps added, times the tick. Shape (n,), int64.
        late: Which ticks came after a later one: out of order, not a second wrap. Shape (n,), bool.
    """

    t_ns: NDArray[np.int64]
    late: NDArray[np.bool_]


def unwrap_ticks(ticks: ArrayLike, bits: int, tick_ns: float) -> Unwrapped:
    """Add the wraps of a counter, in the order in which its readings arrived.

    Each reading is placed within half a turn of the newest one so far: a small step back is a late packet, a large one a wrap.
    A silence of more than half a turn cannot be told from a shorter one.

    Args:
        ticks: Readings, 0 <= ticks < 2^bits. Shape (n,), whole numbers.
        bits: Width of the counter, 1 to 62.
        tick_ns: Length of a tick, ns; need not be whole (1e9 / 90 000 for a 90 kHz clock).

    Raises:
        BadInput: a reading does not fit the width, is not whole, or the whole does not fit 64 bits of nanoseconds.
    """
    readings = np.asarray(ticks)
    if readings.ndim != 1 or (len(readings) and not np.issubdtype(readings.dtype, np.integer)):
        raise BadInput(f"ticks must be one row of whole numbers, not {readings.dtype} of shape {readings.shape}")
    if not 1 <= bits <= 62 or not tick_ns > 0:
        raise BadInput(f"a counter has 1 to 62 bits and a tick of more than 0 ns, not {bits} bits of {tick_ns} ns")
    turn, half = 1 << bits, 1 << (bits - 1)
    if len(readings) and (int(readings.min()) < 0 or int(readings.max()) >= turn):
        raise BadInput(
            f"ticks from {int(readings.min())} to {int(readings.max())} do not fit {bits} bits (0 to {turn - 1}); "
            "give the counter's own width"
        )
    whole: list[int] = []
    late = np.zeros(len(readings), dtype=bool)
    newest = int(readings[0]) if len(readings) else 0
    for k, reading in enumerate(readings.tolist()):
        step = (reading - newest + half) % turn - half  # the nearest of all turns
        late[k] = step < 0
        whole.append(newest + step)
        newest = max(newest, newest + step)
    if whole and max(abs(min(whole)), abs(max(whole))) * tick_ns >= 2**63:
        raise BadInput(f"{max(whole)} ticks of {tick_ns} ns do not fit 64 bits of nanoseconds (292 years); check the tick")
    length = int(tick_ns) if tick_ns == int(tick_ns) else tick_ns
    t_ns = np.array([round(count * length) for count in whole], dtype=np.int64)
    return Unwrapped(t_ns, late)
