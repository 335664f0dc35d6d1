"""The rig's reference clock: answers probes with when they came and when their answers left, as the kernel saw it."""

import os
import select
import threading
from collections import Counter, OrderedDict
from dataclasses import dataclass

from onbeat.clock.kernel_stamps import Stamped, StampedSocket, WallMap, read_wall_map
from onbeat.clock.packet import Probe, Reply, decode, encode_reply
from onbeat.clock.synced import SyncedClock
from onbeat.clock.system import SystemClock
from onbeat.errors import BadInput

__all__ = ("ClockServer",)

_MOST_CLIENTS = 1024
_LOOK_MS = 100


@dataclass(slots=True)
class _LastReply:
    """What was last said to a client, and when it really left."""

    number: int
    sent_ns: int | None = None


class ClockServer:
    """Serves this machine's monotonic clock, or a SyncedClock, to any number of clients over UDP.

    A served SyncedClock makes a chain: its own bound rides in every reply, so that bounds add.

    Args:
        host: Address to listen on; "0.0.0.0" for all of the machine's networks.
        port: Port; 0 takes a free one, which `port` tells after `start`.
        clock: What to serve; None is this machine's monotonic clock, which is its own reference.
        use_kernel: False takes stamps in Python only.

    Raises:
        BadInput: the served clock is not read from the monotonic clock.
    """

    def __init__(
        self, host: str = "127.0.0.1", port: int = 5558, *, clock: SyncedClock | None = None, use_kernel: bool = True
    ) -> None:
        if clock is not None and clock.local.id != "monotonic":
            raise BadInput(f"a server serves clocks read from the monotonic clock, not from {clock.local.id!r}")
        self.host = host
        self.port = port
        self.clock = clock
        self._use_kernel = use_kernel
        self._id = int.from_bytes(os.urandom(8), "little")
        self._wall = SystemClock("wall")
        self._monotonic = SystemClock()
        self._clients: OrderedDict[int, _LastReply] = OrderedDict()
        self._counts: Counter[str] = Counter()
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()

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
        if self._thread is not None:
            raise BadInput(f"the clock server on port {self.port} runs already; stop it first")
        sock = StampedSocket(use_kernel=self._use_kernel)
        try:
            self.port = sock.bind(self.host, self.port)
        except (OSError, OverflowError) as error:
            sock.close()
            why = getattr(error, "strerror", None) or str(error)
            raise BadInput(f"{self.host}:{self.port} cannot be listened on ({why.lower()}); take another port") from None
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, args=(sock,), name="onbeat-clock-server", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End it; safe to call twice."""
        thread, self._thread = self._thread, None
        if thread is not None:
            self._stop.set()
            thread.join()

    def _run(self, sock: StampedSocket) -> None:
        poll = select.poll()
        poll.register(sock.fileno(), select.POLLIN)
        try:
            while not self._stop.is_set():
                poll.poll(_LOOK_MS)
                self._drain_sent(sock)
                while (packet := sock.receive()) is not None:
                    self._answer(sock, packet)
                    self._drain_sent(sock)
        finally:
            sock.close()

    def _answer(self, sock: StampedSocket, packet: Stamped) -> None:
        probe = decode(packet.data)
        if not isinstance(probe, Probe) or packet.address is None:
            self._counts["junk"] += 1
            return
        wall = read_wall_map()
        # Late receipts and early departures only widen the bounds: take the end of each interval that does.
        received_ns = packet.monotonic_ns if packet.wall_ns is None else min(packet.wall_ns - wall.low_ns, packet.monotonic_ns)
        served = self._served(received_ns)
        if served is None:
            self._counts["not synchronised itself"] += 1
            return
        received_ns, epoch, bound_ns = served
        last = self._clients.get(probe.client)
        sent_ns = self._monotonic.now_ns()
        reply = Reply(
            client=probe.client,
            number=probe.number,
            server=self._id,
            epoch=epoch,
            received_ns=received_ns,
            sent_ns=self._mapped(sent_ns),
            previous=last.number if last is not None else 0,
            previous_sent_ns=None if last is None or last.sent_ns is None else self._mapped(last.sent_ns),
            bound_ns=bound_ns,
            wall_minus_reference_ns=self._wall.now_ns() - self._mapped(self._monotonic.now_ns()),
            kernel_received=packet.wall_ns is not None and sock.kernel,
        )
        self._clients[probe.client] = _LastReply(probe.number)
        self._clients.move_to_end(probe.client)
        while len(self._clients) > _MOST_CLIENTS:
            self._clients.popitem(last=False)
        self._counts["answered" if sock.send(encode_reply(reply), packet.address) else "not sent"] += 1

    def _drain_sent(self, sock: StampedSocket) -> None:
        wall: WallMap | None = None
        while (packet := sock.sent()) is not None:
            reply = decode(packet.data)
            if isinstance(reply, Reply) and packet.wall_ns is not None:
                last = self._clients.get(reply.client)
                if last is not None and last.number == reply.number:
                    wall = wall or read_wall_map()
                    last.sent_ns = packet.wall_ns - wall.high_ns

    def _mapped(self, monotonic_ns: int) -> int:
        chart = self.clock.map if self.clock is not None else None
        return monotonic_ns if chart is None else chart.to_target_ns(monotonic_ns)

    def _served(self, monotonic_ns: int) -> tuple[int, int, int] | None:
        """Give an instant on the served time line, its epoch, and how wrong that time line may be; None while there is none."""
        if self.clock is None:
            return monotonic_ns, 0, 0
        chart = self.clock.map
        if chart is None:
            return None
        return chart.to_target_ns(monotonic_ns), chart.epoch, chart.bound_at_ns(monotonic_ns)
