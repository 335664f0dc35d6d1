"""Open a recording of any program, told by its content; and find the recordings in a folder."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from onbeat.errors import BadInput
from onbeat.read.streams import StreamRecording
from onbeat.record.lerobot import find_lerobot
from onbeat.record.npz import is_npz

__all__ = ("READS", "find_recordings", "open_streams")

READS = (
    "MCAP, ROS 1 and ROS 2 bags, LeRobot data sets, UMI's zarr, CSV, TUM and EuRoC text, npz, and videos (mp4, mkv, mov, avi)"
)
_RUN = "recording.mcap"  # what `onbeat run` writes into its folder
_MCAP = b"\x89MCAP0\r\n"
_BAG1 = b"#ROSBAG"
_SQLITE = b"SQLite format 3\0"
_LEFT_OUT = ("readme", "license", "licence", "changelog", "notice", "sources", "requirements", "cmakelists")
