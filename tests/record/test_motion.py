from pathlib import Path

import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.record import Motion, read_motion


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_header_in_a_comment_with_units_in_parentheses(tmp_path: Path) -> None:
    motion = read_motion(
        write(tmp_path / "m.csv", "#time(ns),px,py,pz,qw\n1662915732374960384,1,2,3,1\n1662915732384960513,4,5,6,1\n")
    )
    assert motion.t_ns.tolist() == [1662915732374960384, 1662915732384960513]  # a float would round both to a multiple of 256
    assert motion.positions.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert motion.t_ns.dtype == np.int64


def test_header_with_units_in_brackets(tmp_path: Path) -> None:
    head = "#timestamp [ns], p_RS_R_x [m], p_RS_R_y [m], p_RS_R_z [m], q_RS_w []\n"
    motion = read_motion(write(tmp_path / "m.csv", head + "1520530308189679351,1,2,3,1\n1520530308198012351,1,2,4,1\n"))
    assert motion.t_ns[1] - motion.t_ns[0] == 8_333_000
    assert motion.duration_s == pytest.approx(0.008333)


def test_decimal_epoch_seconds_keep_every_digit(tmp_path: Path) -> None:
    motion = read_motion(
        write(tmp_path / "m.txt", "# timestamp tx ty tz\n1403636580.838560001 1 2 3\n1403636580.843560002 1 2 4\n")
    )
    assert motion.t_ns.tolist() == [1403636580838560001, 1403636580843560002]


def test_millimetres(tmp_path: Path) -> None:
    motion = read_motion(write(tmp_path / "m.csv", "t_s,x [mm],y [mm],z [mm]\n0.0,1,2,3\n0.1,1,2,3\n"))
    assert motion.positions[0].tolist() == pytest.approx([0.001, 0.002, 0.003])


def test_named_columns_and_a_frame_rate(tmp_path: Path) -> None:
    motion = read_motion(write(tmp_path / "m.csv", "a,b,c,d\n1,2,3,4\n5,6,7,8\n9,9,9,9\n"), fps=30, columns=["b", "3", "a"])
    assert motion.t_ns.tolist() == [0, 33_333_333, 66_666_666]
    assert motion.positions[1].tolist() == [6, 8, 5]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("t,x,y,z\n", "has a header and no rows"),
        ("t,a,b,c\n0.0,1,2,3\n", "no columns px, py, pz"),
        ("t,x,y,z\n0.0,1,2,3\n", "n >= 2"),
        ("t,x,y,z\n0.2,1,2,3\n0.1,1,2,3\n", "row 2 of the motion is 100.000 ms before"),
        ("t,x,y,z\n0.1,1,2,3\n0.2,1,nan,3\n", "'y' is nan in row 2"),
        ("t,x,y,z\n0.1,1,2,3\n0.2,1,,3\n", "'y' is empty in row 2"),
        ("t,x,y,z\n0.1,1,2,3\n0.2,1,hello,3\n", "'y' is 'hello' in row 2"),
        ("t,x,y,z\n0.1,1,2,3\n0.2,1,2\n", "row 2 has 3 columns, the header 4"),
        ("t,x,y,z\n0,1,2,3\n1,1,2,3\n", "say which with --time-unit"),
        ("frame,x,y,z\n0,1,2,3\n1,1,2,3\n", "no column that is called like a time"),
        ("t,x [rad],y [rad],z [rad]\n0.0,1,2,3\n1,1,2,3\n", "not a length"),
    ],
)
def test_broken_files_are_one_sentence(text: str, says: str, tmp_path: Path) -> None:
    path = write(tmp_path / "m.csv", text)
    with pytest.raises(BadInput, match=says) as error:
        read_motion(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_motion(tmp_path / "none.csv")


def test_a_binary_file(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_bytes(b"PAR1\0\0\0")
    with pytest.raises(BadInput, match="is not a text file"):
        read_motion(tmp_path / "m.csv")


def test_a_motion_is_a_value() -> None:
    t_ns = np.array([0, 1])
    motion = Motion(t_ns, np.zeros((2, 3)))
    t_ns[0] = 5
    assert motion.t_ns.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        motion.positions[0, 0] = 1.0


def test_arrays_of_an_npz_file(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", root_pos=[[1, 2, 3], [4, 5, 6]], fps=25)
    motion = read_motion(tmp_path / "m.npz")
    assert motion.t_ns.tolist() == [0, 40_000_000]
    assert motion.positions.tolist() == [[1, 2, 3], [4, 5, 6]]


def test_arrays_whose_times_step_back(tmp_path: Path) -> None:
    np.savez(tmp_path / "m.npz", root_pos=np.zeros((3, 3)), t_s=[0.0, 0.2, 0.1])
    with pytest.raises(BadInput, match=r"m\.npz: row 3 of the motion is 100\.000 ms before the row above"):
        read_motion(tmp_path / "m.npz")


@pytest.mark.real_data
def test_a_real_motion_of_29_bodies(data_dir: Path) -> None:
    path = data_dir / "sim2real" / "push_box_motion.npz"
    with pytest.raises(BadInput, match="neither times nor a rate"):
        read_motion(path)
    root = read_motion(path, fps=50)
    assert len(root.t_ns) == 1158
    assert root.duration_s == pytest.approx(23.14)
    assert 0.7 < root.positions[:, 2].min() < root.positions[:, 2].max() < 0.85  # a pelvis, a walking height above the floor
    other = read_motion(path, fps=50, columns=["body_pos_w[1]"])
    assert not np.array_equal(root.positions, other.positions)


def test_positions_that_nothing_on_earth_has() -> None:
    with pytest.raises(BadInput, match=r"is 1e\+300 m away; check its columns and their unit"):
        Motion(np.arange(2), np.full((2, 3), 1e300))
