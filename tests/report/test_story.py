import json

import pytest

from onbeat.report.document import plain_json
from tests.report.fake_story import fake_story


def test_result_is_json_without_surprises() -> None:
    result = json.loads(plain_json(fake_story(seed=4).result()))
    assert result["seed"] == 4
    assert set(result["grasp"]) == {"uncompensated", "copied", "measured"}


def test_interval_that_holds_the_truth_covers_it() -> None:
    for each in fake_story().measurements:
        value, ci95 = each.result.value, each.result.ci95
        if value is None or ci95 is None:
            assert each.covered is None
        else:
            assert each.covered == (abs(value - each.truth) <= ci95)


def test_verdict_gives_the_three_distances() -> None:
    story = fake_story()
    sentence = story.verdict()
    for grasp in story.grasps:
        assert grasp.distance_m is not None
        assert f"{grasp.distance_m * 1e3:.1f} mm" in sentence


def test_lateness_of_a_loop_without_records_is_nothing() -> None:
    loop = fake_story().loops[0]
    assert loop.lateness_ms(50) <= loop.lateness_ms(99)


def test_unknown_grasp_is_not_there() -> None:
    with pytest.raises(StopIteration):
        fake_story().grasp("lucky")
