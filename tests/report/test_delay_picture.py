import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from onbeat.calibrate.follow import EpisodeDelay, FollowResult, JointDelay
from onbeat.calibrate.result import CalibrationResult
from onbeat.record import open_joints
from onbeat.report.delay_picture import draw_delay
from tests.report.text_boxes import boxes_of_drawing, crossing, outside


def told(value: float, ci95: float) -> CalibrationResult:
    return CalibrationResult(
        "delay", value, ci95, 300, "test", {"gain": 1.0, "offset": 0.0, "r2": 0.99, "groups": 1, "between_std_s": 0.0}
    )


REFUSED = CalibrationResult.refuse("delay", "the measured motion does not follow the command: R2 is 0.4", n=300, method="test")


def joint(name: str, result: CalibrationResult, gripper: bool = False) -> JointDelay:
    return JointDelay(name, gripper, result, (EpisodeDelay(0, result),))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_text(
        "t,pan_cmd,pan_meas,jaw_cmd,jaw_meas\n" + "".join(f"{k / 10},{k % 7},{k % 5},{k % 3},{k % 2}\n" for k in range(100))
    )
    return path


def texts(svg: str) -> list[str]:
    return [text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text") if (text := element.text)]


def test_all_joints_are_in_it(table: Path) -> None:
    joints = (joint("pan", told(0.138, 0.004)), joint("jaw", told(0.12, 0.2), gripper=True), joint("lift", REFUSED))
    result = FollowResult(told(0.138, 0.004), joints, (), 100, 9.9)
    drawn = texts(draw_delay(open_joints(table), result, 0.5))
    for text in ("pan", "jaw", "138.0 ± 4.0 ms", "120.0 ± 200.0 ms", "measured, moved back 138 ms"):
        assert text in drawn
    assert "refused (the measured motion does not follow the command): lift" in drawn


def test_the_same_result_gives_the_same_bytes(table: Path) -> None:
    result = FollowResult(told(0.138, 0.004), (joint("pan", told(0.138, 0.004)),), (), 100, 9.9)
    assert draw_delay(open_joints(table), result, 0.5) == draw_delay(open_joints(table), result, 0.5)


def test_nothing_accepted_draws_only_reasons(table: Path) -> None:
    drawn = texts(draw_delay(open_joints(table), FollowResult(REFUSED, (joint("pan", REFUSED),), (), 100, 9.9), 0.5))
    assert "refused (the measured motion does not follow the command): pan" in drawn
    assert "command" not in drawn


def test_no_text_runs_over_another_or_over_the_edge(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    joints = (
        joint("pan", told(0.138, 0.004)),
        joint("left_shoulder_pitch_joint", told(0.142, 0.01)),
        joint("jaw", told(0.12, 0.2), gripper=True),
        *(joint(f"lift {k}", REFUSED) for k in range(30)),
    )
    result = FollowResult(told(0.138, 0.004), joints, (), 100, 9.9)
    recording = open_joints(table)
    boxes, width, height = boxes_of_drawing(lambda: draw_delay(recording, result, 0.5), monkeypatch)
    assert crossing(boxes) == []
    assert outside(boxes, width, height) == {}
