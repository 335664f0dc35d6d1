"""What the checks of one stream say of real recordings."""

from pathlib import Path
from zipfile import ZipFile

import pytest

from onbeat.health.examine import examine
from onbeat.read.open import open_streams
from tests.health.test_any_stream import CHECKS

pytestmark = pytest.mark.real_data


def found(path: Path) -> list[tuple[str, str]]:
    return [(v.fault, v.sentence) for v in examine(open_streams(path), CHECKS).verdicts if v.level == "finding"]


@pytest.mark.parametrize(
    "name",
    [
        "euroc_mh01/imu0.csv",
        "euroc_mh01/groundtruth.txt",
        "rpng_plane/table_01.csv",
        "evo/freiburg1_xyz-groundtruth.txt",
        "lerobot/so101_v3",
        "lerobot/g1_v21",
    ],
)
def test_clean_recording_is_silent(data_dir: Path, name: str) -> None:
    assert found(data_dir / name) == []


def test_tango_stamps_are_rounded_to_10_ms(data_dir: Path, tmp_path: Path) -> None:
    with ZipFile(data_dir / "hand_eye/tango_triplet_easy.zip") as file:
        file.extractall(tmp_path)
    files = sorted(tmp_path.rglob("*.csv"))
    assert len(files) == 3
    for path in files:
        ((fault, sentence),) = found(path)
        assert fault == "quantised_stamps"
        assert "rounded to 10 ms, as 12 digits of epoch seconds do" in sentence


def test_motion_capture_has_gaps(data_dir: Path) -> None:
    ((fault, sentence),) = found(data_dir / "tum_vi/room3.csv")
    assert fault == "gap"
    assert "4 times, for up to 1.99 s" in sentence


def test_simulated_robot_fell_silent_once(data_dir: Path) -> None:
    ((fault, sentence),) = found(data_dir / "evo/nav2_turtlebot.mcap")
    assert fault == "gap"
    assert "4 streams fall silent together once" in sentence
