import pytest

from onbeat.calibrate import CalibrationResult
from onbeat.report.demo_words import GRASP_HEADER, MEASURED_HEADER, grasp_row, in_words, latencies, measured_row
from onbeat.report.story import Measurement
from tests.report.fake_story import COPIED, fake_grasp


def measured(unit: str, value: float, ci95: float, truth: float) -> Measurement:
    return Measurement("arm", "action_latency", unit, CalibrationResult("action_latency", value, ci95, 9, "m"), truth)


@pytest.mark.parametrize(
    ("unit", "value", "ci95", "words"),
    [
        ("s", 0.0843, 0.00041, "84.30 ± 0.41 ms"),
        ("s", 0.0843, 0.0041, "84.3 ± 4.1 ms"),
        ("s", 0.0843, 0.041, "84 ± 41 ms"),
        ("s", 0.0843, 0.0, "84.300 ± 0.000 ms"),
        ("rad/s", 1.571, 0.012, "1.571 ± 0.012 rad/s"),
        ("m/s", 0.1534, 0.0013, "153.4 ± 1.3 mm/s"),
    ],
)
def test_interval_shows_two_figures(unit: str, value: float, ci95: float, words: str) -> None:
    assert in_words(measured(unit, value, ci95, value)) == words


def test_row_of_a_measurement() -> None:
    row = measured_row(measured("s", 0.0843, 0.0004, 0.0851))
    assert row == ("arm action latency", "84.30 ms", "83.90 to 84.70", "85.10 ms", "outside")
    assert len(row) == len(MEASURED_HEADER)


def test_row_of_a_refusal_has_no_number_but_the_truth() -> None:
    refused = CalibrationResult.refuse("action_latency", "the arm stood still", n=0, method="m")
    row = measured_row(Measurement("arm", "action_latency", "s", refused, 0.2))
    assert row == ("arm action latency", "refused", "-", "200.0 ms", "-")


def test_row_of_a_grasp() -> None:
    row = grasp_row(fake_grasp("copied", COPIED, 0.3, 0.21))
    assert row[:4] == ("copied", "72.7 mm", "18.0 mm too high", "210.0 ms late")
    assert len(row) == len(GRASP_HEADER)
    assert grasp_row(fake_grasp("copied", COPIED, 0.3, 0.21, closes=False))[1:4] == ("never closed", "-", "-")


def test_latencies_that_a_run_believed_in() -> None:
    assert latencies(fake_grasp("copied", COPIED, 0, 0)) == "camera 194 · arm 120 · gripper 132 ms"
    assert latencies(fake_grasp("uncompensated", dict.fromkeys(COPIED, 0.0), 0, 0)) == "all delays taken as 0"
