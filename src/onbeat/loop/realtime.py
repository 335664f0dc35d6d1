"""Which part of real time was refused, and what would grant it."""

import errno
import os
import resource

from onbeat.errors import BadInput

__all__ = ("SOFT", "check_request", "refusals")

SOFT = "a soft loop runs in Python: SCHED_FIFO was not asked for, and whoever holds the interpreter lock delays it"


def check_request(priority: int, cpu: int | None) -> None:
    """Refuse what can never be granted.

    Raises:
        BadInput: a priority outside 1..98, or a negative CPU.
    """
    if not 1 <= priority <= 98:
        raise BadInput(f"priority must lie in 1..98, not {priority}: 99 belongs to the kernel's own threads")
    if cpu is not None and cpu < 0:
        raise BadInput(f"cpu must be the id of a CPU, not {cpu}; None leaves the choice to the scheduler")


def refusals(
    fifo: int, affinity: int, stack_lock: int, record_lock: int, *, priority: int, cpu: int | None, record_bytes: int
) -> tuple[str, ...]:
    """Say in a sentence each what was refused.

    Args:
        fifo: 0 granted, -1 not asked for, else the errno of sched_setscheduler; likewise the others.
        affinity: Of sched_setaffinity.
        stack_lock: Of mlock of the thread's stack.
        record_lock: Of mlock of the records.
        priority: What was asked for.
        cpu: What was asked for.
        record_bytes: Size of the records.
    """
    said = []
    if fifo > 0:
        limit = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
        said.append(
            f"SCHED_FIFO {priority} was refused ({_name(fifo)}): RLIMIT_RTPRIO is {_limit(limit)} here; "
            "raise it in /etc/security/limits.d or with LimitRTPRIO=, or grant cap_sys_nice"
        )
    if affinity > 0:
        allowed = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
        said.append(f"CPU {cpu} was refused ({_name(affinity)}): this process may run on CPU {allowed}; give one of these")
    for error, what, size in ((stack_lock, "the stack", 64 * 1024), (record_lock, "the records", record_bytes)):
        if error > 0:
            limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
            said.append(
                f"locking {what} ({size} bytes) was refused ({_name(error)}): RLIMIT_MEMLOCK is {_limit(limit)} bytes here; "
                "raise it with LimitMEMLOCK= or give the loop a smaller record_capacity"
            )
    return tuple(said)


def _name(error: int) -> str:
    return errno.errorcode.get(error, str(error))


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else str(value)
