import json
from pathlib import Path

import numpy as np
import pytest
from mcap.reader import make_reader
from rosbags.highlevel import AnyReader

from onbeat.errors import BadInput
from onbeat.read import StreamInfo, StreamRecording, row_dtype
from onbeat.testing.recordings import STREAMS, arm_rig, of_rows
from onbeat.testing.write_mcap import write_mcap
from tests.testing.plain import plain, plain_rows, rows_of

METADATA = "/camera/image/metadata"


def messages(path: Path, recording: StreamRecording) -> dict[str, list[tuple[int, object]]]:
    """Write, and read with another program: log time and message of each topic."""
    write_mcap(recording, path)
    found: dict[str, list[tuple[int, object]]] = {}
    with AnyReader([path]) as reader:
        for connection, log_ns, data in reader.messages():
            found.setdefault(connection.topic, []).append((log_ns, reader.deserialize(data, connection.msgtype)))
    return found


def stamps(read: list[tuple[int, object]]) -> list[int]:
    return [m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for _, m in read]  # type: ignore[attr-defined]


def test_rig_is_read_by_other_programs_with_all_that_it_has(tmp_path: Path) -> None:
    recording = arm_rig(np.random.default_rng(0), 8.0)
    read = messages(tmp_path / "rig.mcap", recording)
    assert set(read) == {*STREAMS, METADATA}
    for name in STREAMS:
        rows = rows_of(recording, name)
        assert [log_ns for log_ns, _ in read[name]] == rows["log_ns"].tolist(), name
        if "stamp_ns" in (rows.dtype.names or ()):
            assert stamps(read[name]) == rows["stamp_ns"].tolist(), name

    def all_of(name: str, value):  # type: ignore[no-untyped-def]
        return [value(message) for _, message in read[name]], rows_of(recording, name)

    got, rows = all_of("/imu/data", lambda m: (m.angular_velocity.x, m.angular_velocity.y, m.angular_velocity.z))
    np.testing.assert_array_equal(got, rows["value"])
    got, rows = all_of("/joint_commands", lambda m: m.position)
    np.testing.assert_array_equal(got, rows["value"])
    assert read["/joint_states"][0][1].name == [f"joint_{k}" for k in range(1, 7)]  # type: ignore[attr-defined]
    got, rows = all_of("/tracker/pose", lambda m: (m.pose.position.z, m.pose.orientation.w, m.pose.orientation.z))
    np.testing.assert_array_equal(got, rows["value"][:, [2, 3, 6]])
    got, rows = all_of(STREAMS[0], lambda m: int.from_bytes(m.data[:8].tobytes(), "little"))
    assert got == rows["digest"].tolist()
    assert stamps(read[METADATA]) == rows["stamp_ns"].tolist()
    told = [json.loads(m.json_data)["actual_exposure"] for _, m in read[METADATA]]  # type: ignore[attr-defined]
    assert [1000 * us for us in told] == rows["exposure_ns"].tolist()


def test_exposures_may_be_left_out(tmp_path: Path) -> None:
    write_mcap(arm_rig(np.random.default_rng(0), 8.0), tmp_path / "rig.mcap", exposure=False)
    with AnyReader([tmp_path / "rig.mcap"]) as reader:
        assert {one.topic for one in reader.connections} == set(STREAMS)


def test_streams_of_every_sort_have_a_type(tmp_path: Path) -> None:
    bare = plain_rows(("log_ns",), 2), plain_rows(("stamp_ns", "log_ns", "digest"), 0)
    infos = [StreamInfo("numbers", "numbers"), StreamInfo("photo", "image")]
    other = StreamInfo("times"), plain_rows(("stamp_ns",), 0)
    read = messages(tmp_path / "x.mcap", of_rows("x", [*zip(infos, bare, strict=True), other]))
    assert {name: type(found[0][1]).__name__.split("__")[-1] for name, found in read.items()} == {
        "numbers": "Float64MultiArray",
        "photo": "CompressedImage",
        "times": "TimeReference",
    }
    assert [log_ns for log_ns, _ in read["times"]] == stamps(read["times"])
    np.testing.assert_array_equal(read["numbers"][3][1].data, [3, 3.5])  # type: ignore[attr-defined]


def test_description_of_a_type_is_that_of_ros_2_and_images_can_be_large(tmp_path: Path) -> None:
    recording = arm_rig(np.random.default_rng(0), 6.0, STREAMS[:1])
    for size in (0, 20_000):
        write_mcap(recording, tmp_path / f"{size}.mcap", size, exposure=False)
    with (tmp_path / "0.mcap").open("rb") as file:
        summary = make_reader(file).get_summary()
        assert summary is not None
        schema = next(iter(summary.schemas.values()))
        assert (schema.encoding, b"builtin_interfaces/Time stamp" in schema.data) == ("ros2msg", True)
        frames = summary.statistics.message_count if summary.statistics else 0
    assert (tmp_path / "20000.mcap").stat().st_size > 20_000 * frames


def test_times_beyond_the_format_are_refused(tmp_path: Path) -> None:
    rows = np.zeros(2, dtype=row_dtype(("stamp_ns", "log_ns")))
    rows["stamp_ns"] = 2**62
    with pytest.raises(BadInput, match="beyond what ROS 2 can say"):
        write_mcap(plain(rows), tmp_path / "x.mcap")
