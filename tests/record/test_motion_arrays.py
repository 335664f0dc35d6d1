from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.record.motion_arrays import motion_instants, motion_positions
from onbeat.record.npz import ArrayFile, open_arrays

BODIES = np.arange(2 * 4 * 3, dtype=np.float64).reshape(2, 4, 3)


def saved(tmp_path: Path, **arrays: Any) -> ArrayFile:
    np.savez(tmp_path / "m.npz", **arrays)
    return open_arrays(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("arrays", "expected"),
    [
        ({"body_pos_w": BODIES, "root_pos": BODIES[:, 3]}, BODIES[:, 3]),
        ({"body_lin_vel_w": -BODIES, "body_pos_w": BODIES}, BODIES[:, 0]),
        ({"Root_Pos": BODIES[:, 2], "other": BODIES[:, 1]}, BODIES[:, 2]),
        ({"px": np.array([1, 2]), "py": np.array([3, 4]), "pz": np.array([5, 6])}, [[1, 3, 5], [2, 4, 6]]),
        ({"hand": BODIES[:, 1], "joint_pos": np.zeros((2, 7))}, BODIES[:, 1]),
    ],
)
def test_chosen_by_itself(arrays: dict[str, Any], expected: Any, tmp_path: Path) -> None:
    assert motion_positions(saved(tmp_path, **arrays), None).tolist() == np.asarray(expected).tolist()


def test_two_that_could_be_meant_are_listed(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no array that is clearly a position; it holds left 2x3, right 2x3; name one.*--columns"):
        motion_positions(saved(tmp_path, left=BODIES[:, 0], right=BODIES[:, 1]), None)


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (["body_pos_w"], BODIES[:, 0]),
        (["body_pos_w[2]"], BODIES[:, 2]),
        (["hand"], BODIES[:, 3]),
        (["q[1]", "q[0]", "body_pos_w[3][2]"], [[1, 0, 11], [3, 2, 23]]),
        (["hand[0]", "hand[1]", "n"], [[9, 10, 7], [21, 22, 8]]),
    ],
)
def test_named(columns: list[str], expected: Any, tmp_path: Path) -> None:
    names = np.array(["pelvis", "knee", "foot", "hand"])
    file = saved(tmp_path, body_pos_w=BODIES, body_names=names, q=np.arange(4).reshape(2, 2), n=np.array([[7], [8]]))
    assert motion_positions(file, columns).tolist() == np.asarray(expected).tolist()


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        (["nope"], "has no array 'nope'; it holds body_pos_w 2x4x3"),
        (["body_pos_w[4]"], r"there is no body_pos_w\[4\], because body_pos_w is 2x4x3; count from 0"),
        (["body_pos_w[0][0][0]"], "count from 0"),
        (["q"], "'q' is no position: it comes from q 2x2"),
        (["q", "q", "q"], r"'q' comes from q 2x2 and is not one column; name one as q\[0\]"),
        (["q[0]", "q[1]", "long"], "differ in length"),
        (["q[0]", "q[1]"], "not 2 names"),
        (["words"], "words 2 of text cannot be a motion"),
        (["objects"], "objects 1 of objects cannot be a motion"),
        (["one"], "'one' is one value"),
        (["hole"], "hole is not finite in frame 1"),
    ],
)
def test_what_is_no_position(columns: list[str], says: str, tmp_path: Path) -> None:
    hole = BODIES[:, 0].copy()
    hole[1, 2] = np.nan
    file = saved(
        tmp_path,
        body_pos_w=BODIES,
        q=np.zeros((2, 2)),
        long=np.zeros(3),
        words=np.array(["a", "b"]),
        objects=np.array([{}], dtype=object),
        one=np.float64(1),
        hole=hole,
    )
    with pytest.raises(BadInput, match=says) as error:
        motion_positions(file, columns)
    assert str(file.path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("arrays", "fps", "expected"),
    [
        ({}, 50.0, [0, 20_000_000, 40_000_000]),
        ({"fps": np.array([30])}, None, [0, 33_333_333, 66_666_666]),
        ({"dt": np.float64(0.02)}, None, [0, 20_000_000, 40_000_000]),
        ({"t_ns": np.array([5, 6, 8]), "fps": np.int64(30)}, None, [5, 6, 8]),
        ({"t_ns": np.array([5, 6, 8])}, 100.0, [0, 10_000_000, 20_000_000]),
        ({"time": np.array([0.5, 0.75, 1.0])}, None, [500_000_000, 750_000_000, 1_000_000_000]),
    ],
)
def test_instants(arrays: dict[str, Any], fps: float | None, expected: list[int], tmp_path: Path) -> None:
    assert motion_instants(saved(tmp_path, p=BODIES, **arrays), 3, fps).tolist() == expected


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({}, "has neither times nor a rate .*; give its frames a second, e.g. --fps 50"),
        ({"fps": np.float64(0)}, "'fps' is 0, no rate"),
        ({"time": np.array([1, 2, 3])}, "whole numbers without a unit"),
        ({"time": np.array([0.1, 0.2])}, "'time' has 2 instants for 3 positions"),
        ({"time": np.array([0.1, np.nan, 0.3])}, "values that are no times"),
        ({"time": np.array([1e30, 2e30, 3e30])}, "values that are no times"),
        ({"time_ns": np.array([2**63 + 1, 2**63 + 2, 2**63 + 3], dtype=np.uint64)}, "values that are no times"),
    ],
)
def test_no_instants(arrays: dict[str, Any], says: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=says):
        motion_instants(saved(tmp_path, p=BODIES, **arrays), 3, None)


def test_a_rate_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput):
        motion_instants(saved(tmp_path, p=BODIES), 3, 0.0)
