import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from onbeat.errors import BadInput
from onbeat.motion.kinematics import REACH_M, SHOULDER_HEIGHT_M, TOOL_M, forward, inverse


def reachable(n: int, seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    angle, radius, height = rng.uniform(-np.pi, np.pi, n), rng.uniform(0.08, 0.42, n), rng.uniform(0.0, 0.25, n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1)


def rotation(quat_wxyz: NDArray[np.float64]) -> NDArray[np.float64]:
    w, x, y, z = quat_wxyz
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_stretched_arm_points_along_x() -> None:
    position, quat_wxyz = forward(np.zeros(6))
    assert position == pytest.approx([REACH_M + TOOL_M, 0, SHOULDER_HEIGHT_M], abs=1e-12)
    assert quat_wxyz == pytest.approx([1, 0, 0, 0], abs=1e-12)


def test_base_yaw_turns_everything_to_the_left() -> None:
    position, _ = forward([np.pi / 2, 0, 0, 0, 0, 0])
    assert position == pytest.approx([0, REACH_M + TOOL_M, SHOULDER_HEIGHT_M], abs=1e-12)


def test_positive_shoulder_raises_the_tool() -> None:
    position, _ = forward([0, np.pi / 2, 0, 0, 0, 0])
    assert position == pytest.approx([0, 0, SHOULDER_HEIGHT_M + REACH_M + TOOL_M], abs=1e-12)


def test_round_trip_is_exact() -> None:
    points = reachable(2000, 1)
    for point in points[:50]:
        assert forward(inverse(point))[0] == pytest.approx(point, abs=1e-12)
    at, _ = forward(np.stack([inverse(point) for point in points]))
    assert np.abs(at - points).max() < 1e-9


def test_round_trip_at_the_edge_of_reach() -> None:
    height = 0.02 + TOOL_M - SHOULDER_HEIGHT_M
    point = np.array([np.sqrt((REACH_M - 1e-9) ** 2 - height**2), 0.0, 0.02])
    assert forward(inverse(point))[0] == pytest.approx(point, abs=1e-9)


def test_tool_points_down_and_turns_by_yaw() -> None:
    for yaw in (0.0, 0.7, -2.0):
        turned = rotation(forward(inverse([0.2, 0.15, 0.1], yaw))[1])
        assert turned[:, 0] == pytest.approx([0, 0, -1], abs=1e-12)
        assert turned[:, 1] == pytest.approx([-np.sin(yaw), np.cos(yaw), 0], abs=1e-12)


def test_tool_position_follows_from_its_orientation() -> None:
    rng = np.random.default_rng(5)
    for joints in rng.uniform(-1.5, 1.5, (20, 6)):
        wrist = joints.copy()
        wrist[4:] = 0
        position, quat_wxyz = forward(joints)
        straight, straight_quat = forward(wrist)
        centre = straight - TOOL_M * rotation(straight_quat)[:, 0]
        assert position == pytest.approx(centre + TOOL_M * rotation(quat_wxyz)[:, 0], abs=1e-12)
        assert np.linalg.norm(quat_wxyz) == pytest.approx(1, abs=1e-12)


def test_path_across_the_back_has_no_jump() -> None:
    angle = np.linspace(0.5 * np.pi, 1.5 * np.pi, 400)
    path = np.stack([0.3 * np.cos(angle), 0.3 * np.sin(angle), np.full(400, 0.1)], axis=1)
    joints = inverse(path, yaw=np.zeros(400))
    assert np.abs(np.diff(joints, axis=0)).max() < 0.02
    position, quat_wxyz = forward(joints)
    assert position == pytest.approx(path, abs=1e-9)
    assert np.abs(np.diff(quat_wxyz, axis=0)).max() < 0.02


def test_many_agree_with_one() -> None:
    joints = np.random.default_rng(2).uniform(-1, 1, (7, 6))
    positions, quats = forward(joints)
    for row, position, quat in zip(joints, positions, quats, strict=True):
        one = forward(row)
        assert np.array_equal(one[0], position)
        assert np.array_equal(one[1], quat)


def test_out_of_reach_says_how_far_and_how_much() -> None:
    with pytest.raises(BadInput, match=r"0\.700 m from the shoulder and the arm reaches 0\.550 m"):
        inverse([0.7, 0.0, SHOULDER_HEIGHT_M - TOOL_M])


def test_too_near_is_refused() -> None:
    with pytest.raises(BadInput, match="folds to"):
        inverse([0.015, 0.0, SHOULDER_HEIGHT_M - TOOL_M])
    with pytest.raises(BadInput, match=r"5\.0 mm from the base axis"):
        inverse([0.005, 0.0, 0.2])


@pytest.mark.parametrize("bad", [np.zeros(2), np.zeros((2, 2, 3)), [np.nan, 0, 0]])
def test_bad_positions_are_refused(bad: ArrayLike) -> None:
    with pytest.raises(BadInput):
        inverse(bad)


def test_bad_joints_and_yaw_are_refused() -> None:
    with pytest.raises(BadInput, match=r"\(6,\) or \(n, 6\)"):
        forward(np.zeros(5))
    with pytest.raises(BadInput, match="finite"):
        forward([np.inf, 0, 0, 0, 0, 0])
    with pytest.raises(BadInput, match="yaw"):
        inverse(reachable(3, 0), yaw=np.zeros(2))
