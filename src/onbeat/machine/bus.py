"""The ways to the robot: network interfaces, serial adapters, USB."""

from pathlib import PurePosixPath

from onbeat.machine.machine import Machine, MachineCheck
from onbeat.machine.tries import Tried

__all__ = ("network_checks", "serial_checks")

_NET = "sys/class/net"
_HELD_BACK_US = 50
_SLOW_LOOPBACK_US = 1000.0
_MANY_RESENT = 0.01


def network_checks(machine: Machine, tried: Tried) -> list[MachineCheck]:
    """Judge the network of this machine, not what is behind it."""
    return [_links(machine), _wireless(machine), _coalescing(tried), _loopback(tried), _resent(machine)]


def serial_checks(machine: Machine, tried: Tried) -> list[MachineCheck]:
    """Judge serial adapters and the USB that they hang on."""
    return [_latency_timer(machine), _autosuspend(machine), _depth(machine), _permission(tried), _modem_manager(machine)]


def _interfaces(machine: Machine) -> list[str]:
    """List the interfaces of hardware; what is virtual has no device."""
    return [path.split("/")[-2] for path in machine.glob(f"{_NET}/*/device")]


def _links(machine: Machine) -> MachineCheck:
    source = f"/{_NET}/*/operstate, speed, duplex"
    said, slow = [], []
    for name in _interfaces(machine):
        if machine.text(f"{_NET}/{name}/operstate") not in ("up", "unknown") or machine.exists(f"{_NET}/{name}/wireless"):
            continue
        speed = machine.number(f"{_NET}/{name}/speed")
        said.append(f"{name} {speed} Mbit/s" if speed and speed > 0 else name)
        if (speed is not None and 0 < speed < 100) or machine.text(f"{_NET}/{name}/duplex") == "half":
            slow.append(name)
    if not said:
        return MachineCheck(
            "network_links", "no wired link is up", source, "warn", "connect the robot by cable, on an interface of its own"
        )
    fix = f"replace the cable or the switch of {slow[0]}: it came up slow or half duplex" if slow else ""
    return MachineCheck("network_links", ", ".join(said), source, "warn" if slow else "good", fix)


def _wireless(machine: Machine) -> MachineCheck:
    source = f"/{_NET}/*/wireless"
    up = [
        n
        for n in _interfaces(machine)
        if machine.exists(f"{_NET}/{n}/wireless") and machine.text(f"{_NET}/{n}/operstate") == "up"
    ]
    fix = (
        f"take a cable to the robot, and turn {up[0]} off (or its power saving: iw dev {up[0]} set power_save off)" if up else ""
    )
    return MachineCheck("wireless", ", ".join(up) or "off", source, "warn" if up else "good", fix)


def _coalescing(tried: Tried) -> MachineCheck:
    source = "ioctl SIOCETHTOOL of each interface, tried"
    known = {name: held for name, held in tried.coalescing_us.items() if held is not None}
    if not known:
        return MachineCheck(
            "network_coalescing", "no driver says", source, "unknown", "ask the interface of the robot: ethtool -c NAME"
        )
    late = {name: held for name, held in known.items() if held > _HELD_BACK_US}
    value = ", ".join(f"{name} {held} us" for name, held in known.items())
    fix = f"ethtool -C {next(iter(late))} rx-usecs 0" if late else ""
    return MachineCheck("network_coalescing", value, source, "warn" if late else "good", fix)


def _loopback(tried: Tried) -> MachineCheck:
    source = "200 datagrams to oneself, tried"
    if tried.loopback_us is None:
        return MachineCheck("loopback", None, source, "unknown", "bring the loopback interface up: ip link set lo up")
    p50, p99 = tried.loopback_us
    slow = p99 > _SLOW_LOOPBACK_US
    fix = "stop what else runs: not even a datagram to itself comes back in time" if slow else ""
    return MachineCheck("loopback", f"p50 {p50:.0f} us, p99 {p99:.0f} us", source, "warn" if slow else "good", fix)


