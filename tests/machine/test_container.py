from dataclasses import replace
from pathlib import Path

from tests.machine.machines import GRANTED, REFUSED, judged

DOCKER = {".dockerenv": "", "proc/self/status": "Pid:\t7\nPPid:\t1\nCapEff:\t0\nVmLck:\t0 kB\nSeccomp:\t2\n"}


def test_container_without_rights_gets_one_line_to_run_it_with(tmp_path: Path) -> None:
    checks = judged(tmp_path, DOCKER, REFUSED)
    check = checks["container"]
    assert check.verdict == "bad"
    for flag in ("--cap-add=SYS_NICE", "--ulimit rtprio=98", "--ulimit memlock=-1", "--device /dev/cpu_dma_latency"):
        assert flag in check.fix
    assert checks["capabilities"].verdict == checks["seccomp"].verdict == "warn"


def test_container_with_all_rights_is_good(tmp_path: Path) -> None:
    assert judged(tmp_path, {".dockerenv": ""})["container"].verdict == "good"


def test_container_whose_group_has_no_realtime_budget(tmp_path: Path) -> None:
    files = {**DOCKER, "proc/self/cgroup": "1:cpu:/\n", "sys/fs/cgroup/cpu/cpu.rt_runtime_us": "0"}
    assert "--cpu-rt-runtime" in judged(tmp_path, files, REFUSED)["container"].fix


def test_kinds_of_containers(tmp_path: Path) -> None:
    assert judged(tmp_path / "a", {"run/.containerenv": ""})["container"].value.__str__().startswith("podman")
    kube = {"proc/1/cgroup": "0::/kubepods/besteffort/pod1"}
    assert judged(tmp_path / "b", kube)["container"].value.__str__().startswith("kubernetes")
    overlay = {"proc/self/mounts": "overlay / overlay rw 0 0\n"}
    assert "overlay" in str(judged(tmp_path / "c", overlay)["container"].value)


def test_quota_of_either_version_is_bad(tmp_path: Path) -> None:
    two = {"sys/fs/cgroup/cpu.max": "150000 100000", "sys/fs/cgroup/cpu.stat": "usage_usec 5\nnr_throttled 12\n"}
    check = judged(tmp_path / "a", two)["cpu_quota"]
    assert check.verdict == "bad"
    assert "1.50 CPUs" in str(check.value)
    assert "stopped 12 times" in str(check.value)
    one = {
        "proc/self/cgroup": "4:cpu,cpuacct:/a\n",
        "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "-1",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "50000",
        "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
    }
    assert "0.50 CPUs" in str(judged(tmp_path / "b", one)["cpu_quota"].value)
    assert judged(tmp_path / "c", {"sys/fs/cgroup/cpu.max": "max 100000"})["cpu_quota"].verdict == "good"


def test_narrow_cpu_set_is_said(tmp_path: Path) -> None:
    check = judged(tmp_path, {"sys/fs/cgroup/cpuset.cpus.effective": "0-1"}, replace(GRANTED, allowed=(0, 1)))["cpuset"]
    assert (check.value, check.verdict) == ((0, 1), "warn")
