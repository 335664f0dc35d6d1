"""Observe at the camera's instant, infer, schedule: the loop around a policy."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onbeat.errors import BadInput, OnbeatError
from onbeat.motion import Chunk, Outcomes
from onbeat.motion.lead import first_usable_ns
from onbeat.policy.module import Module
from onbeat.policy.rig import Rig
from onbeat.policy.verdicts import Verdicts
from onbeat.stream import Observation
from onbeat.stream.align import align
from onbeat.units import TimeGrid, to_ns, to_s

__all__ = ("Decision", "Policy", "Runner")

Policy = Callable[[Observation], Any]
"""Any callable: Observation -> targets of shape (n, width), or a mapping of them by module."""

_RETRY_NS = 2_000_000
_LOOK_S = 0.05
_LAST_WORD_S = 1.0
# The nearest image may lie half a frame away, and a tenth more where frames jitter; further away one was lost.
_NEAR_FRAMES = 0.6
_TURNS_OLD = 2
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
        verdicts: What was late: "anchor_old" and "inference_slow", as in `Runner.counts`.
    """

    start_ns: int
    anchor_ns: int
    ready_ns: int
    chunks: Mapping[str, Chunk]
    outcomes: Mapping[str, Outcomes]
    verdicts: tuple[str, ...] = ()


