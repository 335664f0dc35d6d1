import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from onbeat.errors import BadInput, MissingExtra
from onbeat.motion import kinematics
from onbeat.motion.mujoco_arm import ARMS, MujocoArm, arm_model

needs_sim = pytest.mark.skipif(find_spec("mujoco") is None or find_spec("mink") is None, reason="the extra sim is not installed")

BALL = """\
<mujoco><worldbody><body><joint name="hip" type="ball"/><geom size="0.1"/><site name="tool"/></body></worldbody></mujoco>
"""


SPIN = """\
<mujoco><worldbody><body>
  <joint name="spin" axis="0 0 1"/><geom size="0.1"/><site name="tool" pos="1 0 0"/>
</body></worldbody></mujoco>
"""


def model(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "arm.xml"
    path.write_text(text)
    return path


def turned_deg(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.degrees(2 * np.arccos(min(1.0, abs(float(a @ b))))))


@pytest.mark.parametrize("missing", ["mujoco", "mink"])
def test_without_the_extra_the_command_that_installs_it(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtra, match=r"mujoco and mink is not installed; install it with: pip install 'onbeat\[sim\]'"):
        MujocoArm(arm_model("six_joint_arm"))


def test_an_arm_that_does_not_come_with_onbeat() -> None:
    with pytest.raises(BadInput, match="no arm 'scara'; onbeat comes with six_joint_arm, seven_joint_arm"):
        arm_model("scara")


@needs_sim
def test_six_joints_are_the_arm_of_the_closed_form() -> None:
    arm = MujocoArm(arm_model("six_joint_arm"))
    rng = np.random.default_rng(1)
    for _ in range(500):
        joints = rng.uniform(-3.1, 3.1, 6)
        position, quat = arm.forward(joints)
        expected_position, expected_quat = kinematics.forward(joints)
        assert np.abs(position - expected_position).max() < 1e-9
        assert min(np.abs(quat - expected_quat).max(), np.abs(quat + expected_quat).max()) < 1e-9
        assert quat[0] >= 0


@needs_sim
def test_seven_joints_stand_upright_at_zero() -> None:
    arm = MujocoArm(arm_model("seven_joint_arm"))
    assert arm.joint_names[3] == "elbow"
    assert (arm.lower[3], arm.upper[3]) == (-2.4, 2.4)
    position, quat = arm.forward(np.zeros(7))
    assert position == pytest.approx([0, 0, 0.32 + 0.36 + 0.34 + 0.12])
    assert quat == pytest.approx([1, 0, 0, 0])
    bent, _ = arm.forward([0, np.pi / 2, 0, 0, 0, 0, 0])
    assert bent == pytest.approx([0.36 + 0.34 + 0.12, 0, 0.32])


@needs_sim
@pytest.mark.parametrize("name", ARMS)
def test_inverse_from_nearby_reaches_the_pose_within_the_ranges(name: str) -> None:
    arm = MujocoArm(arm_model(name))
    rng = np.random.default_rng(2)
    refused = 0
    for _ in range(100):
        true = rng.uniform(0.9 * arm.lower, 0.9 * arm.upper)
        start = np.clip(true + rng.uniform(-0.3, 0.3, len(true)), arm.lower, arm.upper)
        position, quat = arm.forward(true)
        try:
            found = arm.inverse(position, -quat, start)
        except BadInput:  # the way downhill ends at a joint's limit: 2 of 10,200 were seen
            refused += 1
            continue
        assert (found >= arm.lower).all()
        assert (found <= arm.upper).all()
        reached, turned = arm.forward(found)
        assert np.linalg.norm(reached - position) <= 1e-5
        assert turned_deg(turned, quat) < 0.01
    assert refused <= 2


@needs_sim
def test_a_path_of_small_steps_is_followed_without_jumps() -> None:
    arm = MujocoArm(arm_model("six_joint_arm"))
    angles = np.linspace(0, 2 * np.pi, 100)
    points = np.stack([0.3 + 0.08 * np.cos(angles), 0.08 * np.sin(angles), np.full(100, 0.1)], axis=-1)
    expected = kinematics.inverse(points)
    joints = expected[0]
    for k, point in enumerate(points):
        quat = kinematics.forward(expected[k])[1]
        joints = arm.inverse(point, quat, joints)
        assert np.abs(joints - expected[k]).max() < 1e-3


@needs_sim
def test_the_same_question_has_the_same_answer() -> None:
    pose = MujocoArm(arm_model("seven_joint_arm")).forward(np.full(7, 0.4))
    answers = [MujocoArm(arm_model("seven_joint_arm")).inverse(*pose, start=np.full(7, 0.2)).tobytes() for _ in range(2)]
    assert answers[0] == answers[1]


@needs_sim
def test_a_pose_out_of_reach_says_what_is_left() -> None:
    arm = MujocoArm(arm_model("six_joint_arm"))
    # 0.12 m above the base; stretched along x the tool is 0.65 m away, and the point 0.35 m further.
    with pytest.raises(BadInput, match=r"not reached from this start: 350\.00 mm and 0\.00 deg are left") as error:
        arm.inverse([1.0, 0, 0.12], [1, 0, 0, 0], np.full(6, 0.1))
    assert "\n" not in str(error.value)


@needs_sim
@pytest.mark.parametrize(
    ("position", "quat", "start", "says"),
    [
        ([0.3, 0, 0], [1, 0, 0, 0], np.zeros(5), r"start must have the shape \(6,\), one for each of base_yaw"),
        ([0.3, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0, 0, 3.2], "start of 'wrist_roll' is 3.2000, outside -3.1000..3.1000"),
        ([0.3, 0, 0], [1, 0, 0, 0], [0, 0, np.nan, 0, 0, 0], "start must be finite"),
        ([0.3, 0], [1, 0, 0, 0], np.zeros(6), r"a pose is a finite position \(3,\) and quat_wxyz \(4,\)"),
        ([0.3, 0, np.inf], [1, 0, 0, 0], np.zeros(6), "a finite position"),
        ([0.3, 0, 0], [2, 0, 0, 0], np.zeros(6), "quat_wxyz has the norm 2.0000, so it is no rotation"),
        ([0.3, 0, 0], [0, 0, 0, 0], np.zeros(6), "has the norm 0.0000"),
    ],
)
def test_questions_that_are_refused(position: list[float], quat: list[float], start: np.ndarray, says: str) -> None:
    with pytest.raises(BadInput, match=says):
        MujocoArm(arm_model("six_joint_arm")).inverse(position, quat, start)


@needs_sim
@pytest.mark.parametrize(
    ("text", "site", "says"),
    [
        ("<mujoco>", "tool", "is no model that MuJoCo can load"),
        ("<mujoco/>", "tool", "has no site 'tool'; it has none"),
        (BALL, "hand", "has no site 'hand'; it has tool"),
        (BALL, "tool", "joint 'hip' of .* turns or moves in more than one direction"),
        ('<mujoco><worldbody><site name="tool"/></worldbody></mujoco>', "tool", "has no joints"),
    ],
)
def test_models_that_are_no_arm(text: str, site: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=says) as error:
        MujocoArm(model(tmp_path, text), site)
    assert "\n" not in str(error.value)


@needs_sim
def test_a_model_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no model"):
        MujocoArm(tmp_path / "none.xml")


@needs_sim
def test_joints_without_a_range_are_not_limited(tmp_path: Path) -> None:
    arm = MujocoArm(model(tmp_path, SPIN))
    assert arm.lower.tolist() == [-np.inf]
    found = arm.inverse([0, 1, 0], [np.sqrt(0.5), 0, 0, np.sqrt(0.5)], [0.5])
    assert found == pytest.approx([np.pi / 2], abs=1e-4)
    assert repr(arm) == "MujocoArm('arm.xml', site='tool', 1 joints)"
