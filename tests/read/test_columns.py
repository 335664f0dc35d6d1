"""What the columns of a table are."""

from pathlib import Path

import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.read.cells import Cells, split_cells
from onbeat.read.columns import Layout, plan_columns, plan_streams
from onbeat.record.tables import TextTable, open_table


def planned(tmp_path: Path, header: str, *rows: str) -> tuple[TextTable, Layout, Cells]:
    path = tmp_path / "x.csv"
    path.write_text("\n".join([*([header] if header else []), *rows]) + "\n")
    table = open_table(path)
    head = split_cells(np.frombuffer(("\n".join(rows) + "\n").encode(), dtype=np.uint8), table.delimiter, len(table.columns))
    return table, plan_columns(table, head), head


@pytest.mark.parametrize(
    ("header", "stamp", "log"),
    [
        ("stamp_ns,log_time_ns,v", "stamp_ns", "log_time_ns"),
        ("log_time_ns,header_stamp_ns,v", "header_stamp_ns", "log_time_ns"),
        ("receive_ns,capture_ns,v", "capture_ns", "receive_ns"),
        ("host_time_ns,t_ns,v", "t_ns", "host_time_ns"),
        ("arrival_ns,timestamp_ns,v", "timestamp_ns", "arrival_ns"),
        ("%time_ns,field.header.stamp_ns,v", "field.header.stamp_ns", "%time_ns"),
        ("receive_ns,v,w", "receive_ns", None),
        ("timestamp_ns,t_ns,v", "timestamp_ns", None),
        ("robot_timestamp_ns,v,w", "robot_timestamp_ns", None),
    ],
)
def test_times_of_source_and_recorder(tmp_path: Path, header: str, stamp: str, log: str | None) -> None:
    _, layout, _ = planned(tmp_path, header, "1000000000,1000000005,1", "2000000000,2000000007,1")
    assert layout.stamp.column.name == stamp
    assert (layout.log.column.name if layout.log else None) == log


def test_counts_episodes_and_exposures(tmp_path: Path) -> None:
    _, layout, _ = planned(tmp_path, "t_ns,frame_index,episode_index,exposure_us,v", "0,0,0,500,1.5", "1,1,0,500,1.5")
    assert layout.seq is not None
    assert layout.seq.name == "frame_index"
    assert layout.segment is not None
    assert layout.segment.name == "episode_index"
    assert layout.exposure is not None
    assert layout.exposure[1] == 1000
    assert [c.name for c in layout.values] == ["v"]
    assert layout.fields == ["stamp_ns", "seq", "exposure_ns", "segment"]


def test_exposure_without_a_unit_is_a_number_like_others(tmp_path: Path) -> None:
    _, layout, _ = planned(tmp_path, "t_ns,exposure", "0,5", "1,5")
    assert layout.exposure is None
    assert [c.name for c in layout.values] == ["exposure"]


def test_seconds_and_nanoseconds_in_two_columns_are_one_instant(tmp_path: Path) -> None:
    _, layout, head = planned(tmp_path, "header.stamp.sec,header.stamp.nanosec,v", "1700000000,5,1", "1700000000,999999999,1")
    t_ns, good = layout.stamp.read(head)
    assert t_ns.tolist() == [1700000000000000005, 1700000000999999999]
    assert good.all()
    assert [c.name for c in layout.values] == ["v"]


def test_dates(tmp_path: Path) -> None:
    _, layout, head = planned(tmp_path, "timestamp,v", "2026-05-01 12:00:00.5,1", "2026-05-01 12:00:00.6,1")
    assert layout.stamp.unit == "iso"
    assert np.diff(layout.stamp.read(head)[0]).tolist() == [100_000_000]


def test_unit_is_told_by_the_rate_where_only_one_makes_sense_and_that_is_said(tmp_path: Path) -> None:
    _, layout, _ = planned(tmp_path, "stamp,v", "7000000,1", "17000000,1", "27000000,1")
    assert layout.stamp.unit == "ns"
    assert "100 Hz" in layout.notes[0]


def test_unit_that_two_rates_fit_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="its unit cannot be told; call the column 'stamp_s'"):
        planned(tmp_path, "stamp,v", "7,1", "307,1", "607,1")


def test_table_without_times_is_refused_with_its_columns(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no column of times \\(it has a, b\\)"):
        planned(tmp_path, "a,b", "1,2")


def test_columns_without_names_begin_with_the_time(tmp_path: Path) -> None:
    _, layout, _ = planned(tmp_path, "", "1700000000.1,2", "1700000000.2,2")
    assert layout.stamp.column.name == "column_0"


def test_columns_that_are_filled_in_different_rows_are_different_streams(tmp_path: Path) -> None:
    table, layout, head = planned(tmp_path, "t_ns,a/1,a/2,b/1,c", "0,1,1,,", "1,,,2,", "2,1,1,,", "3,,,2,")
    streams = plan_streams(table, layout, head, np.ones(len(head), dtype=bool))
    assert [s.names for s in streams] == [("a/1", "a/2"), ("b/1",)]
    assert "c" in layout.notes[0]


def test_times_only_are_a_stream_without_values(tmp_path: Path) -> None:
    table, layout, head = planned(tmp_path, "timestamp [ns],filename", "1700000000000000000,a.png", "1700000000100000000,b.png")
    assert [(s.kind, s.names) for s in plan_streams(table, layout, head, np.ones(2, dtype=bool))] == [("other", ())]


def test_column_of_names_is_found(tmp_path: Path) -> None:
    _, layout, _ = planned(tmp_path, "t_ns,topic,v", "0,/imu,1", "1,/odom,2")
    assert layout.topic is not None
    assert layout.topic.name == "topic"
