"""Is time still right: what a recording shows of its clocks, its stamps and its motion, and what to do about it."""

from onbeat.evidence.timeline import Timeline, timeline
from onbeat.health.check import Check, Evidence, Figure, Verdict

__all__ = ("Check", "Evidence", "Figure", "Timeline", "Verdict", "timeline")
