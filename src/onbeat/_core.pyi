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
