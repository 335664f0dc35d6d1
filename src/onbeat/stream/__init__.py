"""What was it at time t?"""

from onbeat.stream.align import Observation, align
from onbeat.stream.stream import How, Sample, Samples, Stream, hold

__all__ = ("How", "Observation", "Sample", "Samples", "Stream", "align", "hold")
