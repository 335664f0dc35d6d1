"""A scripted stand-in for a policy trained on demonstrations of one grasp at a moving cup.

What such a policy has learned is a pairing: this image goes with these actions, k steps later. It knows no clock, no
latency and no rig. Here the demonstration is the motion of the cup and of the hand over it; the policy recognises in
the latest images which moment of the demonstration it sees, and answers with what the hand did after that moment.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import OnbeatError
from onbeat.motion.clip import Clip
from onbeat.motion.kinematics import inverse
from onbeat.stream import Observation

__all__ = ("DemonstratedGrasp", "Demonstration")

# The hand comes down at 0.2 m/s and slows down over 0.4 s around the instant of closing: a hand that closes
# early is still above the cup, one that closes late has gone by.
DESCENT_MPS = 0.2
RAMP_S = 0.4
CLOSE_S = 0.3


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One grasp: the cup's motion, and what the hand did over it.

    Args:
        cup: Positions of the point to grasp, from the start of the demonstration on.
        close_ns: When the jaws were half closed around it, counted from the start.
        hover_m: How far above that point the hand travelled before it came down.
        open_m, closed_m: Opening of the jaws before and after.
    """

    cup: Clip
    close_ns: int
    hover_m: float = 0.12
    open_m: float = 0.078
    closed_m: float = 0.058

    def tool_at_many(self, phase_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give where the hand was, shape (n, 3)."""
        tool = self.cup.at_many(phase_ns)
        tool[:, 2] += self.height_at_many(phase_ns)
        return tool

    def height_at_many(self, phase_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the height above the point to grasp, 0 at the instant of closing."""
        seconds = _since_s(phase_ns, self.close_ns)
        fall_s = self.hover_m / DESCENT_MPS
        # Distance left to fall: a ramp whose two corners are rounded over RAMP_S.
        rounded: NDArray[np.float64] = _rounded_ramp(-seconds) - _rounded_ramp(-seconds - fall_s)
        return np.asarray(DESCENT_MPS * (rounded - _rounded_ramp(np.zeros(1))[0]))

    def opening_at_many(self, phase_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the opening of the jaws in metres, shape (n, 1)."""
        closed = np.clip(_since_s(phase_ns, self.close_ns) / CLOSE_S + 0.5, 0.0, 1.0)
        return np.asarray(self.open_m + (self.closed_m - self.open_m) * closed)[:, None]


class DemonstratedGrasp:
    """The policy: recognise the moment, answer with the actions that followed it.

    Args:
        demonstration: What it was trained on.
        detect: From an image to the cup's place on the table (x, y) in metres, or None when it is not in view.
        policy_dt_ns: Time between rows in training.
        rows: Length of a chunk.
        memory: How many images it remembers.
    """

    def __init__(
        self,
        demonstration: Demonstration,
        detect: Callable[[Any], tuple[float, float] | None],
        policy_dt_ns: int,
        rows: int = 16,
        memory: int = 6,
    ) -> None:
        self.demonstration = demonstration
        self._detect = detect
        self._steps_ns = policy_dt_ns * np.arange(1, rows + 1, dtype=np.int64)
        self._seen: deque[tuple[int, float, float]] = deque(maxlen=memory)
        self._phase_ns: int | None = None

    def __call__(self, observation: Observation) -> Mapping[str, NDArray[np.float64]]:
        """Answer with joint targets of the arm and openings of the gripper, 16 rows each."""
        place = self._detect(observation.samples["camera"].value)
        if place is None:
            raise OnbeatError("the cup is not in the camera's view")
        self._seen.append((observation.t_ns, *place))
        phase_ns = self._recognise(observation.t_ns)
        following = phase_ns + self._steps_ns
        tools = self.demonstration.tool_at_many(following)
        return {
            "arm": np.stack([inverse(tool) for tool in tools]),
            "gripper": self.demonstration.opening_at_many(following),
        }

    def _recognise(self, t_ns: int) -> int:
        """Give the moment of the demonstration that the remembered images show, best in the least-squares sense."""
        ages_ns = np.array([t_ns - seen_ns for seen_ns, _, _ in self._seen], dtype=np.int64)
        places = np.array([place for _, *place in self._seen])
        if self._phase_ns is None:
            candidates = np.arange(0, 500_000_000, 5_000_000, dtype=np.int64)
        else:
            expected = self._phase_ns + self._since_ns(ages_ns)
            candidates = expected + np.arange(-250_000_000, 250_000_001, 5_000_000, dtype=np.int64)
        shown = self.demonstration.cup.at_many(candidates[:, None] - ages_ns[None, :])[..., :2]
        cost = ((shown - places) ** 2).sum(axis=(1, 2))
        best = int(np.argmin(cost))
        phase_ns = float(candidates[best])
        if 0 < best < len(cost) - 1:
            before, at, after = cost[best - 1 : best + 2]
            bend = before - 2 * at + after
            if bend > 0:
                phase_ns += 0.5 * (before - after) / bend * 5_000_000
        self._phase_ns = round(phase_ns)
        return self._phase_ns

    @staticmethod
    def _since_ns(ages_ns: NDArray[np.int64]) -> int:
        return int(ages_ns[-2] - ages_ns[-1]) if len(ages_ns) > 1 else 0


def _since_s(phase_ns: NDArray[np.int64], start_ns: int) -> NDArray[np.float64]:
    return np.asarray((np.asarray(phase_ns) - start_ns) * 1e-9, dtype=np.float64)


def _rounded_ramp(seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """max(0, t) with its corner rounded by a parabola over RAMP_S."""
    half = RAMP_S / 2
    inside = np.clip(seconds + half, 0.0, RAMP_S)
    return np.asarray(inside**2 / (2 * RAMP_S) + np.maximum(seconds - half, 0.0))
