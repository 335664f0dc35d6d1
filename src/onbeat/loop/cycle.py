"""One record per cycle and what a loop says of itself."""

from dataclasses import dataclass
from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ("RECORD_DTYPE", "Flag", "LoopStatus", "as_records")

RECORD_DTYPE = np.dtype(
    [(name, "<i8") for name in ("deadline_ns", "wake_ns", "sent_ns", "done_ns", "t_eff_ns", "plan", "skipped", "flags")]
)
"""One cycle in 64 bytes. The first five are instants on the monotonic clock (by hand: on the caller's).

- deadline_ns: tick of the grid; wake_ns: when the thread ran; sent_ns: read just before the target was evaluated and handed to
  the sink; done_ns: when the sink returned; t_eff_ns: the instant that was evaluated.
- plan: id of the plan, 0 for the first and one more for each replace.
- skipped: deadlines that were missed between this send and the next.
- flags: a Flag.
"""


class Flag(IntFlag):
    """What was unusual about a cycle."""

    LATE = 1  # sent more than half a period after the deadline, and evaluated at the instant of sending
    SKIPPED = 2  # deadlines were missed between this send and the next
    HELD = 4  # not on the path: before its start, after its end, or held by on_late="hold"
    EXTRAPOLATED = 8  # no path: from the targets sent before, on at their speed or down to rest
    LIMITED = 16  # a limit moved the target
    WOULD_BLOCK = 32  # the sink could not take the target: it was not sent
    NO_FIFO = 64  # the thread runs without SCHED_FIFO
    DEVICE_ERROR = 128  # the sink or the device failed; the loop stops
    STALE_PLAN = 256  # the plan had ended before its first cycle, or was not replaced, or aimed, for stale_s
    CORRECTED = 512  # feedback was added to the target, before the limits

    @classmethod
    def _missing_(cls, value: object) -> Any:
        # Sets of flags come out of the records as numpy integers, which the enumeration does not take for ints.
        return super()._missing_(int(value) if isinstance(value, np.integer) else value)


def as_records(rows: NDArray[np.int64]) -> NDArray[Any]:
    """View rows of eight int64 as records, without a copy."""
    return rows.view(RECORD_DTYPE).reshape(len(rows))


@dataclass(frozen=True, slots=True)
class LoopStatus:
    """What a loop says of itself.

    Args:
        running: Whether the thread goes on.
        soft: Whether Python sends; then nothing about its timing is guaranteed.
        realtime: Whether SCHED_FIFO was granted.
        refused: One sentence for each thing that was asked for and refused, with what would grant it.
        locked_bytes: Memory of this loop that cannot be paged out.
        cycles: Sends, also those that a sink did not take.
        missed: Deadlines without a send.
        late: Sends more than half a period late.
        limited: Sends that a limit moved.
        would_block: Sends that the sink did not take.
        dropped_records: Records that were lost because nobody called records() in time.
        error: Why the loop stopped on its own; "" when it did not.
        feedback: With feedback on: what that means, with the age of the samples as measured; "" when it is off.
    """

    running: bool
    soft: bool
    realtime: bool
    refused: tuple[str, ...]
    locked_bytes: int
    cycles: int
    missed: int
    late: int
    limited: int
    would_block: int
    dropped_records: int
    error: str
    feedback: str = ""
