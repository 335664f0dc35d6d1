import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onbeat.errors import BadInput, MissingExtra
from onbeat.record.lerobot import find_lerobot, open_lerobot

NAMES = ["shoulder.pos", "gripper.pos"]
Writer = Callable[..., Path]


def rows(episode: int, n: int, fps: float, width: int = 2, state_width: int | None = None) -> dict[str, Any]:
    k = np.arange(n)
    action = k[:, None] + 100.0 * episode + np.arange(width)
    state = k[:, None] - 1.0 + 100.0 * episode + np.arange(state_width or width)
    return {
        "episode_index": k * 0 + episode,
        "frame_index": k,
        "timestamp": (k / fps).astype(np.float32),
        "action": list(action.astype(np.float32)),
        "observation.state": list(state.astype(np.float32)),
    }


def table(*parts: dict[str, Any]) -> pa.Table:
    columns = {}
    for name in parts[0]:
        values = [value for part in parts for value in part[name]]
        columns[name] = pa.array(values, type=pa.list_(pa.float32()) if name in ("action", "observation.state") else None)
    return pa.table(columns)


def info(version: str = "v3.0", **changes: Any) -> dict[str, Any]:
    feature = {"dtype": "float32", "shape": [2], "names": NAMES}
    return {
        "codebase_version": version,
        "robot_type": "so101",
        "total_episodes": 3,
        "fps": 30,
        "features": {"action": feature, "observation.state": feature},
        **changes,
    }


def write(root: Path, about: dict[str, Any], files: dict[str, pa.Table], row_group_size: int | None = None) -> Path:
    (root / "meta").mkdir(parents=True)
    (root / "meta" / "info.json").write_text(json.dumps(about))
    for name, content in files.items():
        path = root / "data" / "chunk-000" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(content, path, row_group_size=row_group_size)
    return root


@pytest.fixture
def v3(tmp_path: Path) -> Path:
    """Three episodes in two files; the middle one lies in both."""
    second = rows(1, 50, 30)
    first_half = {name: values[:20] for name, values in second.items()}
    second_half = {name: values[20:] for name, values in second.items()}
    files = {"file-000.parquet": table(rows(0, 40, 30), first_half), "file-001.parquet": table(second_half, rows(2, 30, 30))}
    return write(tmp_path / "arm", info(), files, row_group_size=16)


def test_version_3_keeps_episodes_whole_across_files(v3: Path) -> None:
    recording = open_lerobot(v3)
    assert (recording.kind, recording.robot, recording.joints, recording.rate_hz) == ("LeRobot v3.0", "so101", tuple(NAMES), 30)
    assert "frame_index / fps" in recording.timing
    episodes = list(recording.episodes())
    assert [(e.index, len(e.t_ns)) for e in episodes] == [(0, 40), (1, 50), (2, 30)]
    assert episodes[1].t_ns[:3].tolist() == [0, 33_333_333, 66_666_666]
    assert episodes[1].command[:, 0].tolist() == (np.arange(50) + 100.0).tolist()
    assert episodes[1].measured[:, 1].tolist() == (np.arange(50) + 100.0).tolist()


def test_one_episode(v3: Path) -> None:
    assert [(e.index, len(e.t_ns)) for e in open_lerobot(v3).episodes(1)] == [(1, 50)]
    with pytest.raises(BadInput, match=r"has no episode 9; it has 0 to 2$"):
        list(open_lerobot(v3).episodes(9))


def test_the_data_set_is_found_from_inside(v3: Path) -> None:
    for inside in ("", "meta/info.json", "data/chunk-000/file-001.parquet"):
        assert find_lerobot(v3 / inside) == v3
    assert find_lerobot(v3.parent) is None


def test_version_2_has_a_file_for_each_episode(tmp_path: Path) -> None:
    files = {f"episode_{k:06d}.parquet": table(rows(k, 25, 30)) for k in (0, 2)}
    recording = open_lerobot(write(tmp_path / "arm", info("v2.1"), files))
    assert [e.index for e in recording.episodes()] == [0, 2]
    assert recording.episode_count == 2
    assert recording.notes == ("2 of the data set's 3 episodes are on this disk",)


def test_instants_are_exact_at_an_odd_rate(tmp_path: Path) -> None:
    recording = open_lerobot(write(tmp_path / "arm", info(fps=29.97), {"file-000.parquet": table(rows(0, 4000, 29.97))}))
    (episode,) = recording.episodes()
    assert episode.t_ns[3999] == int(3999 * 1_000_000_000 / 29.97)


