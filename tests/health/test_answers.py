import numpy as np
import pytest

from onbeat.health.answers import ANSWERS
from onbeat.health.check import Verdict
from tests.health.motion_streams import evidence, position, recorded, stream, tones

TONES = tones(np.random.default_rng(21), 6)
PERIOD_S = 1 / 30


def said(lag_s: float, *, other: bool = False) -> list[Verdict]:
    """Judge joints that follow their action by so much; or that do something else."""
    t_s = np.arange(0, 45, PERIOD_S)
    follow = position(tones(np.random.default_rng(5), 6) if other else TONES, t_s - lag_s)
    noise = np.random.default_rng(0).normal(0, 1e-3, follow.shape)
    gathered, seen = evidence(
        recorded(stream("action", "action", t_s, position(TONES, t_s)), stream("state", "joints", t_s, follow + noise))
    )
    with gathered:
        return list(ANSWERS.judge(seen))


@pytest.mark.parametrize("lag_s", [0.138, PERIOD_S, 0.0])
def test_joints_that_follow_their_action_are_not_spoken_of(lag_s: float) -> None:
    assert said(lag_s) == []


def test_action_that_was_moved_by_two_rows_is_named() -> None:
    (found,) = said(-2 * PERIOD_S)
    assert (found.fault, found.level, found.streams) == ("action_before_observation", "finding", ("action", "state"))
    assert found.figures["lead"].value == pytest.approx(2 * PERIOD_S, abs=2e-3)
    assert "2 rows" in found.sentence
    assert found.plot is not None


def test_lead_that_is_no_number_of_rows_is_said_in_time() -> None:
    (found,) = said(-0.05)
    assert "row" not in found.sentence
    assert found.figures["lead"].value == pytest.approx(0.05, abs=2e-3)


def test_joints_that_do_something_else_are_not_spoken_of() -> None:
    assert said(-0.05, other=True) == []


def test_action_without_joints_of_its_number_is_not_spoken_of() -> None:
    t_s = np.arange(0, 45, PERIOD_S)
    streams = (
        stream("action", "action", t_s, position(TONES, t_s)[:, :3]),
        stream("state", "joints", t_s, position(TONES, t_s + 0.1)),
    )
    gathered, seen = evidence(recorded(*streams))
    with gathered:
        assert list(ANSWERS.judge(seen)) == []
