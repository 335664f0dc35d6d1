"""A child that is forked off while loops run: it owns none of them, waits for none of them, and disturbs none of them."""

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from onbeat.device.device import Command, DeviceInfo, DeviceState
from onbeat.loop import DeviceSink, MemorySink, ProcessDevice, SendLoop
from onbeat.motion import Trajectory

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

STILL = Trajectory([0, 10], [[0.0], [1.0]])
DRIVER = """
import numpy as np
from onbeat.device.device import DeviceInfo, DeviceState

class Driver:
    def __init__(self, config, clock):
        self.notes = config.params["notes"]
        self.info = DeviceInfo("joints", 1, "rad", "fake")

    def connect(self): pass
    def read(self): return DeviceState(np.zeros(1), 0, 0, 0)
    def write(self, command): pass
    def hold(self):
        with open(self.notes, "a") as file:
            file.write("hold ")
    def close(self): pass
"""


class Stuck:
    """A device whose write waits until it is let go."""

    def __init__(self) -> None:
        self.info = DeviceInfo("joints", 1, "rad", "stuck")
        self.inside, self.go = threading.Event(), threading.Event()

    def connect(self) -> None: ...

    def close(self) -> None: ...

    def hold(self) -> None: ...

    def read(self) -> DeviceState:
        return DeviceState(np.zeros(1), 0, 0, 0)

    def write(self, command: Command) -> None:
        self.inside.set()
        self.go.wait(20)


def in_a_child(act: Callable[[], bool]) -> bool:
    """Say whether a forked child came to True; one that waits for what never comes is ended."""
    if (child := os.fork()) == 0:
        signal.alarm(20)
        code = 1
        try:
            code = 0 if act() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_child_of_a_process_that_was_stopping_a_loop_can_let_go_of_it() -> None:
    loop = SendLoop(MemorySink(1, 100), 1, STILL)

    def let_go() -> bool:
        loop.stop()
        return not loop.status().running

    for _ in range(10):
        loop.start()
        stopper = threading.Thread(target=loop.stop)  # joins a sleeping thread, for up to 50 ms
        stopper.start()
        assert in_a_child(let_go)
        stopper.join()


def test_child_of_a_process_that_was_stopping_a_soft_loop_can_let_go_of_it() -> None:
    device = Stuck()
    loop = SendLoop(DeviceSink(device), 100, STILL)
    loop.start()
    assert device.inside.wait(20)
    stopper = threading.Thread(target=loop.stop)
    stopper.start()

    def let_go() -> bool:
        loop.stop()
        return not loop.status().running

    try:
        assert in_a_child(let_go)
    finally:
        device.go.set()
        stopper.join()


def test_child_neither_stops_nor_asks_the_process_of_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "driver_of_fork.py").write_text(DRIVER)
    notes = tmp_path / "notes.txt"
    (tmp_path / "arm.yaml").write_text(f"device: driver_of_fork:Driver\nrate_hz: 200\nparams:\n  notes: {notes}\n")
    loop = SendLoop(ProcessDevice(tmp_path / "arm.yaml"), 200, STILL)
    loop.start()
    try:

        def look_and_let_go() -> bool:
            status = loop.status()
            loop.replace(STILL)
            loop.stop()
            return not status.running and "fork" in status.error

        assert in_a_child(look_and_let_go)
        before = loop.status()
        assert before.running
        assert before.error == ""
        while loop.status().cycles <= before.cycles:
            pass
        assert not notes.exists()
    finally:
        loop.stop()
    assert notes.read_text() == "hold "
