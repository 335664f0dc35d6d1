"""The processors: which ones, whose, how fast, how deep they sleep, and what else runs on them."""

from onbeat.machine.machine import Machine, MachineCheck, cpu_list, cpu_text, pressure
from onbeat.machine.tries import PRIORITY, Snapshot, Tried, error_name

__all__ = ("busy_s", "cpu_checks", "loop_cpu", "stolen_share", "traffic_checks")

_CPUS = "sys/devices/system/cpu"
_TICKS_PER_S = 100  # USER_HZ, which Linux fixes for user space
_BUSY_INTERRUPTS = 2000  # a second on one CPU; each costs a loop some microseconds
_DEEP_US = 10
_BUSES = ("eth", "enp", "eno", "virtio", "xhci", "ehci", "dwc", "uart", "serial", "can", "spi")


def loop_cpu(machine: Machine, tried: Tried, cpu: int | None) -> int:
    """Say which CPU a loop would stand on: the one asked for, else the last isolated one, else the last that is allowed."""
    isolated = [one for one in cpu_list(machine.text(f"{_CPUS}/isolated")) if one in tried.allowed]
    return cpu if cpu is not None else (isolated or list(tried.allowed) or [0])[-1]


def cpu_checks(machine: Machine, tried: Tried, cpu: int | None) -> list[MachineCheck]:
    """Judge the processors as they are set up.

    Args:
        machine: The machine.
        tried: What was granted.
        cpu: The CPU that the user asks for, by id; None leaves the choice to us.
    """
    where = loop_cpu(machine, tried, cpu)
    return [
        _allowed(tried, cpu),
        _pinning(tried, cpu),
        _isolation(
            machine, where, "isolated_cpus", "isolated", "isolcpus", "isolcpus=managed_irq,domain,{cpu} irqaffinity={others}"
        ),
        _isolation(machine, where, "nohz_full", "nohz_full", "nohz_full", "nohz_full={cpu} (needs CONFIG_NO_HZ_FULL)"),
        _isolation(machine, where, "rcu_nocbs", "", "rcu_nocbs", "rcu_nocbs={cpu}"),
        _interrupt_affinity(machine, where),
        _governor(machine, tried),
        _frequency(machine, tried),
        _throttled(machine),
        _idle_states(machine, where),
        _dma_latency(tried),
        _siblings(machine, where),
        _realtime_neighbours(machine, where),
        pressure(machine, "cpu", "stop what else runs, or give the loop a CPU of its own"),
        _virtual(machine),
    ]


def traffic_checks(machine: Machine, tried: Tried, before: Snapshot, after: Snapshot, cpu: int | None) -> list[MachineCheck]:
    """Judge what happened on the processors between two snapshots."""
    where = loop_cpu(machine, tried, cpu)
    return [_interrupt_load(before, after, where), _bus_interrupts(before, after, where), _stolen(before, after)]


def stolen_share(before: str, after: str) -> float:
    """Give the share of all processor time that the host took between two texts of /proc/stat."""
    ticks = [now - then for then, now in zip(_all_cpus(before), _all_cpus(after), strict=False)]
    return ticks[7] / max(1, sum(ticks[:8])) if len(ticks) > 7 else 0.0


def busy_s(before: str, after: str) -> float:
    """Give the processor time that all processes used between two texts of /proc/stat, in seconds."""
    ticks = [now - then for then, now in zip(_all_cpus(before), _all_cpus(after), strict=False)]
    return sum(ticks[k] for k in (0, 1, 2, 5, 6) if k < len(ticks)) / _TICKS_PER_S


def _all_cpus(stat: str) -> list[int]:
    words = stat.partition("\n")[0].split()
    return [int(word) for word in words[1:]] if words[:1] == ["cpu"] else []


