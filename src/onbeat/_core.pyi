"""onbeat's native core; imported by its few wrappers only"""

from typing import Any, Literal

import numpy
import numpy.typing

class Trajectory:
    """
    A path through knots: where to be, when. Immutable; equality is by value.

    Before the first knot the path stays at the first and after the last at the last, with zero velocity: the end of a plan is a
    place to stay.

    Args:
        times_ns: Instants of the knots on the robot's clock, int64, strictly increasing. Shape (n,), n >= 1.
        targets: Finite. Shape (n, width). Kind "pose" has width 7: position xyz in metres and quat_wxyz.
        kind: "linear", or "pose": position linear, rotation along the short arc at constant rate (slerp), its sign continuous.
        lead_ns: How much earlier than their waypoints are due the knots lie, >= 0. The knots are shifted already; this is for bookkeeping.

    Raises:
        BadInput: knots that are not strictly increasing, targets that are not finite or of another shape, quaternions whose norm
            is off by more than 0.01.
    """

    def __init__(
        self,
        times_ns: numpy.typing.ArrayLike,
        targets: numpy.typing.ArrayLike,
        kind: Literal["linear", "pose"] = "linear",
        lead_ns: int = 0,
    ) -> None: ...
    @property
    def width(self) -> int:
        """Numbers in a target."""

    @property
    def times_ns(self) -> numpy.typing.NDArray[numpy.int64]:
        """Instants of the knots, shape (n,), read-only."""

    @property
    def targets(self) -> numpy.typing.NDArray[numpy.float64]:
        """The knots as given, shape (n, width), read-only."""

    @property
    def start_ns(self) -> int:
        """Instant of the first knot."""

    @property
    def end_ns(self) -> int:
        """Instant of the last knot."""

    @property
    def lead_ns(self) -> int:
        """How much earlier than their waypoints are due the knots lie."""

    @property
    def kind(self) -> Literal["linear", "pose"]:
        """What lies between the knots."""

    def __len__(self) -> int:
        """Number of knots."""

    def at_ns(self, t_ns: int) -> numpy.typing.NDArray[numpy.float64]:
        """Evaluate the path at an instant: a new array of shape (width,)."""

    def velocity_at_ns(self, t_ns: int) -> numpy.typing.NDArray[numpy.float64]:
        """
        Evaluate the velocity from an instant on, per second: a new array of shape (width,).

        Of a pose, shape (6,): v in the world's frame in m/s and omega in the body's frame in rad/s. At a knot it is the velocity of the
        segment that begins there, so zero at the last.
        """

    def at_many(self, t_ns: numpy.typing.ArrayLike) -> numpy.typing.NDArray[numpy.float64]:
        """
        Evaluate the path at many instants, int64 of shape (n,), in any order: a new array of shape (n, width).
        """

    def __repr__(self) -> str: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

class Sink:
    """
    Where a native loop sends its targets; it never blocks the loop, and serves one loop at a time.
    """

    @property
    def width(self) -> int:
        """Numbers in a target."""

class MemorySink(Sink):
    """
    Targets into memory: a simulated device reads what was sent, with the instant of sending.

    Args:
        width: Numbers in a target, 1..4096.
        capacity: Frames that wait to be drained, >= 1. A full sink refuses the newest frame: the cycle is flagged WOULD_BLOCK.

    Raises:
        BadInput: a width or capacity out of range.
    """

    def __init__(self, width: int, capacity: int = 65536) -> None: ...
    def drain(self) -> numpy.typing.NDArray[numpy.void]:
        """
        Take out the frames that wait, oldest first.

        Returns:
            A structured array of shape (n,): sequence (u8), sent_ns and t_eff_ns (i8, on the monotonic clock, or on the manual clock of
            `SendLoop.cycle`), values (f8, shape (width,)).
        """

    def __len__(self) -> int:
        """Frames that wait."""

    @property
    def capacity(self) -> int:
        """Frames that can wait."""

    @property
    def dropped(self) -> int:
        """Frames refused because the sink was full."""

    def __repr__(self) -> str: ...

class SocketSink(Sink):
    """A sink on a socket."""

    def close(self) -> None:
        """Close the socket. Stop the loop first."""

    @property
    def peer(self) -> str:
        """Where it sends."""

    def __repr__(self) -> str: ...

class UdpSink(SocketSink):
    """
    Targets as datagrams: little-endian u64 sequence, i64 t_eff_ns, width float64.

    The sequence counts sends, so a receiver sees each loss as a gap. Nobody listening is not an error.

    Args:
        host: Name or address, resolved once, here.
        port: 1..65535.
        width: Numbers in a target, 1..4096.

    Raises:
        BadInput: a port or width out of range.
        DeviceError: the host cannot be resolved.
    """

    def __init__(self, host: str, port: int, width: int) -> None: ...

class TcpSink(SocketSink):
    """
    Targets on a TCP connection, without Nagle's delay: frames as of UdpSink, one after the other.

    It connects here. A reader that stops reading costs frames (WOULD_BLOCK), never time: a frame that went out in part is finished
    before any other, and one that cannot begin is dropped. A connection that breaks is a device error and stops the loop.

    Args:
        host: Name or address.
        port: 1..65535.
        width: Numbers in a target, 1..4096.
        timeout_s: How long to wait for the connection.

    Raises:
        BadInput: a port, width or timeout out of range.
        DeviceError: the host cannot be resolved, or does not answer in time.
    """

    def __init__(self, host: str, port: int, width: int, timeout_s: float = 1.0) -> None: ...

def sleep_until_ns(t_ns: int) -> int:
    """
    Sleep until an instant of the monotonic clock without the GIL; returns when it woke.
    """

def monotonic_ns() -> int:
    """Read the monotonic clock."""

class Cycle:
    """
    One cycle of sending: grid, plan, limits, record. The same code for every kind of loop.
    """

    def __init__(
        self,
        period_whole_ns: object,
        period_part: object,
        period_parts: object,
        plan: Trajectory,
        max_speed: object | None,
        lower: object | None,
        upper: object | None,
        max_angular_speed: float,
        lead_ns: object,
        on_late: str,
        record_capacity: int,
    ) -> None: ...
    @property
    def width(self) -> int: ...
    @property
    def deadline_ns(self) -> int: ...
    def replace(self, plan: Trajectory) -> int: ...
    def set_lead(self, lead_ns: int) -> None: ...
    def restart(self, start_ns: int) -> None: ...
    def seek(self, deadline_ns: int) -> None: ...
    def set_fifo(self, granted: bool) -> None: ...
    def begin(self, wake_ns: int, sent_ns: int) -> bool: ...
    def target(self) -> numpy.typing.NDArray[numpy.float64]: ...
    @property
    def t_eff_ns(self) -> int: ...
    @property
    def lateness_ns(self) -> int: ...
    def end(self, done_ns: int, failed: bool) -> int: ...
    def records(self) -> numpy.typing.NDArray[numpy.int64]: ...
    def counts(self) -> tuple[int, int, int, int, int, int]: ...

class SendLoop:
    """The native thread that sleeps and sends."""

    def __init__(self, cycle: Cycle, sink: Sink, priority: int, cpu: int, spin_ns: int) -> None: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def cycle(self, deadline_ns: int, wake_ns: int) -> int: ...
    @property
    def running(self) -> bool: ...
    @property
    def forked(self) -> bool: ...
    def realtime(self) -> tuple[int, int, int, int, int]: ...
    def stopped(self) -> tuple[str, int, int, int]: ...
