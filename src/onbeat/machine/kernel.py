"""The kernel: is it a real-time one, does it grant SCHED_FIFO, who takes it away, what does it do with a late spin."""

from onbeat.machine.machine import Level, Machine, MachineCheck, cgroup_folders, cpu_list
from onbeat.machine.tries import PRIORITY, Tried, error_name

__all__ = ("kernel_checks", "scheduler_checks")

_LIMITS = (
    "put 'YOURUSER - rtprio 98' into /etc/security/limits.d/99-onbeat.conf and log in anew, "
    "or set LimitRTPRIO=98 in its systemd unit"
)
_MOST_ANCESTORS = 64


def kernel_checks(machine: Machine, tried: Tried) -> list[MachineCheck]:
    """Judge the kernel itself: its preemption, its timers, its boot options."""
    return [
        _realtime_kernel(machine),
        _preemption(machine),
        _threaded_interrupts(machine),
        _tick(machine),
        _timer_resolution(tried),
        _timer_slack(machine, tried),
        _timer_migration(machine),
        _ignored_options(machine),
    ]


def scheduler_checks(machine: Machine, tried: Tried, rate_hz: float) -> list[MachineCheck]:
    """Judge what the scheduler grants this process.

    Args:
        machine: The machine.
        tried: What was granted.
        rate_hz: Of the loop.
    """
    return [
        _sched_fifo(machine, tried),
        _fifo_priority(tried),
        _reset_on_fork(tried),
        _session(machine, tried),
        _rtprio_limit(machine, tried),
        _rttime_limit(tried, rate_hz),
        _throttling(machine),
        _cgroup_budget(machine),
        _thread_policies(machine),
        _nice(tried),
    ]


def _is_realtime(machine: Machine) -> bool:
    # Some real-time kernels lack the file and name themselves in their version only.
    return machine.number("sys/kernel/realtime") == 1 or "PREEMPT_RT" in (machine.text("proc/version") or "")


def _realtime_kernel(machine: Machine) -> MachineCheck:
    source = "/sys/kernel/realtime, /proc/version"
    version = machine.text("proc/version")
    if _is_realtime(machine):
        return MachineCheck("realtime_kernel", "PREEMPT_RT", source, "good")
    if version is None:
        return MachineCheck("realtime_kernel", None, source, "unknown", "mount /proc")
    word = next((word for word in version.split() if word.startswith("PREEMPT")), "no preemption")
    return MachineCheck(
        "realtime_kernel", word, source, "warn", "boot a PREEMPT_RT kernel (preempt=full on the boot line is a step)"
    )


def _preemption(machine: Machine) -> MachineCheck:
    source = "/sys/kernel/debug/sched/preempt, preempt= of /proc/cmdline, CONFIG_PREEMPT*"
    fix = "add preempt=full to the boot line"
    if _is_realtime(machine):
        return MachineCheck("preemption", "full (real-time)", source, "good")
    live = machine.text("sys/kernel/debug/sched/preempt") or ""
    model = live[live.find("(") + 1 : live.find(")")] if "(" in live else machine.option("preempt")
    if not model:
        built = {name: machine.configured(f"PREEMPT{name}") for name in ("_NONE", "_VOLUNTARY", "_LAZY", "")}
        model = next((name[1:].lower() or "full" for name, value in built.items() if value == "y"), None)
    if not model:
        return MachineCheck("preemption", None, source, "unknown", "read it as root: cat /sys/kernel/debug/sched/preempt")
    good = model in ("full", "lazy")
    return MachineCheck("preemption", model, source, "good" if good else "warn", "" if good else fix)


def _threaded_interrupts(machine: Machine) -> MachineCheck:
    on = _is_realtime(machine) or machine.option("threadirqs") is not None
    fix = "" if on else "add threadirqs to the boot line, so that a loop's priority can stand above interrupts"
    return MachineCheck("threaded_interrupts", on, "/proc/cmdline, /proc/version", "good" if on else "warn", fix)