def _allowed(tried: Tried, cpu: int | None) -> MachineCheck:
    source, allowed = "sched_getaffinity", tried.allowed
    if cpu is not None and cpu not in allowed:
        fix = f"take one of the allowed ids, or widen the cpuset (docker: --cpuset-cpus, systemd: AllowedCPUs=) to hold {cpu}"
        return MachineCheck("allowed_cpus", allowed, source, "bad", fix)
    if not allowed:
        return MachineCheck("allowed_cpus", allowed, source, "unknown", "run it on the machine itself")
    fix = "allow a second CPU: the loop shares its only one with Python and everything else" if len(allowed) == 1 else ""
    return MachineCheck("allowed_cpus", allowed, source, "warn" if fix else "good", fix)


def _pinning(tried: Tried, cpu: int | None) -> MachineCheck:
    source = "sched_setaffinity of a thread to each allowed CPU, tried"
    refused = [one for one, outcome in tried.pinned.items() if outcome]
    if not tried.pinned:
        return MachineCheck("cpu_pinning", None, source, "unknown", "run it on the machine itself")
    if cpu is not None and cpu not in tried.pinned:
        return MachineCheck(
            "cpu_pinning", f"CPU {cpu} is not allowed", source, "bad", "take one of allowed_cpus; it is an id, not a position"
        )
    if refused:
        value = f"CPU {refused[0]} {error_name(tried.pinned[refused[0]])}"
        return MachineCheck("cpu_pinning", value, source, "bad", "allow sched_setaffinity in the seccomp profile")
    return MachineCheck("cpu_pinning", "granted on each", source, "good")


def _isolation(machine: Machine, where: int, name: str, file: str, option: str, line: str) -> MachineCheck:
    source = f"/{_CPUS}/{file}, {option}= of /proc/cmdline" if file else f"{option}= of /proc/cmdline"
    asked = [word for word in (machine.option(option) or "").split(",") if word[:1].isdigit()]
    cpus = cpu_list(machine.text(f"{_CPUS}/{file}")) if file else cpu_list(",".join(asked))
    if machine.option(option) == "all":
        cpus = tuple(range(where + 1))
    if where in cpus:
        return MachineCheck(name, cpus, source, "good")
    online = cpu_list(machine.text(f"{_CPUS}/online")) or (0, 1)
    others = cpu_text(tuple(one for one in online if one != where)) or "0"
    return MachineCheck(name, cpus, source, "warn", f"add to the boot line: {line.format(cpu=where, others=others)}")


def _interrupt_affinity(machine: Machine, where: int) -> MachineCheck:
    source = "/proc/irq/default_smp_affinity"
    mask = (machine.text(source[1:]) or "").replace(",", "")
    try:
        cpus = tuple(cpu for cpu in range(len(mask) * 4) if int(mask or "0", 16) >> cpu & 1)
    except ValueError:
        cpus = ()
    if not mask:
        return MachineCheck(
            "interrupt_affinity", None, source, "unknown", "mount /proc; root may set irqaffinity= on the boot line"
        )
    shared = where in cpus
    fix = f"add irqaffinity= with every CPU but {where} to the boot line, and stop irqbalance" if shared else ""
    return MachineCheck("interrupt_affinity", cpus, source, "warn" if shared else "good", fix)


def _governor(machine: Machine, tried: Tried) -> MachineCheck:
    source = f"/{_CPUS}/cpuN/cpufreq/scaling_governor"
    found = {machine.text(f"{_CPUS}/cpu{cpu}/cpufreq/scaling_governor") for cpu in tried.allowed} - {None}
    names = ", ".join(sorted(str(name) for name in found))
    if not names:
        return MachineCheck(
            "cpu_governor",
            "no cpufreq",
            source,
            "unknown",
            "set the governor on the host: this kernel does not steer the frequency",
        )
    steady = found == {"performance"}
    fix = "" if steady else "cpupower frequency-set -g performance (or write performance into each scaling_governor)"
    return MachineCheck("cpu_governor", names, source, "good" if steady else "warn", fix)


