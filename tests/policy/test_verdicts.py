import logging

import pytest

from onbeat.policy.verdicts import Verdicts
from tests.policy.simple_rig import MS


def test_first_is_said_at_once_and_those_after_it_once_a_second(caplog: pytest.LogCaptureFixture) -> None:
    verdicts = Verdicts(logging.getLogger("onbeat.runner"))
    for k in range(25):
        verdicts.note("inference_slow", k * 100 * MS, (150 + k) * MS, 100 * MS)
    assert verdicts.counts == {"anchor_old": 0, "inference_slow": 25, "frame_missing": 0, "starved": 0}
    assert caplog.messages == [
        "The policy was slower than its step in 1 turns (150.0 ms at worst, a step is 100.0 ms)",
        "The policy was slower than its step in 10 turns (160.0 ms at worst, a step is 100.0 ms)",
        "The policy was slower than its step in 10 turns (170.0 ms at worst, a step is 100.0 ms)",
    ]


def test_what_is_left_is_said_when_its_second_is_over(caplog: pytest.LogCaptureFixture) -> None:
    verdicts = Verdicts(logging.getLogger("onbeat.runner"))
    verdicts.note("starved", 0, 320 * MS, 300 * MS, "no new frame of 'eye'")
    verdicts.note("anchor_old", 10 * MS, 400 * MS, 300 * MS)
    verdicts.note("anchor_old", 20 * MS, 410 * MS, 300 * MS)
    assert caplog.messages == [
        "No observation for 320.0 ms (300.0 ms allowed): no new frame of 'eye'",
        "The observation was too old in 1 turns (400.0 ms at worst, 300.0 ms allowed)",
    ]
    verdicts.tell(1_000 * MS)
    assert len(caplog.messages) == 2
    verdicts.tell(1_010 * MS)
    verdicts.tell(3_000 * MS)
    assert caplog.messages[2:] == ["The observation was too old in 1 turns (410.0 ms at worst, 300.0 ms allowed)"]