def _tick(machine: Machine) -> MachineCheck:
    source = "CONFIG_HZ of /proc/config.gz or /boot/config-RELEASE"
    hz = machine.configured("HZ")
    if not hz:
        return MachineCheck("kernel_tick", None, source, "unknown", "modprobe configs, or read CONFIG_HZ in the kernel's build")
    slow = int(hz) < 250
    fix = "take a kernel with CONFIG_HZ=250 or more: threads without SCHED_FIFO wait for its tick" if slow else ""
    return MachineCheck("kernel_tick", f"{hz} Hz", source, "warn" if slow else "good", fix)


def _timer_resolution(tried: Tried) -> MachineCheck:
    source, found = "clock_getres(CLOCK_MONOTONIC), tried", tried.timer_resolution_ns
    if found is None:
        return MachineCheck("timer_resolution", None, source, "unknown", "run it on the machine itself")
    coarse = found > 1000
    fix = "remove highres=off and nohz=off from the boot line; sleeps end on the kernel's tick now" if coarse else ""
    return MachineCheck("timer_resolution", f"{found:g} ns", source, "bad" if coarse else "good", fix)


def _timer_slack(machine: Machine, tried: Tried) -> MachineCheck:
    source = "/proc/self/timerslack_ns; prctl(PR_SET_TIMERSLACK, 1) tried"
    now = machine.number("proc/self/timerslack_ns")
    value = f"{'?' if now is None else now} ns, 1 ns {error_name(tried.timer_slack)}"
    if tried.timer_slack is None:
        return MachineCheck("timer_slack", value, source, "unknown", "run it on the machine itself")
    fix = "allow prctl in the seccomp profile; threads without SCHED_FIFO wake 50 us later" if tried.timer_slack else ""
    return MachineCheck("timer_slack", value, source, "warn" if tried.timer_slack else "good", fix)


def _timer_migration(machine: Machine) -> MachineCheck:
    source = "/proc/sys/kernel/timer_migration"
    on = machine.number(source[1:])
    if on is None:
        return MachineCheck("timer_migration", None, source, "unknown", "this kernel does not say; nothing to do")
    isolated = machine.text("sys/devices/system/cpu/isolated")
    warn = bool(on and isolated)
    fix = "sysctl -w kernel.timer_migration=0, so that no timer moves onto the isolated CPUs" if warn else ""
    return MachineCheck("timer_migration", bool(on), source, "warn" if warn else "good", fix)


def _ignored_options(machine: Machine) -> MachineCheck:
    """Options that were asked for at boot and that this kernel cannot do; vendor kernels ship without them."""
    source = "/proc/cmdline against /sys/devices/system/cpu/nohz_full and CONFIG_*"
    needs = {"nohz_full": "NO_HZ_FULL", "rcu_nocbs": "RCU_NOCB_CPU", "isolcpus": "CPU_ISOLATION"}
    asked = [name for name in needs if machine.option(name)]
    ignored = [name for name in asked if machine.configured(needs[name]) == ""]
    live = cpu_list(machine.text("sys/devices/system/cpu/nohz_full"))
    if "nohz_full" in asked and "nohz_full" not in ignored and not live:
        ignored.append("nohz_full")
    if not ignored:
        return MachineCheck("ignored_boot_options", "none", source, "good")
    configs = ", ".join(f"CONFIG_{needs[name]}" for name in ignored)
    return MachineCheck(
        "ignored_boot_options", ", ".join(ignored), source, "bad", f"build the kernel with {configs}; this one ignores the option"
    )


def _sched_fifo(machine: Machine, tried: Tried) -> MachineCheck:
    source = f"sched_setscheduler(SCHED_FIFO, {PRIORITY}) in a thread, tried"
    outcome = tried.fifo.get(PRIORITY)
    value = f"priority {PRIORITY} {error_name(outcome)}"
    if outcome is None:
        return MachineCheck("sched_fifo", value, source, "unknown", "run it on the machine itself")
    if outcome == 0:
        return MachineCheck("sched_fifo", value, source, "good")
    if _has(machine, "CapEff", 23) or 0 < tried.rtprio >= PRIORITY:
        fix = (
            "the right is there, the control group denies it: give it cpu.rt_runtime_us, or take a kernel without RT_GROUP_SCHED"
        )
    else:
        fix = f"{_LIMITS}, or: setcap cap_sys_nice+ep on the interpreter"
    return MachineCheck("sched_fifo", value, source, "bad", fix)


