import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from onbeat.cli.clock import _who_can_ask
from onbeat.cli.main import main
from onbeat.clock import ClockServer

ONBEAT = [sys.executable, "-c", "import sys; from onbeat.cli.main import main; sys.exit(main())"]


@contextmanager
def served() -> Iterator[str]:
    with ClockServer(port=0) as server:
        yield f"127.0.0.1:{server.port}"


def test_server_listens_says_where_and_ends_by_ctrl_c() -> None:
    process = subprocess.Popen(
        [*ONBEAT, "clock", "serve", "--port", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        said = ""
        while not said.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.stderr.read() if process.stderr else ""
            said += line
        port = json.loads(said)["port"]
        assert main(["clock", "status", f"127.0.0.1:{port}", "--seconds", "1", "--max-error", "1"]) in (0, 1)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("127.0.0.1", "only this machine can ask it: onbeat clock status 127.0.0.1:5558; for other machines: --host 0.0.0.0"),
        ("localhost", "only this machine can ask it"),
        ("0.0.0.0", "on another machine: onbeat clock status HOST:5558"),
        ("robot.local", "on another machine: onbeat clock status HOST:5558"),
    ],
)
def test_server_says_who_can_ask_it(host: str, words: str) -> None:
    assert _who_can_ask(host, 5558).startswith(words)


def test_status_says_how_well_the_servers_time_is_known(capsys: pytest.CaptureFixture[str]) -> None:
    with served() as address:
        main(["clock", "status", address, "--seconds", "1.5", "--max-error", "1", "--json"])
    document = json.loads(capsys.readouterr().out)
    found = document["server"]
    assert abs(found["offset_ns"]) <= found["bound_ns"]
    assert found["exchanges"] > 5
    assert found["state"] in ("ACQUIRING", "LOCKED", "HOLDOVER")
    assert document["keepers"][-1]["name"] == "kernel"


def test_time_that_is_not_known_well_enough_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    with served() as address:
        assert main(["clock", "status", address, "--seconds", "0.5", "--max-error", "1e-9"]) == 1
    assert "onbeat clock watch" in capsys.readouterr().out


def test_server_that_is_not_there_is_a_finding_with_the_cause(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clock", "status", "127.0.0.1:9", "--seconds", "0.3"]) == 1
    assert "is onbeat clock serve running there" in capsys.readouterr().out


def test_watch_draws_and_its_json_is_a_line_for_each_look(capsys: pytest.CaptureFixture[str]) -> None:
    with served() as address:
        assert main(["clock", "watch", address, "--seconds", "1.5"]) == 0
        drawn = capsys.readouterr().out
        assert "hard bound" in drawn
        assert drawn.endswith("\n")
        assert main(["clock", "watch", address, "--seconds", "1.5", "--json"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines
    assert all(line["stamps"] and "events" in line for line in lines)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["clock", "status", "robot:port"], "no HOST or HOST:PORT"),
        (["clock", "status", "robot:70000"], "no HOST or HOST:PORT"),
        (["clock", "status", "--seconds", "0"], "--seconds"),
        (["clock", "watch", "robot", "--seconds", "-1"], "--seconds"),
        (["clock", "watch", "no such host"], "cannot be reached"),
        (["clock", "wach"], "wach"),
    ],
)
def test_bad_arguments_are_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["status", "robot:²"], "65535"),
        (["status", "fe80::1"], "IPv4 only"),
        (["status", "[::1]:5558"], "IPv4 only"),
        (["status", "127.0.0.1", "--max-error", "nan"], "--max-error"),
        (["status", "127.0.0.1", "--max-error", "-1"], "--max-error"),
        (["status", "\udcff", "--seconds", "0.2"], "cannot be reached"),
        (["watch", "127.0.0.1", "--seconds", "inf"], "--seconds"),
        (["watch", "127.0.0.1", "--seconds", "1e300"], "--seconds"),
        (["serve", "--host", "", "--port", "0"], "0.0.0.0"),
        (["serve", "--host", "192.0.2.1", "--port", "0"], "address of this machine"),
    ],
)
def test_what_cannot_be_is_one_sentence(arguments: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["clock", *arguments]) == 2
    said = capsys.readouterr().err
    assert said.startswith("onbeat: ")
    assert named in said


def test_watch_at_a_rate_of_next_to_nothing_runs(capsys: pytest.CaptureFixture[str]) -> None:
    with served() as address:
        assert main(["clock", "watch", address, "--seconds", "2", "--rate", "1e-300", "--json"]) == 0
    assert all(json.loads(line)["epoch"] == 0 for line in capsys.readouterr().out.splitlines())
