import pytest

from onbeat.health.check import Figure
from onbeat.health.clock_words import words
from onbeat.health.clocks import CLOCKS
from onbeat.health.faults import FAULTS

WALL = 1_750_000_000 * 10**9
NAMES = [
    "skew",
    "error",
    "hold",
    "step",
    "instant",
    "rate",
    "size",
    "start",
    "end",
    "amplitude",
    "period",
    "fast",
    "slow",
    "drift",
    "offset",
    "rest",
    "unsteady",
    "ahead",
    "turn",
    "times",
    "bits",
    "tick",
]


@pytest.mark.parametrize("fault", CLOCKS.faults)
def test_every_fault_has_a_sentence_a_measurement_and_a_fix(fault: str) -> None:
    said = words(fault, {name: Figure(1.0, "s") for name in NAMES}, ["/imu"], 1, "", WALL, WALL)
    assert said.sentence[0].islower()
    assert not said.sentence.endswith(".")
    assert said.confirm
    assert said.fix
    assert fault in FAULTS
    assert said.explains <= set(FAULTS)
    assert fault not in said.explains


def test_whose_clock_it_is_shows_in_who_else_has_it() -> None:
    figures = {"step": Figure(0.1, "s"), "instant": Figure(3.0, "s")}
    assert "the recorder's clock" in words("step", figures, list("abcd"), 4, "", WALL, 0).sentence
    assert "the source's clock, not the recorder's" in words("step", figures, ["/imu"], 4, "", WALL, 0).sentence
    assert "the stamps of /imu moved" in words("step", figures, ["/imu"], 1, "stamp", WALL, 0).sentence


def test_hold_time_is_in_the_words_of_a_skew() -> None:
    figures = {"skew": Figure(46.0, "ppm"), "error": Figure(2.76e-3, "s"), "hold": Figure(65.2, "s")}
    assert "fast by 46 ppm" in words("skew", figures, ["/imu"], 1, "", WALL, 0).sentence
    assert "a 3 ms budget lasts 65.2 s" in words("skew", figures, ["/imu"], 1, "", WALL, 0).sentence
