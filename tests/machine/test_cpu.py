from dataclasses import replace
from pathlib import Path

import pytest

from onbeat.machine.checks import check_machine
from onbeat.machine.cpu import busy_s, loop_cpu, stolen_share
from onbeat.machine.machine import MachineCheck
from tests.machine.machines import AFTER, BEFORE, CPU, GRANTED, TUNED, by_name, judged, made


def asked(root: Path, cpu: int) -> dict[str, MachineCheck]:
    return by_name(check_machine(made(root, TUNED), GRANTED, BEFORE, AFTER, cpu=cpu))


def test_loop_stands_on_the_isolated_cpu_unless_another_is_asked_for(tmp_path: Path) -> None:
    machine = made(tmp_path, TUNED)
    assert loop_cpu(machine, GRANTED, None) == 3
    assert loop_cpu(machine, GRANTED, 1) == 1
    assert loop_cpu(machine, replace(GRANTED, allowed=(0, 1)), None) == 1


def test_cpu_is_an_id_and_not_a_position(tmp_path: Path) -> None:
    checks = asked(tmp_path, 5)
    assert checks["allowed_cpus"].verdict == checks["cpu_pinning"].verdict == "bad"
    assert "5" in checks["allowed_cpus"].fix


def test_only_cpu_is_shared_with_everything(tmp_path: Path) -> None:
    check = judged(tmp_path, {}, replace(GRANTED, allowed=(2,), pinned={2: 0}))["allowed_cpus"]
    assert (check.value, check.verdict) == ((2,), "warn")


def test_cpu_that_is_not_isolated_gets_the_line_to_add(tmp_path: Path) -> None:
    checks = asked(tmp_path, 1)
    assert "isolcpus=managed_irq,domain,1 irqaffinity=0,2-3" in checks["isolated_cpus"].fix
    assert checks["nohz_full"].verdict == checks["rcu_nocbs"].verdict == checks["interrupt_affinity"].verdict == "warn"


@pytest.mark.parametrize(("governor", "verdict"), [("performance", "good"), ("powersave", "warn"), ("schedutil", "warn")])
def test_governor(tmp_path: Path, governor: str, verdict: str) -> None:
    assert judged(tmp_path, {f"{CPU}/cpu2/cpufreq/scaling_governor": governor})["cpu_governor"].verdict == verdict


def test_machine_without_cpufreq_cannot_say(tmp_path: Path) -> None:
    files = {f"{CPU}/cpu{k}/cpufreq/scaling_{what}": "" for k in range(4) for what in ("min_freq", "max_freq")}
    assert judged(tmp_path, files)["cpu_frequency"].verdict == "unknown"


def test_sleep_heat_siblings_and_a_guest(tmp_path: Path) -> None:
    files = {
        f"{CPU}/cpu3/cpuidle/state2/latency": "133",
        f"{CPU}/cpu3/thermal_throttle/core_throttle_count": "4",
        f"{CPU}/cpu3/topology/thread_siblings_list": "1,3",
        "proc/cpuinfo": "flags : fpu hypervisor tsc",
    }
    checks = judged(tmp_path, files)
    for name in ("idle_states", "thermal_throttle", "core_siblings", "virtual_machine"):
        assert checks[name].verdict == "warn", name


def test_deep_sleep_that_is_switched_off_does_not_count(tmp_path: Path) -> None:
    files = {f"{CPU}/cpu3/cpuidle/state2/latency": "133", f"{CPU}/cpu3/cpuidle/state2/disable": "1"}
    assert judged(tmp_path, files)["idle_states"].verdict == "good"


@pytest.mark.parametrize(("priority", "flags", "verdict"), [("90", "0", "warn"), ("90", "2097152", "good"), ("40", "0", "good")])
def test_programs_above_the_loop_are_named_and_kernel_threads_are_not(
    tmp_path: Path, priority: str, flags: str, verdict: str
) -> None:
    fields = ["S", "0", "0", "0", "0", "0", flags] + ["0"] * 30 + [priority, "1"]
    check = judged(tmp_path, {"proc/900/task/901/stat": f"901 (jack d) {' '.join(fields)}"})["realtime_neighbours"]
    assert check.verdict == verdict
    assert (check.value == "jack d") == (verdict == "warn")


def test_bus_that_interrupts_the_loop_is_named(tmp_path: Path) -> None:
    after = replace(AFTER, interrupts=BEFORE.interrupts.replace(" 30: 5 0 0 0 ", " 30: 5 0 0 900 "))
    check = by_name(check_machine(made(tmp_path, TUNED), GRANTED, BEFORE, after))["bus_interrupts"]
    assert check.verdict == "warn"
    assert "/proc/irq/30/" in check.fix


def test_storm_of_interrupts(tmp_path: Path) -> None:
    after = replace(AFTER, interrupts=BEFORE.interrupts.replace("9 Local", "9009 Local"))
    check = by_name(check_machine(made(tmp_path, TUNED), GRANTED, BEFORE, after))["interrupt_load"]
    assert check.verdict == "warn"
    assert "9000/s on CPU 3, most of them LOC" in str(check.value)


def test_stolen_share_is_of_all_time() -> None:
    assert stolen_share("cpu 0 0 0 0 0 0 0 0 0 0\n", "cpu 10 0 10 70 0 0 0 10 5 0\n") == pytest.approx(0.1)
    assert stolen_share("", "") == 0.0


def test_busy_time_leaves_idle_waiting_and_stolen_time_out() -> None:
    assert busy_s("cpu 0 0 0 0 0 0 0 0", "cpu 100 50 30 999 99 10 10 77") == pytest.approx(2.0)
