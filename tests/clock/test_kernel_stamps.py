import select

import pytest

from onbeat.clock import SystemClock
from onbeat.clock.kernel_stamps import Stamped, StampedSocket, WallMap, read_wall_map


def wait_for(sock: StampedSocket) -> Stamped:
    poll = select.poll()
    poll.register(sock.fileno(), select.POLLIN)
    for _ in range(50):
        poll.poll(100)
        for packet in sock.receive():
            return packet
    raise AssertionError("nothing arrived")


def test_wall_map_holds_what_is_read_between() -> None:
    found = read_wall_map()
    assert found.low_ns <= found.high_ns
    assert SystemClock("wall").now_ns() - SystemClock().now_ns() == pytest.approx(found.low_ns, abs=1e9)


def test_maps_that_do_not_meet_mean_that_a_clock_was_set() -> None:
    assert WallMap(0, 10).agrees(WallMap(10, 20))
    assert not WallMap(0, 10).agrees(WallMap(11, 20))


@pytest.mark.parametrize("use_kernel", [True, False])
def test_packet_is_stamped_between_its_sending_and_its_reading(use_kernel: bool) -> None:
    receiver, sender = StampedSocket(use_kernel=use_kernel), StampedSocket(use_kernel=use_kernel)
    try:
        sender.connect("127.0.0.1", receiver.bind("127.0.0.1", 0))
        before, wall = SystemClock("wall").now_ns(), read_wall_map()
        for _ in range(100):  # the kernel begins to stamp a moment after it was asked to
            assert sender.send(b"x" * 200)
            arrived, left = wait_for(receiver), next(sender.sent(), None)
            if (arrived.wall_ns is not None and left is not None) or not (use_kernel and receiver.kernel):
                break
            SystemClock().sleep_until_ns(arrived.monotonic_ns + 10_000_000)
        assert arrived.data == b"x" * 200
        assert (arrived.wall_ns is not None) == (use_kernel and receiver.kernel)
        if arrived.wall_ns is not None:
            assert left is not None
            assert left.data.endswith(b"x" * 200)
            assert left.wall_ns is not None
            assert before <= left.wall_ns <= arrived.wall_ns <= arrived.monotonic_ns + wall.high_ns
        assert not list(receiver.receive())
    finally:
        receiver.close()
        sender.close()


def test_peer_that_does_not_listen_is_no_error() -> None:
    sender = StampedSocket()
    try:
        sender.connect("127.0.0.1", 9)
        sender.send(b"x")
        sender.send(b"y")
        assert not list(sender.receive())
    finally:
        sender.close()