def _frequency(machine: Machine, tried: Tried) -> MachineCheck:
    source = f"/{_CPUS}/cpuN/cpufreq/scaling_min_freq, scaling_max_freq"
    folders = [f"{_CPUS}/cpu{cpu}/cpufreq" for cpu in tried.allowed]
    low = [k for k in (machine.number(f"{folder}/scaling_min_freq") for folder in folders) if k is not None]
    high = [k for k in (machine.number(f"{folder}/scaling_max_freq") for folder in folders) if k is not None]
    if not low or not high:
        return MachineCheck(
            "cpu_frequency", "no cpufreq", source, "unknown", "ask the host: this kernel does not see the frequency"
        )
    value = f"{min(low) / 1e6:.2f} to {max(high) / 1e6:.2f} GHz"
    steady = min(low) == max(high) or all(machine.text(f"{folder}/scaling_governor") == "performance" for folder in folders)
    fix = "" if steady else "raise scaling_min_freq to scaling_max_freq (Jetson: sudo jetson_clocks)"
    return MachineCheck("cpu_frequency", value, source, "good" if steady else "warn", fix)


def _throttled(machine: Machine) -> MachineCheck:
    source = f"/{_CPUS}/cpu*/thermal_throttle/*_throttle_count"
    counts = [machine.number(path) or 0 for path in machine.glob(f"{_CPUS}/cpu[0-9]*/thermal_throttle/*_throttle_count")]
    if not counts:
        return MachineCheck(
            "thermal_throttle",
            "no counter",
            source,
            "unknown",
            "watch the temperature: cat /sys/class/thermal/thermal_zone*/temp",
        )
    hot = sum(counts)
    fix = "cool it, or lower the load: it has slowed down from heat since it booted" if hot else ""
    return MachineCheck("thermal_throttle", hot, source, "warn" if hot else "good", fix)


def _idle_states(machine: Machine, where: int) -> MachineCheck:
    source = f"/{_CPUS}/cpu{where}/cpuidle/state*/latency and disable"
    latencies = [
        machine.number(f"{folder}/latency") or 0
        for folder in machine.glob(f"{_CPUS}/cpu{where}/cpuidle/state*")
        if machine.number(f"{folder}/disable") != 1
    ]
    if not latencies:
        return MachineCheck("idle_states", "none", source, "good")
    deepest = max(latencies)
    fix = "hold /dev/cpu_dma_latency open with 0 in it, or disable the deep states" if deepest > _DEEP_US else ""
    return MachineCheck("idle_states", f"up to {deepest} us to wake", source, "warn" if fix else "good", fix)


def _dma_latency(tried: Tried) -> MachineCheck:
    source, outcome = "open(/dev/cpu_dma_latency, O_WRONLY), tried", tried.dma_latency
    if outcome is None:
        return MachineCheck("cpu_dma_latency", None, source, "unknown", "run it on the machine itself")
    fix = (
        'a udev rule: KERNEL=="cpu_dma_latency", GROUP="realtime", MODE="0660" (docker: --device /dev/cpu_dma_latency)'
        if outcome
        else ""
    )
    return MachineCheck("cpu_dma_latency", error_name(outcome), source, "warn" if outcome else "good", fix)


def _siblings(machine: Machine, where: int) -> MachineCheck:
    source = f"/{_CPUS}/cpu{where}/topology/thread_siblings_list"
    siblings = tuple(cpu for cpu in cpu_list(machine.text(source[1:])) if cpu != where)
    shared = set(siblings) - set(cpu_list(machine.text(f"{_CPUS}/isolated")))
    fix = f"isolate CPU {min(shared)} too, or turn SMT off: it shares the core of CPU {where}" if shared else ""
    return MachineCheck("core_siblings", siblings, source, "warn" if shared else "good", fix)


