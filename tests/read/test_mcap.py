"""Tests of onbeat.read.mcap: files that the libraries of others wrote, whole and broken."""

import json
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.writer import CompressionType

from onbeat.capture import Stamp
from onbeat.errors import BadInput, Damaged
from onbeat.read import gather
from onbeat.read.mcap import is_mcap, open_mcap
from onbeat.read.spool import Gathered
from onbeat.record import Recorder
from tests.read.ros_build import (
    ROS2,
    START_NS,
    cdr,
    definition,
    image,
    imu,
    imus,
    joint_state,
    ros2_mcap,
    transforms,
    write_mcap,
    xyz,
)

MS = 1_000_000


def read(path: Path) -> Gathered:
    return gather(open_mcap(path))


def test_imu_of_ros_2_has_the_times_and_rates_it_was_written_with(tmp_path: Path) -> None:
    path = ros2_mcap(tmp_path / "a.mcap", imus(5000))
    assert open_mcap(path).kind == "MCAP, ROS 2"
    with read(path) as found:
        series = found.series["/imu"]
        rows = series.rows()
        assert (series.info.kind, series.info.type, series.info.columns) == ("rotation", "sensor_msgs/msg/Imu", ("x", "y", "z"))
        assert rows.dtype.names == ("stamp_ns", "log_ns", "digest", "value")
        np.testing.assert_array_equal(rows["stamp_ns"], START_NS + np.arange(5000) * 5 * MS)
        np.testing.assert_array_equal(rows["log_ns"] - rows["stamp_ns"], MS)
        np.testing.assert_array_equal(rows["value"][:, 0], 0.1 * np.arange(5000))
        assert found.damage == ""


def test_digest_ignores_the_stamp_and_sees_the_content(tmp_path: Path) -> None:
    same = [("/imu", START_NS + k, imu(START_NS + k, (1.0, 2.0, 3.0 if k < 2 else 4.0))) for k in range(3)]
    with read(ros2_mcap(tmp_path / "a.mcap", same)) as found:
        digests = found.series["/imu"].rows()["digest"]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("compression", list(CompressionType))
def test_every_compression_gives_the_same_rows(tmp_path: Path, compression: CompressionType) -> None:
    with read(ros2_mcap(tmp_path / "a.mcap", imus(100), compression=compression)) as found:
        assert len(found.series["/imu"]) == 100


def test_file_without_chunks(tmp_path: Path) -> None:
    with read(ros2_mcap(tmp_path / "a.mcap", imus(100), use_chunking=False)) as found:
        assert len(found.series["/imu"]) == 100


def test_big_endian_message(tmp_path: Path) -> None:
    data = cdr(imu(START_NS, (1.0, 2.0, 3.0)), little_endian=False)
    path = write_mcap(
        tmp_path / "a.mcap", [("/imu", "cdr", "sensor_msgs/msg/Imu", definition("sensor_msgs/msg/Imu"), START_NS, data)]
    )
    with read(path) as found:
        (row,) = found.series["/imu"].rows()
    assert row["stamp_ns"] == START_NS
    assert row["value"].tolist() == [1.0, 2.0, 3.0]


def test_each_child_frame_is_a_stream_but_static_ones_are_one(tmp_path: Path) -> None:
    messages = [("/tf", START_NS, transforms(START_NS, "a", "b")), ("/tf_static", START_NS, transforms(START_NS, "c", "d"))]
    with read(ros2_mcap(tmp_path / "a.mcap", messages)) as found:
        assert {name: one.info.kind for name, one in found.series.items()} == {
            "/tf a": "pose",
            "/tf b": "pose",
            "/tf_static": "other",
        }
        assert found.series["/tf a"].rows()["value"].tolist() == [[1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0]]


def test_two_arms_that_share_a_topic_are_two_streams(tmp_path: Path) -> None:
    arms = [(("left1", "left2"), (0.1, 0.2)), (("right1", "right2"), (0.3, 0.4))]
    messages = [("/joint_states", START_NS + k, joint_state(START_NS + k, *arms[k % 2])) for k in range(10)]
    with read(ros2_mcap(tmp_path / "a.mcap", messages)) as found:
        assert {name: (one.info.columns, len(one)) for name, one in found.series.items()} == {
            "/joint_states": (("left1", "left2"), 5),
            "/joint_states right1": (("right1", "right2"), 5),
        }


def test_joint_state_sent_to_a_topic_of_commands_is_an_action(tmp_path: Path) -> None:
    messages = [("/arm/command", START_NS, joint_state(START_NS, ("a",), (0.5,)))]
    with read(ros2_mcap(tmp_path / "a.mcap", messages)) as found:
        assert found.series["/arm/command"].info.kind == "action"