def _fifo_priority(tried: Tried) -> MachineCheck:
    source = "sched_setscheduler(SCHED_FIFO, 1, 50, 80, 98), each tried"
    granted = [priority for priority, outcome in tried.fifo.items() if outcome == 0]
    best = max(granted, default=0)
    verdict: Level = "good" if best >= PRIORITY else "warn" if best else "bad"
    fix = "" if best >= PRIORITY else f"allow priority {PRIORITY}, above the kernel's interrupt threads (50): {_LIMITS}"
    return MachineCheck("fifo_priority", best, source, verdict if tried.fifo else "unknown", fix)


def _reset_on_fork(tried: Tried) -> MachineCheck:
    source = "SCHED_FIFO | SCHED_RESET_ON_FORK set and read back, tried"
    if tried.reset_on_fork is None:
        return MachineCheck("reset_on_fork", "not tried", source, "unknown", "grant SCHED_FIFO first (sched_fifo says how)")
    fix = "" if tried.reset_on_fork else "update the kernel: a child of the loop would inherit its priority"
    return MachineCheck("reset_on_fork", tried.reset_on_fork, source, "good" if tried.reset_on_fork else "warn", fix)


def _session(machine: Machine, tried: Tried) -> MachineCheck:
    """Name the ancestor at which the right to real time was lost."""
    source = "Max realtime priority of /proc/PID/limits and cap_sys_nice of /proc/PID/status, up to pid 1"
    chain = ["self"]
    while len(chain) < _MOST_ANCESTORS and (parent := machine.status("PPid", chain[-1])) not in (None, "0"):
        chain.append(str(parent))
    rights = [(pid, _may(machine, pid)) for pid in chain]
    if tried.fifo.get(PRIORITY) == 0:
        return MachineCheck("realtime_session", "nobody denies it", source, "good")
    may = [pid for pid, right in rights if right]
    if not may or may[0] == "self":
        oldest = chain[-1]
        what = "no ancestor had the right" if not may else "every ancestor has the right"
        value = f"{what}, up to {_name(machine, oldest)} (pid {oldest})"
        return MachineCheck("realtime_session", value, source, "bad", _LIMITS if not may else "see sched_fifo and realtime_group")
    denier = chain[chain.index(may[0]) - 1]
    pid = machine.status("Pid", denier) or denier
    value = f"lost at {_name(machine, denier)} (pid {pid}), child of {_name(machine, may[0])} (pid {may[0]})"
    return MachineCheck("realtime_session", value, source, "bad", f"give {_name(machine, denier)} the right: {_LIMITS}")


def _may(machine: Machine, pid: str) -> bool:
    limit = 0
    for line in (machine.text(f"proc/{pid}/limits") or "").splitlines():
        if line.startswith("Max realtime priority"):
            word = line.split()[3]
            limit = 99 if word == "unlimited" else int(word)
    return limit >= PRIORITY or _has(machine, "CapEff", 23, pid)


def _name(machine: Machine, pid: str) -> str:
    return machine.text(f"proc/{pid}/comm") or "?"


def _has(machine: Machine, which: str, bit: int, pid: str = "self") -> bool:
    return bool(int(machine.status(which, pid) or "0", 16) >> bit & 1)


def _rtprio_limit(machine: Machine, tried: Tried) -> MachineCheck:
    limit = tried.rtprio
    enough = limit < 0 or limit >= PRIORITY or _has(machine, "CapEff", 23)
    word = "unlimited" if limit < 0 else str(limit)
    if limit >= 0 and _has(machine, "CapEff", 23):
        word += ", and cap_sys_nice stands above it"
    return MachineCheck(
        "rtprio_limit", word, "getrlimit(RLIMIT_RTPRIO), CapEff", "good" if enough else "bad", "" if enough else _LIMITS
    )


