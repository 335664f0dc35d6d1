import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from onbeat.clock import ClockClient, ClockMap, ClockServer, ClockStatus, Exchange, SyncState, SystemClock
from onbeat.clock.packet import Probe, Reply, decode, encode_reply
from onbeat.errors import BadInput, ClockMismatch, NotSynced


def until(true: Callable[[], bool], what: str) -> None:
    clock = SystemClock()
    end_ns = clock.now_ns() + 20_000_000_000
    while not true():
        assert clock.now_ns() < end_ns, f"waited 20 s for {what}"
        clock.sleep_until_ns(clock.now_ns() + 5_000_000)


class Falsified:
    """A server in the test's hand: answers each probe with what `answer` makes of an honest reply."""

    def __init__(self, answer: Callable[[Reply], list[bytes]]) -> None:
        self.answer = answer
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(0.05)
        self.port: int = self.socket.getsockname()[1]
        self.stopped = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self) -> None:
        clock = SystemClock()
        while not self.stopped.is_set():
            try:
                data, address = self.socket.recvfrom(2048)
            except TimeoutError:
                continue
            probe = decode(data)
            assert isinstance(probe, Probe)
            now = clock.now_ns()
            for message in self.answer(Reply(probe.client, probe.number, 1, 0, now, now, 0, None, 0, 0)):
                self.socket.sendto(message, address)

    def close(self) -> None:
        self.stopped.set()
        self.thread.join()
        self.socket.close()


@contextmanager
def against(answer: Callable[[Reply], list[bytes]]) -> Iterator[ClockClient]:
    server = Falsified(answer)
    try:
        with ClockClient(port=server.port, rate_hz=200) as client:
            yield client
    finally:
        server.close()


def exchanges(client: ClockClient, count: int) -> ClockStatus:
    until(lambda: client.status().exchanges >= count, f"{count} exchanges")
    return client.status()


@pytest.mark.parametrize("use_kernel", [True, False])
def test_own_machine_is_found_to_be_at_offset_nought(use_kernel: bool) -> None:
    with (
        ClockServer(port=0, use_kernel=use_kernel) as server,
        ClockClient(port=server.port, rate_hz=200, use_kernel=use_kernel) as client,
    ):
        status = exchanges(client, 30)
        assert status.offset_ns is not None
        assert status.bound_ns is not None
        assert abs(status.offset_ns) <= status.bound_ns
        assert status.state is SyncState.LOCKED
        assert status.stamps in (("kernel rx+tx", "kernel rx", "userspace") if use_kernel else ("userspace",))
        bound_ns = client.clock.bound_ns()
        assert bound_ns is not None
        assert abs(client.clock.require(0.02) - SystemClock().now_ns()) < 5e9
        assert abs(client.clock.wall_ns() - SystemClock("wall").now_ns()) < 5e9
        assert not client.events()


def test_before_the_server_is_there_nothing_is_read() -> None:
    with ClockClient(port=9, rate_hz=200) as client:
        with pytest.raises(NotSynced):
            client.clock.now_ns()
        status = client.status()
        assert (status.state, status.offset_ns, status.bound_ns) == (SyncState.ACQUIRING, None, None)


def test_server_that_restarts_begins_a_new_epoch() -> None:
    server = ClockServer(port=0)
    server.start()
    with ClockClient(port=server.port, rate_hz=200) as client:
        exchanges(client, 5)
        server.stop()
        again = ClockServer(port=server.port)
        again.start()
        try:
            until(lambda: client.status().epoch == 1, "a new epoch")
            assert client.status().discarded["another server"] >= 2
            exchanges(client, 20)
            until(lambda: client.clock.epoch == 1, "a map of the new epoch")
            assert [event.kind for event in client.events()] == ["restart"]
        finally:
            again.stop()


def test_second_server_on_the_same_address_is_counted_and_not_followed() -> None:
    def both(reply: Reply) -> list[bytes]:
        other = Reply(reply.client, reply.number, 2, 0, reply.received_ns + 37 * 10**9, reply.sent_ns + 37 * 10**9, 0, None, 0, 0)
        return [encode_reply(reply if reply.number % 2 else other)]

    with against(both) as client:
        status = exchanges(client, 20)
        assert status.epoch == 0
        assert status.discarded["another server"] >= 10
        assert status.offset_ns is not None
        assert abs(status.offset_ns) < 20e6


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (lambda reply: [b"junk" * 40], "junk"),
        (lambda reply: [encode_reply(Reply(reply.client ^ 1, reply.number, 1, 0, 0, 0, 0, None, 0, 0))], "junk"),
        (
            lambda reply: [encode_reply(Reply(reply.client, reply.number + 1000, 1, 0, 0, 0, 0, None, 0, 0))],
            "late or repeated reply",
        ),
        (
            lambda reply: [
                encode_reply(Reply(reply.client, reply.number, 1, 0, reply.received_ns, reply.sent_ns + 10**12, 0, None, 0, 0))
            ],
            "impossible stamps",
        ),
        (
            lambda reply: [encode_reply(Reply(reply.client, reply.number, 1, 0, 2**62 + 1, 2**62 + 2, 0, None, 0, 0))],
            "impossible stamps",
        ),
    ],
)
def test_what_cannot_be_is_counted_and_never_a_number(answer: Callable[[Reply], list[bytes]], reason: str) -> None:
    with against(answer) as client:
        until(lambda: client.status().discarded.get(reason, 0) >= 3, f"three of {reason!r}")
        assert client.status().exchanges == 0
        with pytest.raises(NotSynced):
            client.clock.require(1.0)


