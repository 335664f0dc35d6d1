"""Observe at the camera's instant, infer, schedule: the loop around a policy."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onbeat.errors import BadInput, OnbeatError
from onbeat.motion import Chunk, Outcomes
from onbeat.policy.rig import Module, Rig
from onbeat.stream import Observation
from onbeat.stream.align import align
from onbeat.units import TimeGrid, to_ns

__all__ = ("Decision", "Policy", "Runner")

Policy = Callable[[Observation], Any]
"""Any callable: Observation -> targets of shape (n, width), or a mapping of them by module."""

_RETRY_NS = 2_000_000
_FEW = 0.75


@dataclass(frozen=True, slots=True)
class Decision:
    """One turn of the loop, for records and reports.

    Args:
        start_ns: When the observation was asked for.
        anchor_ns: The instant of the observation: the camera's capture.
        ready_ns: When the chunk was there and was scheduled.
        chunks: What the policy answered, by module.
        outcomes: What became of it, by module.
    """

    start_ns: int
    anchor_ns: int
    ready_ns: int
    chunks: Mapping[str, Chunk]
    outcomes: Mapping[str, Outcomes]


class Runner:
    """Runs a policy on a rig at a fixed rate.

    The newest frame of the camera defines the instant; the other streams are aligned to it, and each chunk is anchored
    to it. Rows are execution_speed_scale * policy_dt_s apart.

    Args:
        rig: Started.
        policy: See `Policy`; an array answers for the only module that takes commands.
        policy_dt_s: Time between turns and, in training, between rows of a chunk.
        execution_speed_scale: Above 1 plays a chunk slower than it was demonstrated.
        n_obs: Observations for the policy, obs_dt_s apart back from the camera's instant; 1 in this version.
        first_step: Which step after the anchor the first row is: 1 here, 0 in UMI.
        camera: Name of the module that defines the instant; the rig's only camera when not given.
        inference_ns: How long the policy takes, for a policy that stands for a slower one: drawn at each turn.
        compensate: Whether the modules' action_latency is taken off.

    Raises:
        BadInput: the rig has no camera or several, or a number makes no sense.
    """

    def __init__(
        self,
        rig: Rig,
        policy: Policy,
        policy_dt_s: float,
        execution_speed_scale: float = 1.0,
        n_obs: int = 1,
        obs_dt_s: float | None = None,
        first_step: int = 1,
        *,
        camera: str | None = None,
        inference_ns: Callable[[], int] | None = None,
        compensate: bool = True,
    ) -> None:
        if not policy_dt_s > 0 or not execution_speed_scale > 0:
            raise BadInput(f"policy_dt_s and execution_speed_scale must be > 0, not {policy_dt_s} and {execution_speed_scale}")
        if n_obs != 1 or obs_dt_s is not None:
            raise BadInput(f"this version hands one observation to a policy, not n_obs={n_obs}")
        self.rig = rig
        self.policy = policy
        self.step_ns = to_ns(policy_dt_s * execution_speed_scale)
        self.first_step = first_step
        self.decisions: list[Decision] = []
        self.listeners: list[Callable[[Decision], None]] = []
        self._period_s = policy_dt_s
        self._camera = rig[camera] if camera is not None else _only_camera(rig)
        self._inference_ns = inference_ns
        self._compensate = compensate
        self._grid: TimeGrid | None = None
        self._turn: tuple[int, int, Mapping[str, Chunk]] | None = None
        self._anchor_ns: int | None = None
        self._log = logging.getLogger("onbeat.runner")

    def run(self, duration_s: float | None = None) -> list[Decision]:
        """Run for a while, or until a step fails or the caller interrupts; gives the decisions of this run."""
        before = len(self.decisions)
        self.rig.drive.add("policy", self.step)
        try:
            if duration_s is not None:
                self.rig.drive.run_for(duration_s)
            while duration_s is None:
                self.rig.drive.run_for(1.0)
        finally:
            self.rig.drive.remove("policy")
            self._grid = self._turn = None
        return self.decisions[before:]

    def step(self, now_ns: int) -> int:
        """Observe and infer, or schedule what has been inferred; gives the instant of the next step."""
        if self._grid is None:
            self._grid = TimeGrid(now_ns, 1.0 / self._period_s)
        if self._turn is None:
            observation = self._observe()
            if observation is None:
                return now_ns + _RETRY_NS
            self._turn = (now_ns, observation.t_ns, self._infer(observation))
            # A policy that really computes has taken its time by now; one that stands for a slower one is not ready yet.
            return now_ns if self._inference_ns is None else now_ns + self._inference_ns()
        self._schedule(now_ns, *self._turn)
        self._turn = None
        return self._grid.tick_ns(self._grid.index(now_ns) + 1)

    def _observe(self) -> Observation | None:
        """Give the streams at the newest frame that is new, or None where one of them has not come so far yet."""
        newest_ns = self._camera.stream.newest_ns
        if newest_ns is None or newest_ns == self._anchor_ns:
            return None
        observation = align(self.rig.streams, newest_ns)
        if not observation.complete:
            hopeless = [why for why in observation.missing.values() if not why.startswith("not yet")]
            if hopeless:
                raise OnbeatError(f"no observation at the camera's instant: {hopeless[0]}")
            return None
        self._anchor_ns = observation.t_ns
        return observation

    def _infer(self, observation: Observation) -> dict[str, Chunk]:
        answer = self.policy(observation)
        if not isinstance(answer, Mapping):
            takers = [name for name, module in self.rig.modules.items() if module.commanded]
            if len(takers) != 1:
                raise BadInput(f"the policy must answer by module: {', '.join(takers)} take commands")
            answer = {takers[0]: answer}
        return {
            name: Chunk(observation.t_ns, self.step_ns, np.asarray(targets), self.first_step) for name, targets in answer.items()
        }

    def _schedule(self, now_ns: int, start_ns: int, anchor_ns: int, chunks: Mapping[str, Chunk]) -> None:
        outcomes = {name: self.rig[name].schedule_j(chunk, self._compensate) for name, chunk in chunks.items()}
        decision = Decision(start_ns, anchor_ns, now_ns, chunks, outcomes)
        self.decisions.append(decision)
        self._report(decision)
        for listener in self.listeners:
            listener(decision)

    def _report(self, decision: Decision) -> None:
        for name, outcomes in decision.outcomes.items():
            future = len(outcomes) - outcomes.count_of("dropped") - outcomes.count_of("rejected")
            line = f"Scheduled {len(outcomes)} waypoints ({future} in the future)"
            if future < _FEW * len(outcomes):
                line += f": few, because {self._why_few(decision, self.rig[name])}"
            self._log.info("%s: %s", name, line)

    def _why_few(self, decision: Decision, module: Module) -> str:
        old_ms = (decision.start_ns - decision.anchor_ns) / 1e6
        inference_ms = (decision.ready_ns - decision.start_ns) / 1e6
        lead_ms = module.action_latency_s * 1e3 if self._compensate else 0.0
        camera_ms = self._camera.receive_latency_s * 1e3
        return (
            f"the anchor was {old_ms:.0f} ms old (receive_latency of {self._camera.name!r} is {camera_ms:.0f} ms), "
            f"inference took {inference_ms:.0f} ms and the lead is {lead_ms:.0f} ms"
        )


def _only_camera(rig: Rig) -> Module:
    cameras = [module for module in rig.modules.values() if module.info.kind == "camera"]
    if len(cameras) != 1:
        names = ", ".join(module.name for module in cameras) or "none"
        raise BadInput(f"one camera must define the instant of an observation, and this rig has {names}; name it with camera=")
    return cameras[0]
