import sys
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.errors import MissingExtra
from onbeat.evidence.flow import picture_motion
from onbeat.read.streams import Frame
from tests.health.motion_streams import START_NS, FloatArray

PERIOD_NS = 33_333_333
FEW: FloatArray = np.array([0.0, 1.0, 2.0])


def texture(x: FloatArray, y: FloatArray) -> FloatArray:
    """A smooth pattern without an end; lengths in pixels."""
    tones = np.random.default_rng(2).uniform(0.02, 0.25, (12, 3))
    return np.asarray(128 + 30 * sum(np.sin(a * x + (b - 0.13) * y + 40 * c) for a, b, c in tones) / 2)


def pictures(across: FloatArray, turned: FloatArray, width: int = 240, height: int = 180) -> Iterator[Frame]:
    """Give views of the pattern: shifted by so many pixels, turned by so many rad."""
    y, x = np.mgrid[:height, :width].astype(float)
    x, y = x - (width - 1) / 2, y - (height - 1) / 2
    for row, (shift, angle) in enumerate(zip(across, turned, strict=True)):
        c, s = np.cos(angle), np.sin(angle)
        yield Frame(row, np.clip(texture(c * x + s * y - shift, -s * x + c * y), 0, 255).astype(np.uint8))


def stamps(count: int) -> NDArray[np.int64]:
    return START_NS + PERIOD_NS * np.arange(count, dtype=np.int64)


def test_shift_and_turn_of_the_picture_are_seen() -> None:
    pytest.importorskip("cv2")
    t_s = np.arange(40) / 30
    across, turned = 12 * np.sin(4 * t_s), 0.1 * np.sin(6 * t_s)
    seen = picture_motion(pictures(across, turned), stamps(40), np.zeros(40, np.int64))
    assert seen is not None
    motion, rows = seen
    assert rows.tolist() == list(range(39))
    assert motion.t_ns.tolist() == (stamps(40)[:-1] + PERIOD_NS // 2).tolist()
    for column, truth in ((0, np.diff(across) / 240), (2, np.diff(turned))):
        assert np.corrcoef(motion.vectors["picture"][:, column], truth)[0, 1] > 0.95


def test_frame_that_is_shown_again_is_passed_over() -> None:
    pytest.importorskip("cv2")
    across = np.repeat(3.0 * np.arange(20), 2)
    seen = picture_motion(pictures(across, 0 * across), stamps(40), np.zeros(40, np.int64))
    assert seen is not None
    motion, rows = seen
    assert len(rows) == 19
    assert np.median(np.abs(motion.vectors["picture"][:, 0])) == pytest.approx(3 / 240 / (2 * PERIOD_NS / 1e9), rel=0.2)


def test_no_flow_between_two_episodes() -> None:
    pytest.importorskip("cv2")
    across: FloatArray = np.linspace(0.0, 87.0, 30)
    episode = np.repeat([0, 1], 15)
    t_ns = np.concatenate([stamps(15), stamps(15)])
    seen = picture_motion(pictures(across, 0 * across), t_ns, episode)
    assert seen is not None
    assert 14 not in seen[1]
    assert len(seen[1]) == 28


def test_few_or_tiny_pictures_show_nothing() -> None:
    pytest.importorskip("cv2")
    assert picture_motion(pictures(FEW, 0 * FEW), stamps(3), np.zeros(3, np.int64)) is None
    tiny = (Frame(k, np.full((4, 4), k, np.uint8)) for k in range(20))
    assert picture_motion(tiny, stamps(20), np.zeros(20, np.int64)) is None


def test_without_opencv_the_command_that_installs_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingExtra, match=r"onbeat\[vision\]"):
        picture_motion(iter(()), stamps(4), np.zeros(4, np.int64))
