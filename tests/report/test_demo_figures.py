import xml.etree.ElementTree as ElementTree
from collections.abc import Callable

import numpy as np
import pytest

from onbeat.report.demo_figures import ahead_of_cup, draw_course, draw_lateness, draw_paths
from onbeat.report.story import LoopSummary, Story
from tests.report.fake_story import fake_grasp, fake_story
from tests.report.text_boxes import boxes_of_drawing, crossing, outside

STORIES = {
    "usual": fake_story(),
    "on a manual clock": fake_story(3, (0.05, 0.6, 0.0005), fast=True),
    "far on both sides": fake_story(4, (0.7, -0.5, 0.0)),
    "hardly any error": fake_story(5, (0.002, -0.001, 0.0)),
    "never closed": fake_story(11, (0.55, 0.02, -0.002), never="copied"),
}
FIGURES: dict[str, Callable[[Story], str]] = {
    "paths": draw_paths,
    "course": draw_course,
    "lateness": lambda story: draw_lateness(story.loops),
}


def test_late_hand_is_behind_the_cup_by_speed_times_lateness() -> None:
    grasp = fake_grasp("copied", {}, 0.01, 0.0)
    at = int(np.argmin(np.abs(grasp.times_s)))
    speed = np.linalg.norm(np.gradient(grasp.cup[:, :2], grasp.times_s, axis=0)[at])
    assert ahead_of_cup(grasp)[at] == pytest.approx(-0.01 * speed, rel=0.01)


def test_cup_that_stands_still_is_no_division_by_zero() -> None:
    grasp = fake_grasp("copied", {}, 0.01, 0.0)
    grasp.cup[:] = grasp.cup[0]
    assert np.abs(ahead_of_cup(grasp)).max() < 1e-12


@pytest.mark.parametrize("never", ["", "uncompensated", "measured"])
def test_figures_are_well_formed(never: str) -> None:
    story = fake_story(never=never)
    for draw in (draw_paths, draw_course):
        ElementTree.fromstring(draw(story))


def test_lateness_says_its_percentiles_and_what_the_machine_granted() -> None:
    story = fake_story()
    svg = draw_lateness(story.loops)
    ElementTree.fromstring(svg)
    for loop in story.loops:
        assert f"the machine granted: {loop.realtime}" in svg
        assert f"p99 {loop.lateness_ms(99):.3g} ms" in svg


@pytest.mark.parametrize("lateness_ns", [[], [0, 0, 0], [-500, 20], [3, 40_000_000_000]])
def test_lateness_of_any_kind_can_be_drawn(lateness_ns: list[int]) -> None:
    loop = LoopSummary("arm", 200.0, len(lateness_ns), 0, np.array(lateness_ns, dtype=np.int64), "SCHED_FIFO 80")
    ElementTree.fromstring(draw_lateness((loop,)))


@pytest.mark.parametrize("figure", FIGURES)
@pytest.mark.parametrize("situation", STORIES)
def test_no_text_runs_over_another_or_over_the_edge(figure: str, situation: str, monkeypatch: pytest.MonkeyPatch) -> None:
    story = STORIES[situation]
    boxes, width, height = boxes_of_drawing(lambda: FIGURES[figure](story), monkeypatch)
    assert len(boxes) >= 6
    assert crossing(boxes) == []
    assert outside(boxes, width, height) == {}


@pytest.mark.parametrize("lateness_ns", [[], [0, 0, 0], [-500, 20], [3, 40_000_000_000], [900, 1_100, 2_900, 3_100]])
def test_lateness_of_any_kind_keeps_its_texts_apart(lateness_ns: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    loop = LoopSummary("gripper", 200.0, len(lateness_ns), 0, np.array(lateness_ns, dtype=np.int64), "SCHED_FIFO 80")
    boxes, width, height = boxes_of_drawing(lambda: draw_lateness((loop,)), monkeypatch)
    assert crossing(boxes) == []
    assert outside(boxes, width, height) == {}