def _realtime_neighbours(machine: Machine, where: int) -> MachineCheck:
    """Programs, not threads of the kernel, that may keep a loop's CPU from it."""
    source = "policy and priority in /proc/*/task/*/stat"
    found = []
    for path in machine.glob("proc/[0-9]*/task/*/stat"):
        name, _, rest = (machine.text(path) or "").rpartition(")")
        fields = rest.split()
        # After the name: 7 flags (bit 21: a thread of the kernel), 38 rt_priority, 39 policy of proc(5), counted from the state.
        if len(fields) > 38 and fields[38] in ("1", "2") and int(fields[37]) >= PRIORITY and not int(fields[6]) & 0x200000:
            allowed = cpu_list(machine.status("Cpus_allowed_list", path.removeprefix("proc/").removesuffix("/stat")))
            if where in allowed or not allowed:
                found.append(name.partition("(")[2])
    value = ", ".join(sorted(set(found))[:4]) or "none"
    fix = f"move them off CPU {where} (taskset -cp) or below priority {PRIORITY} (chrt -fp)" if found else ""
    return MachineCheck("realtime_neighbours", value, source, "warn" if found else "good", fix)


def _virtual(machine: Machine) -> MachineCheck:
    source = "hypervisor flag of /proc/cpuinfo"
    virtual = " hypervisor" in (machine.text("proc/cpuinfo") or "")
    fix = "run the loop on the metal: in a virtual machine the longest waits belong to the host" if virtual else ""
    return MachineCheck("virtual_machine", virtual, source, "warn" if virtual else "good", fix)


def _interrupts(text: str) -> dict[str, list[int]]:
    """Read counts by CPU of each named interrupt; the first line names the CPUs, which may have holes."""
    lines = text.splitlines()
    cpus = [int(word[3:]) for word in lines[0].split()] if lines else []
    found: dict[str, list[int]] = {}
    for line in lines[1:]:
        head, _, rest = line.partition(":")
        words = rest.split()
        counts = [int(word) for word in words[: len(cpus)] if word.isdigit()]
        by_cpu = [0] * (max(cpus, default=-1) + 1)
        for cpu, count in zip(cpus, counts, strict=False):
            by_cpu[cpu] = count
        label = head.strip()
        found[f"{label} {words[-1]}" if label.isdigit() and len(words) > len(cpus) else label] = by_cpu
    return found


def _rates(before: Snapshot, after: Snapshot, where: int) -> dict[str, float]:
    seconds = max((after.t_ns - before.t_ns) * 1e-9, 1e-9)
    old = _interrupts(before.interrupts)
    return {
        name: (counts[where] - old[name][where]) / seconds
        for name, counts in _interrupts(after.interrupts).items()
        if name in old and where < len(counts) and where < len(old[name])
    }


def _interrupt_load(before: Snapshot, after: Snapshot, where: int) -> MachineCheck:
    source = "/proc/interrupts, twice"
    rates = _rates(before, after, where)
    if not rates:
        return MachineCheck("interrupt_load", None, source, "unknown", "mount /proc of the host to count interrupts")
    total = sum(rates.values())
    most = max(rates, key=lambda name: rates[name])
    fix = f"move interrupts off CPU {where} (irqaffinity=, /proc/irq/N/smp_affinity)" if total > _BUSY_INTERRUPTS else ""
    value = f"{total:.0f}/s on CPU {where}, most of them {most}"
    return MachineCheck("interrupt_load", value, source, "warn" if fix else "good", fix)


def _bus_interrupts(before: Snapshot, after: Snapshot, where: int) -> MachineCheck:
    source = "rows of network and USB in /proc/interrupts, twice"
    rates = {name: rate for name, rate in _rates(before, after, where).items() if any(bus in name.lower() for bus in _BUSES)}
    busy = [name for name, rate in rates.items() if rate > 1]
    if not busy:
        return MachineCheck("bus_interrupts", f"none on CPU {where}", source, "good")
    fix = f"write another CPU into /proc/irq/{busy[0].split()[0]}/smp_affinity_list, so that the bus does not interrupt the loop"
    return MachineCheck("bus_interrupts", f"{', '.join(busy[:3])} on CPU {where}", source, "warn", fix)


def _stolen(before: Snapshot, after: Snapshot) -> MachineCheck:
    source = "steal of /proc/stat, twice"
    share = stolen_share(before.stat, after.stat)
    fix = "give the guest CPUs of its own on the host: stolen time is left out of the figures" if share > 0.01 else ""
    return MachineCheck("stolen_time", f"{100 * share:.2f} %", source, "warn" if fix else "good", fix)
