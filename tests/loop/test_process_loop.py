"""A loop in its device's own process: a real child, real files, a driver that can be told to fail."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from onbeat._core import monotonic_ns
from onbeat.errors import BadInput, DeviceError
from onbeat.loop import Flag, SendLoop
from onbeat.motion import Limits, Trajectory
from onbeat.motion.lead import Feedback
from onbeat.motion.tick import Tick
from tests.loop.noting_driver import Noted, wait_until

MS = 1_000_000


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Noted]:
    monkeypatch.syspath_prepend(str(tmp_path))
    noted = Noted(tmp_path)
    yield noted
    noted.close()


PLAN = Trajectory([0], [[0.25, -0.5]])


def test_the_device_lives_in_another_process_and_gets_the_plan(module: Noted) -> None:
    loop = SendLoop(module.device(), 200, PLAN)
    status = loop.status()
    assert (status.soft, status.running, status.cycles) == (True, False, 0)
    loop.start()
    wait_until(lambda: loop.status().cycles >= 5)
    assert loop.status().running
    with pytest.raises(BadInput, match="runs already"):
        loop.start()
    assert loop.replace(Trajectory([0], [[1.0, 2.0]])) == 1
    loop.set_lead(0.01)
    now = loop.status().cycles
    wait_until(lambda: loop.status().cycles >= now + 5)
    first = loop.records()
    loop.stop()
    loop.stop()
    records, status = np.concatenate([first, loop.records()]), loop.status()
    words = module.words()
    assert int(words[0].split()[1]) != os.getpid()
    assert words[-2:] == ["hold", "close"]
    writes = [word for word in words if word.startswith("write")]
    assert writes[0].endswith("[0.25, -0.5]")
    assert writes[-1].endswith("[1.0, 2.0]")
    assert status.cycles == len(records) == len(writes)
    assert [int(word.split()[1]) for word in writes] == records["t_eff_ns"].tolist()
    assert set(records["plan"].tolist()) == {0, 1}
    assert records["t_eff_ns"][-1] - records["deadline_ns"][-1] in (10 * MS, records["sent_ns"][-1] + 10 * MS)
    assert (status.running, status.error) == (False, "")
    assert "a process of its own" in status.refused[0]
    assert bool((records["flags"] & Flag.NO_FIFO).any()) != status.realtime


def test_a_second_start_goes_on_counting_and_begins_where_the_device_stands(module: Noted) -> None:
    loop = SendLoop(module.device(), 200, PLAN, limits=Limits(max_speed=1.0))
    loop.start()
    wait_until(lambda: loop.status().cycles >= 2)
    loop.stop()
    sent = loop.status().cycles
    loop.replace(PLAN)
    loop.place(np.zeros(2))
    before = len(module.words())
    loop.start()
    wait_until(lambda: loop.status().cycles >= sent + 2)
    with pytest.raises(BadInput, match="the loop runs"):
        loop.place(np.zeros(2))
    loop.stop()
    assert loop.records()["plan"][-1] == 1
    assert module.words()[before + 1].endswith("[0.005, -0.005]")


def test_a_write_that_fails_stops_the_loop_within_that_cycle(module: Noted) -> None:
    loop = SendLoop(module.device(fail=4), 200, PLAN)
    loop.start()
    wait_until(lambda: not loop.status().running)
    assert loop.status().error == "the device refused a target: bus is off"
    records = loop.records()
    assert len(records) == 4
    assert records["flags"][-1] & Flag.DEVICE_ERROR
    loop.stop()
    assert loop.status().error == "the device refused a target: bus is off"
    assert module.words()[-1] == "close"


def test_a_process_that_dies_is_said_and_stops_nothing_else(module: Noted) -> None:
    loop = SendLoop(module.device(die=3), 200, PLAN)
    loop.start()
    wait_until(lambda: not loop.status().running)
    assert "process ended with code 3; the device may still move" in loop.status().error
    for t_ns in (None, 1):
        with pytest.raises(BadInput, match=r"would go nowhere: .*code 3"):
            loop.aim([0.0, 0.0], None, t_ns)
    assert loop.replace(PLAN) == 1
    loop.stop()
    assert len(loop.records()) == 0


def test_a_killed_process_is_said(module: Noted) -> None:
    loop = SendLoop(module.device(), 200, PLAN)
    loop.start()
    os.kill(module.pid, signal.SIGKILL)
    wait_until(lambda: not loop.status().running)
    assert "ended by SIGKILL" in loop.status().error


def test_a_device_that_does_not_open_is_said_by_start(module: Noted) -> None:
    loop = SendLoop(module.device(fail_connect=True), 200, PLAN)
    with pytest.raises(DeviceError, match=r"^module 'arm' did not open in its process: no bus$"):
        loop.start()
    assert not loop.status().running


def test_what_cannot_be_done_is_refused(module: Noted) -> None:
    sink = module.device()
    with pytest.raises(BadInput, match="width 1 and the device has width 2"):
        SendLoop(sink, 200, Trajectory([0], [[0.0]]))
    loop = SendLoop(sink, 200, PLAN)
    with pytest.raises(BadInput, match="by hand use DeviceSink"):
        loop.cycle(0, 0)
    with pytest.raises(BadInput, match="width"):
        loop.replace(Trajectory([0], [[0.0]]))


def test_targets_samples_and_ticks_reach_the_loop_there(module: Noted) -> None:
    limits = Limits(max_speed=1.0, max_acceleration=20.0, max_jerk=400.0)
    loop = SendLoop(module.device(), 200, PLAN, limits=limits, feedback=Feedback(k_p=0.1, largest=0.1))
    loop.start()
    wait_until(lambda: loop.feed(monotonic_ns() - 5_000_000, [0.0, 0.0]))
    assert "not known yet" in loop.status().feedback
    begun = loop.status().cycles
    wait_until(lambda: loop.status().cycles >= begun + 3)
    tick = Tick(monotonic_ns(), 5e6, 0.0, 0.0, 100)
    loop.centre(tick, 0.001)
    assert loop.aim([0.1, 0.1]) == loop.aim([0.1, 0.1]) == 1
    wait_until(lambda: loop.status().cycles >= 300)
    with pytest.raises(BadInput, match="width 2"):
        loop.aim([0.0])
    loop.stop()
    records = loop.records()
    assert (int(records["deadline_ns"][-1]) + 1_000_000 - tick.t_ns) % 5_000_000 == 0
    assert sorted(set(records["plan"].tolist())) == [0, 1]
    assert (records["flags"] & Flag.CORRECTED).any()
    before = len(module.words())
    loop.start()  # the stream is followed on, under its own number
    wait_until(lambda: loop.status().cycles >= len(records) + 10)
    loop.aim([0.2, 0.2])
    loop.stop()
    assert loop.records()["plan"][-1] == 1
    assert len(module.words()) > before
