"""How late sends are at 250, 500 and 1000 Hz under loads: the best of three Python threads over ours, and ours with a spin tail.

The loops and the counting are those of `bench_loop.py`. A loop that spins all the time may keep the thread that it is measured
beside from running at all; so the pace of that thread is said, as a share of what it does alone.
"""

import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.bench_loop import (
    LOOPS,
    MAX_STOLEN,
    OURS,
    OWN_PROCESS,
    ROUNDS,
    Cell,
    Load,
    Loop,
    Progress,
    measure,
    native,
    python_busy,
    receiver,
)

HELD_US = 13_000
SPIN_US = 150.0
SPINNING = "onbeat, native thread, 150 us spin tail"
HOG = "a Python thread computes"


def no_count() -> int:
    return 0


@contextmanager
def idle() -> Iterator[Progress]:
    yield no_count


@contextmanager
def lock_held() -> Iterator[Progress]:
    """A thread that calls C for 13 ms at a time without letting go of the interpreter lock."""
    stop = threading.Event()
    usleep = ctypes.PyDLL(None).usleep

    def hold() -> None:
        while not stop.is_set():
            usleep(HELD_US)

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield no_count
    finally:
        stop.set()
        thread.join()


@contextmanager
def numpy_busy() -> Iterator[Progress]:
    """Two threads that multiply matrices, mostly without the interpreter lock."""
    stop = threading.Event()

    def multiply() -> None:
        a = np.ones((400, 400))
        while not stop.is_set():
            a = a @ a * 0.0 + 1.0

    threads = [threading.Thread(target=multiply) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield no_count
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@contextmanager
def processors_busy() -> Iterator[Progress]:
    """A process that computes for each processor."""
    burn = "while True: sum(range(100000))"
    burners = [subprocess.Popen([sys.executable, "-c", burn]) for _ in range(os.cpu_count() or 1)]
    try:
        yield no_count
    finally:
        for each in burners:
            each.kill()
            each.wait()


LOADS: dict[str, Load] = {
    "idle": idle,
    "a Python thread computes": python_busy,
    "C holds the lock for 13 ms": lock_held,
    "numpy on two threads": numpy_busy,
    "every processor busy": processors_busy,
}
# Rate, load, how many times as late the best Python loop must be; None: ours alone has a bar.
CELLS: tuple[tuple[int, str, int | None], ...] = (
    (250, "idle", None),
    (250, HOG, 50),
    (500, HOG, 50),
    (1000, HOG, 25),
    (250, "C holds the lock for 13 ms", 100),
    (500, "numpy on two threads", None),
    (500, "every processor busy", None),
)


def alone() -> float:
    """Give the pace of the thread that computes, beside a thread that only waits."""
    with python_busy() as progress:
        begin, done = time.monotonic(), progress()
        time.sleep(1.0)
        return (progress() - done) / (time.monotonic() - begin)


def table(port: int, rate_hz: int, load: str, ratio: int | None, pace: float) -> list[dict[str, Any]]:
    loops: dict[str, Loop] = {name: LOOPS[name] for name in (LOOPS if ratio is not None else (OURS, OWN_PROCESS))}
    if load == HOG:
        loops[SPINNING] = partial(native, spin_us=SPIN_US)
    cells: dict[str, list[Cell]] = {name: [] for name in loops}
    for _ in range(ROUNDS):
        for name, run in loops.items():
            cells[name].append(measure(run, port, rate_hz, LOADS[load]))
    p99 = {name: statistics.median(cell.p99_us for cell in found) for name, found in cells.items()}
    rate = {name: statistics.median(cell.rate_hz for cell in found) for name, found in cells.items()}
    share = {name: statistics.median(cell.load_pace for cell in found) / pace for name, found in cells.items()}
    print(f"\n{rate_hz} Hz, {load}")
    for name in loops:
        stolen = max(cell.stolen for cell in cells[name])
        beside = f", the other thread {100 * share[name]:.0f} %" if load == HOG else ""
        print(f"  {name:40} p99 {p99[name]:8.1f} us {rate[name]:6.0f} Hz, stolen {100 * stolen:.1f} %{beside}")
    quiet = [cell for cell in cells[OURS] if cell.stolen <= MAX_STOLEN]
    error = abs(rate[OURS] / rate_hz - 1)
    noted = "" if quiet else "; the host took more than 1 % in every cell"
    found = [
        {
            "what": f"ours at {rate_hz} Hz, {load}",
            "bar": "p99 <= 200 us, rate error <= 1 %",
            "figure": f"{p99[OURS]:.0f} us, {100 * error:.2f} %; Python in its own FIFO process {p99[OWN_PROCESS]:.0f} us{noted}",
            "met": bool(p99[OURS] <= 200 and error <= 0.01),
        }
    ]
    if ratio is None:
        return found
    best, name = min((p99[name], name) for name in loops if name.startswith("Python thread"))
    beside = f", beside which the other thread ran at {100 * share[name]:.0f} % of its pace" if load == HOG else ""
    found += [
        {
            "what": f"p99 lateness at {rate_hz} Hz, {load}: the best of three Python threads over ours{words}",
            "bar": f">= {ratio} times",
            "figure": f"{best / p99[ours]:.0f} times ({best:.0f} over {p99[ours]:.1f} us; {name}, {rate[name]:.0f} Hz{beside})",
            "met": bool(best >= ratio * p99[ours]),
        }
        for ours, words in ((OURS, ""), (SPINNING, ", spin tail 150 us"))
        if ours in loops
    ]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    options = parser.parse_args()
    pace = alone()
    with receiver() as port:
        bars = [bar for rate_hz, load, least in CELLS for bar in table(port, rate_hz, load, least, pace)]
    if options.json:
        print(json.dumps({"bars": bars}))
    else:
        for bar in bars:
            print(f"{'met   ' if bar['met'] else 'MISSED'} {bar['what']}: {bar['figure']} (bar: {bar['bar']})")


if __name__ == "__main__":
    main()
