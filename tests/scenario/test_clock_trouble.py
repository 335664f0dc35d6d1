"""A clock server and its clients while things go wrong around them: kills, stops, forks, floods, storms, set wall clocks."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from onbeat.clock import ClockClient, ClockServer, SyncState, SystemClock, server
from onbeat.clock.kernel_stamps import Stamped, StampedSocket, WallMap, read_wall_map
from onbeat.clock.packet import SIZE, Probe, Reply, decode, encode_probe
from onbeat.errors import BadInput

ONBEAT = [sys.executable, "-c", "import sys; from onbeat.cli.main import main; sys.exit(main())"]


def until(true: Callable[[], bool], what: str) -> None:
    clock = SystemClock()
    end_ns = clock.now_ns() + 30_000_000_000
    while not true():
        assert clock.now_ns() < end_ns, f"waited 30 s for {what}"
        clock.sleep_until_ns(clock.now_ns() + 5_000_000)


def exchanged(client: ClockClient, more: int) -> None:
    wanted = client.status().exchanges + more
    until(lambda: client.status().exchanges >= wanted, f"{more} more exchanges")


@contextmanager
def served(port: int = 0) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    command = [*ONBEAT, "clock", "serve", "--port", str(port), "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = ""
            while not said.endswith("}\n"):
                assert process.stdout is not None
                line = process.stdout.readline()
                assert line, said
                said += line
            yield process, json.loads(said)["port"]
        finally:
            process.kill()


def test_server_that_is_killed_and_comes_back_is_followed_in_a_new_epoch() -> None:
    with served() as (process, port), ClockClient(port=port, rate_hz=200, max_bound_s=10.0) as client:
        exchanged(client, 20)
        process.kill()
        process.wait()
        until(lambda: client.status().state is SyncState.HOLDOVER, "the holdover")
        bound_ns = client.clock.bound_ns()
        assert bound_ns is not None
        client.clock.require(1.0)
        with served(port):
            until(lambda: client.status().epoch == 1 and client.clock.bound_ns() is not None, "the new epoch")
            until(lambda: client.status().state is SyncState.LOCKED, "the lock")


def test_server_that_is_stopped_is_held_over_and_goes_on_without_an_event() -> None:
    with served() as (process, port), ClockClient(port=port, rate_hz=200, max_bound_s=10.0) as client:
        exchanged(client, 20)
        process.send_signal(signal.SIGSTOP)
        until(lambda: client.status().state is SyncState.HOLDOVER, "the holdover")
        process.send_signal(signal.SIGCONT)
        exchanged(client, 40)
        until(lambda: client.status().state is SyncState.LOCKED, "the lock")
        status = client.status()
        assert status.epoch == 0
        assert status.offset_ns is not None
        assert status.bound_ns is not None
        assert abs(status.offset_ns) <= status.bound_ns
        assert [event for event in client.events() if event.kind in ("step", "restart")] == []


def test_client_that_is_stopped_and_goes_on_is_right_again() -> None:
    with ClockServer(port=0) as reference:
        command = [*ONBEAT, "clock", "watch", f"127.0.0.1:{reference.port}", "--rate", "200", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                lines = [json.loads(process.stdout.readline()) for _ in range(20)]
                process.send_signal(signal.SIGSTOP)
                os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
                process.send_signal(signal.SIGCONT)
                lines += [json.loads(process.stdout.readline()) for _ in range(50)]
            finally:
                process.kill()
    assert all(abs(line["offset_ns"]) <= line["bound_ns"] for line in lines)
    assert lines[-1]["epoch"] == 0


def test_storm_of_restarts_leaves_a_client_that_settles() -> None:
    first = ClockServer(port=0)
    first.start()
    with ClockClient(port=first.port, rate_hz=500) as client:
        exchanged(client, 10)
        last = first
        for _ in range(10):
            last.stop()
            last = ClockServer(port=first.port)
            last.start()
            before = last
            until(lambda before=before: before.counts.get("answered", 0) >= 1, "an answer")  # type: ignore[misc]
        try:
            exchanged(client, 40)
            until(lambda: client.status().state is SyncState.LOCKED, "the lock")
            status = client.status()
            assert status.offset_ns is not None
            assert status.bound_ns is not None
            assert abs(status.offset_ns) <= status.bound_ns
        finally:
            last.stop()


def test_hundred_clients_get_their_own_answers() -> None:
    with ClockServer(port=0) as reference, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(10)
        for number in range(1, 6):
            for client in range(1, 101):
                sock.sendto(encode_probe(Probe(client, number)), ("127.0.0.1", reference.port))
                reply = decode(sock.recv(2048))
                assert isinstance(reply, Reply)
                assert (reply.client, reply.number, reply.previous) == (client, number, number - 1)


def test_more_clients_than_are_remembered_still_get_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "_MOST_CLIENTS", 1)
    with (
        ClockServer(port=0) as reference,
        ClockClient(port=reference.port, rate_hz=200) as one,
        ClockClient(port=reference.port, rate_hz=200) as other,
    ):
        for client in (one, other):
            exchanged(client, 20)


def test_client_of_a_kilohertz_is_served() -> None:
    with ClockServer(port=0) as reference, ClockClient(port=reference.port, rate_hz=1000) as client:
        exchanged(client, 300)
        status = client.status()
        assert status.offset_ns is not None
        assert status.bound_ns is not None
        assert abs(status.offset_ns) <= status.bound_ns


def test_flood_of_junk_keeps_neither_the_client_waiting_nor_the_server_from_ending() -> None:
    stop = threading.Event()
    with ClockServer(port=0) as reference:

        def flood() -> None:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
                while not stop.is_set():
                    sock.sendto(b"x" * SIZE, ("127.0.0.1", reference.port))

        threads = [threading.Thread(target=flood) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            with ClockClient(port=reference.port, rate_hz=200) as client:
                exchanged(client, 10)
            reference.stop()
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert reference.counts["junk"] > 0


def test_wall_clock_that_is_set_is_counted_and_no_stamp_of_that_moment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = [0]
    read = StampedSocket._read

    def shifted_map() -> WallMap:
        found = read_wall_map()
        return WallMap(found.low_ns + moved[0], found.high_ns + moved[0])

    def shifted_read(self: StampedSocket, flags: int) -> Stamped | None:
        found = read(self, flags)
        return found if found is None or found.wall_ns is None else replace(found, wall_ns=found.wall_ns + moved[0])

    monkeypatch.setattr("onbeat.clock.server.read_wall_map", shifted_map)
    monkeypatch.setattr("onbeat.clock.client.read_wall_map", shifted_map)
    monkeypatch.setattr(StampedSocket, "_read", shifted_read)
    with ClockServer(port=0) as reference, ClockClient(port=reference.port, rate_hz=200) as client:
        exchanged(client, 20)
        for hours in (1, -5, 3):
            moved[0] = hours * 3_600_000_000_000
            exchanged(client, 20)
        status = client.status()
        assert reference.counts["wall clock was set"] == 3
        assert {"wall clock was set in mid-exchange"} >= set(status.discarded)
        assert status.epoch == 0
        assert status.offset_ns is not None
        assert status.bound_ns is not None
        assert abs(status.offset_ns) <= status.bound_ns


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")  # from Python 3.12 on
def test_fork_leaves_the_child_a_readable_clock_and_the_parent_its_port() -> None:
    with ClockServer(port=0) as reference, ClockClient(port=reference.port, rate_hz=500) as client:
        exchanged(client, 10)
        for _ in range(20):  # somewhere in an update, with luck
            reader, writer = os.pipe()
            if (child := os.fork()) == 0:
                client.clock.now_ns()
                os.write(writer, str(client.status().bound_ns).encode())
                signal.pause()
                os._exit(0)
            try:
                assert int(os.read(reader, 64)) > 0
            finally:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                os.close(reader)
                os.close(writer)
        reader, writer = os.pipe()
        if (child := os.fork()) == 0:
            os.write(writer, b"here")  # it has let go of what it inherited
            signal.pause()
            os._exit(0)
        try:
            assert os.read(reader, 4) == b"here"
            reference.stop()
            with ClockServer(port=reference.port):
                exchanged(client, 10)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reader)
            os.close(writer)


def test_address_of_the_sixth_version_is_refused_by_name() -> None:
    with pytest.raises(BadInput, match="::1"):
        ClockClient("::1").start()
    with pytest.raises(BadInput, match="::1"):
        ClockServer("::1").start()
