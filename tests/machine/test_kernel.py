from dataclasses import replace
from pathlib import Path

import pytest

from tests.machine.machines import GRANTED, REFUSED, judged


@pytest.mark.parametrize(
    ("files", "value", "verdict"),
    [
        ({"sys/kernel/realtime": "0", "proc/version": "Linux 6.1 SMP PREEMPT_RT xanmod"}, "PREEMPT_RT", "good"),
        ({"sys/kernel/realtime": "0", "proc/version": "Linux 6.1 SMP PREEMPT_DYNAMIC"}, "PREEMPT_DYNAMIC", "warn"),
        ({"sys/kernel/realtime": "0", "proc/version": "Linux 5.4 SMP"}, "no preemption", "warn"),
    ],
)
def test_realtime_kernel(tmp_path: Path, files: dict[str, str], value: str, verdict: str) -> None:
    check = judged(tmp_path, files)["realtime_kernel"]
    assert (check.value, check.verdict) == (value, verdict)


@pytest.mark.parametrize(("said", "verdict"), [("none voluntary (full)", "good"), ("(none) voluntary full", "warn")])
def test_preemption_that_the_running_kernel_says(tmp_path: Path, said: str, verdict: str) -> None:
    files = {"sys/kernel/realtime": "0", "proc/version": "SMP PREEMPT_DYNAMIC", "sys/kernel/debug/sched/preempt": said}
    assert judged(tmp_path, files)["preemption"].verdict == verdict


def test_slow_tick_and_coarse_timers(tmp_path: Path) -> None:
    checks = judged(tmp_path, {"boot/config-6.12.1-rt": "CONFIG_HZ=100\n"}, replace(GRANTED, timer_resolution_ns=4e6))
    assert checks["kernel_tick"].verdict == "warn"
    assert checks["timer_resolution"].verdict == "bad"


def test_option_that_a_vendors_kernel_ignores(tmp_path: Path) -> None:
    files = {"boot/config-6.12.1-rt": "CONFIG_HZ=1000\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_CPU_ISOLATION=y\n"}
    check = judged(tmp_path, files)["ignored_boot_options"]
    assert (check.value, check.verdict) == ("nohz_full", "bad")


def test_refused_fifo_names_the_limit_to_raise(tmp_path: Path) -> None:
    checks = judged(tmp_path, {"proc/self/status": "CapEff:\t0\n"}, REFUSED)
    assert checks["sched_fifo"].verdict == "bad"
    assert "EPERM" in str(checks["sched_fifo"].value)
    assert "limits.d" in checks["sched_fifo"].fix
    assert checks["fifo_priority"].value == 0
    assert checks["reset_on_fork"].verdict == "unknown"


def test_refused_fifo_in_spite_of_the_right_is_the_control_groups(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "1:cpu:/box\n",
        "sys/fs/cgroup/cpu/box/cpu.rt_runtime_us": "0",
        "sys/fs/cgroup/cpu/cpu.rt_runtime_us": "950000",
    }
    checks = judged(tmp_path, files, REFUSED)
    assert "control group" in checks["sched_fifo"].fix
    assert checks["realtime_group"].verdict == "bad"
    assert "/box" in str(checks["realtime_group"].value)


def test_low_priority_is_a_warning(tmp_path: Path) -> None:
    check = judged(tmp_path, {}, replace(GRANTED, fifo={1: 0, 50: 0, 80: 1, 98: 1}))["fifo_priority"]
    assert (check.value, check.verdict) == (50, "warn")


def test_ancestor_that_lost_the_right_is_named(tmp_path: Path) -> None:
    limit = "Max realtime priority     {0}                    {0}                    \n"
    files = {
        "proc/self/status": "Pid:\t50\nPPid:\t40\nCapEff:\t0\n",
        "proc/self/limits": limit.format(0),
        "proc/40/status": "Pid:\t40\nPPid:\t30\nCapEff:\t0\n",
        "proc/40/limits": limit.format(0),
        "proc/40/comm": "sshd",
        "proc/30/status": "Pid:\t30\nPPid:\t1\nCapEff:\t0\n",
        "proc/30/limits": limit.format(98),
        "proc/30/comm": "login",
    }
    check = judged(tmp_path, files, REFUSED)["realtime_session"]
    assert check.verdict == "bad"
    assert check.value == "lost at sshd (pid 40), child of login (pid 30)"


def test_right_that_nobody_ever_had_ends_at_the_first_process(tmp_path: Path) -> None:
    check = judged(tmp_path, {"proc/self/status": "Pid:\t50\nPPid:\t1\nCapEff:\t0\n", "proc/self/limits": ""}, REFUSED)[
        "realtime_session"
    ]
    assert "up to systemd (pid 1)" in str(check.value)


@pytest.mark.parametrize(("limit", "verdict"), [(-1, "good"), (200_000, "warn"), (15_000, "bad")])
def test_time_limit_of_realtime_threads(tmp_path: Path, limit: int, verdict: str) -> None:
    assert judged(tmp_path, {}, replace(GRANTED, rttime_us=limit))["rttime_limit"].verdict == verdict


@pytest.mark.parametrize(("runtime", "verdict"), [("-1", "good"), ("950000", "warn"), ("0", "bad"), ("1000000", "good")])
def test_throttling(tmp_path: Path, runtime: str, verdict: str) -> None:
    check = judged(tmp_path, {"proc/sys/kernel/sched_rt_runtime_us": runtime})["rt_throttling"]
    assert check.verdict == verdict
    if verdict == "warn":
        assert "50 ms" in check.fix


def test_inherited_priority_is_seen(tmp_path: Path) -> None:
    fields = ["S"] + ["0"] * 36 + ["80", "1"]
    check = judged(tmp_path, {"proc/self/task/51/stat": f"51 (py thon) {' '.join(fields)}"})["inherited_priority"]
    assert check.verdict == "warn"
