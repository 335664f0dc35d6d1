"""Machines as folders of files: a tuned workstation, a laptop, a container, a Raspberry Pi, a Jetson."""

from pathlib import Path

from onbeat.clock.slew import Steering
from onbeat.machine.checks import check_machine
from onbeat.machine.machine import Machine, MachineCheck
from onbeat.machine.tries import Snapshot, Tried

CPU = "sys/devices/system/cpu"

TUNED = {
    "sys/kernel/realtime": "1\n",
    "proc/version": "Linux version 6.12.1-rt (b@h) #1 SMP PREEMPT_RT",
    "proc/cmdline": "root=/dev/sda isolcpus=managed_irq,domain,3 irqaffinity=0-2 nohz_full=3 rcu_nocbs=3",
    "proc/sys/kernel/osrelease": "6.12.1-rt",
    "boot/config-6.12.1-rt": "CONFIG_HZ=1000\nCONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_CPU_ISOLATION=y\n",
    "proc/sys/kernel/sched_rt_runtime_us": "-1",
    "proc/sys/kernel/sched_rt_period_us": "1000000",
    "proc/sys/kernel/timer_migration": "0",
    "proc/sys/kernel/numa_balancing": "0",
    "proc/self/timerslack_ns": "50000",
    "proc/self/status": "Name:\tpython\nPid:\t50\nPPid:\t1\nCapEff:\t0000000000804000\nVmLck:\t0 kB\nSeccomp:\t0\n",
    "proc/self/limits": "Max realtime priority     98                   98                   \n",
    "proc/self/cgroup": "0::/\n",
    "proc/1/status": "Name:\tinit\nPid:\t1\nPPid:\t0\n",
    "proc/1/comm": "systemd\n",
    "proc/700/comm": "chronyd\n",
    "proc/cpuinfo": "flags : fpu tsc\n",
    "proc/swaps": "Filename Type Size Used Priority\n",
    "proc/irq/default_smp_affinity": "7\n",
    "proc/pressure/cpu": "some avg10=0.10 avg60=0 avg300=0 total=1",
    "proc/pressure/memory": "some avg10=0.00 avg60=0 avg300=0 total=1",
    "proc/pressure/io": "some avg10=0.00 avg60=0 avg300=0 total=1",
    "proc/net/snmp": "Tcp: OutSegs RetransSegs\nTcp: 1000 1\n",
    "sys/fs/cgroup/cgroup.controllers": "cpu cpuset",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc",
    "sys/devices/system/clocksource/clocksource0/available_clocksource": "tsc hpet",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    f"{CPU}/online": "0-3",
    f"{CPU}/isolated": "3",
    f"{CPU}/nohz_full": "3",
    f"{CPU}/cpu3/topology/thread_siblings_list": "3",
    f"{CPU}/cpu3/thermal_throttle/core_throttle_count": "0",
    f"{CPU}/cpu3/cpuidle/state0/latency": "0",
    f"{CPU}/cpu3/cpuidle/state1/latency": "2",
    **{f"{CPU}/cpu{k}/cpufreq/scaling_governor": "performance" for k in range(4)},
    **{f"{CPU}/cpu{k}/cpufreq/scaling_min_freq": "3000000" for k in range(4)},
    **{f"{CPU}/cpu{k}/cpufreq/scaling_max_freq": "3000000" for k in range(4)},
    "sys/class/net/eth0/device/vendor": "0x8086",
    "sys/class/net/eth0/operstate": "up",
    "sys/class/net/eth0/speed": "1000",
    "sys/class/net/eth0/duplex": "full",
}

GRANTED = Tried(
    fifo={1: 0, 50: 0, 80: 0, 98: 0},
    reset_on_fork=True,
    nice=0,
    allowed=(0, 1, 2, 3),
    pinned={0: 0, 1: 0, 2: 0, 3: 0},
    lock=0,
    rtprio=98,
    memlock=-1,
    rttime_us=-1,
    timer_slack=0,
    timer_resolution_ns=1.0,
    dma_latency=0,
    clock_read_ns=60.0,
    timex=(0, 12.5),
    steered_ppm=3.0,
    suspended_s=0.0,
    coalescing_us={"eth0": 0},
    loopback_us=(8.0, 20.0),
    switch_interval_s=0.001,
    lock_waits_ms=(0.4, 0.9),
)

REFUSED = Tried(
    fifo={1: 1, 50: 1, 80: 1, 98: 1},
    nice=13,
    allowed=(0, 1),
    pinned={0: 0, 1: 0},
    lock=12,
    rtprio=0,
    memlock=65536,
    rttime_us=-1,
    timer_slack=0,
    timer_resolution_ns=1.0,
    dma_latency=13,
    clock_read_ns=60.0,
    timex=(0, 0.0),
    steered_ppm=0.0,
    suspended_s=0.0,
    loopback_us=(8.0, 20.0),
)

BEFORE = Snapshot(
    0, "  CPU0 CPU1 CPU2 CPU3\n 30: 5 0 0 0 PCI-MSI eth0\nLOC: 9 9 9 9 Local timer", "cpu 0 0 0 0 0 0 0 0 0 0", 0, 0.0
)
AFTER = Snapshot(
    10**9,
    "  CPU0 CPU1 CPU2 CPU3\n 30: 99 0 0 0 PCI-MSI eth0\nLOC: 99 99 99 19 Local timer",
    "cpu 9 0 0 391 0 0 0 0 0 0",
    0,
    0.09,
    tuple(Steering(k * 50_000_000, k * 600) for k in range(41)),
)


def made(root: Path, files: dict[str, str], without: tuple[str, ...] = ()) -> Machine:
    """Write a machine's files and give it."""
    for name, text in files.items():
        if name not in without:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    return Machine(root)


def by_name(checks: "list[MachineCheck] | tuple[MachineCheck, ...]") -> dict[str, MachineCheck]:
    return {check.name: check for check in checks}


def judged(root: Path, files: dict[str, str], tried: Tried = GRANTED) -> dict[str, MachineCheck]:
    """Judge the tuned machine with some of its files replaced."""
    return by_name(check_machine(made(root, {**TUNED, **files}), tried, BEFORE, AFTER))
