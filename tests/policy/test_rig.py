from pathlib import Path

import pytest

from onbeat.clock import ManualClock
from onbeat.errors import BadInput
from onbeat.policy import load_rig
from tests.policy.simple_rig import MS, Axis, simple_rig


def test_stopping_holds_before_it_lets_go() -> None:
    clock = ManualClock()
    rig = simple_rig(clock)
    rig.start()
    axis = rig["axis"].device
    rig.stop()
    rig.stop()
    assert isinstance(axis, Axis)
    assert axis.calls[:3] == ["connect", "hold", "close"]


def test_unknown_module_is_named_with_those_that_are_there() -> None:
    with pytest.raises(BadInput, match="no module 'arm'; it has axis, eye"):
        simple_rig(ManualClock())["arm"]


def test_rig_from_a_yaml_with_a_device_that_is_given(tmp_path: Path) -> None:
    clock = ManualClock()
    file = tmp_path / "rig.yaml"
    file.write_text("modules:\n  axis: {device: 'nowhere:Nothing', rate_hz: 50, poll_hz: 100, action_latency: 0.03}\n")
    rig = load_rig(file, clock, {"axis": Axis(clock)})
    assert rig["axis"].action_latency_s == 0.03
    with rig:
        rig.drive.run_until(50 * MS)
        assert len(rig["axis"].stream) > 3


def test_a_copied_figure_is_warned_of_when_the_rig_starts(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clock = ManualClock()
    file = tmp_path / "rig.yaml"
    block = "provenance: {action_latency: {source: copied, value: 0.03, method: other.yaml}}"
    file.write_text(f"modules:\n  axis: {{device: 'nowhere:Nothing', action_latency: 0.03, {block}}}\n")
    rig = load_rig(file, clock, {"axis": Axis(clock)})
    assert caplog.messages == []
    with rig:
        pass
    assert [(record.name, record.levelname, record.message) for record in caplog.records] == [
        ("onbeat.rig", "WARNING", "axis: action_latency 0.03 s was copied from other.yaml, not measured; measure it")
    ]
