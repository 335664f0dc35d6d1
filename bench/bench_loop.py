"""How late 500 Hz sends are while Python is busy in the same process, and what a stall of 200 ms does.

Ours against three loops that a Python thread can run, restated here: absolute deadlines with time.sleep; sleep, then spin the
last millisecond; and a relative sleep of what is left of the period, late against its own last wake. Every loop evaluates the
same plan and sends one UDP datagram. A fifth row has no bar and is there to be fair: the first of the three in a Python process
of its own with SCHED_FIFO, which a policy reaches only across processes. The cells are interleaved, three rounds, the median
counts; a cell in which the host took more than 1 % of the processor time is repeated.

A deadline without a send is not on time: it counts as late as the next send was. Other rates and loads: `bench_rates.py`.
"""

import argparse
import ctypes
import json
import os
import socket
import statistics
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onbeat.device.device import Command, DeviceInfo, DeviceState
from onbeat.loop import DeviceSink, MemorySink, SendLoop, UdpSink
from onbeat.motion import Trajectory

RATE_HZ = 500
PERIOD_NS = 1_000_000_000 // RATE_HZ
SECONDS = 3.0
ROUNDS = 3
STALL_S = 0.2
HELD_US = 13_000
OURS, OWN_PROCESS = "onbeat, native thread", "Python in a process of its own, FIFO"
MAX_STOLEN = 0.01
MAX_REPEATS = 4
FRAME = struct.Struct("<Qq6d")

Progress = Callable[[], int]  # how far a load has come; what does not count gives 0
Load = Callable[[], AbstractContextManager[Progress]]


@dataclass(frozen=True)
class Sends:
    """How late each send was, and by when a deadline without one had the next, ns."""

    late_ns: NDArray[np.int64]
    lost_ns: NDArray[np.int64]

    @classmethod
    def of(cls, deadline_ns: NDArray[np.int64], sent_ns: NDArray[np.int64], period_ns: int) -> "Sends":
        """Of a loop that skips what it has missed."""
        skipped = np.rint(np.diff(deadline_ns) / period_ns).astype(np.int64) - 1
        # Of n lost deadlines before a send the first is n periods older than the one that it was for.
        lost = [sent_ns[k + 1] - deadline_ns[k + 1] + period_ns * np.arange(1, n + 1) for k, n in enumerate(skipped) if n > 0]
        return cls(sent_ns - deadline_ns, np.concatenate([np.empty(0, np.int64), *lost]))


class Loop(Protocol):
    """Send for SECONDS at a rate to a port."""

    def __call__(self, port: int, rate_hz: int = RATE_HZ) -> Sends: ...


def plan_from_now() -> Trajectory:
    now = time.monotonic_ns()
    times = now + np.arange(0, 60_000_000_000, 100_000_000)
    phase = (times - now)[:, None] * 1e-9 + np.arange(6)
    return Trajectory(times, np.sin(phase))


