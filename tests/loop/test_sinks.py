"""Memory, and real sockets on the loopback device; cycles by hand, so no test waits for the wall clock."""

import binascii
import os
import socket
import struct
import termios
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from onbeat.errors import BadInput, DeviceError
from onbeat.loop import Flag, MemorySink, SendLoop, SerialSink, TcpSink, UdpSink
from onbeat.motion import Trajectory

MS = 1_000_000
RAMP = Trajectory([0, 1000 * MS], [[0.0, 1.0], [1.0, 2.0]])
FRAME = struct.Struct("<Qq2d")


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        yield server


def send(loop: SendLoop, count: int, first: int = 0) -> int:
    deadline = first
    for _ in range(count):
        deadline = loop.cycle(deadline, deadline)
    return deadline


def read_exactly(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            break
        data += part
    return bytes(data)


def test_memory_frames_come_out_in_order_and_once() -> None:
    sink = MemorySink(2, 8)
    loop = SendLoop(sink, 100, RAMP)
    send(loop, 3)
    assert len(sink) == 3
    frames = sink.drain()
    assert frames.dtype.names == ("sequence", "sent_ns", "t_eff_ns", "values")
    assert frames["values"].dtype == np.float64
    assert frames["values"].shape == (3, 2)
    assert len(sink.drain()) == 0
    assert (sink.width, sink.capacity, sink.dropped) == (2, 8, 0)


def test_memory_holds_exactly_its_capacity() -> None:
    sink = MemorySink(2, 5)
    send(SendLoop(sink, 100, RAMP), 7)
    assert sink.dropped == 2
    assert sink.drain()["sequence"].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("width", "capacity"), [(0, 1), (-1, 1), (4097, 1), (1, 0), (1, -5)])
def test_sizes_out_of_range_are_refused(width: int, capacity: int) -> None:
    with pytest.raises(BadInput):
        MemorySink(width, capacity)


def test_udp_carries_sequence_t_eff_and_values() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.settimeout(10)
        sink = UdpSink("127.0.0.1", receiver.getsockname()[1], 2)
        loop = SendLoop(sink, 100, RAMP, lead_s=0.004)
        send(loop, 3)
        got = [FRAME.unpack(receiver.recv(100)) for _ in range(3)]
    np.testing.assert_allclose(got, [[k, (10 * k + 4) * MS, 0.01 * k + 0.004, 0.01 * k + 1.004] for k in range(3)], rtol=1e-12)
    assert "udp 127.0.0.1" in repr(sink)


def test_udp_to_nobody_is_not_an_error() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    loop = SendLoop(UdpSink("127.0.0.1", port, 2), 100, RAMP)
    send(loop, 5)
    assert not loop.records()["flags"].any()


def test_tcp_carries_the_same_frames_one_after_the_other(listener: socket.socket) -> None:
    loop = SendLoop(TcpSink("127.0.0.1", listener.getsockname()[1], 2), 100, RAMP)
    connection, _ = listener.accept()
    with connection:
        send(loop, 4)
        data = read_exactly(connection, 4 * FRAME.size)
    assert [frame[0] for frame in FRAME.iter_unpack(data)] == [0, 1, 2, 3]
    assert [frame[1] for frame in FRAME.iter_unpack(data)] == [0, 10 * MS, 20 * MS, 30 * MS]


