import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onbeat.errors import BadInput, Damaged
from onbeat.read import gather
from onbeat.read.lerobot import open_lerobot_streams
from onbeat.testing.lerobot_set import CAMERA_AGE_S, write_lerobot_set

FRONT, WRIST = "observation.images.front", "observation.images.wrist"


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("set") / "arm"
    return write_lerobot_set(root, rng=np.random.default_rng(1), episodes=2, seconds=4, size=(48, 64))


def change(root: Path, number: int, name: str, values: pa.Array) -> None:
    """Give a column of a data file other values, or add it."""
    path = root / f"data/chunk-000/file-{number:03d}.parquet"
    table = pq.read_table(path)
    k = table.schema.get_field_index(name)
    pq.write_table(table.set_column(k, name, values) if k >= 0 else table.append_column(name, values), path)


def copied(arm: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(arm, tmp_path / "copy"))


def test_streams_of_a_healthy_set(arm: Path) -> None:
    recording = open_lerobot_streams(arm)
    assert recording.kind == "LeRobot v3.0"
    assert recording.joints is not None
    assert [e.index for e in recording.joints().episodes()] == [0, 1]
    with gather(recording) as got:
        assert got.damage == ""
        said = {name: (s.info.kind, s.info.counted, s.info.declared_hz, len(s)) for name, s in got.series.items()}
        assert said == {
            "action": ("action", True, 30, 240),
            "observation.state": ("joints", True, 30, 240),
            "onbeat.row.t_ns": ("other", False, 30, 240),
            "onbeat.cam.front.t_ns": ("image", False, 30, 240),
            "onbeat.cam.wrist.t_ns": ("image", False, 30, 240),
            FRONT: ("image", True, 30, 240),
            WRIST: ("image", True, 30, 240),
        }
        state = got.series["observation.state"]
        assert state.info.columns[-1] == "gripper.pos"
        rows = state.rows()
        assert rows["segment"].tolist() == [0] * 120 + [1] * 120
        assert rows["seq"].tolist() == list(range(120)) * 2
        assert rows["stamp_ns"][:3].tolist() == [0, 33_333_333, 66_666_666]
        row, front = got.series["onbeat.row.t_ns"].rows(), got.series["onbeat.cam.front.t_ns"].rows()
        assert row["stamp_ns"].tolist() == [
            t
            for k in range(2)
            for t in pq.read_table(arm / f"data/chunk-000/file-{k:03d}.parquet")["onbeat.row.t_ns"].to_pylist()
        ]
        assert np.median(row["stamp_ns"] - front["stamp_ns"]) / 1e9 == pytest.approx(CAMERA_AGE_S, abs=1e-3)
        assert "digest" not in (got.series[FRONT].dtype.names or ())  # said once, of the true times
        for name in ("onbeat.cam.front.t_ns", "onbeat.cam.wrist.t_ns"):
            assert np.all(np.diff(got.series[name].rows()["digest"]) != 0)


@pytest.mark.parametrize(
    ("true_times", "front", "wrist"), [(True, "onbeat.cam.front.t_ns", "onbeat.cam.wrist.t_ns"), (False, FRONT, WRIST)]
)
def test_frozen_camera_gives_equal_digests_from_the_freeze_on(tmp_path: Path, true_times: bool, front: str, wrist: str) -> None:
    root = write_lerobot_set(
        tmp_path / "arm", rng=np.random.default_rng(5), episodes=1, seconds=6, fault="frozen_camera", true_times=true_times
    )
    with gather(open_lerobot_streams(root)) as got:
        same = np.diff(got.series[front].rows()["digest"]) == 0
        assert not same[:88].any()
        assert same[94:].all()
        assert not np.any(np.diff(got.series[wrist].rows()["digest"]) == 0)


def test_pictures_come_in_the_order_of_the_rows(arm: Path) -> None:
    recording = open_lerobot_streams(arm)
    assert recording.frames is not None
    frames = list(recording.frames(FRONT, 130))
    assert [f.row for f in frames] == list(range(130))
    assert frames[0].gray.shape == (48, 64)
    assert list(recording.frames("action", 10)) == []


def test_stamps_that_were_taken_are_given_as_they_are(arm: Path, tmp_path: Path) -> None:
    root = copied(arm, tmp_path)
    real = np.arange(120) / 30 + np.random.default_rng(2).uniform(0, 0.0008, 120)
    change(root, 1, "timestamp", pa.array(real))
    with gather(open_lerobot_streams(root)) as got:
        info = got.series["action"].info
        assert not info.counted
        assert "differs from frame_index / fps" in info.note
        stamps = got.series["action"].rows()["stamp_ns"][120:]
        assert np.abs(stamps - real * 1e9).max() <= 1


def test_ages_and_other_forms_of_time_are_streams(arm: Path, tmp_path: Path) -> None:
    root = copied(arm, tmp_path)
    wall = 1.7e9 + np.arange(120) / 30
    for number in range(2):
        change(root, number, "wall_time", pa.array(wall + 10 * number))
        change(root, number, "age_ms.front", pa.array([[20.0]] * 120))
    with gather(open_lerobot_streams(root)) as got:
        assert got.series["wall_time"].info.kind == "other"
        assert np.median(np.diff(got.series["wall_time"].rows()["stamp_ns"])) == pytest.approx(1e9 / 30, abs=1e3)
        age = got.series["age_ms.front"]
        assert (age.info.kind, age.info.columns, age.info.counted) == ("numbers", ("age_s",), True)
        assert np.all(age.rows()["value"] == 0.02)


