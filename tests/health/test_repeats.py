import numpy as np
import pytest

from onbeat.health import Timeline, Verdict
from onbeat.health.repeats import judge_repeats
from tests.health.made import evidence, findings, healthy, line


def said(one: Timeline) -> list[Verdict]:
    return list(judge_repeats(evidence(one)))


def frames(source: np.ndarray, kind: str = "image", type: str = "") -> Timeline:
    stamp, log = healthy(np.random.default_rng(1), 30, 100)
    pictures = np.random.default_rng(2).integers(0, 2**63, 3000).astype(np.uint64)
    return line("x", {"kind": kind, "type": type}, stamp_ns=stamp, log_ns=log, digest=pictures[source])


def frozen(first: int, length: int, n: int = 3000) -> np.ndarray:
    source = np.arange(n)
    source[first : first + length] = first - 1
    return source


def test_camera_frozen_for_two_seconds() -> None:
    (verdict,) = said(frames(frozen(1000, 60)))
    assert verdict.fault == "repeated_samples"
    assert verdict.figures["longest"].value == pytest.approx(2.0, rel=0.01)
    assert "froze" in verdict.sentence


def test_every_tenth_frame_from_a_cache() -> None:
    source = np.arange(3000)
    source[10::10] -= 1
    (verdict,) = said(frames(source))
    assert verdict.figures["share repeated"].value == pytest.approx(0.1, rel=0.02)
    assert "cache" in verdict.sentence


@pytest.mark.parametrize("type", ["sensor_msgs/msg/CameraInfo", "sensor_msgs/msg/LaserScan", "tf2_msgs/msg/TFMessage"])
def test_content_that_may_stay_is_not_accused(type: str) -> None:
    assert said(frames(np.zeros(3000, dtype=np.int64), "other", type)) == []


def test_picture_in_which_nothing_ever_moves_is_unjudged() -> None:
    (verdict,) = said(frames(np.zeros(3000, dtype=np.int64)))
    assert verdict.level == "unjudged"


def arm(source: np.ndarray, step: float = 0.0015, kind: str = "joints") -> Timeline:
    """Joints that move, rest, and move again, read by an encoder of that step."""
    stamp, _ = healthy(np.random.default_rng(3), 100, 60)
    t = np.arange(6000) / 100
    go = np.clip(np.minimum(t, 60 - t) / 5, 0, 1) * np.where((t > 20) & (t < 35), 0.0, 1.0)
    angle = np.cumsum(np.stack([go * np.cos(0.7 * t), go * np.sin(0.9 * t)], axis=1), axis=0) / 100
    return line("x", {"kind": kind}, stamp_ns=stamp, value=np.round(angle / step)[source] * step)


def test_joint_at_rest_with_a_coarse_encoder_repeats_rightly() -> None:
    assert said(arm(np.arange(6000), 0.02)) == []


