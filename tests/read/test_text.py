"""Tables of text as streams: exact times, sparse rows, many streams in one file, and what a broken file still gives."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from onbeat.errors import BadInput, Damaged
from onbeat.read.spool import Gathered, gather
from onbeat.read.text import is_text, open_text


@pytest.fixture
def read(tmp_path: Path) -> Callable[[str | bytes], Gathered]:
    def write(content: str | bytes) -> Gathered:
        path = tmp_path / "x.csv"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return gather(open_text(path))

    return write


Read = Callable[[str | bytes], Gathered]


def imu(n: int, first_ns: int = 1_700_000_000_000_000_001) -> list[str]:
    return [f"{first_ns + 5_000_000 * k},{k}.5,0.25,-1e-3" for k in range(n)]


HEADER = "timestamp_ns,gyro_x,gyro_y,gyro_z"


def test_times_and_values_of_a_table(read: Read) -> None:
    with read("\n".join([HEADER, *imu(3)]) + "\n") as found:
        (series,) = found.series.values()
        assert (series.info.name, series.info.kind, series.info.columns) == ("x", "rotation", ("gyro_x", "gyro_y", "gyro_z"))
        assert series.rows()["stamp_ns"].tolist() == [1_700_000_000_000_000_001 + 5_000_000 * k for k in range(3)]
        assert series.rows()["value"].tolist() == [[k + 0.5, 0.25, -0.001] for k in range(3)]
        assert found.damage == ""


def test_last_line_needs_no_end(read: Read) -> None:
    with read("\n".join([HEADER, *imu(3)])) as found:
        assert (len(found.series["x"]), found.damage) == (3, "")


def test_commands_and_measurements_are_two_streams_that_delay_can_open(read: Read) -> None:
    rows = [f"{k}.5,{k},{k},{k}.25,0" for k in range(10)]
    with read("\n".join(["t_ms,a_cmd,b_cmd,a_meas,b_meas", *rows]) + "\n") as found:
        assert {name: s.info.kind for name, s in found.series.items()} == {"action": "action", "joints": "joints"}
        assert found.series["joints"].rows()["value"][:, 0].tolist() == [k + 0.25 for k in range(10)]
        assert found.recording.joints is not None
        (episode,) = found.recording.joints().episodes()
        assert episode.t_ns.tolist() == found.series["action"].rows()["stamp_ns"].tolist()


def test_episodes_are_segments_and_each_may_begin_anew(read: Read) -> None:
    rows = [f"{e},{k},{k * 1000 + 5},1" for e in (0, 1) for k in range(50)]
    with read("\n".join(["episode_index,frame_index,t_us,v", *rows]) + "\n") as found:
        series = found.series["x"].rows()
        assert found.damage == ""
        assert series["segment"].tolist() == [0] * 50 + [1] * 50
        assert series["seq"].tolist() == list(range(50)) * 2


def test_column_of_names_makes_a_stream_of_each(read: Read) -> None:
    rows = [
        line
        for k in range(40)
        for line in (
            f"{k * 10_000_000},imu,{k},0.1,0.2,0.3,",
            f"{k * 10_000_000 + 7},cam,,,,,{k * 2}",
            f"{k * 10_000_000 + 9},tick,,,,,",
        )
    ]
    with read("\n".join(["log_time_ns,topic,seq,wx,wy,wz,count_lost", *rows]) + "\n") as found:
        assert {n: (s.info.kind, len(s)) for n, s in found.series.items()} == {
            "imu": ("rotation", 40),
            "cam": ("numbers", 40),
            "tick": ("other", 40),
        }
        assert "seq" in (found.series["imu"].dtype.names or ())
        assert "seq" not in (found.series["cam"].dtype.names or ())


def test_empty_cells_were_not_recorded_and_are_no_damage(read: Read) -> None:
    rows = [f"{k * 1_000_000},{k},{'' if k % 10 else k}" for k in range(100)]
    with read("\n".join(["t_ns,fast,slow", *rows]) + "\n") as found:
        assert found.damage == ""
        assert {n: len(s) for n, s in found.series.items()} == {"fast": 100, "slow": 10}


def test_long_table_is_read_in_blocks(read: Read) -> None:
    rows = imu(60_000)
    with read("\n".join([HEADER, *rows]) + "\n") as found:
        stamps = found.series["x"].rows()["stamp_ns"]
        assert len(stamps) == 60_000
        assert (np.diff(stamps) == 5_000_000).all()


def test_mark_of_byte_order_and_line_ends_of_windows(read: Read) -> None:
    with read(b"\xef\xbb\xbf" + "\r\n".join([HEADER, *imu(3), ""]).encode()) as found:
        assert (len(found.series["x"]), found.damage) == (3, "")


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("nan", "'gyro_y' is nan"),
        ("-inf", "'gyro_y' is -inf"),
        ("0.2x", "'gyro_y' is '0.2x', not a number,"),
        ("\x00\xff", "'gyro_y' is"),
    ],
)
def test_cell_that_is_no_number_costs_its_row_and_is_named_with_its_byte(read: Read, cell: str, said: str) -> None:
    rows = imu(1000)
    head = "\n".join([HEADER, *rows[:16]]) + "\n"
    rows[16] = rows[16].replace("0.25", cell)
    rows[20] = rows[20].replace("0.25", "nan")
    with read("\n".join([HEADER, *rows]) + "\n") as found:
        assert len(found.series["x"]) == 998
        byte = len(head) + rows[16].index(cell)
        assert f"{said} " in found.damage or said in found.damage
        assert f"in row 17 (byte {byte}), and 1 more like it; the other 998 rows were read" in found.damage


@pytest.mark.parametrize("cell", ["nan", "", "soon", "99999999999999999999"])
def test_time_that_is_none_costs_its_row(read: Read, cell: str) -> None:
    rows = imu(100)
    rows[50] = cell + rows[50][rows[50].index(",") :]
    with read("\n".join([HEADER, *rows]) + "\n") as found:
        assert len(found.series["x"]) == 99
        assert "'timestamp_ns' is" in found.damage
        assert "row 51 (byte" in found.damage


def test_last_line_that_was_cut(read: Read) -> None:
    text = "\n".join([HEADER, *imu(100)])
    with read(text[:-12]) as found:
        assert len(found.series["x"]) == 99
        byte = text.rindex("\n") + 1
        assert f"it ends in the middle of row 100 (byte {byte}), which has 2 of 4 columns" in found.damage
        assert "the other 99 rows were read" in found.damage


def test_row_with_too_few_columns(read: Read) -> None:
    rows = imu(100)
    rows[10] = "1,2"
    with read("\n".join([HEADER, *rows]) + "\n") as found:
        assert "row 11 (byte" in found.damage
        assert "has 2 columns, not 4" in found.damage
        assert len(found.series["x"]) == 99


def test_binary_in_the_middle_leaves_what_is_around_it(read: Read) -> None:
    rows = imu(100)
    text = ("\n".join([HEADER, *rows[:60]]) + "\n").encode() + bytes(range(256)) * 4 + b"\n" + "\n".join(rows[60:]).encode()
    with read(text) as found:
        assert len(found.series["x"]) == 100
        assert "row 61 (byte" in found.damage


def test_rows_out_of_order_end_the_reading(read: Read) -> None:
    rows = imu(1000)
    rows[700], rows[701] = rows[701], rows[700]
    byte = len("\n".join([HEADER, *rows[:701]])) + 1
    with read("\n".join([HEADER, *rows]) + "\n") as found:
        assert len(found.series["x"]) == 701
        assert f"row 702 (byte {byte}) is 5.000 ms before the row above it" in found.damage
        assert "sort the rows by time" in found.damage


def test_stamps_out_of_order_beside_log_times_in_order_are_for_a_check_to_name(read: Read) -> None:
    rows = [f"{k * 1_000_000},{(k ^ 1) * 1_000_000},{k}" for k in range(100)]
    with read("\n".join(["log_time_ns,stamp_ns,v", *rows]) + "\n") as found:
        assert found.damage == ""


def test_clock_that_was_set_back_is_for_a_check_to_name(read: Read) -> None:
    with read("\n".join([HEADER, *imu(500), *imu(500, 1_700_000_000_000_000_001 + 5_000_000 * 490)]) + "\n") as found:
        assert found.damage == ""
        assert len(found.series["x"]) == 1000


def test_table_of_which_nothing_can_be_read(read: Read) -> None:
    with pytest.raises(Damaged, match="and 1 more like it; the other 0 rows were read"):
        read(HEADER + "\n1,nan,1,1\n2,1,nan,1\n")


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "is empty"), (b"t,v\n", "no rows"), (b"\0" * 100, "not a text file"), (b"a,b\n1,2\n", "no column of times")],
)
def test_file_that_is_no_table(read: Read, content: bytes, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        read(content)


def test_line_without_an_end_needs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("\n".join([HEADER, *imu(200)]) + "\n")
    os.truncate(path, 1 << 30)
    with gather(open_text(path)) as found:
        assert len(found.series["x"]) == 200
        assert "row 201 (byte" in found.damage
        assert "does not end within" in found.damage


def test_text_is_told_from_binary(tmp_path: Path) -> None:
    for content, text in ((b"a,b\n", True), (b"", False), (b"\0\0", False), (bytes(range(1, 32)) * 10, False)):
        (tmp_path / "x").write_bytes(content)
        assert is_text(tmp_path / "x") is text


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "kind", "rows", "first_ns", "last_ns"),
    [
        ("euroc_mh01/imu0.csv", "rotation", 24000, 1403636579758560000, 1403636699753560000),
        ("euroc_mh01/groundtruth.txt", "pose", 24000, 1403636580838560000, 1403636700833560000),
        ("tum_vi/room1.csv", "pose", 7200, 1520530308189679351, 1520530369039679351),
        ("tum_vi/room3.csv", "pose", 7200, 1520530962744806490, 1520531028894806490),
        ("tum_vi/room6.csv", "pose", 7200, 1520621015527175707, 1520621079060508707),
        ("rpng_plane/table_01.csv", "pose", 8156, 1662915732374960384, 1662915813924882688),
        ("evo/freiburg1_xyz-groundtruth.txt", "pose", 3000, 1305031098665900000, 1305031128755500000),
        ("evo/freiburg1_xyz-rgbdslam.txt", "pose", 788, 1305031102160407000, 1305031128722976000),
    ],
)
def test_real_tables(data_dir: Path, name: str, kind: str, rows: int, first_ns: int, last_ns: int) -> None:
    with gather(open_text(data_dir / name)) as found:
        assert found.damage == ""
        (series,) = found.series.values()
        assert (series.info.name, series.info.kind, len(series)) == (Path(name).stem, kind, rows)
        stamps = series.rows()["stamp_ns"]
        assert (int(stamps[0]), int(stamps[-1])) == (first_ns, last_ns)
        if kind == "pose":
            assert np.linalg.norm(series.rows()["value"][:, 3:], axis=1) == pytest.approx(1, abs=1e-3)
