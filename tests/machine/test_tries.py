import errno
import json
import os
import subprocess
import sys
import threading
from typing import Any

import pytest

from onbeat.machine.machine import Machine
from onbeat.machine.tries import error_name, snapshot, try_all
from tests.machine.situations import AS_NOBODY, SITUATIONS

# Restated with nothing of onbeat: each call that the tries stand for, made in a process of its own.
RESTATED = """
import ctypes, json, mmap, os
def errno_of(call):
    try: call()
    except OSError as error: return error.errno
    return 0
libc = ctypes.CDLL(None, use_errno=True)
allowed = sorted(os.sched_getaffinity(0))
memory = mmap.mmap(-1, 65536 * 64 + 65536)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
lock = ctypes.get_errno() if libc.mlock(ctypes.c_void_p(address), ctypes.c_size_t(len(memory))) else 0
found = {
    "allowed": allowed,
    "lock": lock,
    "dma": errno_of(lambda: os.open("/dev/cpu_dma_latency", os.O_WRONLY)),
    "nice": errno_of(lambda: os.setpriority(os.PRIO_PROCESS, 0, -20)),
    "pinned": [errno_of(lambda: os.sched_setaffinity(0, {cpu})) for cpu in allowed],
    "fifo": [errno_of(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(p))) for p in (1, 50, 80, 98)],
}
print(json.dumps(found))
"""

OURS = """
import json
from onbeat.machine.machine import Machine
from onbeat.machine.tries import try_all
tried = try_all(Machine(), look_s=0.05)
print(json.dumps({
    "allowed": tried.allowed, "lock": tried.lock, "dma": tried.dma_latency, "nice": tried.nice,
    "pinned": list(tried.pinned.values()), "fifo": list(tried.fifo.values()),
}))
"""


def said(program: str) -> Any:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd="/")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_tries_agree_with_the_calls_themselves(situation: str) -> None:
    assert said(SITUATIONS[situation] + OURS) == said(SITUATIONS[situation] + RESTATED)


def test_unprivileged_child_is_refused_and_says_so() -> None:
    found = said(AS_NOBODY + OURS)
    assert found["fifo"] == [errno.EPERM] * 4
    assert found["lock"] == errno.ENOMEM
    assert found["dma"] == errno.EACCES


def test_nothing_outlasts_the_tries() -> None:
    before = os.sched_getscheduler(0), os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0), threading.active_count()
    tried = try_all(Machine(), look_s=0.05)
    assert (
        os.sched_getscheduler(0),
        os.sched_getaffinity(0),
        os.getpriority(os.PRIO_PROCESS, 0),
        threading.active_count(),
    ) == before
    assert tried.allowed == tuple(sorted(before[1]))
    assert tried.timer_resolution_ns is not None
    assert tried.steered_ppm is not None
    assert abs(tried.steered_ppm) < 1000


def test_snapshots_count_on() -> None:
    first, last = snapshot(Machine()), snapshot(Machine())
    assert last.t_ns > first.t_ns
    assert last.own_s >= first.own_s
    assert last.stat.startswith("cpu ")


def test_errors_have_names() -> None:
    assert error_name(0) == "granted"
    assert error_name(errno.EPERM) == "refused (EPERM)"
    assert error_name(None) == "not tried"