def test_stamps_that_are_no_grid_are_taken_as_they_are(tmp_path: Path) -> None:
    part = rows(0, 30, 30)
    part["timestamp"] = part["timestamp"].astype(np.float64) + 0.004 * (np.arange(30) % 2)
    (episode,) = open_lerobot(write(tmp_path / "arm", info(), {"file-000.parquet": table(part)})).episodes()
    assert episode.t_ns[1] == pytest.approx(37_333_333, abs=10)


@pytest.mark.parametrize(
    "names", [[NAMES], {"motors": NAMES}, {"shoulder.pos": 0, "gripper.pos": 1}, {"left": NAMES[:1], "right": NAMES[1:]}]
)
def test_nested_names_are_flattened(names: Any, tmp_path: Path) -> None:
    feature = {"dtype": "float32", "shape": [2], "names": names}
    about = info(features={"action": feature, "observation.state": feature})
    assert open_lerobot(write(tmp_path / "arm", about, {"file-000.parquet": table(rows(0, 5, 30))})).joints == tuple(NAMES)


def test_joints_without_names_are_numbered(tmp_path: Path) -> None:
    feature = {"dtype": "float32", "shape": [2], "names": None}
    about = info(features={"action": feature, "observation.state": feature})
    joints = open_lerobot(write(tmp_path / "arm", about, {"file-000.parquet": table(rows(0, 5, 30))})).joints
    assert joints == ("joint_0", "joint_1")


def test_columns_are_paired_by_name(tmp_path: Path) -> None:
    features = {
        "action": {"shape": [2], "names": ["a", "b"]},
        "observation.state": {"shape": [3], "names": ["b", "speed", "a"]},
    }
    data = {"file-000.parquet": table(rows(0, 5, 30, state_width=3))}
    recording = open_lerobot(write(tmp_path / "arm", info(features=features), data))
    (episode,) = recording.episodes()
    assert recording.joints == ("a", "b")
    assert episode.measured[0].tolist() == [1.0, -1.0]


def test_columns_of_other_names_are_paired_by_position_and_it_is_said(tmp_path: Path) -> None:
    features = {"action": {"shape": [2], "names": ["a", "b"]}, "observation.state": {"shape": [2], "names": ["c", "d"]}}
    recording = open_lerobot(write(tmp_path / "arm", info(features=features), {"file-000.parquet": table(rows(0, 5, 30))}))
    assert recording.notes == ("action and observation.state name their columns differently and were paired by position",)


def fault(path: Path) -> str:
    with pytest.raises(BadInput) as error:
        list(open_lerobot(path).episodes())
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"codebase_version": "v1.6"}, "has codebase_version v1.6; onbeat reads v2.0, v2.1, v3.0"),
        ({"codebase_version": None}, "has codebase_version None"),
        ({"fps": "fast"}, "has fps 'fast'"),
        ({"fps": 0}, "has fps 0"),
        ({"features": {}}, "has no feature 'action'"),
        (
            {"features": {"action": {"shape": [2]}, "observation.images.top": {}}},
            "has no feature 'observation.state' (it has action)",
        ),
        (
            {
                "features": {
                    "action": {"shape": [2], "names": NAMES},
                    "observation.state": {"shape": [3], "names": ["x", "y", "z"]},
                }
            },
            "action has 2 columns and observation.state has 3, 0 names in common",
        ),
    ],
)
def test_a_wrong_info(changes: dict[str, Any], says: str, tmp_path: Path) -> None:
    root = write(tmp_path / "arm", info(**changes), {"file-000.parquet": table(rows(0, 5, 30))})
    message = fault(root)
    assert says in message
    assert str(root) in message


def test_info_that_is_no_json(v3: Path) -> None:
    (v3 / "meta" / "info.json").write_text("{")
    assert "is not JSON" in fault(v3)
    (v3 / "meta" / "info.json").write_text("[]")
    assert "has no features" in fault(v3)


def test_no_data_set_and_no_data(v3: Path, tmp_path: Path) -> None:
    assert "there is no meta/info.json" in fault(tmp_path)
    shutil.rmtree(v3 / "data")
    assert "has no parquet file in data/chunk-*" in fault(v3)


