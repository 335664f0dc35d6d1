"""Where a native loop sends its targets: into memory, onto a socket, or onto a serial line."""

from onbeat._core import MemorySink, SerialSink, Sink, TcpSink, UdpSink

__all__ = ("MemorySink", "SerialSink", "Sink", "TcpSink", "UdpSink")
