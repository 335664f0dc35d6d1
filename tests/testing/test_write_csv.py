import csv
from pathlib import Path

import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.testing.recordings import STREAMS, arm_rig
from onbeat.testing.write_csv import write_csv
from tests.testing.plain import plain, plain_rows, rows_of


def test_table_has_a_row_for_each_sample_that_has_a_stamp(tmp_path: Path) -> None:
    recording = arm_rig(np.random.default_rng(0), 6.0)
    write_csv(recording, tmp_path / "rig.csv")
    with (tmp_path / "rig.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert {row["topic"] for row in table} == set(STREAMS[:5])
    for name, columns in (
        ("/imu/data", ["gyro_x", "gyro_y", "gyro_z"]),
        ("/tracker/pose", ["x", "y", "z", "qw", "qx", "qy", "qz"]),
        ("/joint_states", [f"joint_{k}" for k in range(1, 7)]),
        ("/joint_commands", [f"action_joint_{k}" for k in range(1, 7)]),
    ):
        own, rows = [row for row in table if row["topic"] == name], rows_of(recording, name)
        assert [int(row["stamp_ns"]) for row in own] == rows["stamp_ns"].tolist()
        assert [int(row["log_time_ns"]) for row in own] == rows["log_ns"].tolist()
        np.testing.assert_array_equal([[float(row[c]) for c in columns] for row in own], rows["value"])
        assert {row["seq"] for row in own} == {""}
    camera = [row for row in table if row["topic"] == STREAMS[0]]
    assert [int(row["exposure_ns"]) for row in camera] == rows_of(recording, STREAMS[0])["exposure_ns"].tolist()
    assert {row["x"] for row in camera} == {""}


def test_recording_without_stamps_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no stream with stamps"):
        write_csv(plain(plain_rows(("log_ns",))), tmp_path / "x.csv")
