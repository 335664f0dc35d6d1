"""Where to be, when?"""

from onbeat.motion.limits import Limits
from onbeat.motion.schedule import Outcome, Outcomes, schedule
from onbeat.motion.trajectory import Trajectory
from onbeat.motion.waypoint import Chunk, Waypoint

__all__ = ("Chunk", "Limits", "Outcome", "Outcomes", "Trajectory", "Waypoint", "schedule")
