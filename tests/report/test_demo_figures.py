import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

from onbeat.report.demo_figures import ahead_of_cup, draw_course, draw_lateness, draw_paths
from onbeat.report.story import LoopSummary
from tests.report.fake_story import fake_grasp, fake_story


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
