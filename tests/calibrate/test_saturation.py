import numpy as np
import pytest

from onbeat.calibrate.saturation import Stalls, find_saturation
from onbeat.calibrate.shift import Polyline
from tests.oracle.motion import chirp, lagged, sine

T = np.arange(0, 10, 0.01)


def test_one_contact_is_found_to_the_sample() -> None:
    predicted = np.abs(T - 5)  # down, and up again; an object stands at 0.8
    stalls = Stalls.of(np.maximum(predicted, 0.8)[:, None], predicted[:, None])
    assert stalls.count == 1
    assert stalls.few
    np.testing.assert_allclose(T[stalls.mask][[0, -1]], [4.2, 5.8], atol=0.1)


def test_motion_that_is_followed_has_no_stalls() -> None:
    rng = np.random.default_rng(0)
    followed = sine(0.5)(T)[:, None]
    assert Stalls.of(followed + 0.02 * rng.normal(size=followed.shape), followed).share == 0
    assert Stalls.of(np.round(followed, 2), followed).share == 0


def test_a_range_that_clips_stalls_too_often() -> None:
    motion = sine(0.5)(T)
    stalls = Stalls.of(np.clip(motion, -0.6, 0.6)[:, None], motion[:, None])
    assert stalls.count >= 9
    assert not stalls.few


def test_a_command_at_rest_is_no_stall() -> None:
    rest = np.clip(T - 5, 0, 1)
    assert Stalls.of(rest[:, None], rest[:, None]).share == 0


def test_columns_are_judged_apart_and_left_out_together() -> None:
    predicted = np.stack([np.abs(T - 5), np.sin(T)], axis=1)
    measured = predicted.copy()
    measured[:, 0] = np.maximum(measured[:, 0], 1.0)
    assert Stalls.of(measured, predicted).mask.sum() == Stalls.of(measured[:, :1], predicted[:, :1]).mask.sum()


def test_clipped_range_is_told_with_its_limit() -> None:
    path = Polyline(T, sine(0.5)(T)[:, None], 0.01)
    inside = T[100:-100]
    found = find_saturation(path, inside, np.clip(path.at(inside - 0.1)[:, 0], -0.7, 0.7), 0, 0.1)
    assert found is not None
    assert found.kind == "range"
    assert found.limit == pytest.approx(0.7, abs=0.05)
    # Beyond 0.7 of the amplitude: 1 - 2 asin(0.7) / pi of the time.
    assert found.share == pytest.approx(1 - 2 * np.arcsin(0.7) / np.pi, abs=0.05)


def test_lag_is_not_taken_for_a_cap() -> None:
    motion = chirp(10.0, 0.2, 2.0)
    path = Polyline(T, motion(T)[:, None], 0.01)
    inside = T[60:-10]
    for lag_s in (0.03, 0.1, 0.2):
        assert find_saturation(path, inside, lagged(motion, lag_s, 10.0)(inside - 0.05), 0, 0.05 + lag_s * 0.8) is None
