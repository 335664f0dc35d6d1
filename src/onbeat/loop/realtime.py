"""Which part of real time was refused, who set the limit, and what would grant it."""

import errno
import os
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from onbeat.errors import BadInput

__all__ = ("SOFT", "SOFT_PROCESS", "Ancestor", "ancestors", "check_request", "origin", "refusals")

SOFT = (
    "a soft loop runs in Python: SCHED_FIFO was not asked for, and whoever holds the interpreter lock delays it; "
    "process: own in the module's YAML gives it a process of its own"
)
SOFT_PROCESS = (
    "a soft loop runs in Python, in a process of its own: the driver's own threads and Python's garbage collection delay it"
)

_RTPRIO, _MEMLOCK = "Max realtime priority", "Max locked memory"
_CAP_SYS_NICE = 23
_MOST_CPUS = 1 << 16


@dataclass(frozen=True, slots=True)
class Ancestor:
    """A process and its soft limits by the names that Linux gives them: None is unlimited, and what cannot be read is missing."""

    pid: int
    name: str
    limits: dict[str, int | None]


def check_request(priority: int, cpu: int | None) -> None:
    """Refuse what can never be granted.

    Raises:
        BadInput: a priority outside 1..98, or a CPU that no machine has.
    """
    if not 1 <= priority <= 98:
        raise BadInput(f"priority must lie in 1..98, not {priority}: 99 belongs to the kernel's own threads")
    if cpu is not None and not 0 <= cpu < _MOST_CPUS:
        raise BadInput(f"cpu must be the id of a CPU, not {cpu}; None leaves the choice to the scheduler")


def ancestors() -> tuple[Ancestor, ...]:
    """Read this process and those above it, from /proc; as far as they can be read."""
    chain: list[Ancestor] = []
    pid = os.getpid()
    while pid > 0 and len(chain) < 64:
        try:
            status = Path(f"/proc/{pid}/status").read_text(errors="replace")
        except OSError:
            break
        fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        try:
            limits = _limits(Path(f"/proc/{pid}/limits").read_text())
        except OSError:  # of another user
            limits = {}
        chain.append(Ancestor(pid, fields.get("Name", "?"), limits))
        pid = int(fields.get("PPid", "0"))
    return tuple(chain)


def origin(chain: Sequence[Ancestor], limit: str, wanted: int) -> str:
    """Say which process a limit that is below `wanted` comes from.

    Args:
        chain: This process first, then its ancestors.
        limit: As Linux names it in /proc/PID/limits.
        wanted: What would have been enough.
    """
    low = None
    for process in chain:
        if limit not in process.limits:
            break
        value = process.limits[limit]
        if value is None or value >= wanted:
            if low is None:
                return "this process has enough of it"
            has = "no limit" if value is None else str(value)
            return f"it came with process {low.pid} ({low.name}), whose parent {process.pid} ({process.name}) has {has}"
        low = process
    if low is None:
        return "who set it cannot be read"
    return f"every process up to {low.pid} ({low.name}) has it"


def refusals(
    fifo: int,
    affinity: int,
    stack_lock: int,
    record_lock: int,
    *,
    priority: int,
    cpu: int | None,
    record_bytes: int,
    chain: Sequence[Ancestor] | None = None,
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
        chain: This process and those above it; read when not given.
    """
    if max(fifo, affinity, stack_lock, record_lock) <= 0:
        return ()
    said = []
    chain = ancestors() if chain is None else chain
    if fifo > 0:
        said.append(f"SCHED_FIFO {priority} was refused ({_name(fifo)}): {_why_no_fifo(chain, priority)}")
    if affinity > 0:
        allowed = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
        said.append(f"CPU {cpu} was refused ({_name(affinity)}): this process may run on CPU {allowed}; give one of these")
    for error, what, size in ((stack_lock, "the stack", 64 * 1024), (record_lock, "the records", record_bytes)):
        if error > 0:
            limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
            said.append(
                f"locking {what} ({size} bytes) was refused ({_name(error)}): RLIMIT_MEMLOCK is {_limit(limit)} bytes here, and "
                f"{origin(chain, _MEMLOCK, size)}; raise it with LimitMEMLOCK= or give the loop a smaller record_capacity"
            )
    return tuple(said)


def _why_no_fifo(chain: Sequence[Ancestor], priority: int) -> str:
    limit = resource.getrlimit(resource.RLIMIT_RTPRIO)[0]
    said = (
        f"RLIMIT_RTPRIO is {_limit(limit)} here, and {origin(chain, _RTPRIO, priority)}; "
        "raise it in /etc/security/limits.d or with LimitRTPRIO=, or grant cap_sys_nice"
    )
    if _may_set_priority():
        said += (
            "; this process has cap_sys_nice, so look at its control group: one without a real-time budget refuses all "
            "(cpu.rt_runtime_us, docker --cpu-rt-runtime)"
        )
    return said


def _may_set_priority() -> bool:
    for line in Path("/proc/self/status").read_text(errors="replace").splitlines():
        if line.startswith("CapEff:"):
            return bool(int(line.split()[1], 16) >> _CAP_SYS_NICE & 1)
    return False


def _limits(text: str) -> dict[str, int | None]:
    """Read the soft limits; the name is what stands in the first 26 columns."""
    found: dict[str, int | None] = {}
    for line in text.splitlines()[1:]:
        name, values = line[:26].strip(), line[26:].split()
        if values:
            found[name] = None if values[0] == "unlimited" else int(values[0])
    return found


def _name(error: int) -> str:
    return errno.errorcode.get(error, str(error))


def _limit(value: int) -> str:
    return "unlimited" if value == resource.RLIM_INFINITY else str(value)
