from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.calibrate.delay import estimate_delay
from onbeat.calibrate.follow import _SILENT, Follower, FollowResult, is_gripper
from onbeat.record import JointEpisode, open_joints

RATE_HZ = 50


def motion(rng: np.random.Generator, t_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Teleoperation-like: a few sines below 1.2 Hz of random phase."""
    out = np.zeros_like(t_s)
    for f, a in zip(rng.uniform(0.1, 1.2, 6), rng.uniform(0.3, 1.0, 6), strict=True):
        out += a * np.sin(2 * np.pi * f * t_s + rng.uniform(0, 6.28))
    return out


def episode(seed: int, delays_s: Sequence[float | None], index: int = 0, seconds: float = 14.0) -> JointEpisode:
    """Joints that follow with known delays; None is a joint that does as it likes."""
    t_s = np.arange(int(seconds * RATE_HZ)) / RATE_HZ
    command, measured = [], []
    for k, delay_s in enumerate(delays_s):
        command.append(motion(np.random.default_rng([seed, k]), t_s))
        source, shift = ([seed, k], delay_s) if delay_s is not None else ([seed, k, 1], 0.0)
        clean = motion(np.random.default_rng(source), t_s - shift)
        measured.append(clean + np.random.default_rng([seed, k, 2]).normal(0, 0.01, len(t_s)))
    return JointEpisode(index, (t_s * 1e9).round().astype(np.int64), np.array(command).T, np.array(measured).T)


def follow(episodes: list[JointEpisode], names: list[str]) -> FollowResult:
    follower = Follower(names, range(len(names)), 0.5)
    for one in episodes:
        follower.add(one)
    return follower.result()


def test_known_delays_come_back_with_their_intervals() -> None:
    result = follow([episode(seed, [0.10, 0.10, 0.16], seed) for seed in range(3)], ["a", "b", "gripper"])
    a, b, gripper = result.joints
    for joint, truth_s in ((a, 0.10), (b, 0.10), (gripper, 0.16)):
        assert joint.result.value == pytest.approx(truth_s, abs=0.002)
        assert joint.result.ci95 is not None
        assert joint.result.ci95 < 0.01
        assert joint.r2 is not None
        assert joint.r2 > 0.98
        assert joint.gain == pytest.approx(1, abs=0.02)
        assert [e.episode for e in joint.episodes] == [0, 1, 2]
    assert (gripper.gripper, a.gripper) == (True, False)
    assert result.arm.value == pytest.approx(0.10, abs=0.002)  # the gripper stays out of it
    assert result.episode_std_s == pytest.approx(0, abs=0.001)
    assert result.rows == 3 * 700
    assert result.duration_s == pytest.approx(3 * 699 / RATE_HZ)


def test_a_joint_that_does_not_follow_is_refused_and_stays_out_of_the_arm() -> None:
    result = follow([episode(seed, [0.10, None], seed) for seed in range(3)], ["a", "b"])
    b = result.joints[1]
    assert not b.result.accepted
    assert b.result.reason.startswith("refused in 3 of 3 episodes, most often: ")
    assert b.refusal == "the measured motion does not follow the command"
    assert (b.r2, b.gain) == (None, None)
    assert [joint.name for joint in result.accepted] == ["a"]
    assert result.arm.value == pytest.approx(0.10, abs=0.002)


def test_one_episode_keeps_its_own_reason() -> None:
    result = follow([episode(0, [None])], ["a"])
    assert result.joints[0].result.reason == result.joints[0].episodes[0].result.reason
    assert result.arm.reason.startswith("none of 1 arm joints can be told: ")
    assert result.episode_std_s is None


def test_most_episodes_decide() -> None:
    good, bad = [0.10], [None]
    outvoted = follow([episode(0, good), episode(1, bad, 1), episode(2, bad, 2)], ["a"])
    assert not outvoted.joints[0].result.accepted
    carried = follow([episode(0, good), episode(1, good, 1), episode(2, bad, 2)], ["a"])
    assert carried.joints[0].result.value == pytest.approx(0.10, abs=0.002)


def test_an_episode_in_which_a_joint_rests_does_not_speak_against_it() -> None:
    still = episode(1, [0.10], 1)
    still = JointEpisode(1, still.t_ns, np.zeros_like(still.command), still.measured.copy())
    result = follow([episode(0, [0.10]), still, JointEpisode(2, still.t_ns, still.command.copy(), still.measured.copy())], ["a"])
    assert result.joints[0].result.accepted


def test_silence_is_told_from_contradiction_by_how_the_estimator_begins() -> None:
    t_ns = np.arange(700, dtype=np.int64) * 20_000_000
    moving = np.sin(np.arange(700) / 25) + 0.3 * np.sin(np.arange(700) / 61)
    rng = np.random.default_rng(0)
    slow = np.linspace(0, 1, 700) ** 2
    silent = (
        estimate_delay(t_ns, np.zeros(700), t_ns, moving),
        estimate_delay(t_ns[:30], moving[:30], t_ns[:30], moving[:30]),
        estimate_delay(t_ns, slow, t_ns, slow + rng.normal(0, 0.02, 700)),
    )
    for result in silent:
        assert not result.accepted
        assert result.reason.startswith(_SILENT), result.reason
    assert not estimate_delay(t_ns, moving, t_ns, rng.normal(0, 1, 700)).reason.startswith(_SILENT)


@pytest.mark.parametrize(
    "name",
    ["gripper.pos", "right_gripper", "leftGripper", "jaw", "kLeftHandPinky", "finger_joint1", "panda_finger", "Hand_Thumb"],
)
def test_names_of_grippers(name: str) -> None:
    assert is_gripper(name)


@pytest.mark.parametrize(
    "name", ["shoulder_pan.pos", "elbow_flex", "wrist_roll", "kLeftShoulderPitch", "joint_7", "waist", "handle_bar"]
)
def test_names_of_arms(name: str) -> None:
    assert not is_gripper(name)


def measured(path: Path, names: Sequence[str] = ()) -> FollowResult:
    recording = open_joints(path)
    follower = Follower(recording.joints, [k for k, name in enumerate(recording.joints) if name in names or not names], 0.5)
    for one in recording.episodes():
        follower.add(one)
    return follower.result()


@pytest.mark.real_data
def test_a_real_so101_follows_by_138_ms(data_dir: Path) -> None:
    result = measured(data_dir / "lerobot" / "so101_v3")
    arm, gripper = result.joints[:5], result.joints[5]
    for joint in arm:
        assert joint.result.value is not None, joint.result.reason
        assert 0.125 <= joint.result.value <= 0.155
        for one in joint.episodes:
            assert one.result.value is None or 0.125 <= one.result.value <= 0.155
    assert result.arm.value == pytest.approx(0.138, abs=0.006)
    for one in result.episodes:
        assert one.result.value == pytest.approx(0.138, abs=0.006)
    for said in (*(e.result for e in gripper.episodes), gripper.result):
        assert said.value is not None, said.reason
        assert 0.115 <= said.value <= 0.132


@pytest.mark.real_data
def test_joints_of_a_real_g1_that_do_not_follow_are_refused(data_dir: Path) -> None:
    idle = ("kLeftShoulderRoll", "kLeftShoulderYaw", "kLeftWristRoll", "kLeftWristPitch", "kLeftWristYaw")
    working = ("kRightElbow", "kRightShoulderYaw", "kRightWristYaw")
    by_name = {joint.name: joint for joint in measured(data_dir / "lerobot" / "g1_v21", idle + working).joints}
    for name in idle:
        assert not by_name[name].result.accepted
        assert "does not follow the command" in by_name[name].result.reason
    for name in working:
        assert by_name[name].result.value == pytest.approx(0.147, abs=0.03)


def test_it_tells_after_each_joint() -> None:
    told: list[int] = []
    follower = Follower(["a", "b"], [0, 1], 0.5)
    follower.add(episode(0, [0.1, 0.1]), told.append)
    assert told == [1, 1]