def test_a_reader_that_stops_costs_frames_but_never_a_torn_one(listener: socket.socket) -> None:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wide = Trajectory([0, 1000 * MS], np.vstack([np.arange(61.0), np.arange(61.0) + 1]))  # frames of 504 bytes, no power of two
    sink = TcpSink("127.0.0.1", listener.getsockname()[1], 61)
    loop = SendLoop(sink, 1000, wide)
    connection, _ = listener.accept()
    frame = struct.Struct("<Qq61d")
    with connection:
        connection.settimeout(10)
        deadline = send(loop, 2000)  # far more than the buffers take; nobody reads
        blocked = loop.status().would_block
        assert 0 < blocked < 2000
        read: list[int] = []
        for _ in range(200):  # read while sending: the rest of the torn frame goes first
            (sequence, _, *values) = frame.unpack(read_exactly(connection, frame.size))
            np.testing.assert_allclose(np.diff(values), 1.0)
            read.append(sequence)
            deadline = send(loop, 1, deadline)
        with pytest.raises(BadInput, match="stop it first"):
            sink.close()
        loop.stop()
        sink.close()
        rest = read_exactly(connection, 1 << 24)
    records = loop.records()
    read += [row[0] for row in frame.iter_unpack(rest[: len(rest) // frame.size * frame.size])]
    sent = np.flatnonzero((records["flags"] & Flag.WOULD_BLOCK) == 0).tolist()
    assert read[:200] == sent[:200]
    assert read == sent[: len(read)]
    assert max(read) > 2000  # it recovered


def test_a_connection_that_breaks_stops_the_loop(listener: socket.socket) -> None:
    loop = SendLoop(TcpSink("127.0.0.1", listener.getsockname()[1], 2), 1000, RAMP)
    connection, _ = listener.accept()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()  # a reset
    deadline = 0
    for _ in range(1000):
        if loop.status().error:
            break
        deadline = loop.cycle(deadline, deadline)
    assert "the sink failed" in loop.status().error
    assert loop.records()["flags"][-1] & Flag.DEVICE_ERROR
    with pytest.raises(DeviceError):
        loop.cycle(deadline, deadline)


def test_the_thread_stops_when_the_connection_breaks(listener: socket.socket) -> None:
    loop = SendLoop(TcpSink("127.0.0.1", listener.getsockname()[1], 2), 1000, RAMP)
    connection, _ = listener.accept()
    loop.start()
    read_exactly(connection, FRAME.size)
    connection.close()
    while loop.status().running:
        pass
    loop.stop()
    assert "the sink failed" in loop.status().error
    assert (loop.records()["flags"] & Flag.DEVICE_ERROR).tolist()[-1]


def test_nobody_listening_on_tcp_is_said_in_set_up() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    with pytest.raises(DeviceError, match=r"no connection to tcp 127\.0\.0\.1"):
        TcpSink("127.0.0.1", port, 1)


@pytest.mark.parametrize("port", [0, -1, 65536])
def test_ports_out_of_range_are_refused(port: int) -> None:
    with pytest.raises(BadInput, match="port"):
        UdpSink("127.0.0.1", port, 1)


def test_timeouts_out_of_range_are_refused() -> None:
    with pytest.raises(BadInput, match="timeout_s"):
        TcpSink("127.0.0.1", 1, 1, timeout_s=0)


def test_a_host_without_an_address_is_said() -> None:
    with pytest.raises(DeviceError, match="cannot be resolved"):
        UdpSink("no host", 5000, 1)


@pytest.fixture
def line() -> Iterator[tuple[int, str]]:
    """A pseudo-terminal: the other end, and the path of ours."""
    other, ours = os.openpty()
    yield other, os.ttyname(ours)
    os.close(other)
    os.close(ours)


def read_line(other: int, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        data += os.read(other, count - len(data))
    return bytes(data)


def test_serial_frames_are_marked_measured_and_checked(line: tuple[int, str]) -> None:
    other, path = line
    sink = SerialSink(path, 1_000_000, 2)
    assert sink.frame_bytes == 38
    assert repr(sink) == f"SerialSink({path}, width 2)"
    loop = SendLoop(sink, 100, RAMP)
    send(loop, 20)  # among the bytes are line feeds, carriage returns, XON, XOFF and zeros: a raw line changes none of them
    for k in range(20):
        frame = read_line(other, sink.frame_bytes)
        assert frame[:4] == b"\xa5\x5a\x20\x00"
        assert FRAME.unpack(frame[4:36]) == (k, k * 10 * MS, k / 100, 1 + k / 100)
        assert int.from_bytes(frame[36:], "little") == binascii.crc_hqx(frame[2:36], 0xFFFF)


def test_a_serial_reader_that_stops_costs_frames_and_tears_none(line: tuple[int, str]) -> None:
    other, path = line
    sink = SerialSink(path, 115_200, 2)
    loop = SendLoop(sink, 100, RAMP)
    deadline = 0
    while loop.status().would_block < 3:
        deadline = send(loop, 1, deadline)
    fresh, last = loop.status().cycles, -1
    while last < fresh:
        frame = read_line(other, sink.frame_bytes)
        assert int.from_bytes(frame[36:], "little") == binascii.crc_hqx(frame[2:36], 0xFFFF)
        sequence = FRAME.unpack(frame[4:36])[0]
        assert sequence > last
        last = sequence
        deadline = send(loop, 1, deadline)
    assert loop.status().running is False
    assert loop.status().error == ""


def test_a_serial_line_is_set_back_as_it_was_found(line: tuple[int, str]) -> None:
    _, path = line
    found = os.open(path, os.O_RDWR | os.O_NOCTTY)
    before = termios.tcgetattr(found)
    sink = SerialSink(path, 115_200, 1)
    assert termios.tcgetattr(found)[3] & termios.ICANON == 0
    sink.close()
    sink.close()
    assert termios.tcgetattr(found) == before
    os.close(found)


def test_a_serial_line_that_goes_away_stops_the_loop() -> None:
    other, ours = os.openpty()
    sink = SerialSink(os.ttyname(ours), 115_200, 2)
    loop = SendLoop(sink, 100, RAMP)
    send(loop, 1)
    os.close(other)
    send(loop, 1, 10 * MS)
    assert loop.records()["flags"][-1] & Flag.DEVICE_ERROR
    assert "sink failed" in loop.status().error
    os.close(ours)


def test_what_is_no_serial_line_is_refused(line: tuple[int, str], tmp_path: Path) -> None:
    _, path = line
    with pytest.raises(DeviceError, match="cannot be opened"):
        SerialSink(str(tmp_path / "nothing"), 115_200, 1)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(DeviceError, match="is no serial line"):
        SerialSink(str(tmp_path / "file"), 115_200, 1)
    for baud, width in ((12_345, 1), (115_200, 0), (115_200, 513)):
        with pytest.raises(BadInput):
            SerialSink(path, baud, width)
