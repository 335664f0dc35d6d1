"""The clocks of a machine: what they count, who steers them, and what a look at them costs."""

from onbeat.machine.machine import Level, Machine, MachineCheck
from onbeat.machine.tries import Snapshot, Tried

__all__ = ("clock_checks",)

_FOLDER = "sys/devices/system/clocksource/clocksource0"
_GOOD = ("tsc", "arch_sys_counter", "timebase", "riscv_clocksource")
_SLOW = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit")
_UNSYNCHRONISED = 0x40  # STA_UNSYNC of adjtimex
_KEEPERS = ("chronyd", "ntpd", "systemd-timesyn", "ptp4l", "phc2sys", "openntpd")  # as /proc/PID/comm cuts them
_STEERERS = ("chronyd", "ntpd", "systemd-timesyn", "phc2sys", "openntpd")
_MOST_PPM = 100.0
_SLOW_READ_NS = 600.0
_WINDOW_NS = 1_000_000_000
_MOST_WANDER_PPM = 5.0  # a locked counter of a Jetson changes by 8 ppm each second, a steady crystal by less than 0.1


def clock_checks(machine: Machine, tried: Tried, after: Snapshot) -> list[MachineCheck]:
    """Judge the clocks.

    Args:
        machine: The machine.
        tried: What was tried.
        after: With the looks at the steering that were taken while the self test ran.
    """
    return [
        _source(machine),
        _cost(tried),
        _rate(tried),
        _wander(after),
        _keepers(machine),
        _discipline(tried),
        _suspended(tried),
        _interval(tried),
        _lock_waits(tried),
    ]


def _source(machine: Machine) -> MachineCheck:
    source = f"/{_FOLDER}/current_clocksource"
    current = machine.text(f"{_FOLDER}/current_clocksource")
    if not current:
        return MachineCheck("clocksource", None, source, "unknown", "mount /sys")
    verdict: Level = "good" if current in _GOOD else "bad" if current in _SLOW else "warn"
    available = (machine.text(f"{_FOLDER}/available_clocksource") or "").split()
    better = next((name for name in available if name in _GOOD), None)
    fix = f"echo {better} > {source}" if better else "add tsc=reliable to the boot line if this processor's counter is steady"
    return MachineCheck("clocksource", current, source, verdict, "" if verdict == "good" else fix)


def _cost(tried: Tried) -> MachineCheck:
    source, found = "1000 reads of the monotonic clock from Python, tried", tried.clock_read_ns
    if found is None:
        return MachineCheck("clock_read", None, source, "unknown", "run it on the machine itself")
    slow = found > _SLOW_READ_NS
    fix = "see clocksource: each look at the clock is a call into the kernel" if slow else ""
    return MachineCheck("clock_read", f"{found:.0f} ns", source, "warn" if slow else "good", fix)


def _rate(tried: Tried) -> MachineCheck:
    source, found = "monotonic against raw monotonic clock, tried", tried.steered_ppm
    if found is None:
        return MachineCheck("clock_rate", None, source, "unknown", "run it on the machine itself")
    steered = abs(found) > _MOST_PPM
    fix = (
        "find who steers so hard (onbeat clock status; on a Jetson see jetson_nvpps): every period is off by as much"
        if steered
        else ""
    )
    return MachineCheck("clock_rate", f"{found:+.1f} ppm", source, "bad" if steered else "good", fix)


def _wander(after: Snapshot) -> MachineCheck:
    """How much the rate of the loop's clock changed while the self test ran; a constant rate is `clock_rate`'s."""
    source = "monotonic against raw monotonic clock, 20 looks a second during the test"
    looks = after.steering
    if len(looks) < 2 or looks[-1].t_ns - looks[0].t_ns < _WINDOW_NS // 2:
        return MachineCheck("rate_wander", None, source, "unknown", "run it on the machine itself, for a second or more")
    length = min(_WINDOW_NS, (looks[-1].t_ns - looks[0].t_ns) // 2)
    rates = []
    for k, begin in enumerate(looks):
        end = next((look for look in looks[k + 1 :] if look.t_ns - begin.t_ns >= length), None)
        if end is not None:
            rates.append(1e6 * (end.steered_ns - begin.steered_ns) / (end.t_ns - begin.t_ns))
    change = max(rates) - min(rates)
    seconds = (looks[-1].t_ns - looks[0].t_ns) * 1e-9
    fix = "find who bends the clock (onbeat clock status; on a Jetson see jetson_nvpps): periods change while a loop runs"
    bends = change > _MOST_WANDER_PPM
    return MachineCheck(
        "rate_wander", f"{change:.2f} ppm in {seconds:.1f} s", source, "warn" if bends else "good", fix if bends else ""
    )


def _keepers(machine: Machine) -> MachineCheck:
    source = "/proc/*/comm"
    names = {machine.text(path) for path in machine.glob("proc/[0-9]*/comm")}
    running = [name for name in _KEEPERS if name in names]
    steering = [name for name in _STEERERS if name in names]
    value = ", ".join(running) or "none"
    if len(steering) > 1:
        return MachineCheck(
            "clock_keepers", value, source, "bad", f"stop all but one of {', '.join(steering)}: each undoes what the other does"
        )
    fix = "" if running else "run chrony on every machine of the rig, or ask each other: onbeat clock serve"
    return MachineCheck("clock_keepers", value, source, "good" if running else "warn", fix)


def _discipline(tried: Tried) -> MachineCheck:
    source = "adjtimex, tried"
    if tried.timex is None:
        return MachineCheck(
            "clock_discipline", None, source, "unknown", "allow adjtimex in the seccomp profile (reading needs no right)"
        )
    status, ppm = tried.timex
    loose = bool(status & _UNSYNCHRONISED)
    fix = "let a keeper discipline it (chrony): the wall clock of this machine is nobody's" if loose else ""
    value = f"{'not synchronised' if loose else 'synchronised'}, {ppm:+.1f} ppm"
    return MachineCheck("clock_discipline", value, source, "warn" if loose else "good", fix)


def _suspended(tried: Tried) -> MachineCheck:
    source, found = "boottime minus monotonic clock", tried.suspended_s
    if found is None:
        return MachineCheck("suspend", None, source, "unknown", "run it on the machine itself")
    slept = found > 0.001
    fix = "systemctl mask sleep.target suspend.target: the monotonic clock stood still meanwhile" if slept else ""
    return MachineCheck(
        "suspend", f"{found:.1f} s since it booted" if slept else "never", source, "warn" if slept else "good", fix
    )


def _interval(tried: Tried) -> MachineCheck:
    ms = tried.switch_interval_s * 1e3
    fix = "keep loops out of Python threads (SendLoop is native); sys.setswitchinterval(0.001) only softens it" if ms > 1 else ""
    return MachineCheck("switch_interval", f"{ms:g} ms", "sys.getswitchinterval", "warn" if fix else "good", fix)


def _lock_waits(tried: Tried) -> MachineCheck:
    source = "40 times letting go of the interpreter lock beside a thread that computes, tried"
    if tried.lock_waits_ms is None:
        return MachineCheck("lock_waits", None, source, "unknown", "run it on the machine itself")
    middle, longest = tried.lock_waits_ms
    long = longest > 1
    fix = "send from SendLoop, or give a Python-only device process: own; C that keeps the lock makes it longer" if long else ""
    return MachineCheck("lock_waits", f"p50 {middle:.2f} ms, longest {longest:.2f} ms", source, "warn" if long else "good", fix)
