"""What do the times and motions of a recording show: bounded streams, the shape of an offset, what moves together."""

from onbeat.evidence.timeline import Timeline, timeline

__all__ = ("Timeline", "timeline")
