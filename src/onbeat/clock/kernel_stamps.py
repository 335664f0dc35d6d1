"""When the kernel sent and received a packet: SO_TIMESTAMPING on a socket, and its wall-clock stamps on our monotonic clock.

A stamp that Python takes after the call returned carries the scheduler's delay: milliseconds on a busy machine. The kernel's own
is taken at the border of the network stack, 50 to 6000 times closer at the 99th percentile (bench/bench_clock.py).
"""

import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from weakref import WeakSet

from onbeat.errors import BadInput

__all__ = ("Stamped", "StampedSocket", "WallMap", "open_socket", "read_wall_map", "why")

# linux/net_tstamp.h and asm-generic/socket.h; the same on x86-64 and aarch64.
_SO_TIMESTAMPING = 37
_TX_SOFTWARE, _RX_SOFTWARE, _REPORT_SOFTWARE = 1 << 1, 1 << 3, 1 << 4
_TIMESPEC = struct.Struct("@qq")
_SPACE = socket.CMSG_SPACE(3 * _TIMESPEC.size) + socket.CMSG_SPACE(64)
_LOOKS = 3
_MOST_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class WallMap:
    """Wall clock minus monotonic clock, as an interval: read as monotonic, wall, monotonic.

    Args:
        low_ns, high_ns: The difference lies between them.
    """

    low_ns: int
    high_ns: int

    def agrees(self, other: "WallMap") -> bool:
        """Say whether the wall clock can have stood still against the monotonic one between the two looks."""
        return self.low_ns <= other.high_ns and other.low_ns <= self.high_ns


def read_wall_map() -> WallMap:
    """Look at both clocks, three times, and keep the narrowest."""
    best: WallMap | None = None
    for _ in range(_LOOKS):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        wall = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        found = WallMap(wall - after, wall - before)
        if best is None or found.high_ns - found.low_ns < best.high_ns - best.low_ns:
            best = found
    return best or WallMap(0, 0)


@dataclass(frozen=True, slots=True)
class Stamped:
    """A packet and when it passed.

    Args:
        data: Its bytes.
        address: Where it came from; None for one that we sent.
        wall_ns: The kernel's stamp, on the wall clock; None where the kernel gave none.
        monotonic_ns: When we had it in hand, on the monotonic clock.
    """

    data: bytes
    address: tuple[str, int] | None
    wall_ns: int | None
    monotonic_ns: int


class StampedSocket:
    """A UDP socket whose packets are stamped by the kernel where it can.

    Args:
        use_kernel: False takes stamps in Python only, as a machine without the option does.
    """

    def __init__(self, *, use_kernel: bool = True) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)
        _open.add(self)
        self.kernel = False
        if use_kernel:
            with suppress(OSError):
                self._socket.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _TX_SOFTWARE | _RX_SOFTWARE | _REPORT_SOFTWARE)
                self.kernel = True

    def fileno(self) -> int:
        """Give the descriptor, to poll."""
        return self._socket.fileno()

    def bind(self, host: str, port: int) -> int:
        """Listen; give the port."""
        self._socket.bind((host, port))
        return int(self._socket.getsockname()[1])

    def connect(self, host: str, port: int) -> None:
        """Take packets of this peer only, and send to it."""
        self._socket.connect((host, port))

    def send(self, data: bytes, address: tuple[str, int] | None = None) -> bool:
        """Send, or say that the network would not take it (a full queue, an unreachable peer): a probe that is lost is normal."""
        try:
            if address is None:
                self._socket.send(data)
            else:
                self._socket.sendto(data, address)
        except OSError:
            return False
        return True

    def receive(self) -> Iterator[Stamped]:
        """Give the packets that arrived: at most 64 of them, so that a flood cannot keep the caller from everything else."""
        return self._take(0)

    def sent(self) -> Iterator[Stamped]:
        """Give packets of ours back, with the network's headers in front and the instants at which they left; at most 64."""
        return self._take(socket.MSG_ERRQUEUE)

    def close(self) -> None:
        """Close it."""
        self._socket.close()

    def _take(self, flags: int) -> Iterator[Stamped]:
        for _ in range(_MOST_AT_ONCE):
            if (packet := self._read(flags)) is None:
                return
            yield packet

    def _read(self, flags: int) -> Stamped | None:
        for _ in range(8):
            try:
                data, ancillary, _, address = self._socket.recvmsg(2048, _SPACE, flags)
            except (BlockingIOError, InterruptedError):
                return None
            except OSError:  # an answer to an earlier packet: nobody listens there; the packet that follows may be good
                continue
            now_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            wall_ns = None
            for level, kind, content in ancillary:
                if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPING and len(content) >= _TIMESPEC.size:
                    seconds, nanoseconds = _TIMESPEC.unpack_from(content)
                    wall_ns = seconds * 1_000_000_000 + nanoseconds or None
            return Stamped(data, (address[0], address[1]) if address else None, wall_ns, now_ns)
        return None


@contextmanager
def open_socket(use_kernel: bool) -> Iterator[StampedSocket]:
    """Open a socket, and close it again if setting it up fails.

    Raises:
        BadInput: this process or machine has no descriptor left.
    """
    try:
        sock = StampedSocket(use_kernel=use_kernel)
    except OSError as error:
        raise BadInput(f"no socket ({why(error)}); close some files") from None
    try:
        yield sock
    except BaseException:
        sock.close()
        raise


def why(error: Exception) -> str:
    """Say in words why a name or an address was refused."""
    if isinstance(error, socket.gaierror) and error.errno == socket.EAI_ADDRFAMILY:
        return "it is not of IPv4, which is all that there is here"
    if isinstance(error, TypeError | UnicodeError):
        return "it is no name"
    return str(getattr(error, "strerror", None) or error).lower()


_open: WeakSet[StampedSocket] = WeakSet()


def _close_all() -> None:
    for sock in list(_open):
        sock.close()


# A child that was forked off has no thread that serves them, and would keep a port taken after its parent gave it back.
os.register_at_fork(after_in_child=_close_all)
