"""The clock is given, not found: the same code runs in real time and in stopped time.

Run it with: python examples/01_clock.py
"""

from onbeat.clock import Clock, ManualClock, SystemClock
from onbeat.units import TimeGrid, to_s


def ticks(clock: Clock, rate_hz: int, n: int) -> list[int]:
    """Wait for n ticks of a grid and give how late each was, in ns. Deadlines come from the grid, never from now."""
    grid = TimeGrid(clock.now_ns(), rate_hz)
    late_ns = []
    for k in range(1, n + 1):
        deadline_ns = grid.tick_ns(k)
        clock.sleep_until_ns(deadline_ns)
        late_ns.append(clock.now_ns() - deadline_ns)
    return late_ns


real_ns = ticks(SystemClock(), rate_hz=100, n=50)
print(f"real time:    50 ticks at 100 Hz, the latest {to_s(max(real_ns)) * 1e3:.3f} ms after its deadline")

manual = ManualClock()
stopped_ns = ticks(manual, rate_hz=100, n=360_000)
print(f"stopped time: an hour of ticks, the latest {max(stopped_ns)} ns late; the clock reads {to_s(manual.now_ns()):.0f} s")

# Half of a perfect grid falls into the wrong slot when absolute instants become floats; a TimeGrid computes in integers.
start_ns, period_ns = 1_700_000_000_000_000_000, 2_000_000
grid = TimeGrid(start_ns, 500)
stamps_ns = [start_ns + k * period_ns for k in range(10_000)]
wrong_float = sum(int((t / 1e9 - start_ns / 1e9) / 0.002) != k for k, t in enumerate(stamps_ns))
wrong_grid = sum(grid.index(t) != k for k, t in enumerate(stamps_ns))
print(
    f"perfect 500 Hz grid, samples in the wrong slot: {wrong_float / 100:.0f} % as floats, {wrong_grid / 100:.0f} % with TimeGrid"
)
