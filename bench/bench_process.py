"""How late a Python-only device is sent to while Python is busy in the rig: in the rig's process, and in a process of its own.

    python bench/bench_process.py [--json]

One driver (a write that does nothing, a read that sleeps 2 ms and computes for a tenth of one) runs in a rig of one module at
250 Hz, read at 100 Hz: as it is (DeviceSink), and with `process: own`. Loads: none, a Python thread of the rig that computes,
C that keeps the interpreter lock for 13 ms at a time, every processor busy. The cells are interleaved, three rounds, the median
counts; a cell in which the host took more than 1 % is repeated. Beside it: how long a read took by its own stamps.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from bench.bench_loop import MAX_REPEATS, MAX_STOLEN, cpu_ticks
from bench.bench_rates import LOADS
from onbeat.policy import load_rig

SECONDS, ROUNDS, RATE_HZ = 3.0, 3, 250
SHARED, OWN = "in the rig's process", "process: own"
# Load, how many times as late the rig's process must be; None: shown without a bar.
CELLS: tuple[tuple[str, int | None], ...] = (
    ("idle", None),
    ("a Python thread computes", 10),
    ("C holds the lock for 13 ms", 20),
    ("every processor busy", None),
)
DRIVER = """
import time
import numpy as np
from onbeat.device import DeviceInfo, DeviceState

class Arm:
    info = DeviceInfo("joints", 6, "rad", "python only")
    def __init__(self, config, clock): self.clock, self.seq = clock, 0
    def connect(self): ...
    def read(self):
        begin = self.clock.now_ns()
        time.sleep(0.002)
        for _ in range(2000): pass
        self.seq += 1
        return DeviceState(np.zeros(6), begin, self.clock.now_ns(), self.seq)
    def write(self, command): ...
    def hold(self): ...
    def close(self): ...
"""


@dataclass
class Cell:
    p50_us: float
    p99_us: float
    max_us: float
    missed: float  # share of the deadlines
    readings: int
    read_p99_ms: float
    fifo: bool
    stolen: float


def run(rig_path: Path, load: str) -> Cell:
    for _ in range(MAX_REPEATS + 1):
        stolen0, all0 = cpu_ticks()
        rig = load_rig(rig_path)
        with rig, rig["arm"].collect() as readings:
            loop = rig["arm"].loop
            assert loop is not None
            with LOADS[load]():
                loop.records()
                readings.clear()
                before = loop.status()
                time.sleep(SECONDS)
                loop.stop()
                got = list(readings)
            records, status = loop.records(), loop.status()
        stolen1, all1 = cpu_ticks()
        late_us = (records["sent_ns"] - records["deadline_ns"]) * 1e-3
        took_ms = [(reading.state.receive_ns - reading.state.begin_ns) * 1e-6 for reading in got]
        p50, p99, worst = np.percentile(late_us, [50, 99, 100])
        missed = status.missed - before.missed
        cell = Cell(
            *(p50, p99, worst, missed / (missed + len(records)), len(got), float(np.percentile(took_ms, 99))),
            *(status.realtime, (stolen1 - stolen0) / max(1, all1 - all0)),
        )
        if cell.stolen <= MAX_STOLEN:
            break
    return cell


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    options = parser.parse_args()
    bars: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "python_only_arm.py").write_text(DRIVER)
        sys.path.insert(0, name)
        paths = {SHARED: folder / "shared.yaml", OWN: folder / "own.yaml"}
        for kind, path in paths.items():
            keys = f'device: "python_only_arm:Arm", rate_hz: {RATE_HZ}, poll_hz: 100'
            path.write_text(f"modules:\n  arm: {{{keys}{', process: own' if kind == OWN else ''}}}\n")
        for load, ratio in CELLS:
            cells: dict[str, list[Cell]] = {SHARED: [], OWN: []}
            for _ in range(ROUNDS):
                for kind, path in paths.items():
                    cells[kind].append(run(path, load))
            print(f"\n{RATE_HZ} Hz, {load}")
            mid = {kind: sorted(found, key=lambda cell: cell.p99_us)[ROUNDS // 2] for kind, found in cells.items()}
            for kind, c in mid.items():
                print(
                    f"  {kind:22} p50 {c.p50_us:7.0f} p99 {c.p99_us:7.0f} max {c.max_us:7.0f} us  missed {100 * c.missed:5.1f} %"
                    f"  {c.readings:4d} readings, p99 {c.read_p99_ms:6.2f} ms by their stamps  stolen {100 * c.stolen:.1f} %"
                )
            worst = statistics.median(c.max_us for c in cells[OWN])
            shared, own = mid[SHARED], mid[OWN]
            times = shared.p99_us / own.p99_us
            bars.append(
                {
                    "what": f"Python-only device at {RATE_HZ} Hz, {load}: p99 lateness in the rig's process over process: own",
                    "bar": "shown" if ratio is None else f">= {ratio} times",
                    "figure": (
                        f"{times:.0f} times ({shared.p99_us:.0f} us over {own.p99_us:.0f} us, max {worst:.0f} us); missed "
                        f"{100 * shared.missed:.1f} % over {100 * own.missed:.1f} %{'' if own.fifo else '; without SCHED_FIFO'}"
                    ),
                    "met": True if ratio is None else bool(times >= ratio),
                }
            )
    print(json.dumps({"bars": bars}) if options.json else "")


if __name__ == "__main__":
    main()