def test_reply_that_comes_twice_counts_once() -> None:
    with against(lambda reply: [encode_reply(reply)] * 2) as client:
        status = exchanges(client, 5)
        assert status.discarded["late or repeated reply"] >= 4
        assert set(status.discarded) == {"late or repeated reply"}


def test_reference_that_is_set_is_a_step_with_its_size_and_a_new_epoch() -> None:
    moved = threading.Event()

    def answer(reply: Reply) -> list[bytes]:
        by = 50_000_000 if moved.is_set() else 0
        return [encode_reply(Reply(reply.client, reply.number, 1, 0, reply.received_ns + by, reply.sent_ns + by, 0, None, 0, 0))]

    with against(answer) as client:
        exchanges(client, 20)
        moved.set()
        until(lambda: client.status().epoch == 1, "a step")
        steps = [event for event in client.events() if event.kind == "step"]
        assert len(steps) == 1
        assert steps[0].size_lo_ns <= 50_000_000 <= steps[0].size_hi_ns


def test_chain_of_two_adds_the_bounds() -> None:
    with ClockServer(port=0) as first, ClockClient(port=first.port, rate_hz=200) as middle:
        exchanges(middle, 20)
        with ClockServer(port=0, clock=middle.clock) as second, ClockClient(port=second.port, rate_hz=200) as last:
            status = exchanges(last, 20)
            assert status.server_bound_ns > 0
            assert status.bound_ns is not None
            assert status.offset_ns is not None
            assert status.bound_ns > status.server_bound_ns
            assert abs(status.offset_ns) <= status.bound_ns


def test_time_line_that_ended_is_refused_until_the_next_is_known() -> None:
    restarted = threading.Event()

    def answer(reply: Reply) -> list[bytes]:
        if not restarted.is_set():
            return [encode_reply(reply)]
        # Its stamps cannot be: the client hears that the epoch is another one, and learns nothing about it.
        return [encode_reply(replace(reply, epoch=1, sent_ns=reply.sent_ns + 10**12))]

    with against(answer) as client:
        exchanges(client, 10)
        before_ns = client.clock.require(0.02)
        restarted.set()
        until(lambda: client.status().epoch == 1, "the new epoch")
        with pytest.raises(NotSynced, match="restarted"):
            client.clock.require(1.0)
        assert client.clock.now_ns() >= before_ns
        status = client.status()
        assert (status.offset_ns, status.bound_ns, status.age_ns) == (None, None, None)


def test_reply_that_is_overtaken_is_left_out_also_across_epochs() -> None:
    held: list[Reply] = []

    def answer(reply: Reply) -> list[bytes]:
        if reply.number % 5 == 0 and not held:
            held.append(reply)
            return []
        late, held[:] = list(held), []
        return [encode_reply(replace(reply, epoch=1)), *(encode_reply(replace(one, epoch=0)) for one in late)]

    with against(answer) as client:
        status = exchanges(client, 20)
        assert status.epoch <= 1
        assert status.discarded["late or repeated reply"] >= 2


def test_reply_whose_departure_nobody_told_is_taken_as_the_server_said() -> None:
    def answer(reply: Reply) -> list[bytes]:
        return [encode_reply(replace(reply, kernel_received=True))]

    with against(answer) as client:
        status = exchanges(client, 20)
        assert status.stamps in ("kernel rx", "userspace")
        assert status.offset_ns is not None
        assert status.bound_ns is not None
        assert abs(status.offset_ns) <= status.bound_ns


@pytest.mark.parametrize("apart_s", [37, -37, 18])
def test_wall_clock_on_another_time_scale_is_refused_and_monotonic_time_is_not(apart_s: int) -> None:
    def answer(reply: Reply) -> list[bytes]:
        wall_ns = SystemClock("wall").now_ns() - SystemClock().now_ns() + apart_s * 10**9
        return [encode_reply(replace(reply, wall_minus_reference_ns=wall_ns))]

    with against(answer) as client:
        status = exchanges(client, 5)
        assert status.wall_apart_ns == pytest.approx(apart_s * 10**9, abs=1e8)
        with pytest.raises(ClockMismatch, match="count"):
            client.clock.wall_ns()
        client.clock.require(0.1)


