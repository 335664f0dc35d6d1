import xml.etree.ElementTree as ElementTree

import pytest

from onbeat.calibrate.identify import JointPlant
from onbeat.device.agreement import LeadAgreement
from onbeat.report.identify_picture import draw_plant
from tests.report.identified import joint, refused_joint
from tests.report.text_boxes import boxes_of_drawing, crossing, outside

LEAD = LeadAgreement(0.052, 0.0001, 0.053, 0.002, True, "they agree")


def texts(svg: str) -> list[str]:
    return [text for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text") if (text := element.text)]


def test_joints_tones_and_motion_are_in_it() -> None:
    drawn = texts(draw_plant([joint(), joint(number=1)], "rad", LEAD))
    for text in ("joint 0", "joint 1", "action_latency", "dead time and lag", "each tone alone", "sent", "gain"):
        assert text in drawn
    assert any(text.startswith("52.0") and text.endswith(" ms") for text in drawn)
    assert any(text.startswith("read, moved back 52.0 ms") for text in drawn)


def test_the_same_result_gives_the_same_bytes() -> None:
    assert draw_plant([joint()], "rad", LEAD) == draw_plant([joint()], "rad", LEAD)


def test_refused_joint_shows_its_motion_only() -> None:
    drawn = texts(draw_plant([refused_joint()], "rad", None))
    assert "Joint 0, its motion" in drawn
    assert "each tone alone" not in drawn
    assert not any(text.startswith("read, moved back") for text in drawn)


@pytest.mark.parametrize("joints", [[joint()], [joint(), joint(number=1)], [refused_joint()], [joint("none", 0.003)]])
def test_no_text_runs_over_another_or_over_the_edge(joints: list[JointPlant], monkeypatch: pytest.MonkeyPatch) -> None:
    boxes, width, height = boxes_of_drawing(lambda: draw_plant(joints, "rad", LEAD), monkeypatch)
    assert crossing(boxes) == []
    assert outside(boxes, width, height) == {}
