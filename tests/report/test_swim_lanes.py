"""The swim lanes: what they say, the same bytes each time, and no two texts over each other."""

import xml.etree.ElementTree as ElementTree

import pytest

from onbeat.report.swim_lanes import draw_lanes
from tests.report.fake_story import fake_cycle, fake_story
from tests.report.text_boxes import boxes_of_drawing, crossing, outside

SITUATIONS = {
    "usual": fake_story().cycles,
    "one": (fake_cycle("measured"),),
    "slow camera": (fake_cycle("measured", arrived_ms=140.0), fake_cycle("copied", arrived_ms=140.0, stamp_ms=-54.0)),
    "quick camera": (
        fake_cycle("measured", arrived_ms=41.0, lead_ms=40.0),
        fake_cycle("copied", arrived_ms=41.0, stamp_ms=-153.0),
    ),
    "stamp hardly early": (fake_cycle("copied", stamp_ms=-9.0),),
    "not compensated": (fake_cycle("uncompensated", stamp_ms=72.0, lead_ms=0.0, late_ms=295.0),),
    "never at the pose": (fake_cycle("measured", late_ms=None),),
    "many rows": (fake_cycle("measured", lead_ms=900.0, sent=3),),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_no_text_runs_over_another_or_over_the_edge(situation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    boxes, width, height = boxes_of_drawing(lambda: draw_lanes(SITUATIONS[situation]), monkeypatch)
    assert len(boxes) > 20
    assert crossing(boxes) == []
    assert outside(boxes, width, height) == {}


def test_lanes_say_what_happened() -> None:
    texts = [t.text for t in ElementTree.fromstring(draw_lanes(fake_story().cycles)).iter("{http://www.w3.org/2000/svg}text")]
    for words in (
        "the arm was at the pose 0.8 ms late",
        "the arm was at the pose 213 ms early",
        "stamp 0.4 ms late",
        "stamp 122 ms early",
        "frame there after 72.0 ms",
        "inference 40.0 ms",
        "sent 211 ms before it is due",
        "sent 120 ms before it is due",
        "27.9 ms too late, dropped",
        "200 Hz; in colour: this plan",
    ):
        assert words in texts


def test_pose_that_was_never_reached_is_called_so() -> None:
    svg = draw_lanes(SITUATIONS["never at the pose"])
    assert "the arm never came to the pose" in svg
    assert "pose not reached" in svg


def test_same_cycles_same_bytes() -> None:
    assert draw_lanes(fake_story().cycles) == draw_lanes(fake_story().cycles)
