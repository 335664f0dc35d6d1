"""The process of a ProcessLoop: builds the device from its YAML, runs the soft loop, answers its parent."""

import gc
import sys
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from onbeat._core import Cycle
from onbeat.clock import SystemClock
from onbeat.device.config import parse_module
from onbeat.device.device import Device
from onbeat.device.load import open_device
from onbeat.device.yaml_file import read_yaml
from onbeat.loop.thread import SoftLoop

__all__ = ("main", "serve")

# The thread that answers must hand the interpreter lock over at once when the loop wakes; the default is 5 ms.
_SWITCH_S = 50e-6


def serve(link: "Connection[Any, Any]") -> None:
    """Take the job, build, run, answer until told to stop or until the parent is gone; then hold and close the device."""
    path, name, inline, settings, at, priority, cpu = link.recv()
    try:
        config = parse_module(read_yaml(Path(path)), ("modules", name) if inline else (), name)
        device = open_device(config, SystemClock())
        device.connect()
    except Exception as error:  # whatever a driver raises, the parent is told
        link.send(("failed", f"module {name!r} did not open: {type(error).__name__}: {error}"))
        return
    cycle = Cycle(*settings)
    loop = SoftLoop(cycle, device, priority, cpu)
    try:
        if at is not None:
            loop.place(at)
        loop.start()
        link.send(("ready", loop.report))
        _answer(link, loop, cycle)
    finally:
        loop.stop()
        _let_go(device)


def _answer(link: "Connection[Any, Any]", loop: SoftLoop, cycle: Cycle) -> None:
    while True:
        try:
            message = link.recv()
        except (EOFError, OSError):  # the parent is gone
            return
        if message == "stop":
            loop.stop()
            link.send((loop.error, cycle.records(), cycle.counts()))
            return
        if message == "state":
            link.send((loop.running, loop.error))
        elif message == "records":
            link.send(cycle.records())
        elif message == "counts":
            link.send(cycle.counts())
        elif message[0] == "plan":
            link.send(cycle.replace(message[1]))
        else:
            cycle.set_lead(message[1])
            link.send(True)


def _let_go(device: Device) -> None:
    """Hold, then close, whatever each of them raises."""
    for last in (device.hold, device.close):
        try:
            last()
        except Exception as error:
            print(f"onbeat: {last.__name__} raised {type(error).__name__}: {error}", file=sys.stderr)


def main() -> None:
    """Serve the descriptor that the parent named."""
    sys.setswitchinterval(_SWITCH_S)
    gc.freeze()
    with Connection(int(sys.argv[1])) as link:
        serve(link)


if __name__ == "__main__":
    main()
