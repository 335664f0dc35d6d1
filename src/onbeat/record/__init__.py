"""Keep it, with its times: recordings of robots, read and written."""

from onbeat.record.joints import JointEpisode, JointRecording
from onbeat.record.motion import Motion, read_motion
from onbeat.record.open import open_joints

__all__ = ("JointEpisode", "JointRecording", "Motion", "open_joints", "read_motion")