def _resent(machine: Machine) -> MachineCheck:
    source = "Tcp: of /proc/net/snmp"
    rows = [line.split()[1:] for line in (machine.text("proc/net/snmp") or "").splitlines() if line.startswith("Tcp:")]
    if len(rows) != 2:
        return MachineCheck("tcp_resent", None, source, "unknown", "mount /proc")
    counts = dict(zip(*rows, strict=False))
    sent, again = int(counts.get("OutSegs", 0)), int(counts.get("RetransSegs", 0))
    share = again / max(1, sent)
    fix = "find the lossy link (ip -s link): each loss costs a TCP stream 200 ms or more" if share > _MANY_RESENT else ""
    return MachineCheck("tcp_resent", f"{100 * share:.2f} % of {sent} segments", source, "warn" if fix else "good", fix)


def _latency_timer(machine: Machine) -> MachineCheck:
    source = "/sys/bus/usb-serial/devices/*/latency_timer"
    paths = machine.glob("sys/bus/usb-serial/devices/*/latency_timer")
    held = {path.split("/")[-2]: machine.number(path) or 0 for path in paths}
    value = ", ".join(f"{name} {ms} ms" for name, ms in held.items()) or "no such adapter"
    late = [name for name, ms in held.items() if ms > 1]
    fix = (
        f'echo 1 > /sys/bus/usb-serial/devices/{late[0]}/latency_timer (udev: ATTR{{latency_timer}}="1"): each read waits for it'
        if late
        else ""
    )
    return MachineCheck("serial_latency", value, source, "bad" if late else "good", fix)


def _serial_places(machine: Machine) -> dict[str, PurePosixPath]:
    """Give where each USB serial device sits in /sys/devices."""
    found = {}
    for path in [*machine.glob("sys/class/tty/ttyUSB*"), *machine.glob("sys/class/tty/ttyACM*")]:
        place = machine.target(f"{path}/device")
        if place:
            found[PurePosixPath(path).name] = PurePosixPath(place)
    return found


def _usb_device(place: PurePosixPath) -> PurePosixPath | None:
    """Find the USB device above an interface: the folder named like 1-2.3, without a colon."""
    return next((p for p in (place, *place.parents) if "-" in p.name and ":" not in p.name and p.name[0].isdigit()), None)


def _autosuspend(machine: Machine) -> MachineCheck:
    source = "power/control of the USB device of each serial port"
    sleepy = []
    root = str(machine.root.resolve())
    for name, place in _serial_places(machine).items():
        device = _usb_device(place)
        if device is not None and machine.text(f"{str(device).removeprefix(root).lstrip('/')}/power/control") == "auto":
            sleepy.append(name)
    fix = 'udev: ATTR{power/control}="on" for it, or usbcore.autosuspend=-1 on the boot line' if sleepy else ""
    return MachineCheck("usb_autosuspend", ", ".join(sleepy) or "none", source, "warn" if sleepy else "good", fix)


def _depth(machine: Machine) -> MachineCheck:
    source = "path of each serial port in /sys/devices"
    hubs = {}
    for name, place in _serial_places(machine).items():
        device = _usb_device(place)
        hubs[name] = device.name.count(".") if device is not None else 0
    deep = [name for name, count in hubs.items() if count > 1]
    value = ", ".join(f"{name} behind {count} hub{'s' * (count != 1)}" for name, count in hubs.items()) or "no USB serial port"
    fix = f"plug {deep[0]} into the machine itself: each hub adds its own waiting" if deep else ""
    return MachineCheck("usb_hubs", value, source, "warn" if deep else "good", fix)


def _permission(tried: Tried) -> MachineCheck:
    source = "access of /dev/ttyUSB*, ttyACM*, ttyTHS*, ttyAMA* (not opened: that can reset a board)"
    denied = [path for path, may in tried.serial.items() if not may]
    value = ", ".join(f"{path} {'granted' if may else 'refused'}" for path, may in tried.serial.items()) or "no serial device"
    fix = "add yourself to its group and log in anew: sudo usermod -aG dialout $USER" if denied else ""
    return MachineCheck("serial_access", value, source, "bad" if denied else "good", fix)


def _modem_manager(machine: Machine) -> MachineCheck:
    source = "/proc/*/comm"
    on = any(machine.text(path) == "ModemManager" for path in machine.glob("proc/[0-9]*/comm"))
    fix = "systemctl disable --now ModemManager: it speaks to every new serial port as if it were a modem" if on else ""
    return MachineCheck("modem_manager", "runs" if on else "does not run", source, "warn" if on else "good", fix)
