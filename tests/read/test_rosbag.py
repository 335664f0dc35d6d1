"""Tests of onbeat.read.rosbag: bags that rosbags wrote, whole and broken."""

import os
import sqlite3
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rosbags.rosbag1 import Writer as Writer1
from rosbags.rosbag2 import CompressionFormat, CompressionMode, StoragePlugin
from rosbags.rosbag2 import Writer as Writer2

from onbeat.errors import BadInput, Damaged
from onbeat.read import gather
from onbeat.read.rosbag import is_rosbag, open_rosbag
from onbeat.read.spool import Gathered
from tests.read.ros_build import ROS1, ROS2, START_NS, cdr, imu, imus

IMU = "sensor_msgs/msg/Imu"
MS = 1_000_000


def read(path: Path) -> Gathered:
    return gather(open_rosbag(path))


def bag1(path: Path, n: int = 100, compression: Any = None) -> Path:
    writer: Any = Writer1(path)
    if compression:
        writer.set_compression(compression)
    with writer:
        connection = writer.add_connection("/imu", IMU, typestore=ROS1)
        for k in range(n):
            t_ns = START_NS + 5 * MS * k
            message = imu(t_ns, (0.1 * k, 0.0, 0.0), ros1=True, seq=k + 1)
            writer.write(connection, t_ns + MS, ROS1.serialize_ros1(message, IMU))
    return path


def bag2(
    path: Path, n: int = 100, storage: StoragePlugin = StoragePlugin.SQLITE3, version: Literal[8, 9] = 9, packed: Any = None
) -> Path:
    writer: Any = Writer2(path, version=version, storage_plugin=storage)
    if packed:
        writer.set_compression(packed, CompressionFormat.ZSTD)
    with writer:
        connection = writer.add_connection("/imu", IMU, typestore=ROS2)
        for _, log_ns, message in imus(n):
            writer.write(connection, log_ns, cdr(message))
    return path


def check_rows(rows: Any, n: int = 100) -> None:
    np.testing.assert_array_equal(rows["stamp_ns"], START_NS + 5 * MS * np.arange(n))
    np.testing.assert_array_equal(rows["log_ns"] - rows["stamp_ns"], MS)
    np.testing.assert_array_equal(rows["value"][:, 0], 0.1 * np.arange(n))


@pytest.mark.parametrize("compression", [None, Writer1.CompressionFormat.BZ2, Writer1.CompressionFormat.LZ4])
def test_bag_of_ros_1(tmp_path: Path, compression: Any) -> None:
    path = bag1(tmp_path / "a.bag", compression=compression)
    assert is_rosbag(path)
    assert open_rosbag(path).kind == "rosbag, ROS 1"
    with read(path) as found:
        series = found.series["/imu"]
        assert (series.info.kind, series.info.type) == ("rotation", "sensor_msgs/Imu")
        check_rows(series.rows())
        np.testing.assert_array_equal(series.rows()["seq"], np.arange(1, 101))
        assert found.damage == ""


@pytest.mark.parametrize("storage", list(StoragePlugin))
def test_folder_of_ros_2(tmp_path: Path, storage: StoragePlugin) -> None:
    path = bag2(tmp_path / "bag", storage=storage)
    assert is_rosbag(path)
    with read(path) as found:
        check_rows(found.series["/imu"].rows())
        assert found.damage == ""


def test_database_of_an_old_version_without_definitions(tmp_path: Path) -> None:
    with read(bag2(tmp_path / "bag", version=8)) as found:
        check_rows(found.series["/imu"].rows())


def test_bare_database_and_a_folder_without_its_metadata(tmp_path: Path) -> None:
    folder = bag2(tmp_path / "bag")
    (folder / "metadata.yaml").unlink()
    (database,) = folder.glob("*.db3")
    for path in (folder, database):
        assert is_rosbag(path)
        with read(path) as found:
            check_rows(found.series["/imu"].rows())
    assert sorted(file.name for file in folder.iterdir()) == [database.name]


def test_messages_packed_alone(tmp_path: Path) -> None:
    with read(bag2(tmp_path / "bag", packed=CompressionMode.MESSAGE)) as found:
        check_rows(found.series["/imu"].rows())


def test_file_packed_as_a_whole_is_refused_with_the_fix(tmp_path: Path) -> None:
    path = bag2(tmp_path / "bag", packed=CompressionMode.FILE)
    with pytest.raises(BadInput, match="zstd -d"):
        open_rosbag(path)


