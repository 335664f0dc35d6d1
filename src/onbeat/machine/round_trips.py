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
        age_ns: How old the newest reading may be at the end of each round trip: counted from when it was asked for. Shape (n,).
        late: Ticks at which nothing could be asked, since the answer before was not in yet.
    """

    rate_hz: float
    took_ns: NDArray[np.int64]
    interval_ns: NDArray[np.int64]
    age_ns: NDArray[np.int64]
    late: int


def measure_round_trips(
    device: Device,
    clock: Clock,
    *,
    n: int = 2000,
    rate_hz: float = 250.0,
    progress: Callable[[int], None] = lambda steps: None,
    look: Callable[[], None] = lambda: None,
) -> RoundTrips:
    """Connect, ask n times at a fixed pace, close. `write` and `hold` are never called, so nothing is told to move.

    Args:
        device: Not connected.
        clock: The clock of the device's stamps.
        n: How many questions.
        rate_hz: How many a second.
        progress: Called with 1 after each.
        look: Called once after the last, while the device is still connected.

    Raises:
        DeviceError: it cannot be opened or read; it is closed all the same.
    """
    took, age = np.zeros(n, np.int64), np.zeros(n, np.int64)
    arrivals: list[int] = []
    late, newest, asked = 0, None, 0
    try:
        device.connect()
        grid = TimeGrid(clock.now_ns(), rate_hz)
        tick = 1
        for k in range(n):
            clock.sleep_until_ns(grid.tick_ns(tick))
            begin = clock.now_ns()
            state = device.read()
            end = max(clock.now_ns(), state.receive_ns)  # on a manual clock a reading may lie ahead
            if newest is None or state.seq != newest:
                newest, asked = state.seq, state.begin_ns
                arrivals.append(state.receive_ns)
            took[k], age[k] = end - begin, end - asked
            late += max(0, grid.index(end) - tick)
            tick = max(tick, grid.index(end)) + 1
            progress(1)
        look()
    except (OSError, ValueError, RuntimeError) as error:
        raise DeviceError(f"the device cannot be read: {type(error).__name__}: {error}") from error
    finally:
        device.close()
    return RoundTrips(rate_hz, took, np.asarray(np.diff(np.array(arrivals, np.int64)), np.int64), age, late)
