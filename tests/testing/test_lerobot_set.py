import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from onbeat.errors import BadInput
from onbeat.testing.lerobot_set import CAMERA_AGE_S, SLOW_PERIOD_S, write_lerobot_set

STATS = ("min", "max", "mean", "std", "count", "q01", "q10", "q50", "q90", "q99")


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_lerobot_set(
        tmp_path_factory.mktemp("set") / "arm", rng=np.random.default_rng(1), episodes=2, seconds=2, size=(48, 64)
    )


def test_info_counts_what_is_there(healthy: Path) -> None:
    info = json.loads((healthy / "meta/info.json").read_text())
    assert (info["codebase_version"], info["total_episodes"], info["total_frames"], info["fps"]) == ("v3.0", 2, 120, 30)
    assert {k for k, f in info["features"].items() if f["dtype"] == "video"} == {
        "observation.images.front",
        "observation.images.wrist",
    }
    for number in range(2):
        assert (healthy / info["data_path"].format(chunk_index=0, file_index=number)).is_file()
        for camera in ("front", "wrist"):
            key = f"observation.images.{camera}"
            assert (healthy / info["video_path"].format(video_key=key, chunk_index=0, file_index=number)).is_file()


def test_every_feature_has_every_statistic_in_every_episode(healthy: Path) -> None:
    info = json.loads((healthy / "meta/info.json").read_text())
    stats = json.loads((healthy / "meta/stats.json").read_text())
    rows = pq.read_table(healthy / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    for feature in info["features"]:
        assert set(stats[feature]) == set(STATS)
        assert all(row[f"stats/{feature}/{what}"] is not None for row in rows for what in STATS)
    assert np.shape(stats["observation.images.front"]["mean"]) == (3, 1, 1)
    assert 0 < np.min(stats["observation.images.front"]["mean"]) < np.max(stats["observation.images.front"]["mean"]) < 1
    assert [row["dataset_to_index"] for row in rows] == [60, 120]


def test_rows_hold_every_feature_but_videos_and_stamps_are_counted(healthy: Path) -> None:
    info = json.loads((healthy / "meta/info.json").read_text())
    table = pq.read_table(healthy / "data/chunk-000/file-001.parquet")
    assert set(table.column_names) == {k for k, f in info["features"].items() if f["dtype"] != "video"}
    stamps = table["timestamp"].to_numpy()
    assert stamps.dtype == np.float32
    assert np.array_equal(stamps, (np.arange(60) / 30).astype(np.float32))
    age_s = (table["onbeat.row.t_ns"].to_numpy() - table["onbeat.cam.wrist.t_ns"].to_numpy()) / 1e9
    assert np.median(age_s) == pytest.approx(CAMERA_AGE_S, abs=1e-3)


def test_slow_loop_shows_in_true_times_only(tmp_path: Path) -> None:
    path = write_lerobot_set(tmp_path, rng=np.random.default_rng(2), episodes=1, seconds=4, fault="slow_loop", cameras=())
    table = pq.read_table(path / "data/chunk-000/file-000.parquet")
    assert np.allclose(np.diff(table["timestamp"].to_numpy()), 1 / 30, atol=1e-6)
    assert np.median(np.diff(table["onbeat.row.t_ns"].to_numpy())) / 1e9 == pytest.approx(SLOW_PERIOD_S, rel=0.01)


def test_same_seed_writes_the_same_rows(tmp_path: Path) -> None:
    first, second = (
        write_lerobot_set(tmp_path / name, rng=np.random.default_rng(3), episodes=1, seconds=1, cameras=()) for name in "ab"
    )
    name = "data/chunk-000/file-000.parquet"
    assert pq.read_table(first / name).equals(pq.read_table(second / name))


def test_unknown_fault_or_a_full_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="slow_loop, frozen_camera"):
        write_lerobot_set(tmp_path, rng=np.random.default_rng(4), fault="gremlins")
    (tmp_path / "mine").touch()
    with pytest.raises(BadInput, match="not empty"):
        write_lerobot_set(tmp_path, rng=np.random.default_rng(4))
