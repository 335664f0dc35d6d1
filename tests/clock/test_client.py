import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from onbeat.clock import ClockClient, ClockServer, ClockStatus, SyncState, SystemClock
from onbeat.clock.packet import Probe, Reply, decode, encode_reply
from onbeat.errors import BadInput, NotSynced


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


def test_impossible_settings_and_a_second_start_are_refused() -> None:
    with pytest.raises(BadInput, match="rate_hz"):
        ClockClient(rate_hz=0)
    with pytest.raises(BadInput, match="cannot be reached"):
        ClockClient("no such host", 5558).start()
    with ClockClient(port=9) as client, pytest.raises(BadInput, match="runs already"):
        client.start()
    client.stop()
