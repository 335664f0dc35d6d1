import numpy as np
import pytest

from onbeat.device.ledger import Ledger
from onbeat.motion.clip import turntable
from onbeat.policy.demonstration import Demonstration
from onbeat.report.grasp import judge_grasp

S = 1_000_000_000
START = 5 * S


class Shifted(Ledger):
    """Truth that is the demonstration, with the hand and the jaws late by fixed times; None: the jaws stay open."""

    def __init__(self, demonstration: Demonstration, hand_late_ns: int, jaws_late_ns: int | None) -> None:
        self.demonstration, self.hand_late_ns, self.jaws_late_ns = demonstration, hand_late_ns, jaws_late_ns

    def tool_at_many(self, t_ns: np.ndarray) -> np.ndarray:
        return self.demonstration.tool_at_many(t_ns - START - self.hand_late_ns)

    def cup_at_many(self, t_ns: np.ndarray) -> np.ndarray:
        return self.demonstration.cup.at_many(t_ns - START)

    def gripper_at_many(self, t_ns: np.ndarray) -> np.ndarray:
        if self.jaws_late_ns is None:
            return np.full((len(t_ns), 1), self.demonstration.open_m)
        return self.demonstration.opening_at_many(t_ns - START - self.jaws_late_ns)


@pytest.fixture
def demonstration() -> Demonstration:
    return Demonstration(turntable((0.3, 0.0, 0.05), 0.08, 0.25, 7.0), round(3.4 * S))


def judge(demonstration: Demonstration, hand_late_s: float, jaws_late_s: float | None):  # type: ignore[no-untyped-def]
    jaws = None if jaws_late_s is None else round(jaws_late_s * S)
    ledger = Shifted(demonstration, round(hand_late_s * S), jaws)
    return judge_grasp("test", {}, demonstration, ledger, [], START, START + 4 * S)


def test_what_was_demonstrated_has_no_error(demonstration: Demonstration) -> None:
    grasp = judge(demonstration, 0.0, 0.0)
    assert grasp.distance_m == pytest.approx(0.0, abs=3e-4)
    assert grasp.closing_error_s == pytest.approx(0.0, abs=0.001)
    assert grasp.same_instant_m == pytest.approx(0.0, abs=1e-9)


def test_hand_that_is_late_misses_by_the_speed_of_the_cup(demonstration: Demonstration) -> None:
    grasp = judge(demonstration, 0.1, 0.0)
    # 0.25 m/s for 0.1 s along a circle of 80 mm: a chord of 24.9 mm, and 12.5 mm too high on the way down.
    assert np.hypot(*(grasp.tool - grasp.cup)[3400, :2]) == pytest.approx(0.0249, abs=3e-4)
    assert grasp.height_error_m == pytest.approx(0.1 * 0.1 + 0.25 * 0.1**2, abs=3e-4)
    assert grasp.same_instant_m > 0.02


def test_jaws_that_close_early_close_too_high(demonstration: Demonstration) -> None:
    grasp = judge(demonstration, 0.0, -0.1)
    assert grasp.closing_error_s == pytest.approx(-0.1, abs=0.001)
    assert grasp.height_error_m is not None
    assert grasp.height_error_m > 0.01


def test_jaws_that_never_close_have_no_distance(demonstration: Demonstration) -> None:
    grasp = judge(demonstration, 0.0, None)
    assert (grasp.distance_m, grasp.height_error_m, grasp.closing_error_s) == (None, None, None)
