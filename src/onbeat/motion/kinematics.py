"""Closed-form kinematics of a six-joint table-top arm: base yaw, shoulder, elbow, wrist pitch, wrist tilt, wrist roll."""

from math import pi

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.errors import BadInput

__all__ = ("JOINTS", "REACH_M", "SHOULDER_HEIGHT_M", "TOOL_M", "forward", "inverse")

JOINTS = 6
SHOULDER_HEIGHT_M = 0.12
UPPER_ARM_M = 0.285
FOREARM_M = 0.265
TOOL_M = 0.10
# From the shoulder to the wrist, which a tool that points down carries straight below it.
REACH_M = UPPER_ARM_M + FOREARM_M
# Nearer to the base axis than this, the base yaw of a path is not defined well enough to stay continuous.
_MIN_RADIUS_M = 0.01


def _quat_product(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    aw, ax, ay, az = np.moveaxis(a, -1, 0)
    bw, bx, by, bz = np.moveaxis(b, -1, 0)
    return np.stack(
        [
            aw * bw - ax * bx - ay * by - az * bz,
            aw * bx + ax * bw + ay * bz - az * by,
            aw * by - ax * bz + ay * bw + az * bx,
            aw * bz + ax * by - ay * bx + az * bw,
        ],
        axis=-1,
    )


def _quat_about(axis: int, angle: NDArray[np.float64]) -> NDArray[np.float64]:
    quat = np.zeros((*angle.shape, 4))
    quat[..., 0] = np.cos(angle / 2)
    quat[..., 1 + axis] = np.sin(angle / 2)
    return quat


def forward(joints: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give where the tool is.

    All joints at zero stretch the arm along +x of the base at shoulder height. Positive shoulder, elbow and wrist
    pitch raise what follows. The tool points along its own x axis: with R = Rz(q0) Ry(-(q1 + q2 + q3)) Rz(q4) Rx(q5)
    it lies `TOOL_M` along R x from the wrist.

    Args:
        joints: Angles in rad, shape (6,) or (n, 6).

    Returns:
        Position in the base frame in m, shape (3,) or (n, 3), and tool-to-base quat_wxyz, shape (4,) or (n, 4), unit
        norm and without jumps of sign along a continuous path of joints.

    Raises:
        BadInput: another shape, or a joint that is not finite.
    """
    q = np.asarray(joints, dtype=np.float64)
    if q.ndim not in (1, 2) or q.shape[-1] != JOINTS:
        raise BadInput(f"joints must have the shape ({JOINTS},) or (n, {JOINTS}), not {q.shape}")
    if not np.isfinite(q).all():
        raise BadInput("joints must be finite")
    base, shoulder, tilt, roll = q[..., 0], q[..., 1], q[..., 4], q[..., 5]
    forearm = shoulder + q[..., 2]
    pitch = forearm + q[..., 3]
    along = TOOL_M * np.cos(tilt)
    radius = UPPER_ARM_M * np.cos(shoulder) + FOREARM_M * np.cos(forearm) + along * np.cos(pitch)
    height = SHOULDER_HEIGHT_M + UPPER_ARM_M * np.sin(shoulder) + FOREARM_M * np.sin(forearm) + along * np.sin(pitch)
    aside = TOOL_M * np.sin(tilt)
    cos_base, sin_base = np.cos(base), np.sin(base)
    position = np.stack([radius * cos_base - aside * sin_base, radius * sin_base + aside * cos_base, height], axis=-1)
    arm = _quat_product(_quat_about(2, base), _quat_about(1, -pitch))
    wrist = _quat_product(_quat_about(2, tilt), _quat_about(0, roll))
    return position, _quat_product(arm, wrist)


def inverse(position: ArrayLike, yaw: ArrayLike = 0.0) -> NDArray[np.float64]:
    """Give the joints that put the tool at a position, pointing straight down, elbow up.

    A path (n, 3) comes back without jumps: base yaw and wrist roll are unwrapped from row to row.

    Args:
        position: In the base frame in m, shape (3,) or (n, 3).
        yaw: Turn of the tool about the vertical, rad; a number, or shape (n,) for a path.

    Returns:
        Joints in rad, shape (6,) or (n, 6); `forward` gives the position back within 1e-12 m.

    Raises:
        BadInput: another shape, not finite, out of reach, or above the base where the base yaw is not defined.
    """
    point = np.asarray(position, dtype=np.float64)
    if point.ndim not in (1, 2) or point.shape[-1] != 3:
        raise BadInput(f"a position must have the shape (3,) or (n, 3), not {point.shape}")
    turn = np.asarray(yaw, dtype=np.float64)
    if turn.ndim and turn.shape != point.shape[:-1]:
        raise BadInput(f"yaw must be a number or have the shape {point.shape[:-1]}, not {turn.shape}")
    if not (np.isfinite(point).all() and np.isfinite(turn).all()):
        raise BadInput("position and yaw must be finite")
    x, y, z = point[..., 0], point[..., 1], point[..., 2]
    radius = np.hypot(x, y)
    if (radius < _MIN_RADIUS_M).any():
        raise BadInput(
            f"the point is {1e3 * radius.min():.1f} mm from the base axis, where the base yaw is not defined; "
            f"keep {1e3 * _MIN_RADIUS_M:.0f} mm away"
        )
    height = z + TOOL_M - SHOULDER_HEIGHT_M
    distance = np.hypot(radius, height)
    nearest = abs(UPPER_ARM_M - FOREARM_M)
    if (distance > REACH_M).any():
        raise BadInput(
            f"the wrist would be {distance.max():.3f} m from the shoulder and the arm reaches {REACH_M:.3f} m; "
            f"move the point nearer"
        )
    if (distance < nearest).any():
        raise BadInput(
            f"the wrist would be {distance.min():.3f} m from the shoulder and the arm folds to {nearest:.3f} m; "
            f"move the point away"
        )
    cos_elbow = (distance**2 - UPPER_ARM_M**2 - FOREARM_M**2) / (2 * UPPER_ARM_M * FOREARM_M)
    elbow = -np.arccos(np.clip(cos_elbow, -1.0, 1.0))
    rise = np.arctan2(height, radius)
    shoulder = rise + np.arctan2(-FOREARM_M * np.sin(elbow), UPPER_ARM_M + FOREARM_M * np.cos(elbow))
    base = np.arctan2(y, x)
    if point.ndim == 2:
        base = np.unwrap(base)
    # The tool's axis points down, so the wrist roll turns against the base yaw: yaw = q0 - q5.
    roll = base - turn
    return np.stack([base, shoulder, elbow, -pi / 2 - shoulder - elbow, np.zeros_like(base), roll], axis=-1)
