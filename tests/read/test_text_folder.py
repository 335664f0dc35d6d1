"""A folder of tables as one recording."""

from pathlib import Path

import pytest

from onbeat.read.spool import gather
from onbeat.read.text_folder import open_text_folder, tables_of_one_recording


def table(path: Path, first_s: int, n: int = 50, columns: str = "gyro_x,gyro_y,gyro_z") -> Path:
    width = columns.count(",") + 1
    rows = [f"{first_s * 10**9 + k * 10_000_000}," + ",".join("0.5" for _ in range(width)) for k in range(n)]
    path.write_text("\n".join([f"t_ns,{columns}", *rows]) + "\n")
    return path


def test_tables_whose_times_overlap_are_one_recording(tmp_path: Path) -> None:
    table(tmp_path / "imu.csv", 0, 200)
    table(tmp_path / "arm.csv", 1, 100, "a_cmd,a_meas")
    (tmp_path / "readme.txt").write_text("what this is\n")
    (tmp_path / "calibration.csv").write_text("fx,fy\n1,2\n")
    together, alone, notes = tables_of_one_recording(tmp_path)
    assert [path.name for path in together] == ["arm.csv", "imu.csv"]
    assert [path.name for path in alone] == ["calibration.csv"]
    assert "no column of times" in notes[0]
    recording = open_text_folder(tmp_path, together, notes)
    with gather(recording) as found:
        assert {n: len(s) for n, s in found.series.items()} == {"arm/action": 100, "arm/joints": 100, "imu": 200}
    assert recording.joints is not None
    assert len(list(recording.joints().episodes())) == 1


def test_tables_of_different_times_stand_alone(tmp_path: Path) -> None:
    paths = [table(tmp_path / f"{k}.csv", 10 * k) for k in range(3)]
    assert tables_of_one_recording(tmp_path)[:2] == ([], paths)


def test_one_table_stands_alone(tmp_path: Path) -> None:
    path = table(tmp_path / "imu.csv", 0)
    assert tables_of_one_recording(tmp_path)[:2] == ([], [path])


def test_broken_table_does_not_hide_the_others(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        path = table(tmp_path / f"{name}.csv", 0)
        if name != "b":
            path.write_text(path.read_text()[:-8])
    with gather(open_text_folder(tmp_path, tables_of_one_recording(tmp_path)[0])) as found:
        assert {n: len(s) for n, s in found.series.items()} == {"a": 49, "b": 50, "c": 49}
        assert "a.csv: it ends in the middle" in found.damage
        assert "c.csv: it ends in the middle" in found.damage


@pytest.mark.real_data
def test_real_flight_and_its_truth_are_one_recording(data_dir: Path) -> None:
    together, alone, _ = tables_of_one_recording(data_dir / "euroc_mh01")
    assert [path.name for path in together] == ["groundtruth.txt", "imu0.csv"]
    assert alone == []
