import numpy as np

from onbeat.machine.round_trips import RoundTrips
from onbeat.report.doctor_picture import draw_intervals, draw_lateness
from tests.report.doctor_runs import run, trips


def test_picture_names_the_runs_and_their_figures() -> None:
    svg = draw_lateness((run(), run("load"), run(others=1.0)))
    for words in ("250 Hz alone", "under load (cpu, gil)", "not valid", "good below", "one period", "p99.9"):
        assert words in svg


def test_picture_is_the_same_each_time() -> None:
    assert draw_lateness((run(),)) == draw_lateness((run(),))


def test_intervals_of_a_device() -> None:
    svg = draw_intervals("arm", trips())
    assert "arm: time between new readings" in svg


def test_device_that_never_reported_twice_has_an_empty_picture() -> None:
    none = np.zeros(0, np.int64)
    assert "<svg" in draw_intervals("arm", RoundTrips(250.0, none, none, none, 0))
