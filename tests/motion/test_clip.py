import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.motion.clip import Clip, Playback, fit_clip, turntable


def test_turntable_moves_at_its_speed() -> None:
    clip = turntable((0.3, 0.0, 0.02), 0.08, 0.2, 4.0)
    assert clip.duration_ns == 4_000_000_000
    assert clip.speed_at(np.array([1_000_000_000, 2_500_000_000])) == pytest.approx(0.2, rel=0.02)
    assert np.allclose(clip.at_many(np.array([0])), [[0.38, 0.0, 0.02]])


def test_clip_rests_at_its_ends() -> None:
    clip = Clip(np.array([5, 10]), np.array([[0.0, 0, 0], [1.0, 0, 0]]))
    assert clip.at_many(np.array([-100, 0, 5, 100]))[:, 0].tolist() == [0, 0, 1, 1]


def wave(n: int = 2000, step_ns: int = 10_000_000) -> tuple[np.ndarray, np.ndarray]:
    t = np.arange(n) * step_ns
    s = t * 1e-9
    lively = np.where(s > 10, 3.0, 1.0)
    return 10**18 + t, np.stack([0.01 * s, lively * np.sin(2 * s), 0.5 * lively * np.cos(2 * s)], axis=1)


def test_recording_is_fitted_into_reach_and_speed() -> None:
    times_ns, positions = wave()
    fit = fit_clip(times_ns, positions, (0.3, 0.0, 0.05), 0.09, 0.3, 6.0)
    assert fit.axes == (1, 2)
    assert fit.start_s >= 9.9
    assert 0 < fit.scale < 0.1
    offsets = fit.clip.positions - np.array([0.3, 0.0, 0.05])
    assert np.linalg.norm(offsets, axis=1).max() <= 0.09 + 1e-12
    speeds = fit.clip.speed_at(np.arange(0, fit.clip.duration_ns, 10_000_000))
    assert speeds.max() <= 0.3 * 1.01
    assert (offsets[:, 2] == 0).all()


def test_stretch_never_spans_a_gap() -> None:
    times_ns, positions = wave()
    times_ns[1200:] += 500_000_000
    fit = fit_clip(times_ns, positions, (0.0, 0.0, 0.0), 0.1, 10.0, 6.0)
    assert np.diff(fit.clip.times_ns).max() == 10_000_000


def test_recording_too_short_is_refused_with_its_length() -> None:
    times_ns, positions = wave(300)
    with pytest.raises(BadInput, match=r"holds 3\.0 s; it needs 6\.0 s"):
        fit_clip(times_ns, positions, (0.0, 0.0, 0.0), 0.1, 0.3, 6.0)


def test_recording_that_stands_still_is_refused() -> None:
    times_ns = np.arange(1000) * 10_000_000
    with pytest.raises(BadInput, match="stands still"):
        fit_clip(times_ns, np.ones((1000, 3)), (0.0, 0.0, 0.0), 0.1, 0.3, 6.0)


def test_clip_with_bad_samples_is_refused() -> None:
    with pytest.raises(BadInput, match="strictly increasing"):
        Clip(np.array([0, 0]), np.zeros((2, 3)))
    with pytest.raises(BadInput, match="n >= 2"):
        Clip(np.array([0]), np.zeros((1, 3)))


def test_playback_rests_until_started_and_can_be_played_again() -> None:
    playback = Playback(Clip(np.array([0, 10]), np.array([[0.0, 0, 0], [1.0, 0, 0]])))
    assert playback.at_many(np.array([5]))[0, 0] == 0
    playback.start(100)
    playback.start(200)
    assert playback.at_many(np.array([90, 105, 150, 200, 205]))[:, 0].tolist() == [0, 0.5, 1, 0, 0.5]
    with pytest.raises(BadInput, match="before the last one"):
        playback.start(199)
