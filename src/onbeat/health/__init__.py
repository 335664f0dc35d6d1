"""Is time still right: what a recording shows of its clocks, its stamps and its motion, and what to do about it."""

from onbeat.health.check import Check, Evidence, Figure, Verdict
from onbeat.health.timeline import Timeline, timeline

__all__ = ("Check", "Evidence", "Figure", "Timeline", "Verdict", "timeline")
