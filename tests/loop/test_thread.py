"""The soft loop, by hand and as a thread, with devices that fail or stall at a given write."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from onbeat.device.device import Command, DeviceInfo, DeviceState
from onbeat.errors import BadInput, DeviceError
from onbeat.loop import DeviceSink, Flag, LoopStatus, MemorySink, SendLoop
from onbeat.motion import Limits, Trajectory

MS = 1_000_000
RAMP = Trajectory([0, 1000 * MS], [[0.0], [1.0]])


class FakeDevice:
    """Keeps what it was told; `on_write` is called with the number of each write, from the loop's thread."""

    def __init__(self, on_write: Callable[[int], None] = lambda n: None, width: int = 1) -> None:
        self.info = DeviceInfo("joints", width, "rad", "fake")
        self.on_write = on_write
        self.commands: list[Command] = []
        self.holds = 0
        self.held = threading.Event()

    def connect(self) -> None: ...

    def close(self) -> None: ...

    def read(self) -> DeviceState:
        return DeviceState(np.zeros(self.info.width), 0, 0, 0)

    def write(self, command: Command) -> None:
        self.on_write(len(self.commands))
        self.commands.append(command)

    def hold(self) -> None:
        self.holds += 1
        self.held.set()


def break_at(count: int, error: BaseException) -> Callable[[int], None]:
    def on_write(n: int) -> None:
        if n == count:
            raise error

    return on_write


def test_by_hand_it_does_what_the_native_loop_does() -> None:
    rng = np.random.default_rng(3)
    device, sink = FakeDevice(), MemorySink(1, 1000)
    options: dict[str, Any] = {"lead_s": 0.003, "limits": Limits(max_speed=0.9)}
    soft, native = SendLoop(DeviceSink(device), 300, RAMP, **options), SendLoop(sink, 300, RAMP, **options)
    deadlines = [0, 0]
    for late in rng.exponential(2 * MS, 200).astype(int).tolist():
        deadlines = [loop.cycle(at, at + late) for loop, at in zip((soft, native), deadlines, strict=True)]
    frames = sink.drain()
    assert [command.t_eff_ns for command in device.commands] == frames["t_eff_ns"].tolist()
    assert np.array_equal([command.target for command in device.commands], frames["values"])
    assert np.array_equal(soft.records(), native.records())
    assert soft.status().soft
    assert not native.status().soft


def test_a_write_that_fails_holds_the_device_and_says_why() -> None:
    device = FakeDevice(break_at(1, DeviceError("bus is off")))
    loop = SendLoop(DeviceSink(device), 100, RAMP)
    loop.cycle(loop.cycle(0, 0), 10 * MS)
    assert [Flag(f) for f in loop.records()["flags"]] == [Flag(0), Flag.DEVICE_ERROR]
    assert device.holds == 1
    assert loop.status().error == "the device refused a target: bus is off"
    with pytest.raises(DeviceError, match="bus is off"):
        loop.cycle(20 * MS, 20 * MS)


def test_an_error_of_the_driver_itself_holds_too() -> None:
    device = FakeDevice(break_at(0, KeyError("port")))
    loop = SendLoop(DeviceSink(device), 100, RAMP)
    loop.cycle(0, 0)
    assert loop.status().error == "the device's write raised KeyError: 'port'"


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_a_driver_that_ends_the_thread_is_held_and_named(error: BaseException) -> None:
    device = FakeDevice(break_at(2, error))
    loop = SendLoop(DeviceSink(device), 500, RAMP)
    loop.start()
    assert device.held.wait(10)
    loop.stop()
    assert type(error).__name__ in loop.status().error
    assert loop.records()[-1]["flags"] & Flag.DEVICE_ERROR


def test_a_ctrl_c_inside_a_write_by_hand_holds_and_reaches_the_caller() -> None:
    device = FakeDevice(break_at(0, KeyboardInterrupt()))
    loop = SendLoop(DeviceSink(device), 500, RAMP)
    with pytest.raises(KeyboardInterrupt):
        loop.cycle(0, 0)
    assert device.holds == 1
    assert "KeyboardInterrupt" in loop.status().error


def test_a_hold_that_ends_the_thread_is_said_too() -> None:
    device = FakeDevice(break_at(1, DeviceError("overheated")))

    def hold() -> None:
        raise SystemExit("driver gone")

    device.hold = hold  # type: ignore[method-assign]
    loop = SendLoop(DeviceSink(device), 500, RAMP)
    loop.start()
    while loop.status().running:
        pass
    loop.stop()
    assert "and its hold() raised SystemExit: driver gone" in loop.status().error


def test_a_hold_that_fails_is_said_too() -> None:
    class Stubborn(FakeDevice):
        def hold(self) -> None:
            raise OSError("gone")

    loop = SendLoop(DeviceSink(Stubborn(break_at(0, DeviceError("bus is off")))), 100, RAMP)
    loop.cycle(0, 0)
    assert loop.status().error == "the device refused a target: bus is off; and its hold() raised OSError: gone"


