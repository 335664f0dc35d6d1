"""A container: what of real time it was given, and what it was not, as one line to run it with."""

from onbeat.machine.machine import Machine, MachineCheck, cgroup_folders, cpu_list
from onbeat.machine.tries import ARENA_BYTES, PRIORITY, Tried

__all__ = ("container_checks",)

_MARKS = {"docker": "docker", "kubepods": "kubernetes", "libpod": "podman", "containerd": "containerd", "/lxc": "lxc"}
_CAPABILITIES = {14: "cap_ipc_lock", 23: "cap_sys_nice"}


def container_checks(machine: Machine, tried: Tried) -> list[MachineCheck]:
    """Judge the box that this process lives in: the container, its capabilities, quota and CPU set."""
    return [
        _container(machine, tried),
        _capabilities(machine, tried),
        _quota(machine),
        _cpuset(machine, tried),
        _seccomp(machine, tried),
    ]


def _kind(machine: Machine) -> str:
    if machine.exists(".dockerenv"):
        return "docker"
    if machine.exists("run/.containerenv"):
        return "podman"
    groups = machine.text("proc/1/cgroup") or machine.text("proc/self/cgroup") or ""
    for mark, kind in _MARKS.items():
        if mark in groups:
            return kind
    for line in (machine.text("proc/self/mounts") or "").splitlines():
        words = line.split()
        if words[1:3] == ["/", "overlay"]:
            return "a container (overlay root)"
    return "none"


def _container(machine: Machine, tried: Tried) -> MachineCheck:
    source = "/.dockerenv, /run/.containerenv, /proc/1/cgroup, root of /proc/self/mounts"
    kind = _kind(machine)
    if kind == "none":
        return MachineCheck("container", kind, source, "good")
    flags = []
    if tried.fifo.get(PRIORITY):
        flags += ["--cap-add=SYS_NICE", "--ulimit rtprio=98"]
        if any(machine.number(f"{folder}/cpu.rt_runtime_us") == 0 for folder in cgroup_folders(machine, "cpu")):
            flags.append("--cpu-rt-runtime=400000")
    if tried.lock:
        flags.append("--ulimit memlock=-1")
    if tried.dma_latency:
        flags.append("--device /dev/cpu_dma_latency")
    value = f"{kind}, lacks {' '.join(flags)}" if flags else f"{kind}, with all that a loop asks for"
    return MachineCheck(
        "container",
        value,
        source,
        "bad" if tried.fifo.get(PRIORITY) else "warn" if flags else "good",
        f"docker run {' '.join(flags)} ..." if flags else "",
    )


def _capabilities(machine: Machine, tried: Tried) -> MachineCheck:
    source = "CapEff of /proc/self/status"
    text = machine.status("CapEff")
    if text is None:
        return MachineCheck("capabilities", None, source, "unknown", "mount /proc")
    held = [name for bit, name in _CAPABILITIES.items() if int(text, 16) >> bit & 1]
    # Limits can give the same without a capability; then nothing is missing.
    enough = len(held) == len(_CAPABILITIES) or (tried.fifo.get(PRIORITY) == 0 and tried.lock == 0)
    fix = (
        ""
        if enough
        else "setcap cap_sys_nice,cap_ipc_lock+ep on the interpreter, or raise the limits (rtprio_limit, memlock_limit)"
    )
    return MachineCheck(
        "capabilities", ", ".join(held) or "neither cap_sys_nice nor cap_ipc_lock", source, "good" if enough else "warn", fix
    )


def _quota(machine: Machine) -> MachineCheck:
    source = "cpu.max or cpu.cfs_quota_us, and nr_throttled, of the own control group and those above"
    folders = cgroup_folders(machine, "cpu")
    for folder in folders:
        share = _share(machine, folder)
        if share is not None:
            words = (machine.text(f"{folder}/cpu.stat") or "").split()
            stopped = words[words.index("nr_throttled") + 1] if "nr_throttled" in words else "?"
            value = f"{share:.2f} CPUs in /{folder}, stopped {stopped} times"
            fix = "take the quota away (docker: no --cpus) and give a CPU set instead: it stops every thread when it is used up"
            return MachineCheck("cpu_quota", value, source, "bad", fix)
    if not folders:
        return MachineCheck("cpu_quota", None, source, "unknown", "mount /sys/fs/cgroup to see a quota")
    return MachineCheck("cpu_quota", "none", source, "good")


def _share(machine: Machine, folder: str) -> float | None:
    words = (machine.text(f"{folder}/cpu.max") or "").split()
    if len(words) == 2 and words[0].isdigit():
        return int(words[0]) / int(words[1])
    quota, period = machine.number(f"{folder}/cpu.cfs_quota_us"), machine.number(f"{folder}/cpu.cfs_period_us")
    return quota / period if quota is not None and period and quota > 0 else None


def _cpuset(machine: Machine, tried: Tried) -> MachineCheck:
    source = "cpuset.cpus.effective of the own control group, /sys/devices/system/cpu/online"
    texts = [
        machine.text(f"{folder}/{file}")
        for folder in cgroup_folders(machine, "cpuset")[:1]
        for file in ("cpuset.cpus.effective", "cpuset.effective_cpus")
    ]
    online = cpu_list(machine.text("sys/devices/system/cpu/online"))
    cpus = next((cpu_list(text) for text in texts if text), online or tried.allowed)
    narrow = bool(online) and set(cpus) < set(online)
    fix = (
        f"widen the CPU set if the loop is to stand elsewhere (docker: --cpuset-cpus={min(online)}-{max(online)})"
        if narrow
        else ""
    )
    return MachineCheck("cpuset", cpus, source, "warn" if narrow else "good", fix)


def _seccomp(machine: Machine, tried: Tried) -> MachineCheck:
    source = "Seccomp of /proc/self/status"
    mode = machine.status("Seccomp")
    if mode is None:
        return MachineCheck("seccomp", None, source, "unknown", "mount /proc")
    filtered = mode != "0"
    denies = filtered and bool(tried.fifo.get(PRIORITY) or tried.lock)
    fix = (
        f"allow sched_setscheduler and mlock ({ARENA_BYTES} bytes) in the profile, or try --security-opt seccomp=unconfined"
        if denies
        else ""
    )
    return MachineCheck("seccomp", "filters calls" if filtered else "off", source, "warn" if denies else "good", fix)
