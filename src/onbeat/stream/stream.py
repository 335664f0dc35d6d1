"""What was it at time t: a bounded, sorted history of one signal on one clock. Native; refuses, never clamps."""

from onbeat._core import How, Sample, Samples, Stream, hold

__all__ = ("How", "Sample", "Samples", "Stream", "hold")
