"""What was asked of each joint, and what it did: the recording of a robot in the form that `onbeat delay` reads."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput

__all__ = ("JointEpisode", "JointRecording")


@dataclass(frozen=True, slots=True)
class JointEpisode:
    """One episode: commands and measurements of all joints at the same instants.

    Args:
        index: Its number in the recording.
        t_ns: Instants of the rows, strictly increasing, on the clock of the recording; int64, shape (n,), n >= 2.
        command: What was asked, in the recording's units. Shape (n, width).
        measured: What was read back, same units. Shape (n, width).
        source: The file that it came from.

    Raises:
        BadInput: shapes disagree, a value is not finite, fewer than two rows, or instants that do not increase; says where.
    """

    index: int
    t_ns: NDArray[np.int64]
    command: NDArray[np.float64]
    measured: NDArray[np.float64]
    source: str = ""

    def __post_init__(self) -> None:
        where = f"episode {self.index}" + (f" of {self.source}" if self.source else "")
        if (
            self.t_ns.ndim != 1
            or self.command.ndim != 2
            or self.command.shape != self.measured.shape
            or len(self.command) != len(self.t_ns)
        ):
            shapes = f"{self.t_ns.shape}, {self.command.shape} and {self.measured.shape}"
            raise BadInput(
                f"{where}: times, commands and measurements have shapes {shapes}; they need (n,), (n, width) and (n, width)"
            )
        if len(self.t_ns) < 2:
            raise BadInput(
                f"{where} has {len(self.t_ns)} row(s); a delay needs at least a second of motion, so take a longer recording"
            )
        later = self.t_ns[1:] > self.t_ns[:-1]
        if not np.all(later):
            row = int(np.argmin(later)) + 1
            back_ns = int(self.t_ns[row - 1]) - int(self.t_ns[row])
            what = "repeats an instant" if back_ns == 0 else f"goes back by {back_ns / 1e6:.3f} ms"
            raise BadInput(f"{where}: row {row} {what}; sort the rows by time, or split the recording where it restarts")
        for name, values in (("command", self.command), ("measured", self.measured)):
            if not np.all(np.isfinite(values)):
                row, column = (int(k) for k in np.argwhere(~np.isfinite(values))[0])
                bad = f"{where}: {name} {column} is {values[row, column]} in row {row}"
                raise BadInput(f"{bad}; remove the rows that were not measured, or that joint")
        for array in (self.t_ns, self.command, self.measured):
            array.setflags(write=False)


@dataclass(frozen=True, slots=True)
class JointRecording:
    """A recording, opened: what it is, and a way to read its episodes one at a time.

    Args:
        path: The file, or the root of the data set.
        kind: What it is, e.g. "LeRobot v3.0".
        robot: The robot's name where the recording has one, else "".
        joints: Names of the joints, in the order of the columns.
        rate_hz: Rate of the rows where the recording states one, else None.
        timing: One sentence: what the instants of the rows are.
        episode_count: How many episodes it says it has; None when that is known only after reading.
        read: Called by `episodes`; None reads all of them, a number only that one.
        notes: What else a reader of the result should know.
    """

    path: Path
    kind: str
    robot: str
    joints: tuple[str, ...]
    rate_hz: float | None
    timing: str
    episode_count: int | None
    read: Callable[[int | None], Iterator[JointEpisode]]
    notes: tuple[str, ...] = ()

    def episodes(self, only: int | None = None) -> Iterator[JointEpisode]:
        """Read the episodes one at a time, in order; memory stays that of one episode.

        Args:
            only: The number of the one episode to read; None reads all.

        Raises:
            BadInput: a file is broken, or there is no such episode.
        """
        return self.read(only)
