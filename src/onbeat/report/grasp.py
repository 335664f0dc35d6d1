"""How a grasp at a moving cup went, judged by the simulator's ledger."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onbeat.device.ledger import Ledger
    from onbeat.policy.demonstration import Demonstration
    from onbeat.policy.runner import Decision

__all__ = ("Grasp", "judge_grasp")

_STEP_NS = 1_000_000
# The hand has caught up with the cup by then, and the error that is left is one of timing.
_SETTLED_NS = 1_500_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Grasp:
    """One run of the grasp.

    Args:
        name: Which latencies it ran with: "uncompensated", "copied" or "measured".
        latencies_s: The five numbers, by "module.key".
        distance_m: From the tool to the point to grasp, when the jaws were half closed; None when they never were.
        height_error_m: How much too high the tool was then; None as above.
        closing_error_s: How late the jaws were half closed against the demonstration; None as above.
        same_instant_m: Root mean square distance between the tool and where it was demonstrated at the same instant.
        late_waypoints: Waypoints of all chunks that were late and dropped, both modules.
        waypoints: All waypoints of all chunks.
        times_s: Time against the demonstrated closing, shape (n,).
        tool, cup, wanted: Positions in metres over time, shape (n, 3).
        opening, wanted_opening: Of the jaws in metres, shape (n,).
    """

    name: str
    latencies_s: dict[str, float]
    distance_m: float | None
    height_error_m: float | None
    closing_error_s: float | None
    same_instant_m: float
    late_waypoints: int
    waypoints: int
    times_s: NDArray[np.float64]
    tool: NDArray[np.float64]
    cup: NDArray[np.float64]
    wanted: NDArray[np.float64]
    opening: NDArray[np.float64]
    wanted_opening: NDArray[np.float64]


def judge_grasp(
    name: str,
    latencies_s: dict[str, float],
    demonstration: "Demonstration",
    ledger: "Ledger",
    decisions: "list[Decision]",
    start_ns: int,
    end_ns: int,
) -> Grasp:
    """Compare what truly happened between start_ns and end_ns with the demonstration that began at start_ns."""
    when_ns = np.arange(start_ns, end_ns, _STEP_NS, dtype=np.int64)
    phase_ns = when_ns - start_ns
    tool, cup = ledger.tool_at_many(when_ns), ledger.cup_at_many(when_ns)
    wanted = demonstration.tool_at_many(phase_ns)
    opening = ledger.gripper_at_many(when_ns)[:, 0]
    half = (demonstration.open_m + demonstration.closed_m) / 2
    # The jaws open from their rest before they close: the closing is the last time that they pass the middle.
    passing = np.flatnonzero((opening[:-1] > half) & (opening[1:] <= half))
    closing = int(passing[-1]) + 1 if len(passing) else None
    settled = (phase_ns >= _SETTLED_NS) & (phase_ns <= demonstration.close_ns)
    outcomes = [outcomes for decision in decisions for outcomes in decision.outcomes.values()]
    return Grasp(
        name=name,
        latencies_s=latencies_s,
        distance_m=None if closing is None else float(np.linalg.norm(tool[closing] - cup[closing])),
        height_error_m=None if closing is None else float(tool[closing, 2] - cup[closing, 2]),
        closing_error_s=None if closing is None else float(phase_ns[closing] - demonstration.close_ns) * 1e-9,
        same_instant_m=float(np.sqrt(((tool - wanted)[settled] ** 2).sum(axis=1).mean())),
        late_waypoints=sum(each.count_of("dropped") for each in outcomes),
        waypoints=sum(len(each) for each in outcomes),
        times_s=np.asarray((phase_ns - demonstration.close_ns) * 1e-9, dtype=np.float64),
        tool=tool,
        cup=cup,
        wanted=wanted,
        opening=opening,
        wanted_opening=demonstration.opening_at_many(phase_ns)[:, 0],
    )
