"""Where to be, when?"""

from onbeat.motion.trajectory import Trajectory
from onbeat.motion.waypoint import Chunk, Waypoint

__all__ = ("Chunk", "Trajectory", "Waypoint")
