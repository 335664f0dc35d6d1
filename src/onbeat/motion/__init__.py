"""Where to be, when?"""

from onbeat.motion.limits import Limits
from onbeat.motion.schedule import Outcome, Outcomes, schedule
from onbeat.motion.shape import Profile, point_to_point, stop_ramp
from onbeat.motion.shape_input import input_shaper
from onbeat.motion.shape_online import OnlineShaper
from onbeat.motion.trajectory import Trajectory
from onbeat.motion.waypoint import Chunk, Waypoint

__all__ = (
    "Chunk",
    "Limits",
    "OnlineShaper",
    "Outcome",
    "Outcomes",
    "Profile",
    "Trajectory",
    "Waypoint",
    "input_shaper",
    "point_to_point",
    "schedule",
    "stop_ramp",
)
