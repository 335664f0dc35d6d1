"""Follow a clock server from this process: probes, four stamps each, and a SyncedClock that comes of them."""

import os
import select
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from weakref import WeakSet

from onbeat.clock.estimate import ClockEstimator, ClockEvent
from onbeat.clock.exchange import Exchange
from onbeat.clock.kernel_stamps import Stamped, StampedSocket, WallMap, open_socket, read_wall_map, why
from onbeat.clock.map import ClockMap
from onbeat.clock.packet import SIZE, Probe, Reply, decode, encode_probe
from onbeat.clock.slew import SlewWatch, Steering
from onbeat.clock.state import SyncState
from onbeat.clock.synced import SyncedClock
from onbeat.clock.system import SystemClock, read_steering
from onbeat.clock.thread import BelledThread
from onbeat.errors import BadInput
from onbeat.units import to_ns

__all__ = ("ClockClient", "ClockStatus")

_BURST, _BURST_NS = 8, 20_000_000
# Probes leave in pairs: the first wakes the way (cold caches, a card that sleeps), the second measures it. Between idle network
# namespaces the outbound leg of a lone probe takes 18 us, that of a second one 3 to 4 us, and the return leg 5 us.
_TOGETHER = 2
_PAUSE_MS = 1
_LONGEST_WAIT_MS = 3_600_000  # poll takes 24 days at most
_PENDING = 64
_EVENTS = 256
_SERVER_CHANGED = 3  # replies of another server in a row, and none of the known one, before it is followed


@dataclass(frozen=True, slots=True)
class ClockStatus:
    """How well a client knows its server's time.

    Args:
        state: What it is worth.
        offset_ns: Server minus client now; None before the first exchange, like the others that may be None.
        bound_ns: Half-width that holds the offset now.
        skew_ppm: Positive: the server runs fast.
        epoch: Counts the breaks of the server's time line.
        stamps: Who took the newest exchange's stamps: "kernel rx+tx", "kernel rx" or "userspace".
        exchanges: How many were taken.
        discarded: What was not, by reason.
        outbound_ns, return_ns: What the legs of the newest exchange took, by the offset as it is known.
        age_ns: Time since the newest exchange.
        server_bound_ns: How far the server itself may be from its reference.
        steered_ppm, server_steered_ppm: How fast either machine's clock is being steered away from its crystal; beyond half of
            the drift bound the hard bound is widened by the rest.
        wall_apart_ns: The server's wall time minus ours.
    """

    state: SyncState
    offset_ns: int | None
    bound_ns: int | None
    skew_ppm: float | None
    epoch: int
    stamps: str
    exchanges: int
    discarded: Mapping[str, int] = field(hash=False)
    outbound_ns: int | None
    return_ns: int | None
    age_ns: int | None
    server_bound_ns: int
    steered_ppm: float | None
    server_steered_ppm: float | None
    wall_apart_ns: int | None


@dataclass(slots=True)
class _Trip:
    """A probe under way: what is known of its four stamps."""

    sent_ns: int
    sent_wall_ns: int | None
    sent_map: WallMap
    sent_steering: Steering
    reply: Reply | None = None
    back: Stamped | None = None
    back_map: WallMap | None = None
    back_steering: Steering | None = None


