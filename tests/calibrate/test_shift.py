import numpy as np
import pytest

from onbeat.calibrate.shift import Polyline, Record, golden_section


def test_average_of_a_straight_line_is_the_line() -> None:
    path = Polyline(np.array([0.0, 1.0, 3.0]), np.array([[0.0], [2.0], [6.0]]), 0.1)
    np.testing.assert_allclose(path.at(np.array([0.5, 1.0, 2.7]))[:, 0], [1.0, 2.0, 5.4], atol=1e-12)
    np.testing.assert_allclose(path.slope(np.array([0.5, 1.0, 2.7]))[:, 0], 2.0, atol=1e-11)


def test_corner_is_rounded_by_hand() -> None:
    # |t| under a triangle of half base w is w / 3 at its corner.
    path = Polyline(np.array([-1.0, 0.0, 1.0]), np.array([[1.0], [0.0], [1.0]]), 0.3)
    np.testing.assert_allclose(path.at(np.array([-0.3, 0.0, 0.3]))[:, 0], [0.3, 0.1, 0.3], atol=1e-12)
    assert path.slope(np.array([0.0]))[0, 0] == pytest.approx(0.0, abs=1e-12)


def test_even_samples_give_the_cubic_b_spline() -> None:
    values = np.zeros(9)
    values[4] = 1.0
    path = Polyline(np.arange(9.0), values[:, None], 1.0)
    np.testing.assert_allclose(path.at(np.array([3.0, 3.5, 4.0]))[:, 0], [1 / 6, 23 / 48, 2 / 3], atol=1e-12)


def test_gain_and_offset_by_hand() -> None:
    t = np.linspace(0, 10, 101)
    path = Polyline(t, np.sin(t)[:, None], 1e-3)
    queries = np.linspace(1, 9, 50)
    fit = Record(path, queries, 3 * path.at(queries - 0.2) + 5).fit(0.2)
    assert fit.gain[0] == pytest.approx(3)
    assert fit.offset[0] == pytest.approx(5)
    assert fit.sse[0] == pytest.approx(0, abs=1e-18)


def test_scan_keeps_signs_apart() -> None:
    t = np.linspace(0, 10, 101)
    path = Polyline(t, np.sin(t)[:, None], 0.1)
    queries = np.linspace(1, 9, 50)
    record = Record(path, queries, -path.at(queries - 0.2))
    scan = record.scan(np.array([0.0, 0.2]))
    assert scan.inverted_sse[1, 0] == pytest.approx(0, abs=1e-18)
    assert scan.sse[1, 0] == pytest.approx(record.total[0])


def test_golden_section() -> None:
    assert golden_section(lambda x: (x - 0.3) ** 2, 0.0, 1.0) == pytest.approx(0.3, abs=1e-7)


def test_sensitivity_leaves_out_what_gain_and_level_can_do() -> None:
    t = np.arange(0, 10, 0.01)
    # The slope of an exponential is a change of its gain: a shift of it shows nowhere.
    path = Polyline(t, np.exp(t / 5)[:, None], 0.01)
    inner = t[100:-100]
    same = Record(path, inner, path.at(inner))
    assert np.abs(same.sensitivity(same.fit(0.0))).max() < 1e-4
    # That of a sine over whole periods is all of its slope, times the gain.
    wave = Polyline(t, np.sin(2 * np.pi * t)[:, None], 0.01)
    twice = Record(wave, inner, 2 * wave.at(inner))
    assert twice.sensitivity(twice.fit(0.0)).max() == pytest.approx(4 * np.pi, rel=2e-3)
