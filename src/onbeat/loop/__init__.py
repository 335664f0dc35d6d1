"""Send on the beat: a native thread that sleeps and sends, and the records of what it did."""

from onbeat.loop.cycle import RECORD_DTYPE, Flag, LoopStatus
from onbeat.loop.loop import SendLoop
from onbeat.loop.process import ProcessDevice
from onbeat.loop.sinks import MemorySink, SerialSink, TcpSink, UdpSink
from onbeat.loop.thread import DeviceSink

__all__ = (
    "RECORD_DTYPE",
    "DeviceSink",
    "Flag",
    "LoopStatus",
    "MemorySink",
    "ProcessDevice",
    "SendLoop",
    "SerialSink",
    "TcpSink",
    "UdpSink",
)
