"""What the process does when its parent is gone, by a link in this process."""

import os
import threading
from multiprocessing import Pipe
from pathlib import Path

import pytest

from onbeat.loop.child import serve
from onbeat.motion import Trajectory
from tests.loop.noting_driver import Noted

SETTINGS = (5_000_000, 0, 1, Trajectory([0], [[0.0, 0.0]]), None, None, None, float("inf"), 0, "skip", 64)


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Noted:
    monkeypatch.syspath_prepend(str(tmp_path))
    return Noted(tmp_path)


def test_a_parent_that_is_gone_ends_the_loop_holds_and_closes(noted: Noted, capsys: pytest.CaptureFixture[str]) -> None:
    noted.write(fail_hold=True)
    (ours, theirs), (asking, answering) = Pipe(), Pipe()
    thread = threading.Thread(target=serve, args=(theirs, answering, os.getppid()))
    thread.start()
    ours.send((1, "open", (str(noted.file), "arm", False)))
    assert ours.recv() == (1, True, None, "")
    ours.send((2, "state", ()))
    assert ours.recv()[:3] == (2, False, "no loop has been started here")
    ours.send((3, "start", (SETTINGS, [0.0, 0.0], 1, None)))
    number, good, report, _ = ours.recv()
    assert (number, good, len(report)) == (3, True, 4)
    ours.send((4, "state", ()))
    assert ours.recv() == (4, True, (True, ""), "")
    asking.send(7)
    assert asking.recv()[:2] == (7, True)
    ours.close()
    asking.close()
    thread.join(30)
    assert not thread.is_alive()
    assert noted.words()[-2:] == ["hold", "close"]
    assert "hold raised OSError: gone" in capsys.readouterr().err


def test_a_parent_that_is_another_process_by_now_is_gone(noted: Noted) -> None:
    (_kept, theirs), (_asking, answering) = Pipe(), Pipe()
    serve(theirs, answering, os.getppid() + 1)
    assert noted.words() == []


def test_a_device_that_does_not_connect_is_closed_and_not_held(noted: Noted) -> None:
    noted.write(fail_connect=True)
    (ours, theirs), (_asking, answering) = Pipe(), Pipe()
    ours.send((1, "open", (str(noted.file), "arm", False)))
    serve(theirs, answering, os.getppid())
    number, good, says, lines = ours.recv()
    assert (number, good, says) == (1, False, "no bus")
    assert "Traceback" in lines
    assert noted.words() == ["close"]
