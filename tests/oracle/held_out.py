"""Every fourth sample of a real recording, and the samples that were held out, for the judgement of interpolators."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onbeat.stream import Stream

Array = NDArray[np.float64]


def product(a: Array, b: Array) -> Array:
    """Multiply quaternions wxyz, shape (n, 4)."""
    w, x, y, z = a.T
    v, i, j, k = b.T
    return np.stack(
        [
            w * v - x * i - y * j - z * k,
            w * i + x * v + y * k - z * j,
            w * j - x * k + y * v + z * i,
            w * k + x * j - y * i + z * v,
        ],
        axis=1,
    )


def angle(quaternion: Array) -> Array:
    """Give the rotation angle of quaternions wxyz in rad."""
    return np.asarray(2 * np.arctan2(np.linalg.norm(quaternion[:, 1:], axis=1), np.abs(quaternion[:, 0])))


def held_out_errors(path: Path) -> dict[str, tuple[float, float]]:
    """Interpolate a 100 Hz recording (t, p, q, v) from 25 Hz of it; rms error at the rest in m and rad, without and with rates.

    The angular rate at a kept sample comes from its two neighbours at 100 Hz, as a gyroscope would give it.
    """
    text = [line.split(",") for line in path.read_text().splitlines() if not line.startswith("#")]
    t_ns = np.array([int(row[0]) for row in text], dtype=np.int64)
    table = np.array([row[1:11] for row in text], dtype=np.float64)
    pose, velocity = table[:, :7], table[:, 7:]
    back = pose[:, 3:] * np.array([1.0, -1.0, -1.0, -1.0])
    turn = product(back[:-2], pose[2:, 3:])
    turn *= np.sign(turn[:, :1])
    axis = turn[:, 1:] / np.maximum(np.linalg.norm(turn[:, 1:], axis=1), 1e-300)[:, None]
    omega = np.zeros((len(t_ns), 3))
    omega[1:-1] = axis * (angle(turn) / ((t_ns[2:] - t_ns[:-2]) * 1e-9))[:, None]
    rates = np.hstack([velocity, omega])

    kept = np.arange(4, len(t_ns) - 4, 4)
    held = np.setdiff1d(np.arange(kept[0], kept[-1]), kept)
    errors = {}
    for name, given in (("linear", None), ("hermite", rates[kept])):
        stream = Stream("recording", "file", "pose", 7, len(kept))
        stream.push_many(t_ns[kept], pose[kept], given)
        answer = stream.at_many(t_ns[held]).values
        position = np.linalg.norm(answer[:, :3] - pose[held, :3], axis=1)
        rotation = angle(product(answer[:, 3:] * np.array([1.0, -1.0, -1.0, -1.0]), pose[held, 3:]))
        errors[name] = (float(np.sqrt((position**2).mean())), float(np.sqrt((rotation**2).mean())))
    return errors
