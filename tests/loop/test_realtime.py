import errno
import os
import resource

import pytest

from onbeat.errors import BadInput
from onbeat.loop import MemorySink, SendLoop
from onbeat.loop.realtime import check_request, refusals
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
