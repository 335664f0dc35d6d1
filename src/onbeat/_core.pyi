"""onbeat's native core; imported by its few wrappers only"""

from collections.abc import Iterator, Sequence
import enum
from typing import Any, Literal

import numpy
import numpy.typing

import onbeat.clock

class ClockLine:
    """
    An offset to a reference as an affine function of our time; offset = reference - ours.
    """

    @property
    def anchor_ns(self) -> int: ...
    @property
    def offset_ns(self) -> int: ...
    @property
    def skew(self) -> float:
        """What the offset gains per unit of time."""

    @property
    def low_ns(self) -> int:
        """The offset at the anchor lies in [low, high]."""

    @property
    def high_ns(self) -> int: ...
    @property
    def model_low_ns(self) -> int:
        """The same while the rate changes no faster than `acceleration`."""

    @property
    def model_high_ns(self) -> int: ...
    @property
    def skew_low(self) -> float: ...
    @property
    def skew_high(self) -> float: ...
    @property
    def acceleration(self) -> float:
        """1/s."""

class ClockModel:
    """What onbeat.clock.ClockEstimator computes with."""

    def __init__(self, drift_bound: float) -> None: ...
    def add(
        self, t1_ns: int, t2_ns: int, t3_ns: int, t4_ns: int, server_bound_ns: int = 0, strayed_ns: int = 0
    ) -> tuple[str, int, int, int, str | None] | None:
        """
        Take an exchange; give what it proved: kind, when, between which sizes, on which leg.
        """

    def restart(self) -> None:
        """Forget everything and begin a new epoch."""

    def line(self) -> ClockLine:
        """The offset as it is known now."""

    @property
    def known(self) -> bool:
        """Whether there was an exchange in this epoch."""

    @property
    def exchanges(self) -> int:
        """How many were taken, over all epochs."""

    @property
    def epoch(self) -> int:
        """Counts steps and restarts."""

class SteadyClock:
    """
    What onbeat.clock.SyncedClock reads: never back, and never faster or slower than 500 ppm.
    """

    def __init__(self) -> None: ...
    def update(self, now_ns: int, offset_ns: int, skew: float, new_epoch: bool) -> None:
        """Follow the reference, which reads now + offset."""

    def now_ns(self) -> int:
        """
        Read it at this machine's monotonic clock; NotSynced before the first update.
        """

    def look(self) -> tuple[int, int]:
        """The monotonic clock and the reading at that instant."""

    def read_ns(self, now_ns: int) -> int:
        """Read it at an instant of ours that is given."""

    @property
    def set(self) -> bool:
        """Whether it was updated once."""

class How(enum.IntEnum):
    """Where a value comes from, or why there is none."""

    EXACT = 0
    """a sample of that very instant"""

    INTERPOLATED = 1
    """between two samples"""

    HELD = 2
    """an older sample, or the nearest object; age_ns says how old"""

    PREDICTED = 3
    """beyond the newest sample"""

    NOT_YET = 4
    """newer than the newest sample: wait"""

    FORGOTTEN = 5
    """older than the oldest sample kept: too late"""

    GAP = 6
    """the samples around it are too far apart"""

class Sample:
    """
    The answer of a stream at one instant. Immutable; equality is by value.
    """

    def __init__(
        self,
        t_ns: int,
        value: Any,
        how: How,
        gap_ns: int = 0,
        age_ns: int = 0,
        error_bound: float | tuple[float, float] | None = None,
    ) -> None: ...
    @property
    def t_ns(self) -> int:
        """The instant asked for, on the stream's clock."""

    @property
    def value(self) -> Any:
        """float64 of shape (width,), read-only; of an object stream, the object."""

    @property
    def how(self) -> How:
        """Where the value comes from."""

    @property
    def gap_ns(self) -> int:
        """
        Time between the samples around the instant; 0 when exact, or held after the newest.
        """

    @property
    def age_ns(self) -> int:
        """
        The instant asked for minus the stamp of the sample that was held (negative when the nearest object lies after it); 0 when interpolated or exact.
        """

    @property
    def error_bound(self) -> float | tuple[float, float] | None:
        """
        Largest error of interpolation in this bracket, in the unit of the values; None where unknown.

        Of a pose, (metres, rad); of slerp, rad; else the Euclidean norm over the columns. It takes the derivative in the method's law from
        the neighbouring samples: for motion that is smooth at the stream's rate, and without the samples' own noise. Rounded up to three digits.
        """

    def __repr__(self) -> str: ...
    def __hash__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __reduce__(self) -> tuple[Any, ...]: ...

    __match_args__: tuple = ...

