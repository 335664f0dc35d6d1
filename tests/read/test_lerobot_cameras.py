from pathlib import Path

import numpy as np
import pytest

from onbeat.errors import Damaged
from onbeat.read.lerobot_cameras import Clip, clips, decoded, have_av, listed_episodes, presented_ns, shown
from onbeat.testing.lerobot_set import write_lerobot_set

KEY = "observation.images.front"


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("set") / "arm"
    return write_lerobot_set(root, rng=np.random.default_rng(1), episodes=2, seconds=2, cameras=("front",), size=(48, 64))


def video(arm: Path) -> Path:
    return arm / f"videos/{KEY}/chunk-000/file-000.mp4"


def test_episodes_name_the_place_of_their_pictures(arm: Path) -> None:
    listed = listed_episodes(arm, "v3.0")
    info = {"codebase_version": "v3.0", "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4"}
    assert [listed[k]["length"] for k in (0, 1)] == [60, 60]
    assert not any(name.startswith("stats/") for name in listed[0])
    found = clips(arm, info, KEY, listed)
    assert [(c.episode, c.path.name, c.from_s, c.to_s) for c in found] == [
        (0, "file-000.mp4", 0.0, 2.0),
        (1, "file-001.mp4", 0.0, 2.0),
    ]
    assert clips(arm, info, "observation.images.top", listed) == []
    with pytest.raises(Damaged, match="video_path"):
        clips(arm, {**info, "video_path": "videos/{what}.mp4"}, KEY, listed)


def test_version_2_has_a_video_for_each_episode(tmp_path: Path) -> None:
    (tmp_path / "meta").mkdir()
    (tmp_path / "meta/episodes.jsonl").write_text('{"episode_index": 1001, "length": 5}\n\n')
    path = tmp_path / f"videos/chunk-001/{KEY}/episode_001001.mp4"
    path.parent.mkdir(parents=True)
    path.touch()
    pattern = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
    info = {"codebase_version": "v2.1", "video_path": pattern, "chunks_size": 1000}
    assert clips(tmp_path, info, KEY, listed_episodes(tmp_path, "v2.1")) == [Clip(path, 1001)]
    (tmp_path / "meta/episodes.jsonl").write_text('{"episode_index": 1001, "len')
    with pytest.raises(Damaged, match="line 1 of"):
        listed_episodes(tmp_path, "v2.1")


def test_presentation_times_are_those_of_the_frames(arm: Path) -> None:
    assert have_av()
    stamps = presented_ns(Clip(video(arm), 0), 30)
    assert len(stamps) == 60
    assert np.abs(stamps - np.arange(60) / 30 * 1e9).max() < 2


def test_part_of_a_file_is_cut_at_its_own_pictures(arm: Path) -> None:
    part = Clip(video(arm), 0, from_s=0.5, to_s=1.5)
    stamps = presented_ns(part, 30)
    assert len(stamps) == 30
    assert np.abs(stamps - np.arange(30) / 30 * 1e9).max() < 2
    whole = [gray for gray, _ in decoded(Clip(video(arm), 0), 30, 60)]
    cut = [gray for gray, _ in decoded(part, 30, 100)]
    assert len(cut) == 30
    assert all(np.array_equal(a, b) for a, b in zip(cut, whole[15:45], strict=True))


def test_first_pictures_are_shown_with_their_keys(arm: Path) -> None:
    pictures = shown(Clip(video(arm), 0), 30, 10)
    assert pictures.cells.shape[0] == 10
    assert pictures.key.tolist() == [True, False] * 5
    assert np.all(pictures.exact[~pictures.key] == 0)
    assert 60 < pictures.cells.mean() < 160


@pytest.mark.parametrize("content", [b"", b"\0" * 2000, b"no video at all"])
def test_broken_video_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(content)
    with pytest.raises(Damaged, match=r"a\.mp4"):
        presented_ns(Clip(path, 0), 30)


def test_truncated_video_is_one_sentence(arm: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(video(arm).read_bytes()[:-2000])
    with pytest.raises(Damaged, match=r"a\.mp4 \(\d+ bytes\) is no whole video"):
        shown(Clip(path, 0), 30, 60)
