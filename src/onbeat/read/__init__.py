"""What does a file say, and when: any recording of any program, opened as streams of stamped rows."""

from onbeat.read.spool import Series, gather
from onbeat.read.streams import Batch, Frame, StreamInfo, StreamRecording, row_dtype

__all__ = ("Batch", "Frame", "Series", "StreamInfo", "StreamRecording", "gather", "row_dtype")
