from typing import Any

import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.motion.generators import Figure, figure_eight, weave

CENTER = (0.4, 0.0, 0.2)
FIGURES = {
    "figure eight": figure_eight(CENTER, 0.3, 0.15, 0.165),
    "weave": weave(CENTER, (0.4, 0.2, 0.1), 0.59),
    "laps": figure_eight(CENTER, 0.3, 0.15, 0.5, laps=3),
    "only run-up and run-down": weave(CENTER, (0.2, 0.2, 0.2), 1.0, laps=0, turns=2),
}


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_velocity_and_acceleration_are_the_derivatives_and_continuous(figure: Figure) -> None:
    t, h = np.linspace(0.0, figure.duration_s, 5001), 1e-5 * figure.lap_s
    before, now, after = (figure.at_many(t + d) for d in (-h, 0.0, h))
    np.testing.assert_allclose((after[0] - before[0]) / (2 * h), now[1], atol=1e-6 * figure.peak_speed)
    np.testing.assert_allclose((after[1] - before[1]) / (2 * h), now[2], atol=1e-4 * figure.peak_acceleration)
    # Continuous: a step of the acceleration shrinks with the step of time.
    assert np.abs(after[2] - before[2]).max() < 0.01 * figure.peak_acceleration


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_peaks_are_known_and_not_exceeded(figure: Figure) -> None:
    _, velocity, acceleration = figure.at_many(np.linspace(-1.0, figure.duration_s + 1, 200_003))
    for values, peak in ((velocity, figure.peak_speed), (acceleration, figure.peak_acceleration)):
        highest = np.linalg.norm(values, axis=1).max()
        assert 0.9999 * peak < highest <= peak


@pytest.mark.parametrize("figure", FIGURES.values(), ids=FIGURES)
def test_it_begins_and_ends_at_rest_where_it_crosses(figure: Figure) -> None:
    for t in (-1.0, 0.0, figure.duration_s, figure.duration_s + 1):
        position, velocity, acceleration = figure.at_many([t])
        assert position[0].tolist() == pytest.approx(list(CENTER), abs=1e-12)
        assert np.abs(velocity).max() < 1e-12
        assert np.abs(acceleration).max() < 1e-9


def test_peak_speed_is_what_was_asked_for() -> None:
    assert figure_eight(CENTER, 0.3, 0.15, 0.165).peak_speed == pytest.approx(0.165, rel=1e-9)
    assert weave(CENTER, (0.4, 0.2, 0.1), 0.59).peak_speed == pytest.approx(0.59, rel=1e-9)


def test_extent_is_what_was_asked_for() -> None:
    eight, woven = figure_eight(CENTER, 0.3, 0.15, 1.0), weave(CENTER, (0.4, 0.2, 0.1), 1.0)
    assert np.ptp(eight.clip().positions, axis=0) == pytest.approx((0.3, 0.15, 0.0), abs=1e-4)
    assert np.ptp(woven.clip().positions, axis=0) == pytest.approx((0.4, 0.2, 0.1), abs=1e-4)


def test_clip_is_near_the_motion() -> None:
    figure = weave(CENTER, (0.4, 0.2, 0.1), 0.59)
    clip = figure.clip(step_ns=2_000_000)
    assert clip.duration_ns == round(figure.duration_s * 1e9)
    t_ns = np.arange(0, clip.duration_ns, 137_001)
    off = np.linalg.norm(clip.at_many(t_ns) - figure.at_many(t_ns * 1e-9)[0], axis=1).max()
    assert off <= figure.peak_acceleration * 0.002**2 / 8 * 1.01
    with pytest.raises(BadInput, match="step_ns"):
        figure.clip(0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: figure_eight(CENTER, 0.3, 0.15, 0.0), "peak_speed_mps"),
        (lambda: figure_eight(CENTER, 0.0, 0.0, 1.0), "no speed"),
        (lambda: figure_eight(CENTER, float("nan"), 0.15, 1.0), "no speed|finite"),
        (lambda: figure_eight(CENTER, 0.3, 0.15, 1.0, laps=-1), "laps"),
        (lambda: weave(CENTER, (0.3, 0.2, 0.1), 1.0, turns=0), "harmonics"),
        (lambda: Figure((0.0, 0.0, 0.0), (), (), 1.0), "an axis .* for each harmonic"),
        (lambda: Figure((0.0, 0.0, 0.0), ((1.0, 0.0, 0.0),), (1,), 0.0), "lap_s > 0"),
    ],
)
def test_figure_that_cannot_be_is_refused(make: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make()
