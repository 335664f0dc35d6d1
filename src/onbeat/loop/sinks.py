"""Where a native loop sends its targets: into memory, or onto a socket."""

from onbeat._core import MemorySink, Sink, TcpSink, UdpSink

__all__ = ("MemorySink", "Sink", "TcpSink", "UdpSink")
