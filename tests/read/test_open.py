"""Any recording is opened by what it holds; what nothing can open is named."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest

from onbeat.errors import BadInput, OnbeatError
from onbeat.read.open import find_recordings, open_streams
from onbeat.read.spool import gather

TABLE = "t_ns,v\n" + "".join(f"{k * 10_000_000},{k}\n" for k in range(50))


def test_kind_is_told_by_content_and_not_by_the_name(tmp_path: Path) -> None:
    (tmp_path / "table.dat").write_text(TABLE)
    np.savez(tmp_path / "x.npz", t_ns=np.arange(9) * 10**7, v=np.zeros(9))
    (tmp_path / "x.npz").rename(tmp_path / "arrays")
    assert open_streams(tmp_path / "table.dat").kind == "CSV"
    assert open_streams(tmp_path / "arrays").kind == "npz"


def test_nothing_there() -> None:
    for call in (open_streams, find_recordings):
        with pytest.raises(FileNotFoundError):
            call(Path("/nowhere/at/all"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"\0" * 100, "begins with zeros"),
        (b"PAR1\x15\x04\0", "is a parquet file outside a LeRobot data set"),
        (b"\x1f\x8b\x08\0\0\0", "is compressed by gzip"),
        (b"\x93NUMPY\x01\0", "is one array of NumPy"),
        (b"\x01\x02\x03\x04\xff", "begins with the bytes 01 02 03 04 ff"),
    ],
)
def test_what_nothing_reads_is_named_with_what_onbeat_reads(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=said) as caught:
        open_streams(path)
    assert "onbeat reads MCAP" in str(caught.value)


def test_archive_is_to_be_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("a.csv", TABLE)
    with pytest.raises(BadInput, match="unpack it first"):
        open_streams(tmp_path / "x.zip")


@pytest.mark.parametrize("name", ["x", "x.csv", "x.txt", "x.npz", "x.mp4"])
def test_gigabyte_of_zeros_is_one_sentence(tmp_path: Path, name: str) -> None:
    with (tmp_path / name).open("wb") as file:
        os.truncate(file.fileno(), 1 << 30)
    with pytest.raises(OnbeatError, match=name):
        gather(open_streams(tmp_path / name))


def test_folder_of_one_recording_is_that_recording(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "x.csv").write_text(TABLE)
    assert open_streams(tmp_path).path == tmp_path / "run" / "x.csv"


def test_folder_of_tables_of_one_time_is_one_recording(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(TABLE)
    assert find_recordings(tmp_path) == [tmp_path]
    with gather(open_streams(tmp_path)) as found:
        assert sorted(found.series) == ["a", "b"]


def test_folder_of_many_recordings_lists_them(tmp_path: Path) -> None:
    for k in (2, 1):
        (tmp_path / f"{k}").mkdir()
        (tmp_path / f"{k}" / "x.csv").write_text(TABLE)
        np.savez(tmp_path / f"{k}" / "x.npz", t_ns=np.arange(9) * 10**7, v=np.zeros(9))
    (tmp_path / "notes.txt").write_text("nothing\n")
    (tmp_path / ".hidden.csv").write_text(TABLE)
    expected = [tmp_path / str(k) / name for k in (1, 2) for name in ("x.csv", "x.npz")]
    assert find_recordings(tmp_path) == expected
    with pytest.raises(BadInput, match="holds 4 recordings"):
        open_streams(tmp_path)


@pytest.mark.real_data
def test_real_recording_of_ros_opens_whatever_it_is_called(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "recording.mcap"
    path.write_bytes((data_dir / "evo" / "nav2_turtlebot.mcap").read_bytes())
    expected = dict(rows_of(data_dir / "evo" / "nav2_turtlebot.mcap"))
    assert rows_of(path) == expected
    assert rows_of(tmp_path) == expected
    path.rename(tmp_path / "data.bin")
    assert rows_of(tmp_path / "data.bin") == expected


@pytest.mark.real_data
def test_real_bag_of_ros_1_opens_whatever_it_is_called(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "data"
    path.write_bytes((data_dir / "evo" / "tf_example.bag").read_bytes())
    rows = rows_of(path)
    assert rows == rows_of(data_dir / "evo" / "tf_example.bag")
    assert sum(rows.values()) > 100


def rows_of(path: Path) -> dict[str, int]:
    with gather(open_streams(path)) as found:
        assert found.damage == ""
        return {name: len(series) for name, series in found.series.items()}


def test_folder_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is an empty folder; onbeat reads MCAP"):
        open_streams(tmp_path)
    (tmp_path / "a" / "b").mkdir(parents=True)
    with pytest.raises(BadInput, match="holds nothing that onbeat reads, nor do its folders"):
        open_streams(tmp_path)


def test_folder_of_what_cannot_be_read_says_what_it_is(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(BadInput, match=r"holds nothing that onbeat reads; a\.zip is a zip archive \(unpack it first\); onbeat"):
        open_streams(tmp_path)
    (tmp_path / "b.md").write_text("# What this is\n")
    (tmp_path / "a.zip").unlink()
    (tmp_path / "c.md").write_text("# And that\n")
    with pytest.raises(BadInput, match=r"the first of 2 files, b\.md, begins with the text '# What this is'; onbeat reads MCAP"):
        open_streams(tmp_path)


@pytest.mark.real_data
def test_real_recordings_are_found(data_dir: Path) -> None:
    found = {str(path.relative_to(data_dir)) for path in find_recordings(data_dir)}
    assert {"euroc_mh01", "lerobot/g1_v21", "lerobot/so101_v3", "tum_vi/room1.csv", "rpng_plane/table_01.csv"} <= found


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "rows"), [("so101_v3", 1492), ("g1_v21", 2399)])
def test_real_data_sets_open(data_dir: Path, name: str, rows: int) -> None:
    with gather(open_streams(data_dir / "lerobot" / name)) as found:
        assert len(found.series["action"]) == rows
        assert found.damage == ""


@pytest.mark.real_data
def test_real_camera_and_vicon_unpack_to_one_recording(data_dir: Path, tmp_path: Path) -> None:
    for name in ("prime_sense_color_w_vicon_1", "robot_arm_w_color_camera_real", "tango_triplet_easy"):
        with zipfile.ZipFile(data_dir / "hand_eye" / f"{name}.zip") as archive:
            archive.extractall(tmp_path / name)
    rows = {}
    for path in find_recordings(tmp_path):
        with gather(open_streams(path)) as found:
            assert found.damage == ""
            assert {series.info.kind for series in found.series.values()} == {"pose"}
            rows[str(path.relative_to(tmp_path)).split("/")[0]] = sorted(len(s) for s in found.series.values())
    assert rows["prime_sense_color_w_vicon_1"] == [1533, 7093]
    assert rows["robot_arm_w_color_camera_real"] == [1703, 2817]
    assert len([path for path in find_recordings(tmp_path) if "tango" in str(path)]) == 3


@pytest.mark.parametrize("name", ["x.mcap", "x.bag", "x.csv", "x.npz", "x"])
def test_pipe_is_refused_and_not_waited_for(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(BadInput, match="is a pipe, and onbeat reads a recording more than once"):
        open_streams(tmp_path / name)


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom", "/dev/null"])
def test_device_is_refused(path: str) -> None:
    with pytest.raises(BadInput, match="is a device"):
        open_streams(Path(path))


def test_pipes_in_a_folder_are_passed_over(tmp_path: Path) -> None:
    for name in ("a.db3", "b.mcap", "c.csv"):
        os.mkfifo(tmp_path / name)
    with pytest.raises(BadInput, match="holds nothing that onbeat reads"):
        open_streams(tmp_path)
