from pathlib import Path

import pytest

from onbeat.errors import BadInput
from onbeat.record.joint_tables import open_joint_table, pair_columns
from onbeat.record.tables import open_table


def write(path: Path, head: str, rows: int = 4) -> Path:
    width = len(head.split(","))
    lines = [",".join(str(k / 10) if j == 0 else str(100 * j + k) for j in range(width)) for k in range(rows)]
    path.write_text("\n".join([head, *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("head", "pairs"),
    [
        ("t,action.pan.pos,observation.state.pan.pos", [("pan.pos", 1, 2)]),
        ("t,cmd_pan,meas_pan", [("pan", 1, 2)]),
        ("t,pan_cmd,lift_cmd,lift_meas,pan_meas", [("pan", 1, 4), ("lift", 2, 3)]),
        ("t,pan_command,pan_measured", [("pan", 1, 2)]),
        ("t,pan_target,pan_actual", [("pan", 1, 2)]),
        ("t,pan_desired,pan_feedback", [("pan", 1, 2)]),
        ("t,panCommand,panMeasured", [("pan", 1, 2)]),
        ("t,pan/reference,pan/state", [("pan", 1, 2)]),
        ("t,q_des_0,q_des_1,q_0,q_1", [("q_0", 1, 3), ("q_1", 2, 4)]),
        ("t,action_0,action_1,state_0,state_1", [("joint_0", 1, 3), ("joint_1", 2, 4)]),
        ("t,pan_target,pan", [("pan", 1, 2)]),
        ("t,cmd,meas", [("cmd", 1, 2)]),
        ("t,current_a,pan_cmd,pan_meas,note", [("pan", 2, 3)]),
    ],
)
def test_pairs_by_name(head: str, pairs: list[tuple[str, int, int]], tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "t.csv", head))
    found = pair_columns(table, table.columns[1:])
    assert [(name, a.index, b.index) for name, a, b in found] == pairs


def test_named_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "clock,u1,u2,y1,y2")
    recording = open_joint_table(path, time="clock", command=["u1,u2"], measured=["y*"])
    (episode,) = recording.episodes()
    assert recording.joints == ("u1", "u2")
    assert episode.command[0].tolist() == [100, 200]
    assert episode.measured[0].tolist() == [300, 400]
    assert "column 'clock', in s" in recording.timing


def test_episodes_of_an_export(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = [f"{k / 30},{e},{k},{k - 1}" for e in (3, 4) for k in range(5)]
    path.write_text("timestamp,episode_index,action.a,observation.state.a\n" + "\n".join(lines))
    recording = open_joint_table(path)
    assert [(e.index, len(e.t_ns)) for e in recording.episodes()] == [(3, 5), (4, 5)]
    assert [e.index for e in recording.episodes(4)] == [4]
    with pytest.raises(BadInput, match="has no episode 0; it has 3, 4"):
        list(recording.episodes(0))


@pytest.mark.parametrize(
    ("head", "options", "says"),
    [
        ("t,a,b", {}, "no command pairs with a measurement"),
        ("t,a_cmd,b_meas", {}, "name both with --command and --measured"),
        ("t,a,b", {"command": ["a"]}, "--command and --measured go together; name the columns of measurements too"),
        ("t,a,b,c", {"command": ["a", "b"], "measured": ["c"]}, r"--command names 2 column\(s\) and --measured 1"),
        ("t,a,b", {"command": ["z*"], "measured": ["b"]}, r"has no column like 'z\*'"),
        ("t,a,b", {"command": ["z"], "measured": ["b"]}, "has no column 'z'"),
        ("t,a_cmd,a_meas", {"time": "now"}, "has no column 'now'"),
        ("t,a_cmd,a_meas", {"unit": "h"}, "'h' is no unit"),
    ],
)
def test_what_cannot_be_told(head: str, options: dict[str, list[str]], says: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=says):
        open_joint_table(write(tmp_path / "t.csv", head), **options)  # type: ignore[arg-type]


def test_lists_in_cells_are_explained(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('timestamp,action,observation.state\n0.0,"[1, 2]","[1, 2]"\n')
    with pytest.raises(BadInput, match="holds lists in its cells; name the data set's folder"):
        open_joint_table(path)


def test_unsorted_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("t,a_cmd,a_meas\n0.0,1,1\n0.2,1,1\n0.1,1,1\n")
    with pytest.raises(BadInput, match=r"row 2 goes back by 100.000 ms; sort the rows"):
        list(open_joint_table(path).episodes())


@pytest.mark.parametrize("number", ["0.5", "1e300"])
def test_episodes_have_whole_numbers(number: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"t_s,episode,cmd_a,meas_a\n0.0,0,1,1\n0.1,{number},1,1\n")
    with pytest.raises(BadInput, match="in row 2, not the number of an episode"):
        list(open_joint_table(path).episodes())


@pytest.mark.parametrize("head", ["t,cmd_a,meas_a,actual_a", "t,cmd_a,target_a,meas_a", "t,cmd_a,meas_a,meas_a"])
def test_one_side_twice_is_asked_about(head: str, tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "t.csv", head))
    with pytest.raises(BadInput, match="may be the same side of one joint; say which with --command and --measured"):
        pair_columns(table, table.columns[1:])


def test_a_side_twice_that_pairs_with_nothing_does_no_harm(tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "t.csv", "t,cmd_a,meas_a,meas_b,actual_b"))
    assert [name for name, _, _ in pair_columns(table, table.columns[1:])] == ["a"]
