import numpy as np
import pytest

from onbeat.health.lateness import Late, Unsaid, lateness, lateness_plot, moving
from tests.health.motion_streams import FloatArray, evidence, position, recorded, stream, tones

TONES = tones(np.random.default_rng(11), 3)


def said(a_s: FloatArray, b_s: FloatArray, late_s: float) -> Late | Unsaid | None:
    """How late is b?"""
    streams = (stream("a", "joints", a_s, position(TONES, a_s)), stream("b", "joints", b_s, position(TONES, b_s), late_s))
    gathered, seen = evidence(recorded(*streams))
    with gathered:
        return lateness(moving(seen.timelines["b"]), moving(seen.timelines["a"]))


def test_lateness_has_an_interval_that_holds_it_and_says_so_of_each_third() -> None:
    late = said(np.arange(0, 40, 0.01), np.arange(0.004, 40, 0.02), 0.03)
    assert isinstance(late, Late)
    assert abs(late.value_s - 0.03) <= late.half_s < 2e-3
    assert late.thirds_s == pytest.approx([0.03] * 3, abs=1e-3)
    assert late.period_s == pytest.approx(0.02)
    assert late.limit_s == pytest.approx(0.002)


def test_slow_stream_has_a_wider_limit() -> None:
    late = said(np.arange(0, 60, 0.01), np.arange(0.004, 60, 0.1), 0.0)
    assert isinstance(late, Late)
    assert late.limit_s == pytest.approx(0.01)


def test_recording_of_a_moment_is_unsaid_with_the_reason() -> None:
    late = said(np.arange(0, 2.0, 0.01), np.arange(0.004, 2.0, 0.02), 0.0)
    assert isinstance(late, Unsaid)
    assert late.reason


def test_plot_shows_the_stream_as_stamped_and_moved() -> None:
    late = said(np.arange(0, 40, 0.01), np.arange(0.004, 40, 0.02), 0.03)
    assert isinstance(late, Late)
    reference, stamped, moved = lateness_plot(late).curves
    np.testing.assert_allclose(stamped.x - moved.x, 0.03, atol=1e-3)
    np.testing.assert_allclose(np.interp(moved.x, reference.x, reference.y)[5:-5], moved.y[5:-5], atol=0.2)


def test_streams_of_different_times_say_nothing() -> None:
    assert said(np.arange(0, 40, 0.01), np.arange(100, 140, 0.02), 0.0) is None