def test_stamps_that_are_all_zero_are_no_stamps(tmp_path: Path) -> None:
    messages = [("/imu", START_NS + k, imu(0, (0.0, 0.0, 0.0))) for k in range(3)]
    with read(ros2_mcap(tmp_path / "a.mcap", messages)) as found:
        assert found.series["/imu"].dtype.names == ("log_ns", "digest", "value")
        assert "all 0" in found.series["/imu"].info.note


def test_one_zero_among_good_stamps_is_kept(tmp_path: Path) -> None:
    messages = [("/imu", START_NS + k, imu(START_NS * (k != 1), (0.0, 0.0, 0.0))) for k in range(3)]
    with read(ros2_mcap(tmp_path / "a.mcap", messages)) as found:
        assert found.series["/imu"].rows()["stamp_ns"].tolist() == [START_NS, 0, START_NS]


def test_message_without_header_has_log_times_only(tmp_path: Path) -> None:
    message = ROS2.types["geometry_msgs/msg/Twist"](linear=xyz(0.5, 0, 0), angular=xyz(0, 0, 0.1))
    with read(ros2_mcap(tmp_path / "a.mcap", [("/cmd_vel", START_NS, message)])) as found:
        assert found.series["/cmd_vel"].dtype.names == ("log_ns", "value")
        assert found.series["/cmd_vel"].rows()["value"].tolist() == [[0.5, 0, 0, 0, 0, 0.1]]


def test_unknown_encoding_has_log_times_and_a_note(tmp_path: Path) -> None:
    path = write_mcap(tmp_path / "a.mcap", [("/x", "cbor", "", b"", START_NS, b"\xa0")] * 3)
    with read(path) as found:
        assert found.series["/x"].rows()["log_ns"].tolist() == [START_NS] * 3
        assert found.series["/x"].info.note == "its messages are encoded as 'cbor': only their log times are known"


def test_type_that_the_file_defines_badly_keeps_its_log_times(tmp_path: Path) -> None:
    path = write_mcap(tmp_path / "a.mcap", [("/x", "cdr", "my/msg/Thing", b"no definition {{{", START_NS, b"\0\1\0\0")])
    with read(path) as found:
        assert found.series["/x"].dtype.names == ("log_ns",)
        assert "my/msg/Thing" in found.series["/x"].info.note


def test_type_defined_in_idl(tmp_path: Path) -> None:
    idl = b"""module my { module msg { struct Range { builtin_interfaces::msg::Time stamp; double distance; }; }; };"""
    data = b"\0\1\0\0" + (7).to_bytes(4, "little") + (8).to_bytes(4, "little") + np.array([1.5]).tobytes()
    path = write_mcap(tmp_path / "a.mcap", [("/r", "cdr", "my/msg/Range", idl, START_NS, data)], idl=True)
    with read(path) as found:
        (row,) = found.series["/r"].rows()
    assert (row["stamp_ns"], row["value"].tolist()) == (7_000_000_008, [1.5])


def json_rows(*objects: Any, type_name: str = "") -> Iterator[tuple[str, str, str, bytes, int, bytes]]:
    for k, one in enumerate(objects):
        yield "/j", "json", type_name, b"{}", START_NS + k, json.dumps(one).encode()


@pytest.mark.parametrize(
    "stamp",
    [
        {"header": {"stamp": {"sec": 1_700_000_000, "nanosec": 5}}},
        {"header": {"stamp": {"sec": 1_700_000_000, "nsec": 5}}},
        {"timestamp": {"sec": 1_700_000_000, "nsec": 5}},
        {"stamp_ns": START_NS + 5},
        {"t_ns": START_NS + 5},
        {"capture_ns": START_NS + 5},
        {"timestamp": START_NS + 5},
    ],
)
def test_stamp_of_a_json_object(tmp_path: Path, stamp: dict[str, Any]) -> None:
    with read(write_mcap(tmp_path / "a.mcap", json_rows({**stamp, "x": 2.5}))) as found:
        (row,) = found.series["/j"].rows()
    assert (row["stamp_ns"], row["value"].tolist()) == (START_NS + 5, [2.5])


def test_json_that_is_none_has_log_times_only(tmp_path: Path) -> None:
    with read(write_mcap(tmp_path / "a.mcap", json_rows([1, 2], None, "text"))) as found:
        assert found.series["/j"].dtype.names == ("log_ns",)


