"""A Python-only driver for other processes: it writes down what it is told, and fails, blocks or dies as its YAML says."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from onbeat.errors import DeviceError
from onbeat.loop import ProcessDevice

DRIVER = """
import os, sys
import numpy as np
from onbeat.device.device import DeviceInfo, DeviceState
from onbeat.errors import DeviceError

class Driver:
    def __init__(self, config, clock):
        self.params, self.clock = config.params, clock
        self.info = DeviceInfo("joints", 2, "rad", "fake")
        self.position, self.writes, self.reads, self.gate = np.zeros(2), 0, 0, None

    def note(self, text):
        with open(self.params["notes"], "a") as file:
            file.write(text + "\\n")

    def connect(self):
        if self.params.get("fail_connect"):
            raise DeviceError("no bus")
        self.note(f"connect {os.getpid()}")

    def read(self):
        begin, self.reads = self.clock.now_ns(), self.reads + 1
        how = self.params.get("read") if self.reads > 1 else None
        if how == "block":
            self.note("blocked")
            self.gate = self.gate or os.open(self.params["gate"], os.O_RDWR)
            os.read(self.gate, 1)
        if how == "refuse":
            raise DeviceError("bus is off")
        if how == "raise":
            raise ValueError("bad frame")
        if how == "exit":
            sys.exit(4)
        value = (lambda: None) if how == "foreign" else self.position.copy()
        return DeviceState(value, begin, self.clock.now_ns(), self.reads)

    def write(self, command):
        self.writes += 1
        if self.params.get("fail") == self.writes:
            raise DeviceError("bus is off")
        if self.params.get("die") == self.writes:
            os._exit(3)
        self.position = command.target
        self.note(f"write {command.t_eff_ns} {command.target.tolist()}")

    def hold(self):
        self.note("hold")
        if self.params.get("fail_hold"):
            raise OSError("gone")

    def close(self):
        self.note("close")
"""


class Noted:
    """A module's YAML in a folder, with the driver beside it and the notes that the driver takes."""

    def __init__(self, folder: Path, name: str = "arm") -> None:
        self.notes = folder / f"{name}.notes"
        self.file = folder / f"{name}.yaml"
        self.gate = folder / f"{name}.gate"  # a read that blocks ends when somebody writes to this pipe
        self.devices: list[ProcessDevice] = []
        (folder / "noting_driver_of_test.py").write_text(DRIVER)

    def write(self, keys: str = "", **params: object) -> Path:
        """Write the YAML, with keys of the module and params of the driver."""
        given = {"notes": self.notes, "gate": self.gate, **params}
        lines = "".join(f"  {key}: {value}\n" for key, value in given.items())
        self.file.write_text(f"device: noting_driver_of_test:Driver\nrate_hz: 200\n{keys}params:\n{lines}")
        return self.file

    def device(self, **params: object) -> ProcessDevice:
        """Give the device, not connected."""
        self.devices.append(ProcessDevice(self.write("", **params)))
        return self.devices[-1]

    def close(self) -> None:
        """End the processes that a failed test has left."""
        for device in self.devices:
            with suppress(DeviceError):
                device.close()

    def words(self) -> list[str]:
        """Give what the driver was told."""
        return self.notes.read_text().splitlines() if self.notes.exists() else []

    @property
    def pid(self) -> int:
        """Process of the driver, by its own word."""
        return next(int(word.split()[1]) for word in self.words() if word.startswith("connect"))

    def open_gate(self) -> None:
        """Let the read that blocks go on."""
        with self.gate.open("wb") as pipe:
            pipe.write(b"x")


def wait_until(done: Callable[[], bool]) -> None:
    """Look again and again; a test that waits in vain is ended by the suite's own limit."""
    while not done():
        os.sched_yield()


def python_here() -> dict[str, str]:
    """Give the environment of a Python that finds what this one finds."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
