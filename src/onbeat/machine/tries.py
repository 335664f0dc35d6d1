"""What this process may do, tried and undone: priorities, pinning, locking, and how the clocks behave."""

import ctypes
import errno
import fcntl
import mmap
import os
import resource
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TypeVar

from onbeat.clock.daemons import steered_ppm
from onbeat.clock.slew import Steering
from onbeat.machine.machine import Machine

__all__ = ("ARENA_BYTES", "PRIORITY", "Snapshot", "Tried", "error_name", "snapshot", "try_all")

PRIORITY = 80  # what a SendLoop asks for
ARENA_BYTES = 65536 * 64 + 64 * 1024  # its records and its stack

_PRIORITIES = (1, 50, PRIORITY, 98)
_TIMER_SLACK = 29  # PR_SET_TIMERSLACK of <linux/prctl.h>
_ETHTOOL, _GET_COALESCE = 0x8946, 0x0E  # SIOCETHTOOL and ETHTOOL_GCOALESCE of <linux/sockios.h>, <linux/ethtool.h>
_ROUND_TRIPS = 200
_LOCK_WAITS = 40
_SHORT_S = 20e-6  # long enough for the other thread to take the lock
_UNLIMITED = -1

_Outcome = TypeVar("_Outcome")


@dataclass(frozen=True, slots=True)
class Tried:
    """The outcome of each call. An errno of 0 is success; None was not tried.

    Args:
        fifo: errno of SCHED_FIFO by priority.
        reset_on_fork: Whether SCHED_RESET_ON_FORK was taken, and read back.
        nice: errno of nice -20 for a thread.
        allowed: CPUs that sched_getaffinity gives.
        pinned: errno of pinning a thread, by CPU.
        lock: errno of locking ARENA_BYTES.
        rtprio, memlock, rttime_us: Soft limits; -1 is unlimited.
        timer_slack: errno of setting the timer slack to 1 ns.
        timer_resolution_ns: Of the monotonic clock's timers.
        dma_latency: errno of opening /dev/cpu_dma_latency for writing.
        clock_read_ns: Median cost of one read of the monotonic clock, from Python.
        timex: Status bits and frequency in ppm of adjtimex; None where it was refused.
        steered_ppm: How fast the monotonic clock runs against the raw one.
        suspended_s: Time that this machine has slept since it booted.
        coalescing_us: How long each network interface may hold an interrupt back; None where its driver does not say.
        loopback_us: p50 and p99 of a datagram to oneself and back.
        serial: Whether this user may read and write each serial device.
        switch_interval_s: How long a Python thread keeps the interpreter lock.
        lock_waits_ms: How long a Python thread waited for the lock that another computed with: median and longest.
    """

    fifo: Mapping[int, int] = field(default_factory=dict)
    reset_on_fork: bool | None = None
    nice: int | None = None
    allowed: tuple[int, ...] = ()
    pinned: Mapping[int, int] = field(default_factory=dict)
    lock: int | None = None
    rtprio: int = 0
    memlock: int = 0
    rttime_us: int = _UNLIMITED
    timer_slack: int | None = None
    timer_resolution_ns: float | None = None
    dma_latency: int | None = None
    clock_read_ns: float | None = None
    timex: tuple[int, float] | None = None
    steered_ppm: float | None = None
    suspended_s: float | None = None
    coalescing_us: Mapping[str, int | None] = field(default_factory=dict)
    loopback_us: tuple[float, float] | None = None
    serial: Mapping[str, bool] = field(default_factory=dict)
    switch_interval_s: float = 0.005
    lock_waits_ms: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What counts on, at one instant: two of them give rates.

    Args:
        t_ns: On the monotonic clock.
        interrupts: /proc/interrupts.
        stat: /proc/stat.
        major_faults: Of this process.
        own_s: CPU time of this process and its ended children.
        steering: How far the monotonic clock had been steered, at instants up to this one; empty where nobody looked.
    """

    t_ns: int
    interrupts: str
    stat: str
    major_faults: int
    own_s: float
    steering: tuple[Steering, ...] = ()


def try_all(machine: Machine, look_s: float = 1.0) -> Tried:
    """Try everything; takes about `look_s`. Nothing outlasts the call: what a thread was given ends with it."""
    fifo, reset = _in_thread(_try_fifo)
    allowed = tuple(sorted(os.sched_getaffinity(0)))
    usage = [resource.getrlimit(limit)[0] for limit in (resource.RLIMIT_RTPRIO, resource.RLIMIT_MEMLOCK, resource.RLIMIT_RTTIME)]
    rtprio, memlock, rttime = (_UNLIMITED if value == resource.RLIM_INFINITY else value for value in usage)
    return Tried(
        fifo=fifo,
        reset_on_fork=reset,
        nice=_in_thread(lambda: _errno(lambda: os.setpriority(os.PRIO_PROCESS, 0, -20))),
        allowed=allowed,
        pinned=_in_thread(lambda: {cpu: _errno(_pinning(cpu)) for cpu in allowed}),
        lock=_try_lock(ARENA_BYTES),
        rtprio=rtprio,
        memlock=memlock,
        rttime_us=rttime,
        timer_slack=_in_thread(_try_timer_slack),
        timer_resolution_ns=time.clock_getres(time.CLOCK_MONOTONIC) * 1e9,
        dma_latency=_try_open("/dev/cpu_dma_latency"),
        clock_read_ns=_clock_read_ns(),
        timex=_timex(),
        steered_ppm=steered_ppm(look_s),
        suspended_s=(time.clock_gettime_ns(time.CLOCK_BOOTTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)) * 1e-9,
        coalescing_us={
            name.split("/")[-2]: _coalescing_us(name.split("/")[-2]) for name in machine.glob("sys/class/net/*/device")
        },
        loopback_us=_loopback_us(),
        serial={f"/{path}": os.access(machine.root / path, os.R_OK | os.W_OK) for path in _serial_devices(machine)},
        switch_interval_s=sys.getswitchinterval(),
        lock_waits_ms=_lock_waits_ms(),
    )


def snapshot(machine: Machine) -> Snapshot:
    """Read what counts on."""
    times = os.times()
    return Snapshot(
        time.monotonic_ns(),
        machine.text("proc/interrupts") or "",
        machine.text("proc/stat") or "",
        resource.getrusage(resource.RUSAGE_SELF).ru_majflt,
        times.user + times.system + times.children_user + times.children_system,
    )


def error_name(number: int | None) -> str:
    """Name an errno; "granted" for 0."""
    return "not tried" if number is None else "granted" if number == 0 else f"refused ({errno.errorcode.get(number, number)})"


def _in_thread(what: Callable[[], _Outcome]) -> _Outcome:
    """Do something in a thread of its own, whose priority and affinity end with it."""
    found: list[_Outcome] = []
    thread = threading.Thread(target=lambda: found.append(what()), name="doctor")
    thread.start()
    thread.join()
    return found[0]


def _errno(call: Callable[[], object]) -> int:
    try:
        call()
    except OSError as error:
        return error.errno or -1
    return 0


def _try_fifo() -> tuple[dict[int, int], bool | None]:
    reset = None
    # RESET_ON_FORK cannot be taken back without privilege, so it is tried last.
    found = {priority: _errno(_fifo(priority)) for priority in _PRIORITIES}
    granted = [priority for priority, number in found.items() if number == 0]
    if granted:
        policy = os.SCHED_FIFO | os.SCHED_RESET_ON_FORK
        with suppress(OSError):
            os.sched_setscheduler(0, policy, os.sched_param(granted[-1]))
        reset = os.sched_getscheduler(0) == policy
    return found, reset


def _fifo(priority: int) -> Callable[[], None]:
    return lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


def _pinning(cpu: int) -> Callable[[], None]:
    return lambda: os.sched_setaffinity(0, {cpu})


def _try_timer_slack() -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    return ctypes.get_errno() if libc.prctl(_TIMER_SLACK, ctypes.c_ulong(1), 0, 0, 0) else 0


def _try_lock(size: int) -> int:
    libc = ctypes.CDLL(None, use_errno=True)
    with mmap.mmap(-1, size) as memory:
        first = ctypes.c_char.from_buffer(memory)
        address = ctypes.c_void_p(ctypes.addressof(first))
        found = ctypes.get_errno() if libc.mlock(address, ctypes.c_size_t(size)) else 0
        if not found:
            libc.munlock(address, ctypes.c_size_t(size))
        del first  # else the map cannot be closed
    return found


def _try_open(path: str) -> int:
    """Open for writing and close again: /dev/cpu_dma_latency forgets a request when it is closed."""
    return _errno(lambda: os.close(os.open(path, os.O_WRONLY | os.O_CLOEXEC)))


def _clock_read_ns() -> float:
    costs = []
    for _ in range(5):
        begin = time.monotonic_ns()
        for _ in range(1000):
            time.monotonic_ns()
        costs.append((time.monotonic_ns() - begin) / 1000)
    return sorted(costs)[2]


def _timex() -> tuple[int, float] | None:
    """Ask the kernel's clock discipline, changing nothing: modes 0 of adjtimex needs no privilege."""
    libc = ctypes.CDLL(None, use_errno=True)
    # struct timex: modes (int, padded), offset, freq, maxerror, esterror (long), status (int), ...; 208 bytes on 64-bit machines.
    buffer = ctypes.create_string_buffer(256)
    if libc.adjtimex(buffer) < 0 or struct.calcsize("@l") != 8:
        return None
    _, _, freq, _, _, status = struct.unpack_from("@Iqqqqi", buffer)
    return status, freq / 65536