def test_pictures_in_the_table_have_digests_of_their_bytes(arm: Path, tmp_path: Path) -> None:

    root = copied(arm, tmp_path)
    info = json.loads((root / "meta/info.json").read_text())
    info["features"]["observation.images.top"] = {"dtype": "image", "shape": [1, 1, 3], "names": None}
    (root / "meta/info.json").write_text(json.dumps(info))
    for number in range(2):
        cells = [{"bytes": bytes([min(k, 60)]), "path": None} for k in range(120)]
        change(root, number, "observation.images.top", pa.array(cells))
    with gather(open_lerobot_streams(root)) as got:
        same = np.diff(got.series["observation.images.top"].rows()["digest"]) == 0
        assert same.tolist() == ([False] * 60 + [True] * 59 + [False]) + [False] * 60 + [True] * 59


def test_pictures_in_the_table_are_frames_as_those_of_a_video_are(arm: Path, tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    root = copied(arm, tmp_path)
    info = json.loads((root / "meta/info.json").read_text())
    info["features"]["observation.images.top"] = {"dtype": "image", "shape": [24, 32, 3], "names": None}
    (root / "meta/info.json").write_text(json.dumps(info))
    (root / "images").mkdir()
    level = np.arange(120, dtype=np.uint8) * 2
    for number in range(2):
        packed = [cv2.imencode(".png", np.full((24, 32), n, np.uint8))[1].tobytes() for n in level]
        (root / "images" / f"{number}.png").write_bytes(packed[7])
        cells: list[dict[str, Any]] = [{"bytes": one, "path": None} for one in packed]
        cells[7] = {"bytes": None, "path": f"images/{number}.png"}
        cells[8] = {"bytes": None, "path": "../../outside.png"}
        cells[9] = {"bytes": b"no picture", "path": None}
        change(root, number, "observation.images.top", pa.array(cells))
        change(root, number, "timestamp", pa.array([float("nan") if k == 20 else k / 30 for k in range(120)]))
    recording = open_lerobot_streams(root)
    assert recording.frames is not None
    frames = {frame.row: frame.gray for frame in recording.frames("observation.images.top", 200)}
    assert list(frames) == [k for k in range(200) if k not in (8, 9, 119 + 8, 119 + 9)]
    kept = [*range(20), *range(21, 120)] * 2
    assert all((gray == level[kept[row]]).all() and gray.shape == (24, 32) for row, gray in frames.items())


def test_killed_recorder_leaves_what_could_be_read(arm: Path, tmp_path: Path) -> None:
    root = copied(arm, tmp_path)
    path = root / "data/chunk-000/file-001.parquet"
    path.write_bytes(path.read_bytes()[:-8])
    (root / "meta/episodes/chunk-000/file-000.parquet").unlink()
    with gather(open_lerobot_streams(root)) as got:
        assert len(got.series["action"]) == 120
        assert "file-001.parquet has no footer" in got.damage
        assert "1 episode(s) could be read" in got.damage


def test_set_of_which_nothing_can_be_read_is_damaged(arm: Path, tmp_path: Path) -> None:
    root = copied(arm, tmp_path)
    for path in root.glob("**/*.parquet"):
        path.write_bytes(b"PAR1" + b"\0" * 100)
    shutil.rmtree(root / "videos")
    with pytest.raises(Damaged, match="0 episode"):
        gather(open_lerobot_streams(root))


def test_broken_video_costs_its_camera_only(arm: Path, tmp_path: Path) -> None:
    root = copied(arm, tmp_path)
    (root / f"videos/{FRONT}/chunk-000/file-001.mp4").write_bytes(b"\0" * 100)
    with gather(open_lerobot_streams(root)) as got:
        assert len(got.series[FRONT]) == 120
        assert len(got.series[WRIST]) == 240
        assert "file-001.mp4 (100 bytes) is no whole video" in got.damage


def test_rows_without_a_time_are_left_out_and_counted(arm: Path, tmp_path: Path) -> None:
    root = copied(arm, tmp_path)
    stamps = np.arange(120) / 30
    stamps[7] = np.nan
    change(root, 0, "timestamp", pa.array(stamps))
    with gather(open_lerobot_streams(root)) as got:
        assert len(got.series["action"]) == 239
        assert "no time in 1 row" in got.damage


def test_set_without_a_state_has_streams_but_no_joints(arm: Path, tmp_path: Path) -> None:

    root = copied(arm, tmp_path)
    info = json.loads((root / "meta/info.json").read_text())
    del info["features"]["observation.state"]
    (root / "meta/info.json").write_text(json.dumps(info))
    recording = open_lerobot_streams(root)
    assert recording.joints is None
    assert any(note.startswith("no delay of the joints") for note in recording.notes)
    with gather(recording) as got:
        assert "action" in got.series
        assert "observation.state" not in got.series


def test_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no meta/info\.json"):
        open_lerobot_streams(tmp_path)


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "rows", "episodes", "width"), [("so101_v3", 1492, 4, 6), ("g1_v21", 2399, 6, 26)])
def test_real_sets_are_counted_and_whole(data_dir: Path, name: str, rows: int, episodes: int, width: int) -> None:
    recording = open_lerobot_streams(data_dir / "lerobot" / name)
    with gather(recording) as got:
        assert got.damage == ""
        assert set(got.series) == {"action", "observation.state"}
        action = got.series["action"]
        assert (len(action), len(action.info.columns), action.info.counted) == (rows, width, True)
        assert len(np.unique(action.rows()["segment"])) == episodes
    assert any("videos are not on this disk" in note for note in recording.notes)
