from dataclasses import replace
from pathlib import Path

import pytest

from tests.machine.machines import GRANTED, judged


def serial_port(root: Path, name: str, usb: str) -> None:
    """A serial adapter on USB: its tty is a link into the tree of devices."""
    place = root / f"sys/devices/pci0/usb1/{usb}/{usb}:1.0/{name}"
    place.mkdir(parents=True)
    power = root / f"sys/devices/pci0/usb1/{usb}/power"
    power.mkdir()
    (power / "control").write_text("auto\n")
    tty = root / f"sys/class/tty/{name}"
    tty.mkdir(parents=True)
    (tty / "device").symlink_to(place)


@pytest.mark.parametrize(("ms", "verdict"), [("16", "bad"), ("1", "good")])
def test_timer_of_a_serial_adapter(tmp_path: Path, ms: str, verdict: str) -> None:
    check = judged(tmp_path, {"sys/bus/usb-serial/devices/ttyUSB0/latency_timer": ms})["serial_latency"]
    assert (check.value, check.verdict) == (f"ttyUSB0 {ms} ms", verdict)


def test_adapter_that_may_sleep_behind_two_hubs(tmp_path: Path) -> None:
    serial_port(tmp_path, "ttyUSB0", "1-2.3.1")
    checks = judged(tmp_path, {})
    assert checks["usb_autosuspend"].value == "ttyUSB0"
    assert (checks["usb_hubs"].value, checks["usb_hubs"].verdict) == ("ttyUSB0 behind 2 hubs", "warn")


def test_adapter_in_the_machine_itself(tmp_path: Path) -> None:
    serial_port(tmp_path, "ttyACM0", "1-2")
    assert judged(tmp_path, {})["usb_hubs"].value == "ttyACM0 behind 0 hubs"


def test_serial_device_of_another_group_is_bad(tmp_path: Path) -> None:
    check = judged(tmp_path, {}, replace(GRANTED, serial={"/dev/ttyUSB0": False, "/dev/ttyUSB1": True}))["serial_access"]
    assert check.verdict == "bad"
    assert "/dev/ttyUSB0 refused" in str(check.value)


def test_modem_manager_is_found(tmp_path: Path) -> None:
    assert judged(tmp_path, {"proc/44/comm": "ModemManager"})["modem_manager"].verdict == "warn"


def test_slow_cable_and_wireless_and_lost_segments(tmp_path: Path) -> None:
    files = {
        "sys/class/net/eth0/speed": "10",
        "sys/class/net/wlan0/device/vendor": "x",
        "sys/class/net/wlan0/wireless/x": "",
        "sys/class/net/wlan0/operstate": "up",
        "proc/net/snmp": "Tcp: OutSegs RetransSegs\nTcp: 1000 50\n",
    }
    checks = judged(tmp_path, files, replace(GRANTED, coalescing_us={"eth0": 100, "wlan0": None}, loopback_us=(50.0, 4000.0)))
    for name in ("network_links", "wireless", "tcp_resent", "network_coalescing", "loopback"):
        assert checks[name].verdict == "warn", name
    assert checks["network_coalescing"].fix == "ethtool -C eth0 rx-usecs 0"


def test_machine_with_wireless_only(tmp_path: Path) -> None:
    files = {"sys/class/net/eth0/operstate": "down"}
    assert judged(tmp_path, files)["network_links"].value == "no wired link is up"