def test_a_truncated_parquet_file(v3: Path) -> None:
    path = v3 / "data" / "chunk-000" / "file-001.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    message = fault(v3)
    assert str(path) in message
    assert "has no footer" in message


def test_an_empty_parquet_file(v3: Path) -> None:
    (v3 / "data" / "chunk-000" / "file-000.parquet").write_bytes(b"")
    assert "is not a whole parquet file" in fault(v3)


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda t: t.drop_columns(["action"]), "has no column 'action'"),
        (lambda t: t.slice(0, 1), "has 1 row(s)"),
        (lambda t: t.slice(0, 0), "has no rows"),
        (lambda t: t.set_column(3, "action", pa.array([[float("nan"), 1.0]] * 5)), "command 0 is nan in row 0"),
        (lambda t: t.set_column(3, "action", pa.array([[1.0, 2.0]] * 4 + [[1.0]])), "have 1 to 2 values"),
        (lambda t: t.set_column(3, "action", pa.array([[1.0, 2.0]] * 4 + [None])), "1 empty cell(s)"),
        (lambda t: t.set_column(3, "action", pa.array([[1.0]] * 5)), "action has 1 columns here and 2 in meta/info.json"),
        (lambda t: t.set_column(3, "action", pa.array(["a"] * 5)), "'action' holds cells that are not lists of numbers"),
        (
            lambda t: t.set_column(1, "frame_index", pa.array([0, 1, 2, 2, 3])).set_column(
                2, "timestamp", pa.array([0.0, 1, 2, 2, 3])
            ),
            "row 3",
        ),
    ],
)
def test_broken_rows(spoil: Callable[[pa.Table], pa.Table], says: str, tmp_path: Path) -> None:
    root = write(tmp_path / "arm", info(), {"file-000.parquet": spoil(table(rows(0, 5, 30)))})
    assert says in fault(root)


def test_without_pyarrow_it_says_what_to_install(v3: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r"pip install 'onbeat\[lerobot\]'"):
        list(open_lerobot(v3).episodes())


@pytest.mark.real_data
def test_a_real_so101(data_dir: Path) -> None:
    recording = open_lerobot(data_dir / "lerobot" / "so101_v3")
    assert (recording.kind, recording.robot, len(recording.joints), recording.episode_count) == (
        "LeRobot v3.0",
        "so101_follower",
        6,
        4,
    )
    assert [len(e.t_ns) for e in recording.episodes()] == [373, 374, 372, 373]


@pytest.mark.real_data
def test_a_real_g1(data_dir: Path) -> None:
    recording = open_lerobot(data_dir / "lerobot" / "g1_v21" / "meta" / "info.json")
    assert (recording.kind, len(recording.joints), recording.joints[0]) == ("LeRobot v2.1", 26, "kLeftShoulderPitch")
    assert [e.index for e in recording.episodes()] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("feature", ["x", None, {"shape": "x"}, {"shape": [None]}, {"shape": [-1]}, {"shape": [1e9]}, {}])
def test_a_feature_without_a_number_of_columns(feature: Any, tmp_path: Path) -> None:
    root = write(tmp_path / "arm", info(features={"action": feature, "observation.state": feature}), {})
    with pytest.raises(BadInput, match=r"info\.json: action has the shape .*, not a number of columns"):
        open_lerobot(root)


@pytest.mark.parametrize("timestamp", [np.nan, np.inf, 1e30])
def test_a_timestamp_that_is_no_time(timestamp: float, tmp_path: Path) -> None:
    broken = rows(0, 40, 30)
    broken["timestamp"][7] = timestamp
    root = write(tmp_path / "arm", info(), {"file-000.parquet": table(broken)})
    with pytest.raises(BadInput, match="in frame 7, which is no time in seconds"):
        list(open_lerobot(root).episodes())


def test_meta_that_is_too_deep_is_one_sentence(v3: Path) -> None:
    (v3 / "meta" / "info.json").write_text("[" * 200_000)
    with pytest.raises(BadInput, match="is not JSON"):
        open_lerobot(v3)


def test_joints_without_values_end_in_a_sentence(tmp_path: Path) -> None:
    some = table(rows(0, 30, 30.0))
    empty = pa.array([[]] * 30, type=pa.list_(pa.float32()))
    index = some.schema.get_field_index("action")
    root = write(tmp_path, info(), {"file-000.parquet": some.set_column(index, "action", empty)})
    with pytest.raises(BadInput, match="action"):
        list(open_lerobot(root).read(None))