class Samples:
    """
    The answers of a stream at many instants, as read-only columns; a Sample only on indexing. Equality is by value.
    """

    def __len__(self) -> int: ...
    def __getitem__(self, index: int) -> Sample:
        """
        Give one answer; unanswered instants have NaN (None for an object) and say why in `how`.
        """

    def __iter__(self) -> Iterator[Sample]: ...
    @property
    def t_ns(self) -> numpy.typing.NDArray[numpy.int64]:
        """The instants asked for, shape (n,)."""

    @property
    def values(self) -> numpy.typing.NDArray[Any]:
        """
        float64 of shape (n, width), NaN where there is no answer; of an object stream objects of shape (n,), None where none.
        """

    @property
    def how(self) -> numpy.typing.NDArray[numpy.uint8]:
        """Values of How, shape (n,)."""

    @property
    def gap_ns(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        Width of the bracket, shape (n,); NOT_YET and FORGOTTEN: how far beyond the newest or the oldest sample.
        """

    @property
    def age_ns(self) -> numpy.typing.NDArray[numpy.int64]:
        """Age of the value where it is HELD, else 0, shape (n,)."""

    @property
    def error_bound(self) -> numpy.typing.NDArray[numpy.float64]:
        """
        Error bounds rounded up to three digits, NaN where unknown, shape (n,); of a pose (n, 2): metres, rad.
        """

    def __repr__(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...

    __hash__: None = None

class Stream:
    """
    A bounded, sorted history of one signal on one clock: what was it at time t?

    Memory is fixed. One thread at a time pushes, any number query; no query sees half a sample. Samples that arrive out of order
    are inserted. An instant without an answer is refused, never clamped.

    Args:
        name: Of the signal; errors name it.
        clock: A Clock or its id; all instants are on it.
        kind: "hold" (the sample before), "linear", "cubic" (through four samples, any spacing), "hermite" (cubic with the measured
            rates), "slerp" (quat_wxyz), "pose" (position xyz and quat_wxyz), "object" (any Python value: exact, or the nearest within
            tolerance_s, never interpolated).
        width: Numbers in a sample; 4 for slerp, 7 for pose, 0 for object.
        capacity: Samples kept, >= 1.
        max_gap_s: Samples further apart than this are a gap; None allows any.
        tolerance_s: Of object streams, how far from an instant the nearest sample may lie.

    Raises:
        BadInput: an unknown kind, or numbers that do not fit it.
    """

    def __init__(
        self,
        name: str,
        clock: onbeat.clock.Clock | str,
        kind: Literal["hold", "linear", "cubic", "hermite", "slerp", "pose", "object"],
        width: int,
        capacity: int,
        max_gap_s: float | None = None,
        tolerance_s: float = 0.0,
    ) -> None: ...
    @property
    def name(self) -> str:
        """The name of the signal."""

    @property
    def clock(self) -> str:
        """The id of the clock of all instants."""

    @property
    def kind(self) -> Literal["hold", "linear", "cubic", "hermite", "slerp", "pose", "object"]:
        """What lies between the samples."""

    @property
    def width(self) -> int:
        """Numbers in a sample; 0 for objects."""

    @property
    def capacity(self) -> int:
        """Samples kept."""

    @property
    def max_gap_ns(self) -> int | None:
        """Samples further apart than this are a gap; None: any."""

    @property
    def tolerance_ns(self) -> int:
        """Of object streams, how far from an instant the nearest sample may lie."""

    @property
    def newest_ns(self) -> int | None:
        """Instant of the newest sample; None when empty."""

    @property
    def oldest_ns(self) -> int | None:
        """Instant of the oldest sample kept; None when empty."""

    @property
    def lag_ns(self) -> int | None:
        """
        How long after an instant a query for it can be answered.

        The longest of the last sixteen intervals, twice for cubic (its second sample behind the instant), tolerance_s for object; None while
        there are fewer than two samples.
        """

    @property
    def counts(self) -> dict[str, int]:
        """
        What became of the pushes, by reason.

        stored, duplicate (a sample of that instant was there: the first stays), nonfinite, nonunit (quaternion), misshapen, and forgotten
        (older than all that a full stream keeps) add up to all pushes; out_of_order and overwritten are parts of stored.
        """

    def __len__(self) -> int:
        """Samples kept now."""

    def push(self, t_ns: int, value: Any, rate: numpy.typing.ArrayLike | None = None) -> None:
        """
        Store one sample. A duplicate, or one older than all that a full stream keeps, is counted and not stored.

        Args:
            t_ns: When it was true, on the stream's clock.
            value: Shape (width,), or any object for an object stream. Quaternions may have either sign and come back sign-continuous.
            rate: Per second, for hermite (width,), slerp (omega in the body's frame, rad/s, 3) and pose (v in the world's frame in m/s, then
                omega in the body's frame in rad/s, 6). Between two samples with rates slerp and pose are cubic with these rates.

        Raises:
            BadInput: a value that is not finite or of another shape, a quaternion whose norm is off by more than 0.01, or a rate that the
                kind does not take.
        """

    def push_many(
        self,
        t_ns: numpy.typing.ArrayLike,
        values: Sequence[Any] | numpy.typing.NDArray[Any],
        rates: numpy.typing.ArrayLike | None = None,
    ) -> None:
        """
        Store many samples, int64 of shape (n,) and values of shape (n, width); what cannot be stored is counted by reason.

        Raises:
            BadInput: the lengths differ, or a rate is missing or not taken.
        """

    def at(self, t_ns: int) -> Sample:
        """
        Say what the signal was at an instant.

        Raises:
            NotYet: newer than the newest sample: wait.
            Forgotten: older than the oldest sample kept: too late.
            Gap: the samples around it are further apart than max_gap_s, or no object lies within tolerance_s.
        """

    def at_many(self, t_ns: numpy.typing.ArrayLike) -> Samples:
        """
        Say what the signal was at many instants, int64 of shape (n,), fastest when sorted.

        Instants without an answer are marked in `how` (NOT_YET, FORGOTTEN, GAP) and have NaN values. Each answer is of one moment; pushes may
        come between two answers.
        """

    def rate_at(self, t_ns: int) -> numpy.typing.NDArray[numpy.float64]:
        """
        Say how fast the signal changed at an instant, per second: a new array.

        Shape (width,); of slerp (3,): omega in the body's frame; of pose (6,): v in the world's frame, then omega in the body's frame. At a
        sample the measured rate, or that of the bracket that begins there. Refuses as `at` does, and hold and object with BadInput.
        """

    def __repr__(self) -> str: ...

def hold(stream: Stream, t_ns: int) -> Sample:
    """
    Give the newest sample that is not after an instant, however old: its `how` is HELD and its `age_ns` says how old.

    Raises:
        NotYet: the stream is empty.
        Forgotten: the instant is older than the oldest sample kept.
    """

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
        due_ns: When each knot had to be reached, int64 of shape (n,), at or before its instant: earlier where `schedule` stretched a
            move. Not given: no knot is late. Bookkeeping too.

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
        due_ns: numpy.typing.ArrayLike | None = None,
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
    def due_ns(self) -> numpy.typing.NDArray[numpy.int64]:
        """
        When each knot had to be reached, shape (n,), read-only; before its instant where a move was stretched.
        """

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

class MoveLimits:
    """
    What onbeat.motion.Limits has prepared: how long moves must take, and what is out of range.
    """

    def __init__(
        self,
        max_speed: numpy.typing.ArrayLike | None,
        lower: numpy.typing.ArrayLike | None,
        upper: numpy.typing.ArrayLike | None,
        max_angular_speed: float | None,
    ) -> None: ...
    def shortest_ns(
        self, starts: numpy.typing.ArrayLike, ends: numpy.typing.ArrayLike, pose: bool
    ) -> numpy.typing.NDArray[numpy.int64]:
        """Give the shortest time of each move, rounded up to a nanosecond."""

    def out_of_range(self, targets: numpy.typing.ArrayLike, pose: bool) -> numpy.typing.NDArray[numpy.bool_]:
        """Say which rows leave the range."""

    def __reduce__(self) -> tuple[Any, ...]: ...

class Rows:
    """Waypoints as columns, for splice."""

    @staticmethod
    def of_chunk(anchor_ns: int, step_ns: int, first_step: int, targets: numpy.typing.ArrayLike) -> Rows: ...
    @staticmethod
    def of_waypoints(waypoints: Sequence[Any]) -> Rows: ...

class Fates:
    """What became of waypoints, as columns."""

    def __init__(
        self,
        times_ns: numpy.typing.ArrayLike,
        targets: numpy.typing.ArrayLike,
        codes: numpy.typing.ArrayLike,
        by_ns: numpy.typing.ArrayLike,
        due_ns: numpy.typing.ArrayLike,
    ) -> None: ...
    @property
    def times_ns(self) -> numpy.typing.NDArray[numpy.int64]:
        """Instants of the waypoints, shape (n,)."""

    @property
    def targets(self) -> numpy.typing.NDArray[numpy.float64]:
        """Targets as given, shape (n, width)."""

    @property
    def codes(self) -> numpy.typing.NDArray[numpy.int8]:
        """Kinds by number, shape (n,)."""

    @property
    def by_ns(self) -> numpy.typing.NDArray[numpy.int64]:
        """How much, >= 0, shape (n,)."""

    @property
    def due_ns(self) -> numpy.typing.NDArray[numpy.int64]:
        """Instants of sending, shape (n,)."""

    def __len__(self) -> int: ...
    def count(self, code: int) -> int:
        """Count the waypoints of one kind."""

    def rejected(self) -> Fates:
        """Give the same with every waypoint rejected."""

    def __getitem__(self, index: int) -> tuple[int, numpy.typing.NDArray[numpy.float64], int, int, int]:
        """
        Give the instant, the target, the kind's number, by_ns and due_ns of one.
        """

    def __reduce__(self) -> tuple[Any, ...]: ...

def splice(
    plan: Trajectory,
    rows: Rows,
    limits: MoveLimits | None,
    now_ns: int,
    lead_ns: int,
    first_usable_ns: int | None,
    clamp_ns: int,
    scale: bool,
) -> tuple[Trajectory | None, Fates, Fates | None, bool, bool]:
    """
    Splice rows into a plan.

    Returns:
        The new plan or None where the old one goes on, the outcomes, those of the old plan's knots that lost their place or None,
        whether a target leaves the range (nothing was planned), and whether a move takes longer than was asked for.
    """

class ShaperCore:
    """What onbeat.motion.OnlineShaper steps with."""

    def __init__(
        self,
        max_speed: numpy.typing.ArrayLike,
        max_acceleration: numpy.typing.ArrayLike,
        max_jerk: numpy.typing.ArrayLike,
        lower: numpy.typing.ArrayLike,
        upper: numpy.typing.ArrayLike,
        width: int,
        dt_s: float,
    ) -> None: ...
    @property
    def begun(self) -> bool:
        """Whether it knows where it is."""

    def begin(
        self, position: numpy.typing.ArrayLike, velocity: numpy.typing.ArrayLike, acceleration: numpy.typing.ArrayLike
    ) -> None:
        """Say where the motion begins; forgets the targets before."""

    def step(
        self, target: numpy.typing.ArrayLike, velocity: numpy.typing.ArrayLike | None
    ) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]:
        """Move one period on and give position, velocity and acceleration."""

    def state(
        self,
    ) -> tuple[numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64], numpy.typing.NDArray[numpy.float64]]:
        """Give position, velocity and acceleration as they were last given."""

def stop_pieces(velocity: float, acceleration: float, max_acceleration: float, max_jerk: float) -> list[tuple[float, float]]:
    """Give the pieces of the fastest way to rest: duration in s, jerk."""

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
        """
        Close the socket; may be called twice. Raises BadInput while a loop sends to it.
        """

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

class SerialSink(Sink):
    """
    Targets on a serial line: raw, 8N1, no flow control, non-blocking.

    A frame is 0xA5 0x5A, u16 length, the frame of UdpSink, u16 CRC-16/CCITT-FALSE of length and frame; all little-endian. A line that is
    too slow or a reader that stops costs frames (WOULD_BLOCK), never time, and never tears one. A line that goes away stops the loop.

    Args:
        path: The device, such as /dev/ttyUSB0.
        baud: One of the standard rates; a frame takes (22 + 8 width) * 10 / baud seconds.
        width: Numbers in a target, 1..512.

    Raises:
        BadInput: a rate or width out of range.
        DeviceError: the line cannot be opened, is no serial line, or does not take the rate.
    """

    def __init__(self, path: str, baud: int, width: int) -> None: ...
    def close(self) -> None:
        """
        Set the line back as it was found and close it; may be called twice. Raises BadInput while a loop sends to it.
        """

    @property
    def path(self) -> str:
        """The device."""

    @property
    def frame_bytes(self) -> int:
        """Bytes of a frame on the line."""

    def __repr__(self) -> str: ...

def sleep_until_ns(t_ns: int) -> int:
    """
    Sleep until an instant of the monotonic clock without the GIL; returns when it woke.
    """

def monotonic_ns() -> int:
    """Read the monotonic clock."""

def enter_realtime(priority: int, cpu: int) -> tuple[int, int, int, int]:
    """
    Ask for SCHED_FIFO, a CPU (-1: any) and a locked stack for this thread: 0, -1 or an errno each, and the bytes locked.
    """

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
        max_acceleration: object | None = None,
        max_jerk: object | None = None,
        extrapolate_ns: object | None = None,
        stale_ns: object | None = None,
        phase_ns: object | None = None,
        feedback: bool = False,
        k_ff: float = 1.0,
    ) -> None: ...
    @property
    def width(self) -> int: ...
    @property
    def deadline_ns(self) -> int: ...
    def replace(self, plan: Trajectory) -> int: ...
    def aim(self, t_ns: int, position: object, velocity: object | None = None) -> int: ...
    def set_lead(self, lead_ns: int) -> None: ...
    def correct(self, t_ns: int, values: object, good_ns: int) -> None: ...
    def reference(self, t_ns: int) -> numpy.typing.NDArray[numpy.float64] | None: ...
    def feedback_ages(self) -> tuple[int, int, int]: ...
    def centre(self, at_ns: int, period_ns: float) -> None: ...
    def place(self, at: object) -> None: ...
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
    def place(self, at: object) -> None: ...
    def stop(self) -> None: ...
    def cycle(self, deadline_ns: int, wake_ns: int) -> int: ...
    @property
    def running(self) -> bool: ...
    @property
    def forked(self) -> bool: ...
    def realtime(self) -> tuple[int, int, int, int, int]: ...
    def stopped(self) -> tuple[str, int, int, int]: ...
