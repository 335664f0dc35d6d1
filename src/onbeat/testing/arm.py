"""How does an arm move, and what do its encoders, a gyro and a tracker at its wrist see of it? The truth of made recordings."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ("Arm", "draw_arm")

FloatArray = NDArray[np.float64]
_AXES = np.array([[0, 0, 1], [0, 1, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0]], dtype=np.float64)
_LINKS_M = np.array([[0, 0, 0.15], [0, 0, 0.3], [0.25, 0, 0], [0.1, 0, 0], [0.08, 0, 0], [0.06, 0, 0]])
_COUNT_RAD = 2 * np.pi / 16_384  # of the encoders
_H_S = 1e-4  # of the central differences


@dataclass(frozen=True, slots=True, eq=False)
class Arm:
    """An arm of six joints that is led by a hand: sums of sines below 1.5 Hz, with rests between.

    Args:
        amplitude_rad, frequency_hz, phase: Of each joint's sines. Shape (6, k).
        rest_s, rest_phase: How often the hand rests, and when.
        delay_s: How late the joints follow their commands.
    """

    amplitude_rad: FloatArray
    frequency_hz: FloatArray
    phase: FloatArray
    rest_s: float
    rest_phase: float
    delay_s: float

    def commands(self, t_s: FloatArray) -> FloatArray:
        """Give the joint positions that are asked for, rad. Shape (n, 6)."""
        gate = 0.5 + 0.5 * np.tanh(12 * (np.sin(2 * np.pi * t_s / self.rest_s + self.rest_phase) + 0.7))
        turns = 2 * np.pi * self.frequency_hz[:, :, None] * t_s + self.phase[:, :, None]
        return np.asarray(((self.amplitude_rad[:, :, None] * np.sin(turns)).sum(axis=1) * gate).T)

    def joints(self, t_s: FloatArray) -> FloatArray:
        """Give the joint positions, rad. Shape (n, 6)."""
        return self.commands(t_s - self.delay_s)

    def encoders(self, t_s: FloatArray) -> FloatArray:
        """Give what encoders of 14 bits read: at rest the same number again and again. Shape (n, 6)."""
        return np.asarray(np.round(self.joints(t_s) / _COUNT_RAD) * _COUNT_RAD)

    def pose(self, t_s: FloatArray) -> FloatArray:
        """Give where the wrist is: x y z in m, and the quaternion w x y z. Shape (n, 7)."""
        position = np.zeros((len(t_s), 3))
        quat = np.tile([1.0, 0.0, 0.0, 0.0], (len(t_s), 1))
        for q, axis, link in zip(self.joints(t_s).T, _AXES, _LINKS_M, strict=True):
            quat = _product(quat, np.column_stack([np.cos(q / 2), np.sin(q / 2)[:, None] * axis]))
            position = position + _turned(quat, np.broadcast_to(link, position.shape))
        return np.column_stack([position, quat])

    def gyro(self, t_s: FloatArray) -> FloatArray:
        """Give the angular rate of the wrist in its own frame, rad/s. Shape (n, 3)."""
        after, before = self.pose(t_s + _H_S)[:, 3:], self.pose(t_s - _H_S)[:, 3:]
        turned = _product(before * [1.0, -1.0, -1.0, -1.0], after)
        return np.asarray(2 * turned[:, 1:] * np.sign(turned[:, :1]) / (2 * _H_S))


def draw_arm(rng: np.random.Generator) -> Arm:
    """Draw the motion of an arm, and how late it follows (30 to 90 ms)."""
    frequency = np.exp(rng.uniform(np.log(0.12), np.log(1.5), (6, 4)))
    amplitude = rng.uniform(0.3, 1.0, (6, 4)) * np.minimum(0.25, 0.1 / frequency)
    return Arm(
        amplitude,
        frequency,
        rng.uniform(0, 2 * np.pi, (6, 4)),
        float(rng.uniform(12, 30)),
        float(rng.uniform(0, 2 * np.pi)),
        float(rng.uniform(0.03, 0.09)),
    )


def _product(a: FloatArray, b: FloatArray) -> FloatArray:
    """Multiply quaternions w x y z."""
    w = a[:, 0] * b[:, 0] - (a[:, 1:] * b[:, 1:]).sum(axis=1)
    return np.column_stack([w, a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:] + np.cross(a[:, 1:], b[:, 1:])])


def _turned(quat: FloatArray, vector: FloatArray) -> FloatArray:
    crossed = 2 * np.cross(quat[:, 1:], vector)
    return np.asarray(vector + quat[:, :1] * crossed + np.cross(quat[:, 1:], crossed))