class ClockClient:
    """Keeps a `SyncedClock` on a `ClockServer`.

    Args:
        host, port: The server's name or IPv4 address, and its port.
        rate_hz: Probes per second after the first burst; they leave in pairs.
        drift_bound_ppm: How far the two rates can be apart.
        max_bound_s: The bound beyond which the state is EXPIRED.
        allow_unsynced: Let the clock read our own time until the first exchange.
        use_kernel: False takes stamps in Python only.
        on_exchange: Told of each exchange and the map that came of it, on the client's thread: for logs. When it raises, that is
            printed, and it is told no more.

    Raises:
        BadInput: the rate is not in (0, 1000] Hz, or the drift bound or the greatest bound is impossible.
    """

    def __init__(
        self,
        host: str = "127.0.0.1",
        port: int = 5558,
        *,
        rate_hz: float = 8.0,
        drift_bound_ppm: float = 200.0,
        max_bound_s: float = 0.02,
        allow_unsynced: bool = False,
        use_kernel: bool = True,
        on_exchange: Callable[[Exchange, ClockMap], None] | None = None,
    ) -> None:
        if not 0 < rate_hz <= 1000:
            raise BadInput(f"rate_hz must lie in (0, 1000], not {rate_hz}; 8 is plenty on any network")
        self.host = host
        self.port = port
        name = f"{host}:{port}"
        self.clock = SyncedClock(name, allow_unsynced=allow_unsynced)
        self._estimator = ClockEstimator("monotonic", name, drift_bound_ppm, max_bound_s=max_bound_s)
        self._period_ns = to_ns(_TOGETHER / rate_hz)
        self._use_kernel = use_kernel
        self._on_exchange = on_exchange
        self._id = int.from_bytes(os.urandom(8), "little")
        self._monotonic = SystemClock()
        self._trips: OrderedDict[int, _Trip] = OrderedDict()
        self._number = 0
        self._answered = 0
        self._waiting: int | None = None  # the trip whose reply came, and not yet when it left
        self._server: int | None = None
        self._server_epoch = 0
        self._strangers = (0, 0)
        self._discarded: Counter[str] = Counter()
        self._events: deque[ClockEvent] = deque(maxlen=_EVENTS)
        self._newest: tuple[Exchange, int] | None = None
        self._stamps = "userspace"
        self._wall_apart_ns: int | None = None
        self._allowed_ppm = drift_bound_ppm / 2
        self._slew, self._server_slew = SlewWatch(self._allowed_ppm), SlewWatch(self._allowed_ppm)
        self._lock = threading.Lock()
        with _forking:  # a fork goes through them
            _clients.add(self)
        self._thread = BelledThread("onbeat-clock-client")

    def __enter__(self) -> "ClockClient":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to probe, on a thread of its own; a server that is not there yet is waited for.

        Raises:
            BadInput: it runs already, or the server's name is unknown.
        """
        if self._thread.started:
            raise BadInput(f"the clock client of {self.clock.id} runs already; stop it first")
        with open_socket(self._use_kernel) as sock:
            try:
                sock.connect(self.host, self.port)
            except (OSError, OverflowError, TypeError, UnicodeError) as error:
                raise BadInput(
                    f"{self.host}:{self.port} cannot be reached ({why(error)}); check the name and the network"
                ) from None
            self._id = int.from_bytes(os.urandom(8), "little")  # a forked process that starts it again is another client
            self._thread.start(partial(self._run, sock))

    def stop(self) -> None:
        """End it; the clock stays readable and its bound grows. Safe to call twice, from any thread, and from `on_exchange`."""
        self._thread.stop()

    def status(self) -> ClockStatus:
        """Say how well the server's time is known now."""
        with self._lock:
            now_ns = self._monotonic.now_ns()
            chart = self.clock.map
            newest, server_bound_ns = self._newest if self._newest is not None else (None, 0)
            outbound = back = None
            if newest is not None and chart is not None:
                outbound = newest.t2_ns - newest.t1_ns - newest.outbound_residence_ns - chart.offset_at_ns(newest.t1_ns)
                back = chart.offset_at_ns(newest.t4_ns) - newest.t3_ns + newest.t4_ns - newest.return_residence_ns
            return ClockStatus(
                state=self._estimator.state_at(now_ns),
                offset_ns=None if chart is None else chart.offset_at_ns(now_ns),
                bound_ns=None if chart is None else chart.bound_at_ns(now_ns),
                skew_ppm=None if chart is None else chart.skew_ppb * 1e-3,
                epoch=self._estimator.epoch,
                stamps=self._stamps,
                exchanges=self._estimator.exchanges,
                discarded=dict(self._discarded),
                outbound_ns=outbound,
                return_ns=back,
                age_ns=None if newest is None else now_ns - newest.t4_ns,
                server_bound_ns=server_bound_ns,
                steered_ppm=self._slew.ppm,
                server_steered_ppm=self._server_slew.ppm,
                wall_apart_ns=self._wall_apart_ns,
            )

    def events(self) -> list[ClockEvent]:
        """Give the events since the last call, oldest first; the newest 256 are kept."""
        with self._lock:
            events = list(self._events)
            self._events.clear()
        return events

    def _run(self, sock: StampedSocket, bell: int) -> None:
        poll = select.poll()
        poll.register(sock.fileno(), select.POLLIN)
        poll.register(bell, select.POLLIN)
        pause = select.poll()
        pause.register(bell, select.POLLIN)
        due_ns = self._monotonic.now_ns()
        try:
            while True:
                now_ns = self._monotonic.now_ns()
                if now_ns >= due_ns:
                    for _ in range(_TOGETHER):
                        self._probe(sock)
                    if self._stamps != "userspace":  # then nothing is lost by waking once for what the pair brings
                        pause.poll(_PAUSE_MS)
                    self._drain_sent(sock)
                    step_ns = min(_BURST_NS, self._period_ns) if self._number < _BURST else self._period_ns
                    # From the deadline; what was missed in a stall is not made up for.
                    due_ns += step_ns * (1 + max(now_ns - due_ns, 0) // step_ns)
                events = poll.poll(min(max((due_ns - now_ns) // 1_000_000, 1), _LONGEST_WAIT_MS))
                if any(fd == bell for fd, _ in events):
                    return
                if any(what & select.POLLERR for _, what in events):
                    self._drain_sent(sock)
                if events:
                    for packet in sock.receive():
                        self._take(packet)
        finally:
            sock.close()

    def _probe(self, sock: StampedSocket) -> None:
        self._number += 1
        wall = read_wall_map()
        self._trips[self._number] = _Trip(self._monotonic.now_ns(), None, wall, read_steering())
        while len(self._trips) > _PENDING:
            self._trips.popitem(last=False)
        if not sock.send(encode_probe(Probe(self._id, self._number))):
            self._discard("not sent")

    def _drain_sent(self, sock: StampedSocket) -> None:
        for packet in sock.sent():
            probe = decode(packet.data[-SIZE:])
            if isinstance(probe, Probe) and (trip := self._trips.get(probe.number)) is not None:
                trip.sent_wall_ns = packet.wall_ns

    def _take(self, packet: Stamped) -> None:
        reply = decode(packet.data)
        if not isinstance(reply, Reply) or reply.client != self._id:
            self._discard("junk")
            return
        trip = self._trips.get(reply.number)
        if trip is None or reply.number <= self._answered:
            self._discard("late or repeated reply")
            return
        if not self._is_our_server(reply):
            return
        self._answered = reply.number
        trip.reply, trip.back, trip.back_map, trip.back_steering = reply, packet, read_wall_map(), read_steering()
        # The kernel says when a reply left only after it has left: the next reply brings it, or it stays what the server said.
        if self._waiting is not None:
            self._finish(self._waiting, reply.previous_sent_ns if reply.previous == self._waiting else None)
        self._waiting = reply.number if reply.kernel_received else None
        if not reply.kernel_received:
            self._finish(reply.number, None)

    def _is_our_server(self, reply: Reply) -> bool:
        """Tell the server that is followed from a second one on the same address; follow a new one when the old one is gone."""
        if self._server is None:
            self._server, self._server_epoch = reply.server, reply.epoch
        if reply.server != self._server:
            stranger, count = self._strangers
            self._strangers = (reply.server, count + 1 if stranger == reply.server else 1)
            if self._strangers[1] < _SERVER_CHANGED:
                self._discard("another server")
                return False
            self._begin_anew(reply)
        elif reply.epoch != self._server_epoch:
            self._begin_anew(reply)
        self._strangers = (0, 0)
        return True

    def _begin_anew(self, reply: Reply) -> None:
        self._server, self._server_epoch = reply.server, reply.epoch
        with self._lock:
            self._estimator.restart()
            self.clock.end_epoch()
            self._newest = None
            self._server_slew = SlewWatch(self._allowed_ppm)
            self._events.append(ClockEvent("restart", self._monotonic.now_ns()))
        self._waiting = None

    def _finish(self, number: int, server_sent_ns: int | None) -> None:
        """Take an exchange of which all is known; `server_sent_ns` is the kernel's stamp of the reply, where there is one."""
        trip = self._trips.pop(number, None)
        if trip is None or trip.reply is None or trip.back is None or trip.back_map is None or trip.back_steering is None:
            return
        reply, back, kernel = trip.reply, trip.back, server_sent_ns is not None
        if not trip.sent_map.agrees(trip.back_map):
            self._discard("wall clock was set in mid-exchange")
            return
        # Early departures and late arrivals only widen the bounds: of what the wall clock leaves open, take the end that does.
        sent_kernel = trip.sent_wall_ns is not None
        sent_ns = max(trip.sent_wall_ns - trip.sent_map.high_ns, trip.sent_ns) if trip.sent_wall_ns is not None else trip.sent_ns
        back_ns = back.monotonic_ns if back.wall_ns is None else min(back.wall_ns - trip.back_map.low_ns, back.monotonic_ns)
        try:
            exchange = Exchange(
                sent_ns,
                reply.received_ns,
                reply.sent_ns if server_sent_ns is None else server_sent_ns,
                back_ns,
                reply.outbound_residence_ns,
                reply.return_residence_ns,
            )
            with self._lock:
                said = Steering(reply.sent_ns, reply.steered_ns)
                strayed_ns = self._slew.take(trip.sent_steering, trip.back_steering) + self._server_slew.take(said, said)
                event = self._estimator.add(exchange, server_bound_ns=reply.bound_ns, strayed_ns=strayed_ns)
                chart = self._estimator.map_at(self._monotonic.now_ns())
                our_wall_ns = back_ns + (trip.back_map.low_ns + trip.back_map.high_ns) // 2
                their_wall_ns = chart.to_target_ns(back_ns) + reply.wall_minus_reference_ns
                self._wall_apart_ns = their_wall_ns - our_wall_ns
                self.clock.update(chart, wall_minus_reference_ns=reply.wall_minus_reference_ns, wall_apart_ns=self._wall_apart_ns)
                self._newest = (exchange, reply.bound_ns)
                if event is not None:
                    self._events.append(event)
        except BadInput:
            self._discard("impossible stamps")
            return
        if self._on_exchange is not None:
            try:
                self._on_exchange(exchange, chart)
            except Exception as error:  # a log that fails must not take the clock away
                self._on_exchange = None
                told = threading.ExceptHookArgs((type(error), error, error.__traceback__, threading.current_thread()))
                threading.excepthook(told)
        received_kernel = back.wall_ns is not None and reply.kernel_received
        self._stamps = (
            "kernel rx+tx" if kernel and sent_kernel and received_kernel else "kernel rx" if received_kernel else "userspace"
        )

    def _discard(self, reason: str) -> None:
        with self._lock:
            self._discarded[reason] += 1


_clients: WeakSet[ClockClient] = WeakSet()
_held: list[ClockClient] = []
_forking = threading.Lock()


def _hold() -> None:
    _forking.acquire()
    _held.extend(_clients)
    for client in _held:
        client._lock.acquire()


def _release() -> None:
    while _held:
        _held.pop()._lock.release()
    _forking.release()


# A fork in the middle of an update would leave the child a lock that nobody opens, and a clock that nobody finishes writing.
os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)
