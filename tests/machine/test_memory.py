from dataclasses import replace
from pathlib import Path

from onbeat.machine.memory import fault_check
from tests.machine.machines import AFTER, BEFORE, GRANTED, REFUSED, judged


def test_refused_lock_names_the_limit(tmp_path: Path) -> None:
    checks = judged(tmp_path, {"proc/self/status": "CapEff:\t0\nVmLck:\t0 kB\n"}, REFUSED)
    assert checks["memory_lock"].verdict == checks["memlock_limit"].verdict == "bad"
    assert "memlock" in checks["memory_lock"].fix


def test_small_limit_does_not_matter_to_who_may_lock_anything(tmp_path: Path) -> None:
    assert judged(tmp_path, {}, replace(GRANTED, memlock=65536))["memlock_limit"].verdict == "good"


def test_python_locked_as_a_whole_is_a_warning(tmp_path: Path) -> None:
    assert judged(tmp_path, {"proc/self/status": "CapEff:\t0\nVmLck:\t200000 kB\n"})["locked_memory"].verdict == "warn"


def test_swap_and_huge_pages_and_nodes(tmp_path: Path) -> None:
    files = {
        "proc/swaps": "Filename Type Size Used Priority\n/swapfile file 8 0 -2\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
        "proc/sys/kernel/numa_balancing": "1",
        "sys/devices/system/node/node0/x": "",
        "sys/devices/system/node/node1/x": "",
        "proc/pressure/memory": "some avg10=30.00",
        "proc/pressure/io": "some avg10=30.00",
    }
    checks = judged(tmp_path, files)
    for name in ("swap", "transparent_hugepages", "numa_balancing", "memory_pressure", "io_pressure"):
        assert checks[name].verdict == "warn", name
    assert checks["swap"].value == "/swapfile"


def test_pages_from_disk_are_counted_between_two_looks() -> None:
    assert fault_check(BEFORE, AFTER).verdict == "good"
    assert fault_check(BEFORE, replace(AFTER, major_faults=3)).value == 3
