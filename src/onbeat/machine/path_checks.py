"""Judge the way to one device: its route, its connection, and whether somebody else is on it."""

from onbeat.machine.machine import Machine, MachineCheck
from onbeat.machine.path import DevicePath

__all__ = ("path_checks",)

_SLOW_RTT_US = 1000


def path_checks(machine: Machine, path: DevicePath) -> list[MachineCheck]:
    """Judge what a driver has open while it is connected."""
    return [_route(machine, path), _link(path), _clients(path)]


def _route(machine: Machine, path: DevicePath) -> MachineCheck:
    source = "sockets of the driver; RTM_GETROUTE for each, tried"
    said, fix = [], ""
    for peer in path.peers:
        way = f" through {peer.gateway}" if peer.gateway else ""
        said.append(f"{peer.address} over {peer.interface or 'an interface that is not known'}{way}")
        if machine.exists(f"sys/class/net/{peer.interface}/wireless") and peer.interface:
            fix = fix or f"take a cable to {peer.address}: {peer.interface} is wireless"
        elif peer.gateway:
            fix = fix or f"connect {peer.address} to an interface of this machine: each router on the way adds its queue"
    return MachineCheck("device_route", "; ".join(said) or "no connected socket", source, "warn" if fix else "good", fix)


def _link(path: DevicePath) -> MachineCheck:
    source = "TCP_INFO and TCP_NODELAY of the driver's sockets, after the questions"
    said, fix = [], ""
    for peer in path.peers:
        if peer.kind != "tcp":
            continue
        delay = "at once" if peer.nodelay else "small commands held back"
        said.append(f"{peer.address}: rtt {(peer.rtt_us or 0) / 1e3:.2f} ms, {peer.resent} segments sent again, {delay}")
        if peer.resent:
            fix = fix or f"find the lossy link to {peer.address} (ip -s link): a loss costs a TCP stream 200 ms or more"
        elif not peer.nodelay:
            fix = fix or "set TCP_NODELAY in the driver: without it a small command waits for the answer to the one before"
        elif (peer.rtt_us or 0) > _SLOW_RTT_US:
            fix = fix or f"find what is slow on the way to {peer.address}: the device itself, a switch, a router"
    return MachineCheck("device_link", "; ".join(said) or "no TCP", source, "warn" if fix else "good", fix)


def _clients(path: DevicePath) -> MachineCheck:
    source = "/proc/*/fd, /proc/net/tcp, TIOCGEXCL of the driver's ports, tried"
    others = [f"{who} on {peer.address}" for peer in path.peers for who in peer.others]
    others += [f"{who} on {port.path}" for port in path.ports for who in port.others]
    if others:
        fix = f"end {others[0]}: two clients take each other's answers"
        return MachineCheck("device_clients", ", ".join(others), source, "bad", fix)
    if path.unseen and path.ports:
        value = f"nobody that can be seen; {path.unseen} processes cannot"
        return MachineCheck("device_clients", value, source, "unknown", f"look as root: fuser -v {path.ports[0].path}")
    shared = [port.path for port in path.ports if not port.exclusive]
    if shared:
        fix = "set TIOCEXCL in the driver (pyserial: exclusive=True): anybody may open the port beside it"
        return MachineCheck("device_clients", f"nobody else, but {', '.join(shared)} is not exclusive", source, "warn", fix)
    return MachineCheck("device_clients", "nobody else", source, "good")
