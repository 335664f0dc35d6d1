"""The picture: the same for the same story, and no two of its lines over each other, whatever the story."""

import xml.etree.ElementTree as ElementTree

import pytest

from onbeat.report.drawing import sheet
from onbeat.report.picture import compose, draw_story
from onbeat.report.story import Story
from tests.report.fake_story import fake_story
from tests.report.text_boxes import crossing, texts_of

STORIES = {
    "usual": fake_story(),
    "copied beyond": fake_story(3, (0.05, 0.6, 0.0005), fast=True),
    "far on both sides": fake_story(4, (0.7, -0.5, 0.0)),
    "hardly any error": fake_story(5, (0.002, -0.001, 0.0)),
    "never closed": fake_story(11, (0.55, 0.02, -0.002), never="copied"),
    "none closed well": fake_story(12, (0.2, 0.2, 0.2), never="measured"),
    "refused": fake_story(13, refused="action_latency"),
    "camera refused": fake_story(123456, refused="receive_latency"),
}


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_no_text_runs_over_another_or_over_the_edge(story: Story) -> None:
    with sheet(900, 850) as paper:
        compose(paper, story)
        boxes = texts_of(paper.figure)
    assert len(boxes) > 60
    assert crossing(boxes) == []
    assert {name: box for name, box in boxes.items() if box.x0 < 4 or box.x1 > 896 or box.y0 < 4 or box.y1 > 846} == {}


def test_same_story_same_bytes() -> None:
    story = STORIES["usual"]
    svg = draw_story(story)
    assert svg == draw_story(story)
    root = ElementTree.fromstring(svg)
    assert root[0].text == story.verdict()
    assert root.get("width") == "900"


def test_headlines_say_the_distances() -> None:
    svg = draw_story(STORIES["never closed"])
    assert ">never closed<" in svg
    assert ">124 mm off<" in svg
    assert ">0.5 mm off<" in svg


def test_refusal_is_called_one_and_an_interval_that_misses_too() -> None:
    svg = draw_story(STORIES["refused"])
    assert svg.count(">refused<") == 1
    assert svg.count(">outside the interval<") == 1
    assert ">truth 211.1 ms<" in svg
