import logging
from pathlib import Path

import numpy as np
import pytest

from onbeat.clock import Clock, ManualClock
from onbeat.device import DeviceState, load_module_config
from onbeat.device.config import CentreConfig
from onbeat.errors import BadInput
from onbeat.loop import MemorySink, SendLoop
from onbeat.motion import Trajectory
from onbeat.policy import Module, Rig
from onbeat.policy.centring import Centring
from tests.policy.simple_rig import MS, Axis, axis_config

PERIOD = 10 * MS * (1 + 40e-6)
FIRST = 3_456_789


class Beating(Axis):
    """An axis whose read waits for its next report; reports come at its tick, with 20 us of jitter."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self.rng = np.random.default_rng(4)

    def read(self) -> DeviceState:
        now_ns = self.clock.now_ns()
        self.seq = max(self.seq + 1, int((now_ns - FIRST) // PERIOD) + 1)
        arrival = FIRST + round(self.seq * PERIOD + self.rng.normal(0, 20_000))
        return DeviceState(np.zeros(1), now_ns, max(now_ns, arrival), self.seq)


@pytest.mark.parametrize(("margin", "before_ns"), [(0.002, 2 * MS), (None, 5 * MS)])
def test_a_modules_sends_move_before_its_devices_tick_and_stay_there(margin: float | None, before_ns: int) -> None:
    clock = ManualClock()
    config = axis_config(poll_hz=None, centre=CentreConfig(margin))
    rig = Rig({"axis": Module(config, Beating(clock), clock)}, clock)
    with rig:
        rig.drive.run_until(30_000 * MS)
        loop = rig["axis"].loop
        assert loop is not None
        deadlines = loop.records()["deadline_ns"]
        missed = loop.status().missed
    phase = (deadlines + before_ns - FIRST) / PERIOD
    off_ns = np.abs(phase - np.rint(phase))[600:] * PERIOD
    assert len(off_ns) > 2000
    assert off_ns.max() < 20_000
    assert missed == 0
    assert np.diff(deadlines).min() >= 10 * MS * 499 // 500


def test_without_a_beat_it_is_said_once_and_the_loop_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    loop = SendLoop(MemorySink(1, 10), 100, Trajectory([0], [[0.0]]))
    centring = Centring("arm", 0.002)
    with caplog.at_level(logging.WARNING, "onbeat.module"):
        for report_ns in np.cumsum(np.random.default_rng(0).exponential(10 * MS, 1000)).astype(np.int64):
            centring.take(int(report_ns), loop)
    assert [record.getMessage().split(":")[0] for record in caplog.records] == ["Module 'arm'"]
    assert "no beat" in caplog.text
    assert loop.cycle(0, 0) == 10 * MS
    assert loop.cycle(10 * MS, 10 * MS) == 20 * MS


def written(path: Path, keys: str) -> Path:
    path.write_text(f"device: test:Axis\n{keys}")
    return path


def test_the_key_in_a_modules_yaml(tmp_path: Path) -> None:
    file = tmp_path / "arm.yaml"
    assert load_module_config(written(file, "")).centre is None
    assert load_module_config(written(file, "centre: {}\n")).centre == CentreConfig(None)
    assert load_module_config(written(file, "centre:\n  margin: 0.002\n")).centre == CentreConfig(0.002)
    with pytest.raises(BadInput, match="line 3 needs reports that come at the device's own beat"):
        load_module_config(written(file, "poll_hz: 100\ncentre: {margin: 0.002}\n"))
    with pytest.raises(BadInput, match="margin"):
        load_module_config(written(file, "centre: {margin: -1}\n"))