def test_server_that_is_slewed_widens_the_bound_and_is_named() -> None:
    started_ns = SystemClock().now_ns()

    def slewed(t_ns: int) -> int:
        return t_ns + (t_ns - started_ns) // 100  # 10 000 ppm: fifty times the drift bound

    def answer(reply: Reply) -> list[bytes]:
        steered_ns = slewed(reply.sent_ns) - reply.sent_ns
        reply = replace(reply, received_ns=slewed(reply.received_ns), sent_ns=slewed(reply.sent_ns), steered_ns=steered_ns)
        return [encode_reply(reply)]

    with against(answer) as client:
        status = exchanges(client, 60)
        assert status.server_steered_ppm == pytest.approx(1e4, rel=0.05)
        assert status.epoch == 0
        assert [event for event in client.events() if event.kind == "step"] == []


def test_residence_in_switches_is_taken_off_both_legs() -> None:
    def answer(reply: Reply) -> list[bytes]:
        waited_ns = 3_000_000
        return [
            encode_reply(
                replace(
                    reply,
                    received_ns=reply.received_ns + waited_ns,
                    sent_ns=reply.sent_ns - waited_ns,
                    outbound_residence_ns=waited_ns,
                    return_residence_ns=waited_ns,
                )
            )
        ]

    def lying(reply: Reply) -> list[bytes]:
        return [encode_reply(replace(reply, return_residence_ns=10**12))]

    with against(answer) as client:
        status = exchanges(client, 20)
        assert status.offset_ns is not None
        assert abs(status.offset_ns) < 2_000_000
    with against(lying) as client:
        until(lambda: client.status().discarded.get("impossible stamps", 0) >= 3, "three impossible replies")
        assert client.status().exchanges == 0


@pytest.mark.parametrize("field", ["bound_ns", "steered_ns", "wall_minus_reference_ns", "received_ns", "sent_ns"])
@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**62])
def test_reply_with_an_absurd_number_never_ends_the_client(field: str, value: int) -> None:
    def answer(reply: Reply) -> list[bytes]:
        honest = encode_reply(reply)
        if reply.number % 3:
            return [honest]
        try:
            return [encode_reply(replace(reply, **{field: value}))]  # type: ignore[arg-type]
        except struct.error:
            return [honest]

    with against(answer) as client:
        before = exchanges(client, 10).exchanges
        exchanges(client, before + 20)
        assert client.clock.now_ns() > 0


def test_impossible_settings_and_a_second_start_are_refused() -> None:
    with pytest.raises(BadInput, match="rate_hz"):
        ClockClient(rate_hz=0)
    with pytest.raises(BadInput, match="cannot be reached"):
        ClockClient("no such host", 5558).start()
    with ClockClient(port=9) as client, pytest.raises(BadInput, match="runs already"):
        client.start()
    client.stop()


def test_client_may_be_stopped_from_its_own_callback_and_started_again() -> None:
    with ClockServer(port=0) as server:
        clients: list[ClockClient] = []
        client = ClockClient(port=server.port, rate_hz=200, on_exchange=lambda exchange, chart: clients[0].stop())
        clients.append(client)
        for _ in range(3):
            before = client.status().exchanges
            client.start()
            exchanges(client, before + 1)
            client.stop()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_callback_that_raises_is_printed_and_takes_nothing_but_itself_away() -> None:
    told: list[int] = []

    def log(exchange: Exchange, chart: ClockMap) -> None:
        told.append(exchange.t4_ns)
        raise OSError("no space left on device")

    with ClockServer(port=0) as server, ClockClient(port=server.port, rate_hz=200, on_exchange=log) as client:
        exchanges(client, 10)
    assert len(told) == 1


def test_client_that_hardly_ever_asks_runs() -> None:
    with ClockServer(port=0) as server, ClockClient(port=server.port, rate_hz=1e-9) as client:
        exchanges(client, 5)


@pytest.mark.parametrize("host", ["\udcff", "a..b", "x" * 300, "::1", "nul\0"])
def test_what_is_no_name_is_refused_in_a_sentence(host: str) -> None:
    with pytest.raises(BadInput, match="cannot be reached"):
        ClockClient(host).start()
    with pytest.raises(BadInput, match=r"cannot be listened on .* give an IPv4 address"):
        ClockServer(host).start()


def test_bound_that_nothing_can_keep_is_refused() -> None:
    for bound_s in (0.0, -1.0, float("nan")):
        with pytest.raises(BadInput):
            ClockClient(max_bound_s=bound_s)
