import numpy as np
import pytest

from onbeat.testing.arm import draw_arm


def test_gyro_is_the_turning_of_the_pose() -> None:
    arm = draw_arm(np.random.default_rng(0))
    t = np.arange(0, 20, 0.001)
    quat, rate = arm.pose(t)[:, 3:], arm.gyro(t)
    assert np.linalg.norm(quat, axis=1) == pytest.approx(1)
    # Turning by the rate of the middle takes each orientation to the next but one: q' = q (1, w dt / 2).
    step = np.column_stack([np.ones(len(t)), rate * 0.001])[1:-1]
    w, v = quat[:-2, :1], quat[:-2, 1:]
    after = np.column_stack(
        [w[:, 0] * step[:, 0] - (v * step[:, 1:]).sum(1), w * step[:, 1:] + step[:, :1] * v + np.cross(v, step[:, 1:])]
    )
    assert np.abs(after - quat[2:]).max() < 2e-5
    assert 0.1 < np.linalg.norm(rate, axis=1).mean() < 3


def test_joints_follow_their_commands_and_rest_now_and_then() -> None:
    arm = draw_arm(np.random.default_rng(1))
    t = np.arange(0, 60, 0.01)
    np.testing.assert_allclose(arm.joints(t), arm.commands(t - arm.delay_s))
    assert 0.03 <= arm.delay_s <= 0.09
    still = (np.diff(arm.encoders(t), axis=0) == 0).all(axis=1)
    assert 0.01 < still.mean() < 0.6
    assert np.abs(arm.joints(t)).max() < 1.2
