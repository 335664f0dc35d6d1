"""The way to one device: what sockets and serial ports its driver opened, what the kernel says of them, who else is there."""

import fcntl
import ipaddress
import os
import socket
import struct
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from onbeat.machine.machine import Machine

__all__ = ("DevicePath", "Peer", "Port", "look_at_path", "open_files")

_GET_EXCLUSIVE = 0x80045440  # TIOCGEXCL of <asm-generic/ioctls.h>
_RTT_AT, _RESENT_AT = 68, 100  # tcpi_rtt and tcpi_total_retrans in struct tcp_info of <linux/tcp.h>
_GET_ROUTE, _REQUEST = 26, 1  # RTM_GETROUTE and NLM_F_REQUEST of <linux/rtnetlink.h>, <linux/netlink.h>
_DESTINATION, _INTERFACE, _GATEWAY = 1, 4, 5  # RTA_DST, RTA_OIF, RTA_GATEWAY
_ESTABLISHED = "01"


@dataclass(frozen=True, slots=True)
class Peer:
    """One connected socket of a driver.

    Args:
        kind: "tcp" or "udp".
        address: Of the other side, "192.168.1.20:5000".
        interface: That the kernel sends through; "" where it does not say.
        gateway: The first router on the way; "" where there is none.
        rtt_us: Of TCP, smoothed by the kernel.
        resent: Segments of TCP that were sent again.
        nodelay: Whether TCP sends small commands at once.
        others: Other connections from this machine to the same address: "name (pid)", or "a process" where it cannot be seen.
    """

    kind: str
    address: str
    interface: str
    gateway: str
    rtt_us: int | None = None
    resent: int | None = None
    nodelay: bool | None = None
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Port:
    """One serial port of a driver.

    Args:
        path: "/dev/ttyUSB0".
        exclusive: Whether TIOCEXCL is set: nobody else (but root) can open it.
        others: Other processes that have it open.
    """

    path: str
    exclusive: bool | None
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DevicePath:
    """What a driver opened, as far as it goes out of this process.

    Args:
        peers: Its connected sockets.
        ports: Its serial ports.
        unseen: Processes whose open files this user may not see.
    """

    peers: tuple[Peer, ...] = ()
    ports: tuple[Port, ...] = ()
    unseen: int = 0


def open_files() -> dict[int, str]:
    """Give what each descriptor of this process leads to."""
    found = {}
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            found[int(name)] = os.readlink(f"/proc/self/fd/{name}")
    return found


def look_at_path(machine: Machine, before: Mapping[int, str]) -> DevicePath:
    """Look at what was opened since: the driver has it open now.

    Args:
        machine: Its /proc says who else is there.
        before: `open_files()` before the driver connected.
    """
    ours = open_files()
    new = {number: leads for number, leads in ours.items() if before.get(number) != leads}
    holders, unseen = _holders(machine)
    sockets = [number for number, leads in new.items() if leads.startswith("socket:")]
    peers = [peer for number in sockets if (peer := _peer(machine, number, holders, ours)) is not None]
    ports = [_port(number, leads, holders) for number, leads in new.items() if leads.startswith("/dev/") and _is_tty(number)]
    return DevicePath(tuple(peers), tuple(ports), unseen if peers or ports else 0)


def _is_tty(number: int) -> bool:
    with suppress(OSError):
        return os.isatty(number)
    return False


def _holders(machine: Machine) -> tuple[dict[str, list[str]], int]:
    """Give who else has what open: "socket:[4711]" or "/dev/ttyUSB0" -> names; and how many cannot be looked into."""
    found: dict[str, list[str]] = {}
    unseen = 0
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            numbers = os.listdir(f"/proc/{name}/fd")
        except PermissionError:
            unseen += 1
            continue
        except OSError:  # it ended meanwhile
            continue
        who = f"{machine.text(f'proc/{name}/comm') or '?'} ({name})"
        for number in numbers:
            with suppress(OSError):
                leads = os.readlink(f"/proc/{name}/fd/{number}")
                if leads.startswith(("socket:", "/dev/")):
                    found.setdefault(leads, []).append(who)
    return found, unseen