def _coalescing_us(interface: str) -> int | None:
    """Ask a network driver how long it may hold an interrupt back (struct ethtool_coalesce: cmd, rx_coalesce_usecs, ...)."""
    answer = ctypes.create_string_buffer(struct.pack("I", _GET_COALESCE), 256)
    request = struct.pack("16sP", interface.encode()[:15], ctypes.addressof(answer)).ljust(40, b"\0")
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        fcntl.ioctl(asked, _ETHTOOL, request)
        microseconds: int = struct.unpack_from("II", answer)[1]
        return microseconds
    return None


def _loopback_us() -> tuple[float, float] | None:
    took = []
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.bind(("127.0.0.1", 0))
            one.settimeout(1.0)
            for _ in range(_ROUND_TRIPS):
                begin = time.monotonic_ns()
                one.sendto(b"onbeat", one.getsockname())
                one.recv(16)
                took.append((time.monotonic_ns() - begin) * 1e-3)
    except OSError:
        return None
    took.sort()
    return took[_ROUND_TRIPS // 2], took[_ROUND_TRIPS * 99 // 100]


def _lock_waits_ms() -> tuple[float, float]:
    """Let go of the interpreter lock again and again beside a thread that computes, and see how long it takes to get it back."""
    done, took = threading.Event(), []

    def compute() -> None:
        while not done.is_set():
            sum(range(10_000))

    thread = threading.Thread(target=compute, name="doctor")
    thread.start()
    try:
        for _ in range(_LOCK_WAITS):
            begin = time.monotonic_ns()
            time.sleep(_SHORT_S)
            took.append((time.monotonic_ns() - begin) * 1e-6)
    finally:
        done.set()
        thread.join()
    took.sort()
    return took[_LOCK_WAITS // 2], took[-1]


def _serial_devices(machine: Machine) -> list[str]:
    """List the serial devices of buses; none is opened, since opening one can reset the board behind it."""
    return [path for pattern in ("dev/ttyUSB*", "dev/ttyACM*", "dev/ttyTHS*", "dev/ttyAMA*") for path in machine.glob(pattern)]
