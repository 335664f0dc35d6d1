"""A rig with a device in a process of its own behaves as one that has it in its own."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

from onbeat.clock import ManualClock, SystemClock
from onbeat.errors import BadInput, DeviceError
from onbeat.loop import ProcessDevice
from onbeat.policy import Rig, load_rig
from tests.loop.noting_driver import Noted, wait_until

OWN = "process: own\npoll_hz: 100\nreceive_latency: 0.001\n"


class Two:
    """A rig of two arms, of which the left one has a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.left, self.right = Noted(folder, "left"), Noted(folder, "right")
        self.file = folder / "rig.yaml"

    def write(self, keys: str = OWN, **left: object) -> Path:
        self.left.write(keys, **left)
        self.right.write("poll_hz: 100\n")
        self.file.write_text("modules:\n  left: left.yaml\n  right: right.yaml\n")
        return self.file


@pytest.fixture
def two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Two:
    monkeypatch.syspath_prepend(str(tmp_path))
    return Two(tmp_path)


def run_until_held(rig: Rig) -> DeviceError:
    with pytest.raises(DeviceError) as raised:
        rig.drive.run_for(60)
    return raised.value


def test_readings_arrive_corrected_and_waypoints_are_sent_there(two: Two) -> None:
    rig = load_rig(two.write())
    left = rig["left"]
    with rig, left.collect() as readings:
        left.move_to([0.5, -0.5], 0.1)
        wait_until(lambda: bool(readings) and readings[-1].value.tolist() == [0.5, -0.5])
        assert left.loop is not None
        status = left.loop.status()
        assert status.soft
        assert status.running
        assert "in a process of its own" in status.refused[0]
    assert two.left.pid != os.getpid()
    assert two.right.pid == os.getpid()
    stamps = [reading.stamp for reading in readings]
    assert all(stamp.corrected and stamp.receive_ns - stamp.capture_ns == 1_000_000 for stamp in stamps)
    assert [stamp.seq for stamp in stamps] == list(range(stamps[0].seq, stamps[0].seq + len(stamps)))
    assert left.stream.at(stamps[0].capture_ns).value.tolist() == readings[0].value.tolist()
    assert two.left.words()[-2:] == two.right.words()[-2:] == ["hold", "close"]


def test_a_child_that_is_killed_halts_the_rig_and_is_named(two: Two) -> None:
    rig = load_rig(two.write())
    with rig:
        os.kill(two.left.pid, signal.SIGKILL)
        error = run_until_held(rig)
        assert "module 'left' stopped: the device's process ended by SIGKILL; the device may still move" in str(error)
        assert two.right.words()[-1] == "hold"
    assert two.right.words()[-1] == "close"
    assert "module 'left' stopped: the device's process ended by SIGKILL" in str(rig.error)


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ({"read": "raise"}, "module 'left' stopped: ValueError: bad frame; all modules hold"),
        ({"fail": 5}, "module 'left' stopped: the device refused a target: bus is off; all modules hold"),
        ({"die": 5}, "module 'left' stopped: the device's process ended with code 3; the device may still move"),
    ],
)
def test_what_the_driver_raises_halts_the_rig(two: Two, fault: dict[str, object], says: str) -> None:
    rig = load_rig(two.write(OWN, **fault))
    with rig:
        assert says in str(run_until_held(rig))
    assert two.right.words()[-2:] == ["hold", "close"]
    assert "die" in fault or two.left.words()[-1] == "close"


def test_a_read_that_blocks_keeps_neither_its_sends_nor_the_other_module(two: Two) -> None:
    os.mkfifo(two.left.gate)
    rig = load_rig(two.write(read="block"))
    with rig, rig["right"].collect() as others:
        wait_until(lambda: "blocked" in two.left.words())
        sent, seen = len(two.left.words()), len(others)
        wait_until(lambda: len(two.left.words()) > sent + 20 and len(others) > seen + 5)
        assert rig["left"].loop is not None
        assert rig["left"].loop.status().error == ""
        for _ in range(3):
            two.left.open_gate()
        wait_until(lambda: len(rig["left"].stream) >= 3)
        # The last read goes on blocking: leaving the rig waits for it, then closes the device, which ends it.
    assert two.left.words()[-2:] == ["hold", "close"]


def test_on_a_manual_clock_it_lives_here_with_the_same_results(two: Two) -> None:
    def positions(keys: str) -> list[list[float]]:
        clock = ManualClock()
        rig = load_rig(two.write(keys), clock)
        assert not isinstance(rig["left"].device, ProcessDevice)
        with rig, rig["left"].collect() as readings:
            rig["left"].move_to([1.0, 2.0], 0.2)
            rig.drive.run_for(0.3)
        return [[reading.stamp.capture_ns, *reading.value] for reading in readings]

    assert np.array_equal(positions(OWN), positions(OWN.replace("process: own\n", "")))


def test_another_clock_or_another_word_is_refused(two: Two) -> None:
    with pytest.raises(BadInput, match="stamps on the machine's monotonic clock, not on 'boottime'"):
        load_rig(two.write(), SystemClock("boottime"))
    with pytest.raises(BadInput, match=r"process in .*left.yaml line 3 must be one of 'shared' or 'own', not 'mine'"):
        load_rig(two.write("process: mine\n"))
