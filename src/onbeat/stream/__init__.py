"""What was it at time t?"""

from onbeat.stream.align import Aligner, Observation, align
from onbeat.stream.interpolate import METHODS, Method, largest_error
from onbeat.stream.stream import How, Sample, Samples, Stream, hold

__all__ = ("METHODS", "Aligner", "How", "Method", "Observation", "Sample", "Samples", "Stream", "align", "hold", "largest_error")