def test_folder_that_misses_a_file_says_so_after_the_others(tmp_path: Path) -> None:
    path = bag2(tmp_path / "bag")
    metadata = path / "metadata.yaml"
    text = metadata.read_text()
    metadata.write_text(text.replace("- bag.db3", "- bag.db3\n  - bag_1.db3", 1))
    with read(path) as found:
        check_rows(found.series["/imu"].rows())
        assert found.damage == f"{path} lists bag_1.db3, which is not there; copy it beside metadata.yaml"


def test_what_is_no_bag(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "folder").mkdir()
    assert not is_rosbag(tmp_path / "a.txt")
    assert not is_rosbag(tmp_path / "folder")
    with pytest.raises(BadInput, match="holds neither"):
        open_rosbag(tmp_path / "folder")


@pytest.mark.parametrize("name", ["a.bag", "a.db3"])
@pytest.mark.parametrize(
    ("content", "sentence"), [(b"", "is empty"), (bytes(64_000_000), "begins with"), (b"text", "begins with")]
)
def test_file_that_is_none_is_refused(tmp_path: Path, name: str, content: bytes, sentence: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert is_rosbag(path)
    with pytest.raises(BadInput, match=sentence):
        open_rosbag(path)


def test_bag_that_ends_early_gives_its_rows(tmp_path: Path) -> None:
    path = bag1(tmp_path / "a.bag", 5000)
    path.write_bytes(path.read_bytes()[:-300_000])
    with read(path) as found:
        assert len(found.series["/imu"]) > 1000
        assert "ends early at byte" in found.damage
        assert "rosbag reindex" in found.damage


def test_database_that_ends_early_gives_its_rows(tmp_path: Path) -> None:
    (path,) = bag2(tmp_path / "bag", 2000).glob("*.db3")
    path.write_bytes(path.read_bytes()[:400_000])
    with suppress(Damaged), read(path) as found:
        assert "messages up to log time" in found.damage
        assert len(found.series["/imu"]) > 0


def test_row_that_is_no_message_is_damage(tmp_path: Path) -> None:
    (path,) = bag2(tmp_path / "bag", 20).glob("*.db3")
    with closing(sqlite3.connect(path)) as base:
        base.execute("UPDATE messages SET timestamp = 'never' WHERE id = 11")
        base.commit()
    with read(path) as found:
        check_rows(found.series["/imu"].rows(), 10)
        assert "10 messages up to log time" in found.damage


@cache
def small(kind: str) -> bytes:
    with TemporaryDirectory() as folder:
        path = bag1(Path(folder) / "a.bag", 20) if kind == "bag" else next(bag2(Path(folder) / "bag", 20).glob("*.db3"))
        return path.read_bytes()


@settings(max_examples=40)
@given(st.data())
def test_no_truncation_and_no_changed_byte_ends_in_a_traceback(data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        kind = data.draw(st.sampled_from(["bag", "db3"]))
        path = Path(folder) / f"a.{kind}"
        content = bytearray(small(kind))
        if data.draw(st.booleans()):
            del content[data.draw(st.integers(20, len(content) - 1)) :]
        for _ in range(data.draw(st.integers(0, 3))):
            content[data.draw(st.integers(16, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(bytes(content))
        with suppress(BadInput), read(path) as found:
            assert all(len(one) for one in found.series.values())


@pytest.mark.real_data
def test_tf_example(data_dir: Path) -> None:
    with read(data_dir / "evo" / "tf_example.bag") as found:
        assert {name: len(one) for name, one in found.series.items()} == {"/tf_static": 1, "/tf base_footprint": 517}
        assert found.series["/tf base_footprint"].rows(0, 1)["stamp_ns"][0] == 1_714_741_164_177_519_307


def test_database_whose_messages_are_a_query_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.db3"
    with closing(sqlite3.connect(path)) as base:
        base.execute("CREATE TABLE topics (id, name, type, serialization_format)")
        base.execute("CREATE VIEW messages AS WITH RECURSIVE r(id) AS (SELECT 1 UNION ALL SELECT id+1 FROM r) SELECT id FROM r")
        base.commit()
    with pytest.raises(Damaged, match="it has no table of messages"):
        read(path)


def test_metadata_that_multiplies_itself_or_is_a_pipe_is_not_followed(tmp_path: Path) -> None:
    folder = bag2(tmp_path / "bag")
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    lines += ["rosbag2_bagfile_information:", "  compression_mode: *i", "  relative_file_paths: [*i]"]
    (folder / "metadata.yaml").write_text("\n".join(lines))
    with read(folder) as found:
        check_rows(found.series["/imu"].rows())
    (folder / "metadata.yaml").unlink()
    os.mkfifo(folder / "metadata.yaml")
    with read(folder) as found:
        check_rows(found.series["/imu"].rows())
