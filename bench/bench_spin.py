"""How late are sends with a spin tail, beside a Python thread that spins too, while another Python thread computes?

The native loop of `bench_loop.py` sleeps until the deadline, which costs what the processor takes to wake up. Both of these end
the sleep early and spin: onbeat for 150 us, the Python thread for 1 ms. Interleaved, three rounds, the median counts.
"""

import json
import statistics
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.bench_loop import LOOPS, ROUNDS, measure, native, receiver

SPIN_US = 150.0
THREAD = "Python thread, sleep then spin"
BARS = {250: 50, 500: 50, 1000: 1}  # at 1 kHz the thread never sleeps, and keeps the other one from running


def spinning(port: int, rate_hz: int = 500) -> Any:
    return native(port, rate_hz, SPIN_US)


def main() -> None:
    bars: list[dict[str, Any]] = []
    with receiver() as port:
        for rate_hz, ratio in BARS.items():
            both = (spinning, LOOPS[THREAD])
            pairs = [[measure(run, port, rate_hz) for run in both] for _ in range(ROUNDS)]
            ours, theirs = (statistics.median(pair[k].p99_us for pair in pairs) for k in (0, 1))
            figure = f"{theirs / ours:.0f} times ({ours:.2f} us; {theirs:.1f} us at {pairs[0][1].rate_hz:.0f} Hz)"
            bars.append(
                {
                    "what": f"p99 lateness at {rate_hz} Hz, a Python thread computes: {THREAD} over ours with a spin tail",
                    "bar": f">= {ratio} times",
                    "figure": figure,
                    "met": bool(theirs >= ratio * ours),
                }
            )
    if "--json" in sys.argv:
        print(json.dumps({"bars": bars}))
        return
    for bar in bars:
        print(f"{'met   ' if bar['met'] else 'MISSED'} {bar['what']}: {bar['figure']}")


if __name__ == "__main__":
    main()
