"""Real sockets and a pseudo-terminal of this process, and other processes that are on them too."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from onbeat.machine.machine import Machine
from onbeat.machine.path import look_at_path, open_files

CLIENT = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); print('there', flush=True); input()"
OPENER = "import os, sys; os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY); print('there', flush=True); input()"


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def other(program: str, argument: object) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(argument)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "there\n"
    return process


def test_a_connection_is_found_with_what_the_kernel_says(server: socket.socket) -> None:
    before, port = open_files(), server.getsockname()[1]
    with socket.create_connection(("127.0.0.1", port)) as ours, server.accept()[0] as theirs:
        ours.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        ours.sendall(b"?")
        theirs.recv(1)
        peers = {peer.address: peer for peer in look_at_path(Machine(), before).peers}
    peer = peers[f"127.0.0.1:{port}"]
    assert (peer.kind, peer.interface, peer.gateway, peer.resent, peer.nodelay) == ("tcp", "lo", "", 0, True)
    assert peer.rtt_us is not None
    assert 0 < peer.rtt_us < 1_000_000
    assert peer.others == ()


def test_another_client_of_the_same_address_is_named(server: socket.socket) -> None:
    before, port = open_files(), server.getsockname()[1]
    # A second connection of this process is the driver's own.
    with socket.create_connection(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)):
        assert {p.others for p in look_at_path(Machine(), before).peers} == {()}
        with other(CLIENT, port) as client:
            found = {p.others for p in look_at_path(Machine(), before).peers}
            client.communicate("\n")
    assert len(found) == 1
    assert found.pop()[0].endswith(f"({client.pid})")


def test_version_six_and_datagrams_are_peers_too() -> None:
    before = open_files()
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as six, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loose:
        loose.bind(("127.0.0.1", 0))  # not connected: no peer
        try:
            six.connect(("::1", 9))
        except OSError:
            six.close()
            six = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            six.connect(("127.0.0.1", 9))
        peers = look_at_path(Machine(), before).peers
        six.close()
    assert [(peer.kind, peer.interface, peer.rtt_us) for peer in peers] == [("udp", "lo", None)]


def test_a_port_says_whether_it_is_exclusive_and_who_else_has_it() -> None:
    import fcntl
    import termios

    ours, theirs = os.openpty()
    path = os.ttyname(theirs)
    os.close(theirs)
    before = open_files()
    driver = os.open(path, os.O_RDWR | os.O_NOCTTY)
    try:
        (port,) = look_at_path(Machine(), before).ports
        assert (port.path, port.exclusive, port.others) == (path, False, ())
        with other(OPENER, path) as opener:
            (port,) = look_at_path(Machine(), before).ports
            opener.communicate("\n")
        assert [who.endswith(f"({opener.pid})") for who in port.others] == [True]
        fcntl.ioctl(driver, termios.TIOCEXCL)
        assert look_at_path(Machine(), before).ports[0].exclusive
    finally:
        os.close(driver)
        os.close(ours)


def test_what_was_open_before_and_files_are_no_way_to_a_device(server: socket.socket, tmp_path: Path) -> None:
    with socket.create_connection(server.getsockname()), (tmp_path / "log").open("w"):
        before = open_files()
        with (tmp_path / "more").open("w"):
            path = look_at_path(Machine(), before)
    assert (path.peers, path.ports, path.unseen) == ((), (), 0)
