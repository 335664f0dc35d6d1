"""Where to be, when: a waypoint, and a policy's chunk of them anchored to the instant of its observation."""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import index
from typing import SupportsIndex

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.units import whole_ns

__all__ = ("Chunk", "Waypoint")


def _frozen(values: object, ndim: int, name: str) -> NDArray[np.float64]:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadInput(f"{name} must be an array of numbers: {error}") from error
    if array.ndim != ndim:
        raise BadInput(f"{name} must have {ndim} dimension(s), not the shape {array.shape}")
    array.flags.writeable = False
    return array


def _whole(steps: SupportsIndex) -> int:
    try:
        return index(steps)
    except TypeError:
        raise BadInput(f"first_step must be a whole number of steps, not {steps!r}") from None


@dataclass(frozen=True, slots=True, eq=False)
class Waypoint:
    """Be at `target` at `t_ns`.

    Args:
        t_ns: When the hardware should be there, on the robot's clock.
        target: Shape (width,). Copied and read-only; may hold NaN, which `schedule` rejects with its outcome.

    Raises:
        BadInput: an instant that is no int of nanoseconds, or a target of another shape or that is not numbers.
    """

    t_ns: int
    target: NDArray[np.float64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "t_ns", whole_ns(self.t_ns, "t_ns"))
        object.__setattr__(self, "target", _frozen(self.target, 1, "target"))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Waypoint):
            return NotImplemented
        return self.t_ns == other.t_ns and np.array_equal(self.target, other.target, equal_nan=True)

    def __hash__(self) -> int:
        # Not of the bytes: 0.0 and -0.0 are equal, and so must be their hashes.
        return hash((self.t_ns, self.target.shape))


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """What a policy answers to one observation: the k-th row is due k steps after the anchor, k from first_step.

    Args:
        anchor_ns: The instant at which the observation was true (not now), on the robot's clock.
        step_ns: Time between rows, > 0.
        targets: Shape (n, width), n >= 1.
        first_step: Steps between the anchor and row 0; 1 in onbeat, 0 in UMI.

    Raises:
        BadInput: a step that is not positive, targets of another shape, or instants that are no ints of 64-bit nanoseconds.
    """

    anchor_ns: int
    step_ns: int
    targets: NDArray[np.float64]
    first_step: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "anchor_ns", whole_ns(self.anchor_ns, "anchor_ns"))
        object.__setattr__(self, "step_ns", whole_ns(self.step_ns, "step_ns"))
        object.__setattr__(self, "first_step", _whole(self.first_step))
        object.__setattr__(self, "targets", _frozen(self.targets, 2, "targets"))
        if self.step_ns <= 0:
            raise BadInput(f"step_ns must be > 0, not {self.step_ns}")
        if len(self.targets) == 0:
            raise BadInput("a chunk needs at least one target")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Chunk):
            return NotImplemented
        mine = (self.anchor_ns, self.step_ns, self.first_step)
        theirs = (other.anchor_ns, other.step_ns, other.first_step)
        return mine == theirs and np.array_equal(self.targets, other.targets, equal_nan=True)

    def __len__(self) -> int:
        return len(self.targets)

    def t_ns(self, row: int) -> int:
        """Give the instant at which a row is due."""
        return self.anchor_ns + (self.first_step + row) * self.step_ns

    def first_row_after(self, t_ns: int) -> int:
        """Give the first row that is due after an instant; the number of rows where none is."""
        row = (t_ns - self.anchor_ns) // self.step_ns + 1 - self.first_step
        return min(max(row, 0), len(self))

    def waypoints(self) -> Sequence[Waypoint]:
        """Give the rows with the instants at which they are due."""
        return [Waypoint(self.t_ns(k), target) for k, target in enumerate(self.targets)]
