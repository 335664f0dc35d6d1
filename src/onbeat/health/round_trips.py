"""A device asked for its state, over and over, and nothing else: how long an answer takes, how often it is new, how old it is."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onbeat.clock import Clock
from onbeat.device.device import Device
from onbeat.errors import DeviceError
from onbeat.units import TimeGrid

__all__ = ("RoundTrips", "measure_round_trips")


@dataclass(frozen=True, slots=True, eq=False)
class RoundTrips:
    """What a device answered.

    Args:
        rate_hz: How often it was asked.
        took_ns: How long each answer took. Shape (n,), int64.
        interval_ns: Between the arrivals of one new reading and the next. Shape (m,).
        age_ns: Age of the newest reading at the end of each round trip, counted from its arrival. Shape (n,).
        late: Questions that could not be asked at their tick, since the answer before took longer than a period.
    """

    rate_hz: float
    took_ns: NDArray[np.int64]
    interval_ns: NDArray[np.int64]
    age_ns: NDArray[np.int64]
    late: int


def measure_round_trips(
    device: Device, clock: Clock, *, n: int = 2000, rate_hz: float = 250.0, progress: Callable[[int], None] = lambda steps: None
) -> RoundTrips:
    """Connect, ask n times at a fixed pace, close. `write` and `hold` are never called, so nothing is told to move.

    Args:
        device: Not connected.
        clock: The clock of the device's stamps.
        n: How many questions.
        rate_hz: How many a second.
        progress: Called with 1 after each.

    Raises:
        DeviceError: it cannot be opened or read; it is closed all the same.
    """
    took, age = np.zeros(n, np.int64), np.zeros(n, np.int64)
    arrivals: list[int] = []
    late, newest, arrived = 0, None, 0
    try:
        device.connect()
        grid = TimeGrid(clock.now_ns(), rate_hz)
        tick = 1
        for k in range(n):
            due = grid.tick_ns(tick)
            if clock.now_ns() > due:
                late += 1
            clock.sleep_until_ns(due)
            begin = clock.now_ns()
            state = device.read()
            end = max(clock.now_ns(), state.receive_ns)  # on a manual clock a reading may lie ahead
            if newest is None or state.seq != newest:
                newest, arrived = state.seq, state.receive_ns
                arrivals.append(arrived)
            took[k], age[k] = end - begin, end - arrived
            tick = max(tick + 1, grid.index(end) + 1)
            progress(1)
    except (OSError, ValueError, RuntimeError) as error:
        raise DeviceError(f"the device cannot be read: {type(error).__name__}: {error}") from error
    finally:
        device.close()
    return RoundTrips(rate_hz, took, np.asarray(np.diff(np.array(arrivals, np.int64)), np.int64), age, late)
