"""A hand that holds a tool: smooth motion with known rates, up to 9 Hz, 6 cm and about 900 deg/s."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SWAY_M, SWAY_HZ = np.array([0.06, 0.015, 0.003]), np.array([1.7, 4.3, 9.1])
SWAY_SHARES = np.array([1.0, 0.8, 0.6])  # of x, y, z
TURN_RAD, TURN_HZ = np.array([1.0, 0.15, 0.01]), np.array([1.3, 3.1, 7.7])


def multiply(a: Array, b: Array) -> Array:
    w, x, y, z = a.T
    s, i, j, k = b.T
    return np.stack(
        [
            w * s - x * i - y * j - z * k,
            w * i + x * s + y * k - z * j,
            w * j - x * k + y * s + z * i,
            w * k + x * j - y * i + z * s,
        ],
        axis=1,
    )


def angle_between(a: Array, b: Array) -> Array:
    """Angles in rad between rows of unit quaternions."""
    between = multiply(a * [1, -1, -1, -1], b)
    return np.asarray(2 * np.arctan2(np.linalg.norm(between[:, 1:], axis=1), np.abs(between[:, 0])))


def _sum(sizes: Array, hz: Array, phases: Array, t_s: Array, derivative: int) -> Array:
    w = 2 * np.pi * hz
    return np.stack(
        [(sizes * w**derivative * np.sin(np.outer(t_s, w) + phase + derivative * np.pi / 2)).sum(axis=1) for phase in phases],
        axis=1,
    )


@dataclass(frozen=True)
class Hand:
    sway_phases: Array
    turn_phases: Array

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "Hand":
        return cls(rng.uniform(0, 2 * np.pi, (3, 3)), rng.uniform(0, 2 * np.pi, (3, 3)))

    def pose(self, t_ns: NDArray[np.int64]) -> Array:
        """Position in metres and quat_wxyz, shape (n, 7): yaw, then pitch, then roll."""
        t_s = t_ns / 1e9
        roll, pitch, yaw = _sum(TURN_RAD, TURN_HZ, self.turn_phases, t_s, 0).T / 2
        q = np.zeros((3, len(t_s), 4))
        for k, half in enumerate((roll, pitch, yaw)):
            q[k, :, 0], q[k, :, k + 1] = np.cos(half), np.sin(half)
        position = SWAY_SHARES * _sum(SWAY_M, SWAY_HZ, self.sway_phases, t_s, 0)
        return np.concatenate([position, multiply(multiply(q[2], q[1]), q[0])], axis=1)

    def rate(self, t_ns: NDArray[np.int64]) -> Array:
        """v in the world and omega in the body, shape (n, 6)."""
        t_s = t_ns / 1e9
        roll, pitch, _ = _sum(TURN_RAD, TURN_HZ, self.turn_phases, t_s, 0).T
        d_roll, d_pitch, d_yaw = _sum(TURN_RAD, TURN_HZ, self.turn_phases, t_s, 1).T
        omega = [
            d_roll - np.sin(pitch) * d_yaw,
            np.cos(roll) * d_pitch + np.sin(roll) * np.cos(pitch) * d_yaw,
            np.cos(roll) * np.cos(pitch) * d_yaw - np.sin(roll) * d_pitch,
        ]
        velocity = SWAY_SHARES * _sum(SWAY_M, SWAY_HZ, self.sway_phases, t_s, 1)
        return np.concatenate([velocity, np.stack(omega, axis=1)], axis=1)
