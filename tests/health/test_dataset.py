import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onbeat.health.check import Verdict
from onbeat.health.dataset import DATASET
from onbeat.health.examine import examine
from onbeat.read.lerobot import open_lerobot_streams
from onbeat.testing.lerobot_set import CAMERA_AGE_S, SLOW_PERIOD_S, write_lerobot_set


@pytest.fixture(scope="module")
def arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("set") / "arm"
    return write_lerobot_set(root, rng=np.random.default_rng(1), episodes=2, seconds=4, cameras=("front",), size=(48, 64))


def asked(root: Path) -> Sequence[Verdict]:
    return examine(open_lerobot_streams(root), (DATASET,)).verdicts


def of(verdicts: Sequence[Verdict], fault: str, level: str = "finding") -> Verdict:
    (one,) = [v for v in verdicts if v.fault == fault and v.level == level]
    return one


def add(root: Path, name: str, values: pa.Array) -> None:
    for path in (root / "data/chunk-000").glob("*.parquet"):
        table = pq.read_table(path)
        k = table.schema.get_field_index(name)
        pq.write_table(table.set_column(k, name, values) if k >= 0 else table.append_column(name, values), path)


def test_healthy_set_gives_notes_only(arm: Path) -> None:
    verdicts = asked(arm)
    assert [v.fault for v in verdicts if v.level != "note"] == []
    counted = of(verdicts, "counted_stamps", "note")
    assert counted.sentence.startswith("timestamp is frame_index / fps: it cannot show jitter, a slow loop or a dropped frame")
    assert "videos agree with the rows" in counted.sentence
    age = of(verdicts, "offset", "note")
    assert age.streams == ("onbeat.cam.front.t_ns",)
    assert age.figures["age"].value == pytest.approx(CAMERA_AGE_S, abs=2e-4)


def test_slow_loop_is_one_finding_with_its_true_rate(tmp_path: Path) -> None:
    root = write_lerobot_set(
        tmp_path, rng=np.random.default_rng(2), episodes=2, seconds=20, fault="slow_loop", cameras=("front",), size=(16, 16)
    )
    verdicts = asked(root)
    found = of(verdicts, "rate_not_held")
    assert [v.fault for v in verdicts if v.level == "finding"] == ["rate_not_held"]
    assert found.figures["true rate"].value == pytest.approx(1 / SLOW_PERIOD_S, rel=0.002)
    assert found.figures["wrong at the end"].value == pytest.approx(20 - 20 / SLOW_PERIOD_S / 30, rel=0.02)
    assert found.sentence.startswith(
        "declared 30 Hz, true 24.5 Hz: the loop is slower than its fps; after 20 s every stamp is 3."
    )
    assert set(found.streams) >= {"action", "observation.state", "onbeat.row.t_ns", "onbeat.cam.front.t_ns"}
    assert "rate_not_held" in found.explains


def test_one_long_wait_is_not_a_rate(tmp_path: Path, arm: Path) -> None:
    root = Path(shutil.copytree(arm, tmp_path / "copy"))
    stamps = np.arange(120) * 33_333_333 + np.where(np.arange(120) > 60, 2_000_000_000, 0)
    add(root, "onbeat.row.t_ns", pa.array(stamps))
    assert not any(v.fault == "rate_not_held" for v in asked(root))


def test_old_camera_is_a_finding(tmp_path: Path, arm: Path) -> None:
    root = Path(shutil.copytree(arm, tmp_path / "copy"))
    rows = np.arange(120) * 33_333_333
    add(root, "onbeat.row.t_ns", pa.array(rows))
    add(root, "onbeat.cam.front.t_ns", pa.array(rows - 110_000_000))
    found = of(asked(root), "offset")
    assert found.streams[0] == "onbeat.cam.front.t_ns"
    assert found.figures["age"].value == pytest.approx(0.11)
    assert "3.3 periods" in found.sentence


def test_stated_ages_are_judged_without_true_times(tmp_path: Path) -> None:
    root = write_lerobot_set(
        tmp_path, rng=np.random.default_rng(2), episodes=1, seconds=2, cameras=(), true_times=False, size=(16, 16)
    )
    add(root, "age_s.front", pa.array(np.full(60, 0.08)))
    verdicts = asked(root)
    assert of(verdicts, "offset").figures["age"].value == pytest.approx(0.08)
    assert of(verdicts, "counted_stamps", "note").fix.startswith("record true times")


def test_clocks_that_have_nothing_in_common_give_no_age(tmp_path: Path, arm: Path) -> None:
    root = Path(shutil.copytree(arm, tmp_path / "copy"))
    add(root, "onbeat.cam.front.t_ns", pa.array(np.arange(120) * 33_333_333))
    verdicts = asked(root)
    assert "on two clocks" in of(verdicts, "offset", "note").sentence
    assert not [v for v in verdicts if v.level == "finding"]


def test_real_timestamps_beside_a_counted_video_are_refused_by_lerobot(tmp_path: Path, arm: Path) -> None:
    root = Path(shutil.copytree(arm, tmp_path / "copy"))
    real = np.arange(120) / 30 + np.random.default_rng(3).uniform(0, 0.004, 120)
    add(root, "timestamp", pa.array(real))
    verdicts = asked(root)
    found = of(verdicts, "offset")
    assert found.streams == ("observation.images.front",)
    assert found.figures["largest"].value == pytest.approx(0.004, rel=0.05)
    assert "refuse to load" in found.sentence
    assert not any(v.fault == "counted_stamps" for v in verdicts)


def test_video_of_fewer_pictures_than_rows_is_named(tmp_path: Path, arm: Path) -> None:
    root = Path(shutil.copytree(arm, tmp_path / "copy"))
    short = write_lerobot_set(
        tmp_path / "short", rng=np.random.default_rng(1), episodes=1, seconds=3, cameras=("front",), size=(48, 64)
    )
    name = "videos/observation.images.front/chunk-000"
    shutil.copy(short / name / "file-000.mp4", root / name / "file-001.mp4")
    found = of(asked(root), "dropped_samples")
    assert "in 1 of 2 episodes: in episode 1 90 for 120" in found.sentence


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["so101_v3", "g1_v21"])
def test_real_sets_are_without_findings_and_said_to_be_counted(data_dir: Path, name: str) -> None:
    verdicts = asked(data_dir / "lerobot" / name)
    assert [(v.fault, v.level) for v in verdicts] == [("counted_stamps", "note")]
