"""A device in a process of its own: real processes, real signals, a driver that fails, blocks and dies as it is told."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from onbeat.clock import ManualClock, SystemClock
from onbeat.device import Command, DeviceState
from onbeat.device.config import ModuleConfig
from onbeat.errors import BadInput, DeviceError
from onbeat.loop import ProcessDevice, SendLoop
from onbeat.motion import Trajectory
from tests.loop.noting_driver import Noted, python_here, wait_until

PLAN = Trajectory([0], [[0.25, -0.5]])


@pytest.fixture
def noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Noted]:
    monkeypatch.syspath_prepend(str(tmp_path))
    noted = Noted(tmp_path)
    yield noted
    noted.close()


def test_a_reading_is_stamped_there_on_the_clock_of_both(noted: Noted) -> None:
    device, clock = noted.device(), SystemClock()
    device.connect()
    before_ns = clock.now_ns()
    states = [device.read(), device.read()]
    after_ns = clock.now_ns()
    device.hold()
    device.close()
    device.close()
    assert noted.pid != os.getpid()
    assert [state.seq for state in states] == [1, 2]
    assert before_ns < states[0].begin_ns <= states[0].receive_ns < states[1].begin_ns <= states[1].receive_ns < after_ns
    assert noted.words()[1:] == ["hold", "close"]
    with pytest.raises(DeviceError, match="module 'arm' is not connected"):
        device.read()


def test_a_loop_on_a_connected_device_leaves_it_open(noted: Noted) -> None:
    device = noted.device()
    device.connect()
    loop = SendLoop(device, 200, PLAN)
    loop.start()
    wait_until(lambda: loop.status().cycles >= 3)
    with pytest.raises(DeviceError, match="another loop sends to this device; stop it first"):
        SendLoop(device, 200, PLAN).start()
    loop.stop()
    assert device.read().value.tolist() == [0.25, -0.5]
    device.close()
    assert noted.words()[-1] == "close"
    assert "hold" not in noted.words()


def test_a_read_that_blocks_delays_neither_sends_nor_hold_nor_close(noted: Noted) -> None:
    os.mkfifo(noted.gate)
    device = noted.device(read="block")
    device.connect()
    device.read()
    loop = SendLoop(device, 200, PLAN)
    loop.start()
    got: list[DeviceState | str] = []

    def read() -> None:
        for _ in range(2):
            try:
                got.append(device.read())
            except DeviceError as error:
                got.append(str(error))

    reader = threading.Thread(target=read)
    reader.start()
    wait_until(lambda: "blocked" in noted.words())
    sent = loop.status().cycles
    wait_until(lambda: loop.status().cycles >= sent + 20)
    assert got == []
    noted.open_gate()
    wait_until(lambda: noted.words().count("blocked") == 2)
    assert isinstance(got[0], DeviceState)
    loop.stop()
    device.hold()
    device.close()
    reader.join()
    assert noted.words()[-2:] == ["hold", "close"]
    assert got[1] == "module 'arm' is not connected"


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("refuse", "^bus is off$"),
        ("raise", "^ValueError: bad frame$"),
        ("exit", "^SystemExit: 4$"),
        ("foreign", "^read gave a value that cannot be sent to another process: .*lambda"),
    ],
)
def test_a_read_that_fails_is_said_with_its_traceback_and_the_next_is_asked(noted: Noted, how: str, says: str) -> None:
    device = noted.device(read=how)
    device.connect()
    device.read()
    for _ in range(2):
        with pytest.raises(DeviceError, match=says) as raised:
            device.read()
    device.close()
    assert "Traceback" in str(raised.value.__cause__)
    assert noted.words()[-1] == "close"


def test_a_killed_process_is_said_by_whoever_asks(noted: Noted) -> None:
    device = noted.device()
    device.connect()
    os.kill(noted.pid, signal.SIGKILL)
    for _ in range(2):
        with pytest.raises(DeviceError, match="the device's process ended by SIGKILL; the device may still move"):
            device.read()
    with pytest.raises(DeviceError, match="its process has ended, so nothing can tell it to hold"):
        device.hold()
    device.close()
    assert not device.connected
    device.connect()
    assert device.read().seq == 1
    device.close()


def test_sigterm_holds_and_closes_and_ctrl_c_is_not_for_it(noted: Noted) -> None:
    device = noted.device()
    device.connect()
    os.kill(noted.pid, signal.SIGINT)
    assert device.read().seq == 1
    os.kill(noted.pid, signal.SIGTERM)
    wait_until(lambda: noted.words()[-1] == "close")
    with pytest.raises(DeviceError, match="told to end by SIGTERM; it has held and closed the device"):
        device.read()
    device.hold()
    assert noted.words()[-2:] == ["hold", "close"]


def test_a_stopped_process_is_given_up_and_holds(noted: Noted) -> None:
    device = noted.device()
    device.connect()
    os.kill(noted.pid, signal.SIGSTOP)
    with pytest.raises(DeviceError, match=r"has not answered for 0\.3 s and was told to end, held and closed the device"):
        device.ask("hold", patience_s=0.3)
    assert noted.words()[-2:] == ["hold", "close"]
    assert not device.connected


def test_a_process_that_goes_on_sends_no_burst(noted: Noted) -> None:
    device = noted.device()
    loop = SendLoop(device, 200, PLAN)
    loop.start()
    wait_until(lambda: loop.status().cycles >= 5)
    pid = noted.pid
    os.kill(pid, signal.SIGSTOP)
    clock = SystemClock()
    clock.sleep_until_ns(clock.now_ns() + 100_000_000)
    loop.replace(Trajectory([0], [[1.0, 2.0]]))
    os.kill(pid, signal.SIGCONT)
    now = loop.status().cycles
    wait_until(lambda: loop.status().cycles >= now + 5)
    loop.stop()
    records = loop.records()
    assert np.diff(records["sent_ns"]).min() >= 0.75 * 5_000_000
    assert records["skipped"].sum() == loop.status().missed >= 18
    assert noted.words()[-3].endswith("[1.0, 2.0]")


PARENT = """
import os, sys, threading
from onbeat.loop import ProcessDevice, SendLoop
from onbeat.motion import Trajectory

