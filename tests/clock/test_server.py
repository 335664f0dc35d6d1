import socket

import pytest

from onbeat.clock import ClockMap, ClockServer, ManualClock, SyncedClock, SystemClock
from onbeat.clock.packet import SIZE, Probe, Reply, decode, encode_probe
from onbeat.errors import BadInput


def ask(port: int, *messages: bytes) -> list[Reply]:
    replies = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        for message in messages:
            sock.sendto(message, ("127.0.0.1", port))
            reply = decode(sock.recv(2048))
            assert isinstance(reply, Reply)
            replies.append(reply)
    return replies


def test_reply_says_when_the_probe_came_and_when_the_reply_before_left() -> None:
    with ClockServer(port=0) as server:
        before = SystemClock().now_ns()
        first, second = ask(server.port, encode_probe(Probe(1, 1)), encode_probe(Probe(1, 2)))
        after = SystemClock().now_ns()
    assert before <= first.received_ns <= first.sent_ns <= second.received_ns <= second.sent_ns <= after
    assert (first.previous, second.previous) == (0, 1)
    if second.previous_sent_ns is not None:
        assert first.sent_ns - 1_000 <= second.previous_sent_ns <= second.received_ns
    assert first.server == second.server
    assert (first.epoch, first.bound_ns) == (0, 0)


def test_junk_is_counted_and_does_not_stop_it() -> None:
    with ClockServer(port=0) as server:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            for junk in (b"", b"hello", b"\0" * SIZE, b"ONBT" + b"\xff" * 200):
                sock.sendto(junk, ("127.0.0.1", server.port))
        ask(server.port, encode_probe(Probe(1, 1)))
        server.stop()
        assert server.counts == {"junk": 4, "answered": 1}


def test_served_clock_brings_its_bound_and_epoch_along() -> None:
    clock = SyncedClock("upstream")
    clock.update(ClockMap("monotonic", "upstream", 0, 10**12, 0.0, 5_000, 0.0, epoch=3))
    with ClockServer(port=0, clock=clock) as server:
        (reply,) = ask(server.port, encode_probe(Probe(1, 1)))
    assert (reply.epoch, reply.bound_ns) == (3, 5_000)
    assert abs(reply.received_ns - clock.now_ns()) < 5e9


def test_clock_that_is_not_synchronised_itself_is_not_served() -> None:
    with ClockServer(port=0, clock=SyncedClock("upstream")) as server, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(0.3)
        sock.sendto(encode_probe(Probe(1, 1)), ("127.0.0.1", server.port))
        with pytest.raises(TimeoutError):
            sock.recv(2048)
        server.stop()
        assert server.counts == {"not synchronised itself": 1}


def test_port_that_is_taken_is_refused_and_a_second_start_too() -> None:
    with ClockServer(port=0) as server:
        with pytest.raises(BadInput, match="another port"):
            ClockServer(port=server.port).start()
        with pytest.raises(BadInput, match="runs already"):
            server.start()
    server.stop()


def test_clock_on_another_local_clock_is_refused() -> None:
    with pytest.raises(BadInput, match="monotonic"):
        ClockServer(clock=SyncedClock(local=ManualClock()))


def test_empty_address_is_not_taken_for_every_network() -> None:
    with pytest.raises(BadInput, match=r"0\.0\.0\.0"):
        ClockServer("")
