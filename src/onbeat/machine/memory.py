"""Memory: can what a loop touches be held in it, and what may take it away."""

from onbeat.machine.machine import Machine, MachineCheck, pressure
from onbeat.machine.tries import ARENA_BYTES, Snapshot, Tried, error_name

__all__ = ("fault_check", "memory_checks")

_MUCH_LOCKED_KB = 65536
_LIMITS = (
    "put 'YOURUSER - memlock unlimited' into /etc/security/limits.d/99-onbeat.conf, "
    "or set LimitMEMLOCK=infinity (docker: --ulimit memlock=-1)"
)


def memory_checks(machine: Machine, tried: Tried) -> list[MachineCheck]:
    """Judge memory as it is set up."""
    return [
        _lock(tried),
        _lock_limit(machine, tried),
        _locked(machine),
        _swap(machine),
        _huge_pages(machine),
        _balancing(machine),
        pressure(machine, "memory", "free memory, or add some: tasks wait for pages"),
        pressure(machine, "io", "write recordings to another disk than the system's, or less of them"),
    ]


def fault_check(before: Snapshot, after: Snapshot) -> MachineCheck:
    """Judge how many pages were fetched from disk between two snapshots."""
    faults = after.major_faults - before.major_faults
    fix = "keep the program in memory (more of it, no swap): pages came from disk while it measured" if faults else ""
    return MachineCheck("major_faults", faults, "getrusage, twice", "warn" if faults else "good", fix)


def _lock(tried: Tried) -> MachineCheck:
    source = f"mlock of {ARENA_BYTES} bytes, what a loop locks, tried"
    if tried.lock is None:
        return MachineCheck("memory_lock", None, source, "unknown", "run it on the machine itself")
    return MachineCheck(
        "memory_lock", error_name(tried.lock), source, "bad" if tried.lock else "good", _LIMITS if tried.lock else ""
    )


def _lock_limit(machine: Machine, tried: Tried) -> MachineCheck:
    free = bool(int(machine.status("CapEff") or "0", 16) >> 14 & 1)
    word = "unlimited" if tried.memlock < 0 else f"{tried.memlock} bytes"
    word += ", and cap_ipc_lock stands above it" if free and tried.memlock >= 0 else ""
    enough = free or tried.memlock < 0 or tried.memlock >= ARENA_BYTES
    return MachineCheck(
        "memlock_limit", word, "getrlimit(RLIMIT_MEMLOCK), CapEff", "good" if enough else "bad", "" if enough else _LIMITS
    )


def _locked(machine: Machine) -> MachineCheck:
    source = "VmLck of /proc/self/status"
    words = (machine.status("VmLck") or "").split()
    if not words:
        return MachineCheck("locked_memory", None, source, "unknown", "mount /proc")
    much = int(words[0]) > _MUCH_LOCKED_KB
    fix = "leave out mlockall: a loop locks its own memory, and all of Python makes each big array slow" if much else ""
    return MachineCheck("locked_memory", f"{words[0]} kB", source, "warn" if much else "good", fix)


def _swap(machine: Machine) -> MachineCheck:
    lines = (machine.text("proc/swaps") or "").splitlines()[1:]
    names = ", ".join(line.split()[0] for line in lines if line.split())
    fix = "swapoff -a, or vm.swappiness=1: a page of the program may be on disk when it is needed" if names else ""
    return MachineCheck("swap", names or "none", "/proc/swaps", "warn" if names else "good", fix)


def _huge_pages(machine: Machine) -> MachineCheck:
    source = "/sys/kernel/mm/transparent_hugepage/enabled"
    text = machine.text(source[1:])
    if text is None:
        return MachineCheck("transparent_hugepages", "not in this kernel", source, "good")
    value = text[text.find("[") + 1 : text.find("]")]
    fix = f"echo madvise > {source}: merging pages stops a process for milliseconds" if value == "always" else ""
    return MachineCheck("transparent_hugepages", value, source, "warn" if fix else "good", fix)


def _balancing(machine: Machine) -> MachineCheck:
    source = "/proc/sys/kernel/numa_balancing, /sys/devices/system/node"
    on, nodes = machine.number("proc/sys/kernel/numa_balancing"), len(machine.glob("sys/devices/system/node/node[0-9]*"))
    moves = bool(on) and nodes > 1
    fix = "sysctl -w kernel.numa_balancing=0: it unmaps pages to see who uses them" if moves else ""
    return MachineCheck(
        "numa_balancing",
        f"{'on' if on else 'off'}, {max(nodes, 1)} node{'s' * (nodes > 1)}",
        source,
        "warn" if moves else "good",
        fix,
    )