def test_recording_of_onbeat_gives_its_readings(tmp_path: Path) -> None:
    path = tmp_path / "run.mcap"
    with Recorder(path, "test", threaded=False) as recorder:
        for k in range(3):
            recorder.add_sample("arm", Stamp(k * MS, k * MS + 7, 1, 0, k, "test"), np.array([0.5, k]))
    assert open_mcap(path).onbeat
    with read(path) as found:
        rows = found.series["readings/arm"].rows()
    assert rows["stamp_ns"].tolist() == [0, MS, 2 * MS]
    assert rows["log_ns"].tolist() == [7, MS + 7, 2 * MS + 7]
    assert rows["seq"].tolist() == [0, 1, 2]
    assert rows["value"].tolist() == [[0.5, 0.0], [0.5, 1.0], [0.5, 2.0]]


def test_pictures_are_thinned_to_neighbours(tmp_path: Path) -> None:
    messages = [("/camera", START_NS + k, image(START_NS + k, np.full((4, 6), k, dtype=np.uint8))) for k in range(20)]
    recording = open_mcap(ros2_mcap(tmp_path / "a.mcap", messages))
    assert recording.frames is not None
    frames = list(recording.frames("/camera", 10))
    assert [frame.row for frame in frames] == list(range(5, 15))
    assert [int(frame.gray[0, 0]) for frame in frames] == list(range(5, 15))
    assert list(recording.frames("/nothing", 10)) == []


# Files that are not what they should be


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "is empty"), (bytes(64_000_000), "is not an MCAP file"), (b"#!/bin/sh\n", "is not an MCAP file")],
)
def test_file_that_is_no_mcap_is_refused(tmp_path: Path, content: bytes, sentence: str) -> None:
    path = tmp_path / "a.mcap"
    path.write_bytes(content)
    assert is_mcap(path)
    with pytest.raises(BadInput, match=sentence):
        open_mcap(path)


def test_zeros_after_the_magic_are_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.mcap"
    path.write_bytes(b"\x89MCAP0\r\n" + bytes(64_000_000))
    tracemalloc.start()
    with pytest.raises(Damaged, match="a zero, at byte 8 of 64000008; none of its messages could be read"):
        read(path)
    assert tracemalloc.get_traced_memory()[1] < 2_000_000
    tracemalloc.stop()


def test_file_that_ends_early_gives_its_rows_and_says_where(tmp_path: Path) -> None:
    path = ros2_mcap(tmp_path / "a.mcap", imus(1000), compression=CompressionType.NONE)
    path.write_bytes(path.read_bytes()[:200_000])
    with read(path) as found:
        assert 400 < len(found.series["/imu"]) < 1000
        n = len(found.series["/imu"])
        assert f"{path} ends early at byte" in found.damage
        assert f"{n} messages of 1 channels up to log time 170000000" in found.damage
        assert "mcap recover" in found.damage


def test_byte_that_changed_is_found_by_its_checksum(tmp_path: Path) -> None:
    path = ros2_mcap(tmp_path / "a.mcap", imus(1000), compression=CompressionType.NONE)
    content = bytearray(path.read_bytes())
    content[150_000] ^= 1
    path.write_bytes(bytes(content))
    with read(path) as found:
        assert "checksum" in found.damage
        assert "bytes from there on were passed over, after log time" in found.damage
        assert 980 < len(found.series["/imu"]) < 1000


@cache
def small(compression: CompressionType) -> bytes:
    with TemporaryDirectory() as folder:
        messages = [*imus(40), ("/joint_states", START_NS, joint_state(START_NS, ("a", "b"), (0.5, 1.0)))]
        return ros2_mcap(Path(folder) / "a.mcap", messages, compression=compression).read_bytes()


@settings(max_examples=60)
@given(st.data())
def test_no_truncation_and_no_changed_byte_ends_in_a_traceback(data: st.DataObject) -> None:
    content = bytearray(small(data.draw(st.sampled_from(list(CompressionType)))))
    if data.draw(st.booleans()):
        del content[data.draw(st.integers(9, len(content) - 1)) :]
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(8, len(content) - 1))] = data.draw(st.integers(0, 255))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "a.mcap"
        path.write_bytes(bytes(content))
        with suppress(BadInput), read(path) as found:
            assert all(len(one) for one in found.series.values())


@pytest.mark.real_data
def test_nav2_has_simulated_stamps_and_wall_log_times(data_dir: Path) -> None:
    with read(data_dir / "evo" / "nav2_turtlebot.mcap") as found:
        assert {name: len(one) for name, one in found.series.items()} == {
            "/odom": 2639,
            "/tf base_link": 2639,
            "/tf odom": 921,
            "/tf left_wheel": 1862,
            "/tf right_wheel": 1862,
            "/tf_static": 1,
            "/amcl_pose": 135,
        }
        row = found.series["/odom"].rows(0, 1)
        assert row["stamp_ns"][0] == 928_800_000_000
        assert row["log_ns"][0] == 1_778_234_353_382_747_000
