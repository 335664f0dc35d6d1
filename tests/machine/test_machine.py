import gzip
from pathlib import Path

import pytest

from onbeat.errors import BadInput
from onbeat.machine.machine import MachineCheck, cgroup_folders, cpu_list, cpu_text, pressure
from tests.machine.machines import made


def test_what_is_not_good_needs_a_fix_of_one_line() -> None:
    for fix in ("", "one\ntwo"):
        with pytest.raises(BadInput, match="needs a fix of one line"):
            MachineCheck("swap", "on", "/proc/swaps", "warn", fix)


def test_missing_file_folder_and_pipe_are_no_text(tmp_path: Path) -> None:
    machine = made(tmp_path, {"proc/version": "x\n\0"})
    assert machine.text("proc/version") == "x"
    assert machine.text("proc") is None
    assert machine.text("etc/none") is None
    assert machine.number("proc/version") is None


def test_configuration_of_the_kernel_is_read_packed_or_from_boot(tmp_path: Path) -> None:
    machine = made(tmp_path, {"proc/sys/kernel/osrelease": "6.1", "boot/config-6.1": 'CONFIG_HZ=250\nCONFIG_X="y"\n'})
    assert (machine.configured("HZ"), machine.configured("X"), machine.configured("Y")) == ("250", "y", "")
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_HZ=1000\n"))
    assert machine.configured("HZ") == "1000"


def test_kernel_without_configuration_does_not_say(tmp_path: Path) -> None:
    assert made(tmp_path, {"proc/version": "x"}).configured("HZ") is None


def test_torn_packed_file_is_no_text(tmp_path: Path) -> None:
    machine = made(tmp_path, {"proc/version": "x"})
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(b"CONFIG_HZ=1000\n")[:-6])
    assert machine.text("proc/config.gz") is None


@pytest.mark.parametrize(("text", "cpus"), [("0-2,5", (0, 1, 2, 5)), ("", ()), ("7", (7,)), ("(null)", ()), (None, ())])
def test_list_of_cpus_is_read(text: str | None, cpus: tuple[int, ...]) -> None:
    assert cpu_list(text) == cpus


def test_list_of_cpus_is_written_as_the_kernel_does() -> None:
    assert cpu_text((0, 1, 2, 5)) == "0-2,5"


def test_boot_option_with_and_without_a_value(tmp_path: Path) -> None:
    machine = made(tmp_path, {"proc/cmdline": "quiet nohz_full=3"})
    assert (machine.option("nohz_full"), machine.option("quiet"), machine.option("threadirqs")) == ("3", "", None)


def test_groups_of_version_one_go_before_those_of_version_two(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "5:cpu,cpuacct:/a/b\n0::/c\n",
        "sys/fs/cgroup/cpu,cpuacct/a/b/x": "",
        "sys/fs/cgroup/unified/c/x": "",
    }
    machine = made(tmp_path, files)
    top = "sys/fs/cgroup/cpu,cpuacct"
    assert cgroup_folders(machine, "cpu") == (f"{top}/a/b", f"{top}/a", top)
    assert cgroup_folders(machine, "cpuset") == ("sys/fs/cgroup/unified/c", "sys/fs/cgroup/unified")


def test_groups_outside_of_a_containers_view_are_left_out(tmp_path: Path) -> None:
    machine = made(tmp_path, {"proc/self/cgroup": "0::/../../docker/abc\n", "sys/fs/cgroup/cpu.max": "max 100000"})
    assert cgroup_folders(machine, "cpu") == ("sys/fs/cgroup",)


def test_pressure_above_a_tenth_is_a_warning(tmp_path: Path) -> None:
    machine = made(tmp_path, {"proc/pressure/cpu": "some avg10=10.5 avg60=0"})
    assert pressure(machine, "cpu", "stop").verdict == "warn"
    assert pressure(machine, "io", "stop").verdict == "unknown"
