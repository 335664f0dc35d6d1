from pathlib import Path
from typing import Any

import pytest

from onbeat.machine.machine import MachineCheck
from onbeat.machine.path import DevicePath, Peer, Port
from onbeat.machine.path_checks import path_checks
from tests.machine.machines import by_name, made

FINE = Peer("tcp", "10.0.0.2:502", "eth0", "", 210, 0, True)


def judged(tmp_path: Path, *peers: Peer, ports: tuple[Port, ...] = (), unseen: int = 0) -> dict[str, MachineCheck]:
    machine = made(tmp_path, {"sys/class/net/wlan0/wireless/x": ""})
    return by_name(path_checks(machine, DevicePath(peers, ports, unseen)))


def test_a_device_on_a_cable_of_its_own_is_good(tmp_path: Path) -> None:
    checks = judged(tmp_path, FINE, ports=(Port("/dev/ttyUSB0", True),))
    assert {check.verdict for check in checks.values()} == {"good"}
    assert checks["device_route"].value == "10.0.0.2:502 over eth0"
    assert checks["device_link"].value == "10.0.0.2:502: rtt 0.21 ms, 0 segments sent again, at once"


def test_a_device_without_socket_or_port_is_good(tmp_path: Path) -> None:
    checks = judged(tmp_path)
    assert [check.value for check in checks.values()] == ["no connected socket", "no TCP", "nobody else"]
    assert {check.verdict for check in checks.values()} == {"good"}


@pytest.mark.parametrize(
    ("name", "changes", "verdict", "fix"),
    [
        ("device_route", {"gateway": "10.0.0.1"}, "warn", "each router on the way"),
        ("device_route", {"interface": "wlan0"}, "warn", "wlan0 is wireless"),
        ("device_link", {"resent": 3}, "warn", "lossy link to 10.0.0.2:502"),
        ("device_link", {"nodelay": False}, "warn", "set TCP_NODELAY"),
        ("device_link", {"rtt_us": 4000}, "warn", "what is slow on the way"),
        ("device_clients", {"others": ("studio (44)",)}, "bad", "end studio \\(44\\) on 10.0.0.2:502"),
    ],
)
def test_what_is_in_the_way_is_named(tmp_path: Path, name: str, changes: dict[str, Any], verdict: str, fix: str) -> None:
    given: dict[str, Any] = {"rtt_us": 210, "resent": 0, "nodelay": True, **changes}
    peer = Peer("tcp", "10.0.0.2:502", given.pop("interface", "eth0"), given.pop("gateway", ""), **given)
    check = judged(tmp_path, peer)[name]
    assert check.verdict == verdict
    assert fix.replace("\\", "") in check.fix


def test_a_port_that_others_have_or_could_have(tmp_path: Path) -> None:
    taken = judged(tmp_path, ports=(Port("/dev/ttyUSB0", True, ("screen (9)",)),))["device_clients"]
    assert (taken.verdict, taken.value) == ("bad", "screen (9) on /dev/ttyUSB0")
    unseen = judged(tmp_path, ports=(Port("/dev/ttyUSB0", True),), unseen=12)["device_clients"]
    assert (unseen.verdict, unseen.fix) == ("unknown", "look as root: fuser -v /dev/ttyUSB0")
    shared = judged(tmp_path, ports=(Port("/dev/ttyUSB0", False),))["device_clients"]
    assert shared.verdict == "warn"
    assert "exclusive=True" in shared.fix