def say(*words):  # in one write, so that two processes do not mix their lines
    os.write(1, (" ".join(map(str, words)) + "\\n").encode())

device = ProcessDevice(sys.argv[1])
loop = SendLoop(device, 200, Trajectory([0], [[0.25, -0.5]]))
loop.start()
if sys.argv[2] == "fork":
    fork = os.fork()
    if fork == 0:
        assert not device.connected and not loop.status().running
        assert "belongs to process" in loop.status().error
        try:
            device.read()
        except Exception as error:
            say(type(error).__name__, error)
        loop.stop()
        device.close()
        sys.stdin.readline()
        os._exit(0)
    say(fork)
else:
    say("ready")
threading.Event().wait()
"""


@pytest.mark.parametrize("how", ["alone", "fork"])
def test_a_killed_parent_leaves_a_device_that_holds_and_is_closed(noted: Noted, how: str) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", PARENT, str(noted.write()), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=python_here(),
    )
    with parent:
        try:
            assert parent.stdout is not None
            assert parent.stdin is not None
            said = [parent.stdout.readline() for _ in range(2 if how == "fork" else 1)]
            if how == "fork":
                assert any("DeviceError module 'arm' belongs to process" in line for line in said), said
            sent = len(noted.words())
            wait_until(lambda: len(noted.words()) > sent + 5)  # also after the fork has let go of its copy
        finally:
            parent.kill()
        # The fork still has the parent's end of the link open; the process looks for its parent itself.
        wait_until(lambda: noted.words()[-2:] == ["hold", "close"])
        parent.stdin.close()


def test_targets_are_not_written_from_here(noted: Noted) -> None:
    with pytest.raises(DeviceError, match="is sent to from its own process; give SendLoop the ProcessDevice"):
        noted.device().write(Command(0, np.zeros(2)))


OTHERS = """
from onbeat.device.device import DeviceInfo
class Eye:
    def __init__(self, config, clock): self.info = DeviceInfo("camera", 0, "", "eye")
    def connect(self): ...
    read = write = hold = close = connect
class Wired(Eye):
    sink = None
    def __init__(self, config, clock): self.info = DeviceInfo("joints", 1, "rad", "wired")
"""


def test_what_needs_no_process_or_cannot_have_one_is_refused(noted: Noted, tmp_path: Path) -> None:
    (tmp_path / "others_of_test.py").write_text(OTHERS)
    with pytest.raises(BadInput, match="comes from no file"):
        ProcessDevice(ModuleConfig("arm", "noting_driver_of_test:Driver"))
    for name, says in (
        ("others_of_test:Eye", "is a camera and takes no targets, and its readings are too big"),
        ("others_of_test:Wired", "sent to by a native thread"),
        ("__main__:Arm", "a class of the running script, which no other process has"),
    ):
        (tmp_path / "other.yaml").write_text(f"device: '{name}'\n")
        with pytest.raises(BadInput, match=says):
            ProcessDevice(tmp_path / "other.yaml")
    for clock in (ManualClock(), SystemClock("boottime")):
        with pytest.raises(BadInput, match=r"stamps on the machine's monotonic clock.*give the rig a SystemClock\(\)"):
            ProcessDevice(noted.write(), clock)


def test_a_device_that_is_connected_is_not_connected_again(noted: Noted) -> None:
    device = noted.device()
    device.connect()
    with pytest.raises(DeviceError, match="connected already"):
        device.connect()
    device.close()
    assert repr(device) == "ProcessDevice(arm, width 2)"


def test_an_answer_that_nobody_waited_for_is_passed_over(noted: Noted) -> None:
    device = noted.device()
    device.connect()
    link, readings = device._link, device._readings
    assert link is not None
    assert readings is not None
    link.send((999, "hold", ()))  # as of an ask that Ctrl-C has interrupted
    readings.send(999)
    assert device.ask("hold") is None
    assert device.read().seq == 2
    device.close()
