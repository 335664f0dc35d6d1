import errno
import json
import os
import resource
import subprocess
import sys
from typing import Any

import pytest

from onbeat.errors import BadInput
from onbeat.loop import MemorySink, SendLoop
from onbeat.loop.realtime import Ancestor, ancestors, check_request, origin, refusals
from onbeat.motion import Trajectory


@pytest.mark.parametrize(("priority", "cpu"), [(0, None), (99, None), (80, -1)])
def test_what_can_never_be_granted_is_refused(priority: int, cpu: int | None) -> None:
    with pytest.raises(BadInput):
        check_request(priority, cpu)


def test_nothing_refused_is_nothing_said() -> None:
    assert refusals(0, -1, 0, 0, priority=80, cpu=None, record_bytes=64) == ()


def test_each_refusal_says_what_would_grant_it() -> None:
    fifo, affinity, stack, records = refusals(
        errno.EPERM, errno.EINVAL, errno.ENOMEM, errno.ENOMEM, priority=80, cpu=4096, record_bytes=640
    )
    assert "SCHED_FIFO 80 was refused (EPERM)" in fifo
    assert "LimitRTPRIO=" in fifo
    assert "CPU 4096 was refused (EINVAL)" in affinity
    assert all(str(cpu) in affinity for cpu in os.sched_getaffinity(0))
    assert "65536 bytes" in stack
    assert "640 bytes" in records


def test_a_cpu_that_does_not_exist_is_reported_and_the_loop_runs() -> None:
    loop = SendLoop(MemorySink(1, 1000), 100, Trajectory([0], [[0.0]]), cpu=4095)
    loop.start()
    status = loop.status()
    loop.stop()
    assert status.running
    assert any("CPU 4095 was refused" in line for line in status.refused)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_without_privileges_it_runs_and_says_what_was_refused() -> None:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            resource.setrlimit(resource.RLIMIT_RTPRIO, (0, 0))
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (4096, 4096))
            if os.geteuid() == 0:
                os.setuid(65534)  # nobody
            sink = MemorySink(1, 1000)
            loop = SendLoop(sink, 1000, Trajectory([0], [[0.0]]))
            loop.start()
            status = loop.status()
            while len(sink) == 0 and loop.status().running:
                pass
            loop.stop()
            said = " ".join(status.refused)
            good = not status.realtime and "SCHED_FIFO 80 was refused" in said and "locking the records" in said
            flagged = bool((loop.records()["flags"] & 64).all())
            code = 0 if good and flagged else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


CHAIN = (
    Ancestor(40, "python", {"Max realtime priority": 0, "Max locked memory": 65536}),
    Ancestor(30, "sshd", {"Max realtime priority": 0, "Max locked memory": 65536}),
    Ancestor(20, "tailscaled", {"Max realtime priority": 0, "Max locked memory": None}),
    Ancestor(1, "systemd", {"Max realtime priority": 95, "Max locked memory": None}),
)


def test_the_ancestor_that_lowered_a_limit_is_named() -> None:
    said = origin(CHAIN, "Max realtime priority", 80)
    assert said == "it came with process 20 (tailscaled), whose parent 1 (systemd) has 95"
    assert (
        origin(CHAIN, "Max locked memory", 1 << 20) == "it came with process 30 (sshd), whose parent 20 (tailscaled) has no limit"
    )
    assert origin(CHAIN, "Max locked memory", 1024) == "this process has enough of it"
    assert origin(CHAIN, "Max realtime priority", 98) == "every process up to 1 (systemd) has it"
    assert origin((), "Max realtime priority", 80) == "who set it cannot be read"
    fifo, *_ = refusals(errno.EPERM, -1, -1, -1, priority=80, cpu=None, record_bytes=0, chain=CHAIN)
    assert "process 20 (tailscaled)" in fifo


def test_the_chain_begins_with_this_process_and_has_its_limits() -> None:
    chain = ancestors()
    assert chain[0].pid == os.getpid()
    assert chain[1].pid == os.getppid()
    soft = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
    assert chain[0].limits["Max realtime priority"] == (None if soft == resource.RLIM_INFINITY else soft)


UNPRIVILEGED = """
import json, os, resource, sys
from onbeat.loop import MemorySink, SendLoop
from onbeat.motion import Trajectory
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
for limit, value in ((resource.RLIMIT_RTPRIO, 0), (resource.RLIMIT_MEMLOCK, 4096), (resource.RLIMIT_RTTIME, 100_000)):
    resource.setrlimit(limit, (value, value))
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
plan = Trajectory([0], [[0.0]])
sink = MemorySink(1, 10_000)
loop = SendLoop(sink, 1000, plan, spin_us=200)
loop.start()
status = loop.status()
while len(sink) < 500 and loop.status().running:
    pass
loop.stop()
records = loop.records()
print(json.dumps({"uid": os.getuid(), "running": status.running, "realtime": status.realtime, "refused": status.refused,
    "sent": len(sink), "error": loop.status().error, "no_fifo": bool((records["flags"] & 64).all()), "parent": os.getppid()}))
"""

REAL_TIME = """
import json, os, resource
from onbeat.loop import MemorySink, SendLoop
from onbeat.motion import Trajectory
resource.setrlimit(resource.RLIMIT_RTTIME, (10_000, 20_000))
sink = MemorySink(1, 10_000)
loop = SendLoop(sink, 1000, Trajectory([0], [[0.0]]), spin_us=500)
loop.start()
while len(sink) < 500 and loop.status().running:
    pass
policies = {}
for task in os.listdir("/proc/self/task"):
    with open(f"/proc/self/task/{task}/comm") as file:
        policies[file.read().strip()] = os.sched_getscheduler(int(task)), os.sched_getparam(int(task)).sched_priority
loop.stop()
print(json.dumps({"realtime": loop.status().realtime, "sent": len(sink), "error": loop.status().error, "policies": policies}))
"""


def run(program: str) -> dict[str, Any]:
    """A process of its own; it must end by itself, with 0, and not by a signal."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return dict(json.loads(done.stdout))


def test_a_process_without_privileges_on_one_cpu_runs_names_what_was_refused_and_is_not_killed() -> None:
    found = run(UNPRIVILEGED)
    assert found["running"]
    assert found["sent"] >= 500
    assert found["error"] == ""
    assert not found["realtime"]
    assert found["no_fifo"]
    fifo, stack, records = found["refused"]
    assert "SCHED_FIFO 80 was refused (EPERM): RLIMIT_RTPRIO is 0 here" in fifo
    assert "process" in fifo
    assert "LimitRTPRIO=" in fifo
    assert "locking the stack" in stack
    assert "locking the records" in records


def test_a_real_time_thread_that_spins_sleeps_often_enough_not_to_be_killed() -> None:
    found = run(REAL_TIME)
    assert found["sent"] >= 500
    assert found["error"] == ""
    if found["realtime"]:
        # FIFO 80, reset on fork; no other thread of the process has it.
        assert found["policies"].pop("onbeat-loop") == [os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, 80]
    assert all(policy == os.SCHED_OTHER for policy, _ in found["policies"].values())