@pytest.mark.parametrize("noise", [0.2, 0.4, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("columns", [1, 2, 3])
@pytest.mark.parametrize("kind", ["numbers", "rotation"])
def test_noise_of_few_steps_of_a_converter_repeats_rightly(kind: str, columns: int, noise: float) -> None:
    value = np.round(np.random.default_rng(6).normal(0, noise, (6000, columns)))
    assert findings(said(line("x", {"kind": kind}, stamp_ns=np.arange(6000) * 10_000_000, value=value))) == []


@pytest.mark.parametrize("each", [1.5, 2, 3])
@pytest.mark.parametrize("noise", [0.0, 1e-4])
def test_joints_that_are_read_faster_than_they_are_measured(each: float, noise: float) -> None:
    rng = np.random.default_rng(7)
    t = np.arange(6000) / 100
    angle = np.stack([np.sin(0.7 * t), np.cos(0.9 * t)], axis=1) + rng.normal(0, noise, (6000, 2))
    held = np.floor(np.floor(np.arange(6000) / each) * each + 1e-9).astype(int)
    (verdict,) = said(line("x", {"kind": "joints"}, stamp_ns=(t * 1e9).astype(np.int64), value=np.round(angle, 6)[held]))
    assert verdict.fault == "repeated_samples"
    assert verdict.figures["share repeated"].value == pytest.approx(1 - 1 / each, rel=0.05)


def test_gyro_that_gives_each_reading_twice() -> None:
    value = np.random.default_rng(8).normal(0, 0.01, (6000, 3))[np.arange(6000) // 2]
    (verdict,) = said(line("x", {"kind": "rotation"}, stamp_ns=np.arange(6000) * 5_000_000, value=value))
    assert verdict.figures["share repeated"].value == pytest.approx(0.5, rel=0.01)


def test_joint_that_sticks_and_slips_is_not_accused() -> None:
    rng = np.random.default_rng(9)
    steps = np.where(rng.random((6000, 1)) < 0.3, rng.integers(4, 8, (6000, 1)), 0)
    turned = np.where(np.arange(6000)[:, None] % 2000 < 1000, 1, -1)
    value = np.cumsum(steps * turned, axis=0) * 0.0015
    assert findings(said(line("x", {"kind": "joints"}, stamp_ns=np.arange(6000) * 10_000_000, value=value))) == []


def test_joints_frozen_in_mid_motion() -> None:
    (verdict,) = said(arm(frozen(1200, 50, 6000)))
    assert verdict.fault == "repeated_samples"
    assert verdict.figures["longest"].value == pytest.approx(0.5, rel=0.03)


def test_command_that_is_held_is_no_fault() -> None:
    assert said(arm(np.arange(6000) // 10 * 10, kind="action")) == []


def test_gyro_whose_noise_stops() -> None:
    rng = np.random.default_rng(4)
    stamp, _ = healthy(rng, 200, 30)
    t = np.arange(6000) / 200
    rate = np.sin(t)[:, None] * (0.1, 0.2, 0.3) + rng.normal(0, 0.002, (6000, 3))
    assert said(line("x", {"kind": "rotation"}, stamp_ns=stamp, value=rate)) == []
    (verdict,) = said(line("x", {"kind": "rotation"}, stamp_ns=stamp, value=rate[frozen(3000, 100, 6000)]))
    assert verdict.figures["longest"].value == pytest.approx(0.5, rel=0.02)


def test_simulated_gyro_without_noise_may_rest() -> None:
    stamp, _ = healthy(np.random.default_rng(5), 200, 30)
    t = np.arange(6000) / 200
    rate = np.clip(np.sin(t), 0, None)[:, None] * (0.1, 0.2, 0.3)
    assert said(line("x", {"kind": "rotation"}, stamp_ns=stamp, value=rate)) == []


def test_stamps_that_come_again() -> None:
    stamp, log = healthy(np.random.default_rng(6), 100, 30)
    stamp[np.arange(100, 3000, 50)] = stamp[np.arange(99, 2999, 50)]
    (verdict,) = said(line("x", stamp_ns=stamp, log_ns=log))
    assert verdict.fault == "repeated_stamps"
    assert verdict.figures["repeated"].value == 58


def test_messages_recorded_twice_are_named_so() -> None:
    stamp, log = healthy(np.random.default_rng(7), 100, 30)
    order = np.sort(np.concatenate([np.arange(3000), np.arange(100, 3000, 50)]))
    (verdict,) = said(line("x", stamp_ns=stamp[order], log_ns=log[order], digest=np.arange(3000).astype(np.uint64)[order]))
    assert "twice" in verdict.sentence
    rounded = (healthy(np.random.default_rng(7), 30, 100)[0][:3000] // 10_000_000 * 10_000_000)[order]
    (verdict,) = said(line("x", stamp_ns=rounded, digest=np.arange(3000).astype(np.uint64)[order]))
    assert (verdict.fault, verdict.level) == ("repeated_stamps", "note")


def test_content_that_comes_again_is_late_against_other_streams() -> None:
    (verdict,) = said(frames(np.arange(3000) // 2 * 2))
    assert "offset" in verdict.explains


def test_neighbours_out_of_order() -> None:
    stamp, _ = healthy(np.random.default_rng(8), 100, 30)
    at = np.arange(100, 2900, 100)
    stamp[at], stamp[at + 1] = stamp[at + 1], stamp[at]
    (verdict,) = said(line("x", stamp_ns=stamp))
    assert verdict.fault == "unsorted_stamps"
    assert verdict.figures["out of order"].value == 28
    assert verdict.figures["back"].value == pytest.approx(0.01, rel=0.1)


def test_clock_that_was_set_back_is_not_out_of_order() -> None:
    stamp, log = healthy(np.random.default_rng(9), 100, 30)
    stamp[1500:] -= 2_000_000_000
    assert said(line("x", stamp_ns=stamp, log_ns=log)) == []
    (verdict,) = said(line("x", stamp_ns=stamp))
    assert "a clock was set" in verdict.sentence


def test_topic_of_many_publishers_may_be_unsorted() -> None:
    rng = np.random.default_rng(10)
    stamp, log = healthy(rng, 100, 30)
    mixed = stamp + rng.integers(0, 3, 3000) * 50_000_000
    assert findings(said(line("/tf", {"type": "tf2_msgs/msg/TFMessage"}, stamp_ns=mixed, log_ns=log))) == []


def test_transform_that_is_sent_again_is_no_frozen_pose() -> None:
    stamp, _ = healthy(np.random.default_rng(11), 100, 60)
    pose = np.cumsum(np.random.default_rng(12).normal(0, 1, (6000, 7)), axis=0)[np.arange(6000) // 10 * 10]
    assert said(line("/tf odom", {"kind": "pose", "type": "tf2_msgs/msg/TFMessage"}, stamp_ns=stamp, value=pose)) == []


def test_one_stamp_on_everything() -> None:
    stamp, log = healthy(np.random.default_rng(10), 100, 30)
    value = np.random.default_rng(11).normal(size=(3000, 2))
    (verdict,) = said(line("x", {"kind": "joints"}, stamp_ns=np.full(3000, stamp[0]), log_ns=log, value=value))
    assert verdict.fault == "repeated_stamps"
    assert verdict.figures["share"].value == 1.0
    assert said(line("map", stamp_ns=np.full(3000, stamp[0]), log_ns=log, digest=np.full(3000, 7, dtype=np.uint64))) == []


@pytest.mark.parametrize("type", ["geometry_msgs/msg/Twist", "std_msgs/msg/Float64MultiArray"])
def test_command_that_is_held_is_no_repeat(type: str) -> None:
    t = np.arange(200)
    value = np.stack([np.sin(t / 9), np.cos(t / 7)], axis=1).repeat(5, axis=0)
    value += np.random.default_rng(12).normal(0, 0.05, (200, 2)).repeat(5, axis=0)
    _, log = healthy(np.random.default_rng(13), 25, 40)
    assert said(line("cmd", {"kind": "numbers", "type": type}, log_ns=log, value=value)) == []