def _rttime_limit(tried: Tried, rate_hz: float) -> MachineCheck:
    source, limit = "getrlimit(RLIMIT_RTTIME)", tried.rttime_us
    if limit < 0:
        return MachineCheck("rttime_limit", "unlimited", source, "good")
    short = limit < 5e6 / rate_hz
    fix = (
        "raise it (ulimit -R unlimited, LimitRTTIME=infinity): a real-time thread that computes so long without a sleep is killed"
    )
    return MachineCheck("rttime_limit", f"{limit} us", source, "bad" if short else "warn", fix)


def _throttling(machine: Machine) -> MachineCheck:
    folder = "proc/sys/kernel/sched_rt"
    runtime, period = machine.number(f"{folder}_runtime_us"), machine.number(f"{folder}_period_us")
    source = "/proc/sys/kernel/sched_rt_runtime_us, sched_rt_period_us"
    if runtime is None or period is None:
        return MachineCheck("rt_throttling", None, source, "unknown", "mount /proc/sys")
    if runtime < 0:
        return MachineCheck("rt_throttling", "off", source, "good")
    if runtime == 0:
        return MachineCheck(
            "rt_throttling",
            f"0 of {period} us",
            source,
            "bad",
            "sysctl -w kernel.sched_rt_runtime_us=950000: nothing real-time runs now",
        )
    stall = (period - runtime) * 1e-3
    fix = f"sysctl -w kernel.sched_rt_runtime_us=-1, or let no real-time thread spin: it would stand still for {stall:g} ms"
    return MachineCheck(
        "rt_throttling", f"{runtime} of {period} us", source, "warn" if stall > 0 else "good", fix if stall > 0 else ""
    )


def _cgroup_budget(machine: Machine) -> MachineCheck:
    source = "cpu.rt_runtime_us of the own control group and those above"
    budgets = {folder: machine.number(f"{folder}/cpu.rt_runtime_us") for folder in cgroup_folders(machine, "cpu")}
    known = {folder: budget for folder, budget in budgets.items() if budget is not None}
    if not known:
        return MachineCheck("realtime_group", "no budgets in use", source, "good")
    empty = [folder for folder, budget in known.items() if budget == 0]
    if not empty:
        return MachineCheck("realtime_group", f"{min(known.values())} us", source, "good")
    fix = f"echo 400000 > /{empty[-1]}/cpu.rt_runtime_us from the top down (docker: --cpu-rt-runtime=400000)"
    return MachineCheck("realtime_group", f"0 us in /{empty[-1]}", source, "bad", fix)


def _thread_policies(machine: Machine) -> MachineCheck:
    """Threads of this process that run real time without having asked: they inherited it."""
    source = "policy in /proc/self/task/*/stat"
    found = []
    for path in machine.glob("proc/self/task/*/stat"):
        fields = (machine.text(path) or "").rpartition(")")[2].split()
        if len(fields) > 38 and fields[38] in ("1", "2", "6"):  # FIFO, RR, DEADLINE
            found.append(path.split("/")[-2])
    value = f"{len(found)} real-time threads in this process"
    fix = "start it without chrt, or with SCHED_RESET_ON_FORK: every thread of Python inherited the priority" if found else ""
    return MachineCheck("inherited_priority", value, source, "warn" if found else "good", fix)


def _nice(tried: Tried) -> MachineCheck:
    source = "setpriority(-20) in a thread, tried"
    value = f"nice -20 {error_name(tried.nice)}"
    if tried.nice is None:
        return MachineCheck("nice_priority", value, source, "unknown", "run it on the machine itself")
    fix = (
        ""
        if tried.nice == 0
        else "put 'YOURUSER - nice -20' into /etc/security/limits.d/99-onbeat.conf (only loops without SCHED_FIFO need it)"
    )
    return MachineCheck("nice_priority", value, source, "warn" if tried.nice else "good", fix)
