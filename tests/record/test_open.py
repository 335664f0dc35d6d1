from pathlib import Path

import pytest

from onbeat.errors import BadInput
from onbeat.record import open_joints


def test_a_csv_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("t,a_cmd,a_meas\n0.0,1,1\n0.1,1,1\n")
    assert open_joints(path).kind == "CSV"


@pytest.mark.parametrize(
    ("name", "says"),
    [("video.mp4", r"is a \.mp4 file outside a LeRobot data set"), ("notes", "is a nameless kind of file outside")],
)
def test_what_is_no_recording(name: str, says: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(BadInput, match=says):
        open_joints(tmp_path / name)


def test_a_folder_without_a_data_set(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"a folder without meta/info\.json"):
        open_joints(tmp_path)


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        open_joints(tmp_path / "none")


@pytest.mark.real_data
def test_options_of_tables_are_refused_for_a_data_set(data_dir: Path) -> None:
    with pytest.raises(BadInput, match="leave out --time"):
        open_joints(data_dir / "lerobot" / "so101_v3", time="timestamp")
