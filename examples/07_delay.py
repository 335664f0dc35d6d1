"""A recording knows how late the robot is: an elbow that follows its command by 80 ms, and a wrist whose motor is off.

Run it with: python examples/07_delay.py
`onbeat delay FILE.csv` does the same from a shell, and leaves a page with a picture.
"""

import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate.follow import Follower
from onbeat.record import open_joints

ENCODER_DEG = 360 / 4096


def operator(at_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the angle that an operator asks for, in degrees: slow, with changes of direction."""
    swing, stir = 30 * np.sin(2 * np.pi * 0.23 * at_s), 12 * np.sin(2 * np.pi * 0.61 * at_s + 1)
    return np.asarray(swing + stir, dtype=np.float64)


def encoder(angle_deg: NDArray[np.float64]) -> NDArray[np.float64]:
    """Read an angle as an encoder does, in steps."""
    return np.asarray(np.round(angle_deg / ENCODER_DEG) * ENCODER_DEG, dtype=np.float64)


t_s = np.arange(600) / 50
elbow_cmd, elbow_meas = operator(t_s), encoder(0.98 * operator(t_s - 0.080))
wrist_cmd, wrist_meas = operator(t_s + 40), encoder(0.2 * operator(0.7 * t_s))  # it swings with the arm

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "arm.csv"
    table = np.column_stack([t_s, elbow_cmd, elbow_meas, wrist_cmd, wrist_meas])
    np.savetxt(path, table, delimiter=",", comments="", header="time_s,elbow_cmd,elbow_meas,wrist_cmd,wrist_meas")

    recording = open_joints(path)  # commands and measurements are paired by their names
    follower = Follower(recording.joints, range(len(recording.joints)), max_delay_s=0.5)
    for episode in recording.episodes():
        follower.add(episode)

for joint in follower.result().joints:
    delay = joint.result
    if delay.value is not None and delay.ci95 is not None:
        print(f"{joint.name}: {delay.value * 1e3:.1f} ms +- {delay.ci95 * 1e3:.1f} ms (95 %), gain {joint.gain:.3f}")
    else:
        print(f"{joint.name}: refused, {delay.reason}")
