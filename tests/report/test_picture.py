"""The picture: the same for the same story, and no two of its lines over each other, whatever the story."""

import xml.etree.ElementTree as ElementTree
from itertools import combinations
from typing import Any

import pytest

from onbeat.report.drawing import sheet
from onbeat.report.picture import compose, draw_story
from onbeat.report.story import Story
from tests.report.fake_story import fake_story

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


def texts_of(figure: Any) -> dict[str, Any]:
    """Give the box of every line that is printed, in px, laid out in the widest font."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    found = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    boxes = {f"{number} {t.get_text()}": t.get_window_extent(canvas.get_renderer()) for number, t in enumerate(found)}
    # Tick labels beyond the ends of an axis are made, but not printed.
    ticks = {
        id(label)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.majorTicks, *axis.minorTicks)
        for label in (tick.label1, tick.label2)
        if label.get_text() and tick not in axis._update_ticks()
    }
    return {name: box for (name, box), t in zip(boxes.items(), found, strict=True) if id(t) not in ticks}


def crossing(boxes: dict[str, Any]) -> list[tuple[str, str]]:
    def cross(a: Any, b: Any) -> bool:
        return bool(min(a.x1, b.x1) - max(a.x0, b.x0) > 0.5 and min(a.y1, b.y1) - max(a.y0, b.y0) > 0.5)

    return [(m, n) for (m, a), (n, b) in combinations(boxes.items(), 2) if cross(a, b)]


@pytest.mark.parametrize("story", STORIES.values(), ids=STORIES.keys())
def test_no_text_runs_over_another_or_over_the_edge(story: Story) -> None:
    with sheet(900, 850) as paper:
        compose(paper, story)
        boxes = texts_of(paper.figure)
    assert len(boxes) > 60
    assert crossing(boxes) == []
    assert {name: box for name, box in boxes.items() if box.x0 < 4 or box.x1 > 896 or box.y0 < 4 or box.y1 > 846} == {}


def test_crossing_sees_texts_that_cross() -> None:
    with sheet(200, 100) as paper:
        paper.text(10, 50, "one line")
        paper.text(30, 54, "and another")
        assert len(crossing(texts_of(paper.figure))) == 1


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
