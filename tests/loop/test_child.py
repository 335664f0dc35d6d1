"""What the process does when its parent is gone, by a link in this process."""

import threading
from multiprocessing import Pipe
from pathlib import Path

import pytest

from onbeat.loop.child import serve
from onbeat.motion import Trajectory

DRIVER = """
import numpy as np
from onbeat.device.device import DeviceInfo, DeviceState

told = []

class Driver:
    def __init__(self, config, clock):
        self.info = DeviceInfo("joints", 1, "rad", "fake")
    def connect(self): told.append("connect")
    def read(self): return DeviceState(np.zeros(1), 0, 0, 0)
    def write(self, command): told.append("write")
    def hold(self): told.append("hold"); raise OSError("gone")
    def close(self): told.append("close")
"""
SETTINGS = (5_000_000, 0, 1, Trajectory([0], [[0.0]]), None, None, None, float("inf"), 0, "skip", 64)


def test_a_parent_that_is_gone_ends_the_loop_holds_and_closes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "driver_of_child.py").write_text(DRIVER)
    (tmp_path / "arm.yaml").write_text("device: driver_of_child:Driver\n")
    ours, theirs = Pipe()
    thread = threading.Thread(target=serve, args=(theirs,))
    thread.start()
    ours.send((str(tmp_path / "arm.yaml"), "arm", False, SETTINGS, None, None, None))
    assert ours.recv() == ("ready", (-1, -1, -1, 0))
    ours.send("state")
    assert ours.recv() == (True, "")
    ours.close()
    thread.join(30)
    assert not thread.is_alive()
    import driver_of_child  # type: ignore[import-not-found]

    assert driver_of_child.told[-2:] == ["hold", "close"]
    assert "hold raised OSError: gone" in capsys.readouterr().err
