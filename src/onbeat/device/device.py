"""The thing on the wire: what a driver owes to the rest of onbeat."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput

__all__ = ("Command", "Device", "DeviceInfo", "DeviceState", "SinkDevice")


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """What a device is.

    Args:
        kind: "joints", "gripper", "pose" or "camera".
        width: Numbers in a state and in a command; 7 for a pose (position xyz and quat_wxyz); 0 for a camera, whose reading is
            an image.
        unit: Unit of the numbers: "rad", "m" (opening of a gripper, position of a pose), "" for images.
        model: What the maker calls it.
    """

    kind: str
    width: int
    unit: str
    model: str


@dataclass(frozen=True, slots=True)
class DeviceState:
    """One reading as it came off the wire, before any correction.

    Args:
        value: float64 array of shape (width,), or an image.
        begin_ns: When the read was asked for, on the clock that the device was given.
        receive_ns: When the reading was in hand, on the same clock. On a manual clock a device cannot block, so this
            may lie ahead of now: whoever reads publishes the reading at that instant, not before.
        seq: Counts the device's own samples; a poll that returns a cached sample repeats it.
        span_ns: How long the reading looked at the world (an exposure).
        sample_ns: When the sample was taken, as the device itself says; None where it does not.
        sample_clock: The clock of sample_ns, where it is the device's own; "" where it is the clock that the device was given.
    """

    value: Any
    begin_ns: int
    receive_ns: int
    seq: int
    span_ns: int = 0
    sample_ns: int | None = None
    sample_clock: str = ""

    def __post_init__(self) -> None:
        if self.receive_ns < self.begin_ns:
            raise BadInput(f"reading {self.seq} arrived {self.begin_ns - self.receive_ns} ns before it was asked for")
        if self.sample_ns is not None and not self.sample_clock and self.sample_ns > self.receive_ns:
            raise BadInput(
                f"reading {self.seq} was taken {self.sample_ns - self.receive_ns} ns after it arrived; if sample_ns is on the "
                "device's own clock, name it in sample_clock"
            )


@dataclass(frozen=True, slots=True)
class Command:
    """Where to be: `target` of shape (width,) is what the plan asks for at t_eff_ns."""

    t_eff_ns: int
    target: NDArray[np.float64]


@runtime_checkable
class Device(Protocol):
    """A driver. It is built as `Class(config, clock)` from its module's YAML and touches nothing before `connect`."""

    @property
    def info(self) -> DeviceInfo:
        """What the device is; known before connect."""
        ...

    def connect(self) -> None:
        """Open the hardware; raises DeviceError with the reason."""
        ...

    def read(self) -> DeviceState:
        """Read the state now; blocks for as long as the transaction takes; raises DeviceError."""
        ...

    def write(self, command: Command) -> None:
        """Send one target; raises DeviceError. A camera refuses."""
        ...

    def hold(self) -> None:
        """Stop where it is, and stay under power."""
        ...

    def close(self) -> None:
        """Let go of the hardware; may be called twice."""
        ...


@runtime_checkable
class SinkDevice(Device, Protocol):
    """A device that the native send loop reaches without Python: its commands go into a native sink."""

    @property
    def sink(self) -> Any:
        """A sink of onbeat.loop (MemorySink, UdpSink, TcpSink)."""
        ...
