"""When was it true?"""

from onbeat.capture.blob import detect_blob, detect_cup
from onbeat.capture.burst import burst_capture_ns
from onbeat.capture.camera import camera_capture_ns
from onbeat.capture.offset import correct
from onbeat.capture.stamp import Stamp

__all__ = ("Stamp", "burst_capture_ns", "camera_capture_ns", "correct", "detect_blob", "detect_cup")
