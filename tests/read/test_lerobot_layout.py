import json
from pathlib import Path

import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.read import lerobot_layout
from onbeat.read.lerobot_layout import lay_out
from onbeat.testing.lerobot_set import write_lerobot_set


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("set") / "arm"
    return write_lerobot_set(root, rng=np.random.default_rng(1), episodes=4, seconds=1, cameras=("front",), size=(48, 64))


def test_all_pictures_of_a_small_set_are_looked_at(arm: Path) -> None:
    data = lay_out(arm / "meta")
    assert data.root == arm
    assert data.looked_at == {0: 30, 1: 30, 2: 30, 3: 30}
    assert data.notes == []
    assert list(data.videos) == ["observation.images.front"]


def test_large_set_is_sampled_in_whole_episodes_and_says_so(arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lerobot_layout, "_MOST_PICTURES", 60)
    data = lay_out(arm)
    assert data.looked_at == {0: 30, 3: 30}
    assert data.notes == ["to see whether pictures repeat, 60 of 120 pictures of each camera were decoded, in 2 of 4 episodes"]


def test_videos_that_are_not_there_are_named(tmp_path: Path) -> None:
    root = write_lerobot_set(
        tmp_path / "arm", rng=np.random.default_rng(1), episodes=1, seconds=1, cameras=("front",), size=(48, 64)
    )
    (root / "videos/observation.images.front/chunk-000/file-000.mp4").unlink()
    data = lay_out(root)
    assert data.videos == {}
    assert data.notes == ["not looked at, since their videos are not on this disk: observation.images.front"]


def test_without_pyav_cameras_are_named_as_not_looked_at(arm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lerobot_layout, "have_av", lambda: False)
    data = lay_out(arm)
    assert data.videos == {}
    assert data.notes == ["not looked at, since PyAV is not installed (pip install 'onbeat[lerobot]'): observation.images.front"]


def test_what_is_no_data_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no meta/info\.json"):
        lay_out(tmp_path)
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta/info.json").write_text(json.dumps({"codebase_version": "v3.0", "fps": 30, "features": {}}))
    with pytest.raises(BadInput, match="no parquet file"):
        lay_out(tmp_path)
    (tmp_path / "meta/info.json").write_text(json.dumps({"codebase_version": "v9", "features": {}}))
    with pytest.raises(BadInput, match="codebase_version v9"):
        lay_out(tmp_path)