def test_on_late_stop_holds_the_device() -> None:
    device = FakeDevice()
    loop = SendLoop(DeviceSink(device), 100, RAMP, on_late="stop")
    loop.cycle(0, 6 * MS)
    assert device.commands == []
    assert device.holds == 1
    assert "6.000 ms late" in loop.status().error


def run_until(device: FakeDevice, done: threading.Event, rate_hz: int, loop: SendLoop) -> tuple[np.ndarray[Any, Any], LoopStatus]:
    loop.start()
    assert done.wait(30)
    loop.stop()
    return loop.records(), loop.status()


def test_the_thread_stops_within_one_cycle_of_an_error() -> None:
    device = FakeDevice(break_at(3, DeviceError("bus is off")))
    loop = SendLoop(DeviceSink(device), 500, RAMP)
    records, status = run_until(device, device.held, 500, loop)
    assert len(device.commands) == 3
    assert len(records) == 4
    assert records["flags"][-1] & Flag.DEVICE_ERROR
    assert not status.running
    assert "bus is off" in status.error


def test_a_stall_inside_a_write_is_followed_by_no_burst() -> None:
    stall, done = threading.Event(), threading.Event()

    def on_write(n: int) -> None:
        if n == 5:
            stall.wait(0.05)  # nobody sets it: 50 ms, 25 periods
        if n == 20:
            done.set()

    device = FakeDevice(on_write)
    records, status = run_until(device, done, 500, SendLoop(DeviceSink(device), 500, RAMP))
    assert np.diff(records["sent_ns"]).min() >= 1.5 * MS
    # However late inside its write a stalled send went out, the next one is 3/4 of a period away.
    assert records["sent_ns"][6] - records["done_ns"][5] >= 1.5 * MS - (records["done_ns"] - records["sent_ns"])[:6].min()
    start = records["deadline_ns"][0]
    assert (records["deadline_ns"][-1] - start) // (2 * MS) == len(records) - 1 + records["skipped"][:-1].sum()
    assert records["skipped"][5] >= 24
    assert status.missed == records["skipped"].sum()
    assert (records["flags"] & Flag.NO_FIFO).all()


def test_start_twice_is_refused_and_stop_may_be_called_again() -> None:
    loop = SendLoop(DeviceSink(FakeDevice()), 100, RAMP)
    loop.stop()
    loop.start()
    with pytest.raises(BadInput, match="runs already"):
        loop.start()
    with pytest.raises(BadInput, match="the loop's thread has the cycles"):
        loop.cycle(0, 0)
    loop.stop()
    loop.stop()
    assert not loop.status().running
    with pytest.raises(BadInput, match="before the deadline"):
        loop.cycle(10, 9)


def test_a_device_may_stop_its_own_loop() -> None:
    done = threading.Event()
    loops: list[SendLoop] = []

    def on_write(n: int) -> None:
        loops[0].stop()
        done.set()

    device = FakeDevice(on_write)
    loops.append(SendLoop(DeviceSink(device), 100, RAMP))
    records, status = run_until(device, done, 100, loops[0])
    assert len(records) == 1
    assert status.error == ""
    loops.clear()


def test_a_device_may_stop_a_loop_that_runs_by_hand() -> None:
    loops: list[SendLoop] = []
    loops.append(SendLoop(DeviceSink(FakeDevice(lambda n: loops[0].stop())), 100, RAMP))
    assert loops[0].cycle(0, 0) == 10 * MS
    loops.clear()


def test_a_loop_that_is_let_go_stops() -> None:
    device = FakeDevice()
    loop = SendLoop(DeviceSink(device), 100, RAMP)
    loop.start()
    del loop
    assert [t for t in threading.enumerate() if t.name == "onbeat-loop"] == []


def test_a_device_that_takes_no_targets_is_refused() -> None:
    with pytest.raises(BadInput, match="takes no targets"):
        DeviceSink(FakeDevice(width=0))
    with pytest.raises(BadInput, match="needs write"):
        DeviceSink(object())  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="width"):
        SendLoop(DeviceSink(FakeDevice(width=2)), 100, RAMP)
    assert repr(DeviceSink(FakeDevice())) == "DeviceSink(fake, width 1)"


def test_a_write_that_does_not_come_back_does_not_keep_others_from_stopping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onbeat.loop.thread._PATIENCE_S", 0.05)
    reached, release = threading.Event(), threading.Event()

    def on_write(n: int) -> None:
        reached.set()
        assert release.wait(30)

    loop = SendLoop(DeviceSink(FakeDevice(on_write)), 100, RAMP)
    loop.start()
    assert reached.wait(30)
    loop.stop()
    status = loop.status()
    assert status.running
    assert "has not returned for 0.05 s; the device may still move, so cut its power" in status.error
    release.set()
    monkeypatch.undo()
    loop.stop()
    assert not loop.status().running
