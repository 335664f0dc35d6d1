"""Keep it, with its times: recordings of robots, read and written."""

from onbeat.record.joints import JointEpisode, JointRecording
from onbeat.record.mcap import Recorder
from onbeat.record.motion import Motion, read_motion
from onbeat.record.open import open_joints
from onbeat.record.recording import Recording, read_recording

__all__ = (
    "JointEpisode",
    "JointRecording",
    "Motion",
    "Recorder",
    "Recording",
    "open_joints",
    "read_motion",
    "read_recording",
)
