from dataclasses import replace
from html import unescape

from onbeat.report.demo_page import demo_page
from tests.report.fake_story import fake_story


def test_page_tells_the_whole_story() -> None:
    story = fake_story(fast=True)
    text = demo_page(story)
    plain = unescape(text)
    assert text.count("<svg") == 5
    assert "<script" not in text
    assert "http" not in text.replace("http://www.w3.org/", "")
    for words in (
        "With measured delays the gripper closed 1.0 mm from the cup",
        "arm action latency",
        "210.90 to 211.70",
        "6 of 7 intervals hold the truth",
        "231 of 240 frames",
        "18 of 512",
        "onbeat demo --seed 7",
        "onbeat delay RECORDING",
        "on a manual clock",
        "host: bench",
        "gripper.yaml",
        "The files that they were written to are in rig/modules, beside this page.",
    ):
        assert words in plain
    assert "--green" in text.split("verdict", 2)[2][:60]


def test_refusal_and_a_grasp_that_never_closed_are_findings() -> None:
    text = demo_page(fake_story(never="copied", refused="action_latency"))
    assert "Refused: arm action latency, because no code was in view in any frame" in text
    assert "The jaws never closed in the run(s): copied." in text
    assert "<tr class=dim><td class=w>arm action latency</td><td>refused</td>" in text


def test_story_without_a_cycle_has_no_lanes() -> None:
    text = demo_page(replace(fake_story(), cycles=()))
    assert text.count("<svg") == 4
    assert "One control cycle" not in text


def test_same_story_same_page() -> None:
    assert demo_page(fake_story()) == demo_page(fake_story())
