from pathlib import Path

import pytest

from tests.machine.machines import judged

PI = {"proc/device-tree/model": "Raspberry Pi 5 Model B Rev 1.0\0"}
FIRMWARE = "sys/devices/platform/soc/soc:firmware/get_throttled"
JETSON = {
    "proc/device-tree/model": "NVIDIA Jetson AGX Orin Developer Kit\0",
    "etc/nv_tegra_release": "# R36 (release), REVISION: 4.0",
    "etc/nvpmodel.conf": "< POWER_MODEL ID=0 NAME=MAXN >\nCPU_ONLINE CORE_0 1\n< POWER_MODEL ID=2 NAME=MODE_30W >\n",
    "var/lib/nvpmodel/status": "pmode:0000",
    "proc/sys/kernel/osrelease": "5.15.148-rt-tegra",
    "boot/config-5.15.148-rt-tegra": "CONFIG_HZ=1000\nCONFIG_NO_HZ_FULL=y\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_CPU_ISOLATION=y\n",
}
NAMES = ("board", "pi_voltage", "jetson_power_mode", "jetson_nvpps", "jetson_kernel")


def test_other_boards_have_nothing_to_mend_here(tmp_path: Path) -> None:
    checks = judged(tmp_path, {"sys/class/dmi/id/product_name": "OptiPlex 7090"})
    assert {checks[name].verdict for name in NAMES} == {"good"}
    assert checks["board"].value == "OptiPlex 7090"


@pytest.mark.parametrize(("bits", "verdict"), [("0", "good"), ("50000", "warn"), ("50005", "bad"), ("80000", "warn")])
def test_voltage_of_a_pi(tmp_path: Path, bits: str, verdict: str) -> None:
    checks = judged(tmp_path, {**PI, FIRMWARE: bits})
    assert checks["board"].value == "Raspberry Pi 5 Model B Rev 1.0"
    assert checks["pi_voltage"].verdict == verdict


@pytest.mark.parametrize(("alarm", "verdict"), [("0", "good"), ("1", "bad")])
def test_voltage_of_a_pi_whose_firmware_file_is_gone(tmp_path: Path, alarm: str, verdict: str) -> None:
    files = {**PI, "sys/class/hwmon/hwmon1/name": "rpi_volt", "sys/class/hwmon/hwmon1/in0_lcrit_alarm": alarm}
    assert judged(tmp_path, files)["pi_voltage"].verdict == verdict


def test_pi_that_does_not_say(tmp_path: Path) -> None:
    assert "vcgencmd" in judged(tmp_path, PI)["pi_voltage"].fix


def test_jetson_as_it_should_be(tmp_path: Path) -> None:
    checks = judged(tmp_path, JETSON)
    assert {checks[name].verdict for name in NAMES} == {"good"}
    assert checks["jetson_power_mode"].value == "0 MAXN"


def test_jetson_in_a_saving_mode(tmp_path: Path) -> None:
    check = judged(tmp_path, {**JETSON, "var/lib/nvpmodel/status": "pmode:0002"})["jetson_power_mode"]
    assert (check.value, check.verdict) == ("2 MODE_30W", "warn")


def test_counter_that_is_locked_to_an_ethernet_clock(tmp_path: Path) -> None:
    locked = {**JETSON, "proc/device-tree/bus@0/nvpps/status": "okay\0"}
    assert judged(tmp_path / "a", locked)["jetson_nvpps"].verdict == "bad"
    free = {**locked, "proc/device-tree/bus@0/nvpps/ptp_tsc_sync_dis": ""}
    assert judged(tmp_path / "b", free)["jetson_nvpps"].verdict == "good"
    off = {**JETSON, "proc/device-tree/bus@0/nvpps/status": "disabled\0"}
    assert judged(tmp_path / "c", off)["jetson_nvpps"].verdict == "good"


def test_update_over_the_air_put_the_plain_kernel_back(tmp_path: Path) -> None:
    files = {
        **JETSON,
        "proc/sys/kernel/osrelease": "5.15.148-tegra",
        "boot/config-5.15.148-tegra": "CONFIG_HZ=250\nCONFIG_RCU_NOCB_CPU=y\nCONFIG_CPU_ISOLATION=y\n",
    }
    checks = judged(tmp_path, files)
    assert checks["jetson_kernel"].verdict == "warn"
    assert (checks["ignored_boot_options"].value, checks["ignored_boot_options"].verdict) == ("nohz_full", "bad")
