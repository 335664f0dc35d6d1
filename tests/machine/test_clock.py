from dataclasses import replace
from pathlib import Path

import pytest

from onbeat.clock.slew import Steering
from onbeat.machine.clock import clock_checks
from tests.machine.machines import AFTER, GRANTED, REFUSED, by_name, judged, made

SOURCE = "sys/devices/system/clocksource/clocksource0/current_clocksource"


@pytest.mark.parametrize(
    ("current", "verdict"),
    [("tsc", "good"), ("arch_sys_counter", "good"), ("kvm-clock", "warn"), ("hpet", "bad"), ("", "unknown")],
)
def test_clocksource(tmp_path: Path, current: str, verdict: str) -> None:
    check = judged(tmp_path, {SOURCE: current})["clocksource"]
    assert check.verdict == verdict
    if verdict in ("warn", "bad"):
        assert "echo tsc" in check.fix


def test_clock_that_is_steered_hard_is_bad(tmp_path: Path) -> None:
    assert judged(tmp_path, {}, replace(GRANTED, steered_ppm=-140.0))["clock_rate"].verdict == "bad"
    assert judged(tmp_path / "b", {}, replace(GRANTED, steered_ppm=60.0))["clock_rate"].verdict == "good"


def test_two_keepers_fight(tmp_path: Path) -> None:
    check = judged(tmp_path, {"proc/701/comm": "systemd-timesyn"})["clock_keepers"]
    assert check.verdict == "bad"
    assert "chronyd, systemd-timesyn" in check.fix


def test_ptp4l_and_phc2sys_belong_together(tmp_path: Path) -> None:
    files = {"proc/700/comm": "ptp4l", "proc/701/comm": "phc2sys"}
    assert judged(tmp_path, files)["clock_keepers"].verdict == "good"


def test_no_keeper_slow_reads_sleep_and_a_loose_wall_clock(tmp_path: Path) -> None:
    tried = replace(GRANTED, clock_read_ns=1500.0, suspended_s=60.0, timex=(0x40, 0.0), switch_interval_s=0.005)
    checks = judged(tmp_path, {"proc/700/comm": "bash"}, tried)
    for name in ("clock_keepers", "clock_read", "suspend", "clock_discipline", "switch_interval"):
        assert checks[name].verdict == "warn", name


def test_a_rate_that_changes_is_found_and_a_steady_one_is_not(tmp_path: Path) -> None:
    machine = made(tmp_path, {})
    steady = [Steering(k * 50_000_000, k * 7_000) for k in range(121)]  # 140 ppm off, all the time
    bent = [Steering(k * 50_000_000, round(2 * k * k)) for k in range(121)]  # from 0 to 10 ppm in 6 s
    verdicts = []
    for looks in (steady, bent, steady[:5]):
        checks = by_name(clock_checks(machine, GRANTED, replace(AFTER, steering=tuple(looks))))
        verdicts.append((checks["rate_wander"].verdict, checks["rate_wander"].value))
    assert verdicts == [("good", "0.00 ppm in 6.0 s"), ("warn", "8.00 ppm in 6.0 s"), ("unknown", None)]


def test_long_waits_for_the_lock_are_a_warning(tmp_path: Path) -> None:
    found = by_name(clock_checks(made(tmp_path, {}), replace(GRANTED, lock_waits_ms=(5.1, 13.2)), AFTER))["lock_waits"]
    assert (found.verdict, found.value) == ("warn", "p50 5.10 ms, longest 13.20 ms")
    assert "process: own" in found.fix
    assert by_name(clock_checks(made(tmp_path, {}), REFUSED, AFTER))["lock_waits"].verdict == "unknown"
