"""What time is it, on which clock, how sure?"""

from onbeat.clock.clock import Clock, ManualClock
from onbeat.clock.system import SystemClock

__all__ = ("Clock", "ManualClock", "SystemClock")