def _port(number: int, path: str, holders: Mapping[str, list[str]]) -> Port:
    exclusive = None
    with suppress(OSError):
        exclusive = bool(struct.unpack("i", fcntl.ioctl(number, _GET_EXCLUSIVE, bytes(4)))[0])
    return Port(path, exclusive, tuple(dict.fromkeys(holders.get(path, ()))))


def _peer(machine: Machine, number: int, holders: Mapping[str, list[str]], ours: Mapping[int, str]) -> Peer | None:
    try:
        with socket.socket(fileno=os.dup(number)) as there:
            if there.family not in (socket.AF_INET, socket.AF_INET6):
                return None
            (host, port), (own_host, own_port) = there.getpeername()[:2], there.getsockname()[:2]
            interface, gateway = _route(host)
            named = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            if there.type != socket.SOCK_STREAM:
                return Peer("udp", named, interface, gateway)
            info = there.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
            rtt, resent = (struct.unpack_from("I", info, at)[0] for at in (_RTT_AT, _RESENT_AT))
            nodelay = bool(there.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
    except (OSError, struct.error):  # it is not connected, or was closed meanwhile
        return None
    links = [f"socket:[{inode}]" for inode in _connections(machine, (host, port), (own_host, own_port))]
    others = [who for link in links if link not in ours.values() for who in holders.get(link, ["a process"])]
    return Peer("tcp", named, interface, gateway, rtt, resent, nodelay, tuple(dict.fromkeys(others)))


def _connections(machine: Machine, peer: tuple[str, int], own: tuple[str, int]) -> list[str]:
    """Give the inodes of other connections from this machine to the same address."""
    found = []
    for table in ("proc/net/tcp", "proc/net/tcp6"):
        for line in (machine.text(table) or "").splitlines()[1:]:
            words = line.split()
            here, there = _address(words[1]), _address(words[2])
            if words[3] == _ESTABLISHED and there == (_plain(peer[0]), peer[1]) and here != (_plain(own[0]), own[1]):
                found.append(words[9])
    return found


def _address(text: str) -> tuple[str, int]:
    """Read "0100007F:1388": words of 32 bits as this machine holds them, and a port."""
    digits, _, port = text.partition(":")
    words = [int(digits[k : k + 8], 16) for k in range(0, len(digits), 8)]
    packed = b"".join(struct.pack("=I", word) for word in words)
    return _plain(str(ipaddress.ip_address(packed))), int(port, 16)


def _plain(host: str) -> str:
    """Write an address in its one way; one of version 4 that is wrapped into version 6 as what it is."""
    address = ipaddress.ip_address(host.partition("%")[0])
    wrapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(wrapped or address)


def _route(host: str) -> tuple[str, str]:
    """Ask the kernel which way it would send: the name of the interface, and the gateway."""
    address = ipaddress.ip_address(_plain(host))
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    wanted = struct.pack("=HH", 4 + len(address.packed), _DESTINATION) + address.packed
    body = struct.pack("=BBBBBBBBI", family, len(address.packed) * 8, 0, 0, 0, 0, 0, 0, 0) + wanted
    interface = gateway = ""
    with suppress(OSError, struct.error), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as asked:
        asked.settimeout(1.0)
        asked.send(struct.pack("=IHHII", 16 + len(body), _GET_ROUTE, _REQUEST, 1, 0) + body)
        answer = asked.recv(4096)
        at = 16 + 12
        while at + 4 <= len(answer):
            length, kind = struct.unpack_from("=HH", answer, at)
            if length < 4:
                break
            value = answer[at + 4 : at + length]
            if kind == _INTERFACE:
                interface = socket.if_indextoname(struct.unpack("=I", value)[0])
            elif kind == _GATEWAY:
                gateway = str(ipaddress.ip_address(value))
            at += (length + 3) & ~3
    return interface, gateway