class Runner:
    """Runs a policy on a rig at a fixed rate.

    The newest frame of the camera defines the instant; the other streams are aligned to it, and each chunk is anchored
    to it. Rows are execution_speed_scale * policy_dt_s apart. In real time the policy runs on a thread of its own: while it
    computes, everything else goes on, and a plan that ends meanwhile is held at its end.

    Args:
        rig: Started.
        policy: See `Policy`; an array answers for the only module that takes commands.
        policy_dt_s: Time between turns and, in training, between rows of a chunk.
        execution_speed_scale: Above 1 plays a chunk slower than it was demonstrated.
        n_obs: Instants that the policy sees: the camera's, and those obs_dt_s, 2 obs_dt_s, ... before it, in
            `observation.history`, oldest first. Images are the nearest, within half a frame; all else is exact in time.
        obs_dt_s: Time between them; policy_dt_s when not given.
        first_step: Which step after the anchor the first row is: 1 here, 0 in UMI.
        camera: Name of the module that defines the instant; the rig's only camera when not given.
        inference_ns: How long the policy takes, for a policy that stands for a slower one: drawn at each turn.
        compensate: Whether the modules' action_latency is taken off.
        max_anchor_age_s: From which age on an observation gets the verdict "anchor_old"; when not given, the camera's
            receive_latency and two policy_dt_s.
        max_inference_s: When a policy has not answered for so long, the run ends with an error. The first answer of a
            compiled network may take longer than all others: ask it once before the run.
        together: Whether all modules begin at the first row that each of them can still use, so that late rows do not tear
            a grasp apart.

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
        max_anchor_age_s: float | None = None,
        max_inference_s: float = 10.0,
        together: bool = False,
    ) -> None:
        if not policy_dt_s > 0 or not execution_speed_scale > 0:
            raise BadInput(f"policy_dt_s and execution_speed_scale must be > 0, not {policy_dt_s} and {execution_speed_scale}")
        if n_obs < 1 or (obs_dt_s is not None and not obs_dt_s > 0):
            raise BadInput(f"n_obs must be >= 1 and obs_dt_s > 0, not {n_obs} and {obs_dt_s}")
        if not max_inference_s > 0 or (max_anchor_age_s is not None and not max_anchor_age_s > 0):
            raise BadInput(f"max_inference_s and max_anchor_age_s must be > 0, not {max_inference_s} and {max_anchor_age_s}")
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
        self._n_obs = n_obs
        self._obs_dt_ns = to_ns(policy_dt_s if obs_dt_s is None else obs_dt_s)
        self._max_anchor_age_ns = None if max_anchor_age_s is None else to_ns(max_anchor_age_s)
        self._max_inference_s = max_inference_s
        self._asked_ns: int | None = None
        self._waiting_ns: int | None = None
        self._starved_ns = 0
        self._together = together
        self._grid: TimeGrid | None = None
        self._turn: tuple[int, int, Mapping[str, Chunk]] | None = None
        self._anchor_ns: int | None = None
        self._log = logging.getLogger("onbeat.runner")
        self._verdicts = Verdicts(self._log)

    @property
    def counts(self) -> dict[str, int]:
        """How often what was late, by kind: anchor_old, inference_slow, frame_missing, starved."""
        return dict(self._verdicts.counts)

    def run(self, duration_s: float | None = None) -> list[Decision]:
        """Run for a while, or until a step fails or the caller interrupts; gives the decisions of this run.

        Raises:
            DeviceError: a module failed; all modules hold.
            OnbeatError: the policy raised, or has not answered for max_inference_s. Its last answer is then not used, and
                until it has returned the runner cannot run again.
        """
        if self.rig.error is not None:
            raise self.rig.error
        if self._asked_ns is not None:
            raise self._unanswered()
        drive, clock, before = self.rig.drive, self.rig.clock, len(self.decisions)
        end_ns = None if duration_s is None else clock.now_ns() + to_ns(duration_s)
        self._grid = self._turn = self._waiting_ns = None
        drive.add("policy", self.step)
        try:
            while end_ns is None or clock.now_ns() < end_ns:
                look_ns = clock.now_ns() + to_ns(_LOOK_S)
                drive.run_until(look_ns if end_ns is None else min(look_ns, end_ns))
                if self._asked_s() > self._max_inference_s:
                    raise self._unanswered()
            if not drive.remove("policy", max(_LAST_WORD_S, self._max_inference_s - self._asked_s())):
                raise self._unanswered()
        finally:
            drive.remove("policy", _LAST_WORD_S)
        return self.decisions[before:]

    def step(self, now_ns: int) -> int:
        """Observe and infer, or schedule what has been inferred; gives the instant of the next step."""
        if self._grid is None:
            self._grid = TimeGrid(now_ns, 1.0 / self._period_s)
        if self._turn is None:
            observation = self._observe(now_ns)
            if observation is None:
                return now_ns + _RETRY_NS
            self._asked_ns = now_ns
            try:
                self._turn = (now_ns, observation.t_ns, self._infer(observation))
            finally:
                self._asked_ns = None
            # A policy that really computes has taken its time by now; one that stands for a slower one is not ready yet.
            return now_ns if self._inference_ns is None else now_ns + self._inference_ns()
        self._schedule(now_ns, *self._turn)
        self._turn = None
        return self._grid.tick_ns(self._grid.index(now_ns) + 1)

    def _observe(self, now_ns: int) -> Observation | None:
        """Give the streams at the newest frame that is new, or None where one of them has not come so far yet."""
        newest_ns = self._camera.stream.newest_ns
        if newest_ns is None or newest_ns == self._anchor_ns:
            self._wait(now_ns, f"no new frame of {self._camera.name!r}")
            return None
        frames = {name: module.sample_ns for name, module in self.rig.modules.items() if not module.commanded}
        near_ns = {name: round(frame_ns * _NEAR_FRAMES) for name, frame_ns in frames.items() if frame_ns is not None}
        observation = align(self.rig.streams, newest_ns, self._n_obs, self._obs_dt_ns, near_ns)
        for name, why in observation.missing.items():
            stream = self.rig[name].stream
            if why.startswith("gap"):
                self._anchor_ns = newest_ns
                self._verdicts.note("frame_missing", now_ns, 0, 0, why)
            elif why.startswith("forgotten") and len(stream) == stream.capacity:
                raise OnbeatError(f"no observation at the camera's instant: {why}")
        if not observation.complete:
            self._wait(now_ns, next(iter(observation.missing.values())))
            return None
        self._anchor_ns = observation.t_ns
        self._waiting_ns = None
        return observation

    def _wait(self, now_ns: int, why: str) -> None:
        """Remember since when there is no observation, and say why once that is too long."""
        limit_ns = self._limit_ns()
        if self._waiting_ns is None:
            self._waiting_ns = self._starved_ns = now_ns
        if now_ns - self._starved_ns > limit_ns:
            self._starved_ns = now_ns
            self._verdicts.note("starved", now_ns, now_ns - self._waiting_ns, limit_ns, why)

    def _limit_ns(self) -> int:
        """Give how old an observation may be."""
        if self._max_anchor_age_ns is not None:
            return self._max_anchor_age_ns
        return to_ns(self._camera.receive_latency_s + _TURNS_OLD * self._period_s)

    def _asked_s(self) -> float:
        """Say for how long the policy has been computing; 0 when it is not."""
        asked_ns = self._asked_ns
        return 0.0 if asked_ns is None else to_s(self.rig.clock.now_ns() - asked_ns)

    def _unanswered(self) -> OnbeatError:
        return OnbeatError(
            f"the policy has not answered for {self._asked_s():.1f} s (max_inference_s is {self._max_inference_s:g} s); "
            "each module holds at the end of its plan"
        )

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
        first_ns = self._first_usable_ns(chunks, now_ns) if self._together else None
        outcomes: dict[str, Outcomes] = {}
        for name, chunk in chunks.items():
            module = self.rig[name]
            go = module.schedule_l if module.takes_poses else module.schedule_j
            outcomes[name] = go(chunk, self._compensate, first_usable_ns=first_ns, now_ns=now_ns)
        verdicts = self._judge(start_ns, anchor_ns, now_ns)
        decision = Decision(start_ns, anchor_ns, now_ns, chunks, outcomes, verdicts)
        self.decisions.append(decision)
        self._report(decision)
        for listener in self.listeners:
            listener(decision)

    def _judge(self, start_ns: int, anchor_ns: int, ready_ns: int) -> tuple[str, ...]:
        spans = (
            ("anchor_old", start_ns - anchor_ns, self._limit_ns()),
            ("inference_slow", ready_ns - start_ns, to_ns(self._period_s)),
        )
        late = [(kind, took_ns, limit_ns) for kind, took_ns, limit_ns in spans if took_ns > limit_ns]
        for kind, took_ns, limit_ns in late:
            self._verdicts.note(kind, ready_ns, took_ns, limit_ns)
        self._verdicts.tell(ready_ns)
        return tuple(kind for kind, _, _ in late)

    def _first_usable_ns(self, chunks: Mapping[str, Chunk], now_ns: int) -> int:
        return first_usable_ns(chunks, {name: self.rig[name].lead_ns(self._compensate) for name in chunks}, now_ns)

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