@contextmanager
def receiver() -> Iterator[int]:
    """A socket that nobody reads: a full buffer drops datagrams and never holds up the sender."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        yield listening.getsockname()[1]


@contextmanager
def python_busy() -> Iterator[Progress]:
    """A pure-Python thread that never lets go of the interpreter lock but when it is told to."""
    stop, n = threading.Event(), 0

    def count() -> None:
        nonlocal n
        while not stop.is_set():
            for _ in range(10_000):
                n += 1

    thread = threading.Thread(target=count)
    thread.start()
    try:
        yield lambda: n
    finally:
        stop.set()
        thread.join()


def native(port: int, rate_hz: int = RATE_HZ, spin_us: float = 0) -> Sends:
    loop = SendLoop(UdpSink("127.0.0.1", port, 6), rate_hz, plan_from_now(), spin_us=spin_us)
    loop.start()
    time.sleep(SECONDS)
    loop.stop()
    records = loop.records()
    # This thread wakes late from its own sleep; what was sent meanwhile is not of the SECONDS that are counted.
    records = records[records["deadline_ns"] < records["deadline_ns"][0] + SECONDS * 1e9]
    return Sends.of(records["deadline_ns"], records["sent_ns"], 1_000_000_000 // rate_hz)


def python_loop(wait: Callable[[int], None], relative: bool) -> Loop:
    """A loop on a Python thread: absolute deadlines that skip what was missed, or a period counted from each wake."""

    def run(port: int, rate_hz: int = RATE_HZ) -> Sends:
        deadlines: list[int] = []
        sent: list[int] = []
        period_ns = 1_000_000_000 // rate_hz

        def send() -> None:
            plan = plan_from_now()
            out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            start = time.monotonic_ns()
            deadline = start
            while time.monotonic_ns() - start < SECONDS * 1e9:
                wait(deadline)
                now = time.monotonic_ns()
                deadlines.append(deadline)
                sent.append(now)
                target = plan.at_ns(now if relative else deadline)
                out.sendto(FRAME.pack(len(sent), now, *target.tolist()), ("127.0.0.1", port))
                next_tick = start + ((time.monotonic_ns() - start) // period_ns + 1) * period_ns
                deadline = now + period_ns if relative else next_tick
            out.close()

        thread = threading.Thread(target=send)
        thread.start()
        thread.join()
        times = np.array(deadlines), np.array(sent)
        if relative:  # no deadline is lost: the next one begins when it wakes
            return Sends(times[1] - times[0], np.empty(0, np.int64))
        return Sends.of(*times, period_ns)

    return run


def sleep_until(deadline: int) -> None:
    while (left := deadline - time.monotonic_ns()) > 0:
        time.sleep(left * 1e-9)


def sleep_then_spin(deadline: int) -> None:
    if (left := deadline - time.monotonic_ns()) > 1_000_000:
        time.sleep((left - 1_000_000) * 1e-9)
    while time.monotonic_ns() < deadline:
        pass


def sleep_what_is_left(deadline: int) -> None:
    time.sleep(max(0, deadline - time.monotonic_ns()) * 1e-9)


def own_process(port: int, rate_hz: int = RATE_HZ) -> Sends:
    """The absolute loop in another process, with the priority that ours asks for."""
    command = [sys.executable, __file__, "--own-process", str(port), "--rate", str(rate_hz)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return Sends(*(np.array(each, dtype=np.int64) for each in json.loads(done.stdout)))


def run_own_process(port: int, rate_hz: int) -> None:
    """Be that other process."""
    with suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(80))
    sends = python_loop(sleep_until, False)(port, rate_hz)
    print(json.dumps([sends.late_ns.tolist(), sends.lost_ns.tolist()]))


LOOPS: dict[str, Loop] = {
    OURS: native,
    "Python thread, absolute time.sleep": python_loop(sleep_until, False),
    "Python thread, sleep then spin": python_loop(sleep_then_spin, False),
    "Python thread, relative sleep": python_loop(sleep_what_is_left, True),
    OWN_PROCESS: own_process,
}


def cpu_ticks() -> tuple[int, int]:
    """Read ticks of all processors: stolen by the host, and in all."""
    fields = [int(n) for n in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return fields[7], sum(fields)


@dataclass
class Cell:
    p50_us: float
    p99_us: float
    max_us: float
    rate_hz: float
    stolen: float
    repeats: int
    load_pace: float  # what a load that counts got done in a second


def measure(run: Loop, port: int, rate_hz: int = RATE_HZ, load: Load = python_busy) -> Cell:
    for repeat in range(MAX_REPEATS + 1):
        stolen0, all0 = cpu_ticks()
        with load() as progress:
            begin, done = time.monotonic(), progress()
            sends = run(port, rate_hz)
            pace = (progress() - done) / (time.monotonic() - begin)
        stolen1, all1 = cpu_ticks()
        stolen = (stolen1 - stolen0) / max(1, all1 - all0)
        p50, p99, worst = np.percentile(np.concatenate([sends.late_ns, sends.lost_ns]) * 1e-3, [50, 99, 100])
        cell = Cell(p50, p99, worst, len(sends.late_ns) / SECONDS, stolen, repeat, pace)
        if stolen <= MAX_STOLEN:
            break
    return cell


class StallingDevice:
    """A device whose write stalls once, and which keeps when each write began and when the stall was."""

    def __init__(self, stall: Callable[[], None] | None) -> None:
        self.info = DeviceInfo("joints", 6, "rad", "stalling")
        self.stall = stall
        self.begun: list[int] = []
        self.stalled = (0, 0)

    def connect(self) -> None: ...

    def close(self) -> None: ...

    def hold(self) -> None: ...

    def read(self) -> DeviceState:
        return DeviceState(np.zeros(6), 0, 0, 0)

    def write(self, command: Command) -> None:
        self.begun.append(time.monotonic_ns())
        if self.stall is not None and len(self.begun) == 200:
            begin = time.monotonic_ns()
            self.stall()
            self.stalled = (begin, time.monotonic_ns())


def hold_the_lock() -> None:
    """Call C without letting go of the interpreter lock: nothing else in Python runs."""
    ctypes.PyDLL(None).usleep(round(STALL_S * 1e6))


def freeze_the_process() -> None:
    """Freeze this process from outside, native threads and all."""
    subprocess.run(["sh", "-c", f"kill -STOP $PPID; sleep {STALL_S}; kill -CONT $PPID"], check=True)


@dataclass
class Stall:
    what: str
    closest: float  # gap between two sends, in periods
    expected: int
    missed: int
    follow_up_ms: float  # from the end of the stall to the next send


def judge(what: str, records: NDArray[Any], sent: NDArray[np.int64], stalled: tuple[int, int]) -> Stall:
    """Hold the records of a run with one stall against the deadlines that lay inside the stall."""
    begin, end = stalled
    first, last = int(records["deadline_ns"][0]), int(records["deadline_ns"][-1])
    ticks = np.arange(first, last + 1, PERIOD_NS)
    expected = int(((ticks > begin) & (ticks <= end)).sum())
    around = (records["deadline_ns"] >= begin - 2 * PERIOD_NS) & (records["deadline_ns"] <= end + PERIOD_NS)
    after = sent[sent >= end - PERIOD_NS // 10]
    follow_up_ms = float(after[0] - end) * 1e-6 if len(after) else float("nan")
    return Stall(what, float(np.diff(sent).min()) / PERIOD_NS, expected, int(records["skipped"][around].sum()), follow_up_ms)


def stall_in_write() -> Stall:
    device = StallingDevice(lambda: time.sleep(STALL_S))
    loop = SendLoop(DeviceSink(device), RATE_HZ, plan_from_now())
    loop.start()
    time.sleep(1.5)
    loop.stop()
    return judge("soft loop, the device's write stalls", loop.records(), np.array(device.begun), device.stalled)


def stall_by_lock(soft: bool) -> Stall:
    device = StallingDevice(None)
    memory = MemorySink(6, 65536)
    loop = SendLoop(DeviceSink(device) if soft else memory, RATE_HZ, plan_from_now())
    loop.start()
    time.sleep(0.5)
    begin = time.monotonic_ns()
    hold_the_lock()
    stalled = (begin, time.monotonic_ns())
    time.sleep(0.5)
    loop.stop()
    sent = np.array(device.begun) if soft else memory.drain()["sent_ns"]
    kind = "soft" if soft else "native"
    result = judge(f"{kind} loop, a Python thread holds the interpreter lock", loop.records(), sent, stalled)
    if not soft:
        result.expected = 0  # the native thread does not notice
    return result


def stall_of_everything() -> Stall:
    """In a process of its own, so that a shell does not take the bench for a stopped job."""
    done = subprocess.run([sys.executable, __file__, "--frozen"], capture_output=True, text=True, check=True)
    return Stall(**json.loads(done.stdout))


def run_frozen() -> None:
    """Be the process that is frozen."""
    memory = MemorySink(6, 65536)
    loop = SendLoop(memory, RATE_HZ, plan_from_now())
    loop.start()
    time.sleep(0.5)
    freeze_the_process()
    time.sleep(0.5)
    loop.stop()
    records = loop.records()
    sent = memory.drain()["sent_ns"]
    worst = int(np.argmax(np.diff(sent)))
    # How long the process was frozen is known from the inside only: the widest gap between two sends.
    stalled = (int(sent[worst]), int(sent[worst + 1]))
    print(json.dumps(asdict(judge("native loop, the whole process is frozen", records, sent, stalled))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    parser.add_argument("--own-process", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--rate", type=int, default=RATE_HZ, help=argparse.SUPPRESS)
    parser.add_argument("--frozen", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.frozen:
        run_frozen()
        return
    if options.own_process is not None:
        run_own_process(options.own_process, options.rate)
        return

    cells: dict[str, list[Cell]] = {name: [] for name in LOOPS}
    with receiver() as port:
        for _ in range(ROUNDS):
            for name, run in LOOPS.items():
                cells[name].append(measure(run, port))
    rows = {name: sorted(found, key=lambda cell: cell.p99_us)[ROUNDS // 2] for name, found in cells.items()}
    print(f"lateness of {RATE_HZ} Hz sends while a Python thread computes; median of {ROUNDS} rounds of {SECONDS:g} s")
    print(
        f"{'loop':38} {'p50 us':>9} {'p99 us':>9} {'max us':>9} {'rate Hz':>8} {'stolen %':>8} {'repeats':>7} {'p99 / ours':>10}"
    )
    ours = rows["onbeat, native thread"]
    for name, cell in rows.items():
        repeats = sum(c.repeats for c in cells[name])
        print(
            f"{name:38} {cell.p50_us:9.0f} {cell.p99_us:9.0f} {cell.max_us:9.0f} {cell.rate_hz:8.0f} {100 * cell.stolen:8.2f} "
            f"{repeats:7d} {cell.p99_us / ours.p99_us:10.0f}"
        )
    stalls = [stall_in_write(), stall_by_lock(soft=True), stall_by_lock(soft=False), stall_of_everything()]
    print(f"\none stall of {1e3 * STALL_S:.0f} ms at {RATE_HZ} Hz")
    print(f"{'stall':58} {'closest sends':>14} {'deadlines inside':>17} {'missed':>7} {'next send':>10}")
    for stall in stalls:
        print(f"{stall.what:58} {stall.closest:7.3f} period {stall.expected:17d} {stall.missed:7d} {stall.follow_up_ms:7.2f} ms")

    bars: list[dict[str, Any]] = []
    for name in [name for name in LOOPS if name.startswith("Python thread")]:
        ratio = statistics.median(c.p99_us for c in cells[name]) / ours.p99_us
        bars.append(
            {
                "what": f"p99 lateness at {RATE_HZ} Hz, a Python thread computing: {name} over ours",
                "bar": ">= 20 times",
                "figure": f"{ratio:.0f} times ({rows[name].p99_us:.0f} us over {ours.p99_us:.0f} us)",
                "met": bool(ratio >= 20),
            }
        )
    bars += [
        {
            "what": f"200 ms stall, {stall.what}",
            "bar": "no two sends closer than 3/4 period; missed within 2",
            "figure": f"closest {stall.closest:.3f} period; {stall.missed} missed of {stall.expected}",
            "met": bool(stall.closest >= 0.75 and abs(stall.missed - stall.expected) <= 2),
        }
        for stall in stalls
    ]
    if options.json:
        print(json.dumps({"bars": bars}))
    else:
        for bar in bars:
            print(f"{'met   ' if bar['met'] else 'MISSED'} {bar['what']}: {bar['figure']} (bar: {bar['bar']})")


if __name__ == "__main__":
    main()
