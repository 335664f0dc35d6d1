"""The rig's reference clock: answers probes with when they came and when their answers left, as the kernel saw it."""

import errno
import os
import select
from collections import Counter, OrderedDict
from dataclasses import dataclass
from functools import partial

from onbeat.clock.kernel_stamps import Stamped, StampedSocket, WallMap, open_socket, read_wall_map, why
from onbeat.clock.map import ClockMap
from onbeat.clock.packet import SIZE, Probe, Reply, decode, encode_reply
from onbeat.clock.synced import SyncedClock
from onbeat.clock.system import SystemClock, read_steering
from onbeat.clock.thread import BelledThread
from onbeat.errors import BadInput

__all__ = ("ClockServer",)

_MOST_CLIENTS = 1024
_DISTRUST_NS = 1_000_000_000
_LEAVES_WITHIN_NS = 1_000_000  # after its bound was computed


@dataclass(slots=True)
class _LastReply:
    """What was last said to a client, by which map, and when it really left."""

    number: int
    chart: ClockMap | None = None
    sent_ns: int | None = None


class ClockServer:
    """Serves this machine's monotonic clock, or a SyncedClock, to any number of clients over UDP.

    A served SyncedClock makes a chain: its own bound rides in every reply, so that bounds add.

    Args:
        host: IPv4 address to listen on; "0.0.0.0" for all of the machine's networks.
        port: Port; 0 takes a free one, which `port` tells after `start`.
        clock: What to serve; None is this machine's monotonic clock, which is its own reference.
        use_kernel: False takes stamps in Python only.

    Raises:
        BadInput: the host is empty, or the served clock is not read from the monotonic clock.
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 5558, *, clock: SyncedClock | None = None, use_kernel: bool = True
    ) -> None:
        if clock is not None and clock.local.id != "monotonic":
            raise BadInput(f"a server serves clocks read from the monotonic clock, not from {clock.local.id!r}")
        if not host:  # the system would take it for every network
            raise BadInput("a server needs the address to listen on: 127.0.0.1 for this machine, 0.0.0.0 for all its networks")
        self.host = host
        self.port = port
        self.clock = clock
        self._use_kernel = use_kernel
        self._id = int.from_bytes(os.urandom(8), "little")
        self._wall = SystemClock("wall")
        self._monotonic = SystemClock()
        self._clients: OrderedDict[int, _LastReply] = OrderedDict()
        self._counts: Counter[str] = Counter()
        self._last_wall: WallMap | None = None
        self._distrust_until_ns = 0
        self._thread = BelledThread("onbeat-clock-server")

    def __enter__(self) -> "ClockServer":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def counts(self) -> dict[str, int]:
        """Probes answered, and what was discarded, by reason."""
        return dict(self._counts)

    def start(self) -> None:
        """Listen, and answer on a thread of its own.

        Raises:
            BadInput: it runs already, or the address cannot be listened on.
        """
        if self._thread.started:
            raise BadInput(f"the clock server on port {self.port} runs already; stop it first")
        with open_socket(self._use_kernel) as sock:
            try:
                self.port = sock.bind(self.host, self.port)
            except (OSError, OverflowError, TypeError, UnicodeError) as error:
                port = getattr(error, "errno", None) in (errno.EADDRINUSE, errno.EACCES) or isinstance(error, OverflowError)
                advice = "take another port" if port else "give an IPv4 address of this machine, or 0.0.0.0 for all of them"
                raise BadInput(f"{self.host}:{self.port} cannot be listened on ({why(error)}); {advice}") from None
            self._thread.start(partial(self._run, sock))

    def stop(self) -> None:
        """End it; safe to call twice."""
        self._thread.stop()

    def _run(self, sock: StampedSocket, bell: int) -> None:
        poll = select.poll()
        poll.register(sock.fileno(), select.POLLIN)
        poll.register(bell, select.POLLIN)
        try:
            while True:
                events = poll.poll()
                if any(fd == bell for fd, _ in events):
                    return
                if any(what & select.POLLERR for _, what in events):
                    self._drain_sent(sock)
                for packet in sock.receive():
                    self._answer(sock, packet)
                    self._drain_sent(sock)
        finally:
            sock.close()

    def _answer(self, sock: StampedSocket, packet: Stamped) -> None:
        probe = decode(packet.data)
        if not isinstance(probe, Probe) or packet.address is None:
            self._counts["junk"] += 1
            return
        wall = self._wall_map()
        # Late receipts and early departures only widen the bounds: take the end of each interval that does.
        received_ns = packet.monotonic_ns
        if packet.wall_ns is not None and wall is not None:
            received_ns = min(packet.wall_ns - wall.low_ns, received_ns)
        chart = self.clock.map if self.clock is not None else None
        if self.clock is not None and chart is None:
            self._counts["not synchronised itself"] += 1
            return
        last = self._clients.get(probe.client)
        sent_ns = self._monotonic.now_ns()
        reply = Reply(
            client=probe.client,
            number=probe.number,
            server=self._id,
            epoch=0 if chart is None else chart.epoch,
            received_ns=_on(chart, received_ns),
            sent_ns=_on(chart, sent_ns),
            previous=last.number if last is not None else 0,
            previous_sent_ns=None if last is None or last.sent_ns is None else _on(last.chart, last.sent_ns),
            bound_ns=0 if chart is None else max(chart.bound_at_ns(received_ns), chart.bound_at_ns(sent_ns + _LEAVES_WITHIN_NS)),
            wall_minus_reference_ns=self._wall.now_ns() - _on(chart, self._monotonic.now_ns()),
            kernel_received=packet.wall_ns is not None and wall is not None and sock.kernel,
            steered_ns=read_steering().steered_ns if chart is None else 0,
        )
        self._clients[probe.client] = _LastReply(probe.number, chart)
        self._clients.move_to_end(probe.client)
        while len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        self._counts["answered" if sock.send(encode_reply(reply), packet.address) else "not sent"] += 1

    def _drain_sent(self, sock: StampedSocket) -> None:
        for packet in sock.sent():
            reply = decode(packet.data[-SIZE:])
            if isinstance(reply, Reply) and packet.wall_ns is not None:
                last = self._clients.get(reply.client)
                if last is not None and last.number == reply.number and (wall := self._wall_map()) is not None:
                    last.sent_ns = packet.wall_ns - wall.high_ns

    def _wall_map(self) -> WallMap | None:
        """Give the map to the wall clock; None for a second after it was set, while packets stamped before wait to be read."""
        found, now_ns = read_wall_map(), self._monotonic.now_ns()
        if self._last_wall is not None and not found.agrees(self._last_wall):
            self._counts["wall clock was set"] += 1
            self._distrust_until_ns = now_ns + _DISTRUST_NS
        self._last_wall = found
        return found if now_ns >= self._distrust_until_ns else None


def _on(chart: ClockMap | None, monotonic_ns: int) -> int:
    """Give an instant on the time line that is served."""
    return monotonic_ns if chart is None else chart.to_target_ns(monotonic_ns)
