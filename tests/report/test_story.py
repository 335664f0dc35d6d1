import json

import numpy as np
import pytest

from onbeat.loop import LoopStatus
from onbeat.report.document import plain_json
from onbeat.report.story import summarize_loop
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


def test_loop_says_what_the_machine_granted() -> None:
    lateness_ns = np.array([10_000, 30_000])
    granted = LoopStatus(True, False, True, (), 0, 2, 1, 0, 0, 0, 0, "")
    loop = summarize_loop("arm", 100.0, granted, lateness_ns)
    assert loop.result()["missed"] == 1
    assert loop.result()["lateness_p50_ms"] == 0.02
    assert loop.realtime == "real-time priority granted"
    refused = LoopStatus(True, False, False, ("no SCHED_FIFO", "no mlock"), 0, 2, 1, 0, 0, 0, 0, "")
    assert summarize_loop("arm", 100.0, refused, lateness_ns).realtime == "no SCHED_FIFO; no mlock"
    soft = LoopStatus(True, True, True, ("a soft loop",), 0, 2, 1, 0, 0, 0, 0, "")
    assert summarize_loop("arm", 100.0, soft, lateness_ns).realtime == "real-time priority granted; a soft loop"
    assert summarize_loop("arm", 100.0, soft, lateness_ns).result()["soft"] is True
