"""What columns of values mean, by their names."""

from pathlib import Path

import numpy as np
import pytest

from onbeat.read.vectors import Values, flat_name, group_values
from onbeat.record.tables import open_table


def grouped(tmp_path: Path, header: str, row: list[float] | None = None) -> list[Values]:
    width = header.count(",") + 1
    row = row or [0.5] * width
    path = tmp_path / "x.csv"
    path.write_text(header + "\n" + ",".join(map(str, row)) + "\n")
    table = open_table(path)
    return group_values(table, table.columns[1:], np.array([row[1:]]))


@pytest.mark.parametrize(
    ("header", "kinds"),
    [
        ("t,gyro_x,gyro_y,gyro_z", {"gyro": "rotation"}),
        ("t,GyroX,GyroY,GyroZ", {"gyro": "rotation"}),
        ("t,wx,wy,wz,ax,ay,az", {"gyro": "rotation"}),
        ("t,w_RS_S_x [rad s^-1],w_RS_S_y [rad s^-1],w_RS_S_z [rad s^-1]", {"gyro": "rotation"}),
        ("t,imu.angular_velocity.x,imu.angular_velocity.y,imu.angular_velocity.z", {"imu": "rotation"}),
        ("t,p_RS_R_x [m],p_RS_R_y [m],p_RS_R_z [m],q_RS_w [],q_RS_x [],q_RS_y [],q_RS_z []", {"pose": "pose"}),
        ("t,tx,ty,tz,qx,qy,qz,qw", {"pose": "pose"}),
        ("t,x,y,z,qw,qx,qy,qz", {"pose": "pose"}),
        ("t,left_px,left_py,left_pz,left_qw,left_qx,left_qy,left_qz,px,py,pz,qw,qx,qy,qz", {"left": "pose", "pose": "pose"}),
        ("t,q_1_cmd,q_2_cmd,q_1,q_2", {"action": "action", "joints": "joints"}),
        ("t,joint_1,joint_2", {"numbers": "joints"}),
        ("t,cmd_1,cmd_2", {"numbers": "action"}),
        ("t,ax,ay,az", {"numbers": "numbers"}),
        ("t,px,py,pz", {"numbers": "numbers"}),
        ("t,bwx,bwy,bwz", {"numbers": "numbers"}),
        ("t,gyro_x,gyro_y", {"numbers": "numbers"}),
        ("t,px [furlong],py [furlong],pz [furlong],qw,qx,qy,qz", {"numbers": "numbers"}),
    ],
)
def test_names_tell_what_columns_are(tmp_path: Path, header: str, kinds: dict[str, str]) -> None:
    assert {v.name: v.kind for v in grouped(tmp_path, header)} == kinds


def test_pose_is_metres_and_its_quaternion_begins_with_w(tmp_path: Path) -> None:
    (pose,) = grouped(tmp_path, "t,pos_x [mm],pos_y [mm],pos_z [mm],quat_x,quat_y,quat_z,quat_w")
    assert pose.indices == (1, 2, 3, 7, 4, 5, 6)
    assert pose.scales == (0.001, 0.001, 0.001, 1.0, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("names", ["gyro_x [deg/s],gyro_y [deg/s],gyro_z [deg/s]", "gyro_x_dps,gyro_y_dps,gyro_z_dps"])
def test_degrees_become_radians(tmp_path: Path, names: str) -> None:
    (gyro,) = grouped(tmp_path, f"t,{names}")
    assert gyro.scales == pytest.approx([np.pi / 180] * 3)


def test_other_columns_of_the_same_rows_are_named(tmp_path: Path) -> None:
    (gyro,) = grouped(tmp_path, "t,gyro_x,gyro_y,gyro_z,temperature")
    assert "temperature" in gyro.note


@pytest.mark.parametrize(("last", "kind"), [(0.5, "pose"), (0.9, "numbers")])
def test_eight_columns_without_names_are_a_pose_when_they_end_in_a_unit_quaternion(
    tmp_path: Path, last: float, kind: str
) -> None:
    path = tmp_path / "x.txt"
    row = [1.0, 1.0, 2.0, 3.0, 0.5, 0.5, 0.5, last]
    path.write_text(" ".join(map(str, row)) + "\n")
    table = open_table(path)
    assert [v.kind for v in group_values(table, table.columns[1:], np.array([row[1:]]))] == [kind]


@pytest.mark.parametrize(
    ("name", "flat"),
    [("/imu/header.stamp", "imu_header_stamp"), ("GyroX", "gyro_x"), ("%time", "time"), ("field.header.seq", "header_seq")],
)
def test_names_are_written_flat(name: str, flat: str) -> None:
    assert flat_name(name) == flat
