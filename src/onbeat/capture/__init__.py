"""When was it true?"""

from onbeat.capture.camera import camera_capture_ns
from onbeat.capture.offset import correct
from onbeat.capture.stamp import Stamp

__all__ = ("Stamp", "camera_capture_ns", "correct")
