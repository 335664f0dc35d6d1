"""What a plan costs: sample it, schedule a chunk of 16, schedule 1000 waypoints; poses and joints.

Beside it, in the same run, a plain restatement of the rule that UMI's controllers follow (our own code): one immutable
interpolator for each plan, one waypoint at a time, each splice a new interpolator through scipy. The rounds are interleaved and
the best of each counts; a splice is never into the plan that it made, so nothing is a no-op.
"""

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import interp1d
from scipy.spatial.transform import Rotation, Slerp

from onbeat.motion import Chunk, Limits, Trajectory, Waypoint, schedule

MS = 1_000_000
ROUNDS = 7
MAX_SPEED, MAX_TURN = 0.25, 0.6

Array = NDArray[np.float64]


class UmiPlan:
    """Poses (xyz and a rotation vector) over float seconds; evaluated outside its knots it holds the ends."""

    def __init__(self, times: Array, poses: Array) -> None:
        self.times, self.poses = times, poses
        if len(times) > 1:
            self.position = interp1d(times, poses[:, :3], axis=0, assume_sorted=True)
            self.rotation = Slerp(times, Rotation.from_rotvec(poses[:, 3:]))

    def __call__(self, t: Array) -> Array:
        if len(self.times) == 1:
            return np.repeat(self.poses, len(t), axis=0)
        inside = np.clip(t, self.times[0], self.times[-1])
        return np.hstack([self.position(inside), self.rotation(inside).as_rotvec()])

    def trim(self, start: float, end: float) -> "UmiPlan":
        between = (self.times > start) & (self.times < end)
        times = np.unique(np.concatenate([[start], self.times[between], [end]]))
        return UmiPlan(times, self(times))

    def schedule_waypoint(self, pose: Array, t: float, now: float, last: float) -> "UmiPlan":
        """Cut the plan at the last waypoint's instant, and append a move that takes as long as the speeds ask for."""
        if t <= now:
            return self
        start = max(now, self.times[0])
        end = min(now if t <= last else max(last, now), t)
        kept = self.trim(start, end)
        before = kept.poses[-1]
        move = np.linalg.norm(pose[:3] - before[:3]) / MAX_SPEED
        turn = (Rotation.from_rotvec(pose[3:]) * Rotation.from_rotvec(before[3:]).inv()).magnitude() / MAX_TURN
        arrival = end + max(t - end, move, turn)
        return UmiPlan(np.append(kept.times, arrival), np.vstack([kept.poses, pose]))


def umi_schedule(plan: UmiPlan, times: Array, poses: Array, now: float, last: float) -> UmiPlan:
    for t, pose in zip(times, poses, strict=True):
        plan = plan.schedule_waypoint(pose, t, now, last)
        last = t
    return plan


@dataclass
class Path:
    """One motion in both forms: a slow circle with a slow turn, every 100 ms."""

    poses: Array
    rotvecs: Array

    @classmethod
    def of(cls, n: int, phase: float) -> "Path":
        s = 0.1 * np.arange(n) + phase
        xyz = np.stack([0.2 * np.cos(0.5 * s), 0.2 * np.sin(0.5 * s), 0.01 * np.sin(s)], axis=1)
        rotvecs = np.stack([np.zeros(n), np.zeros(n), 0.8 * np.sin(0.3 * s)], axis=1)
        quats = Rotation.from_rotvec(rotvecs).as_quat()[:, [3, 0, 1, 2]]
        return cls(np.hstack([xyz, quats]), np.hstack([xyz, rotvecs]))


def instants(start_s: float, n: int) -> Array:
    """Give n instants 100 ms apart, in float seconds."""
    return np.array([start_s + 0.1 * k for k in range(n)])


def microseconds(call: Callable[[], object], calls: int) -> float:
    begin = time.perf_counter_ns()
    for _ in range(calls):
        call()
    return (time.perf_counter_ns() - begin) / calls * 1e-3


def best(ours: Callable[[], object], theirs: Callable[[], object] | None, calls: int, their_calls: int) -> tuple[float, float]:
    """Interleave the rounds, so that a busy moment of the machine meets both."""
    a, b = [], [float("nan")]
    for _ in range(ROUNDS):
        a.append(microseconds(ours, calls))
        if theirs is not None:
            b.append(microseconds(theirs, their_calls))
    return min(a), float(np.nanmin(b)) if theirs is not None else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    options = parser.parse_args()

    limits = Limits(max_speed=MAX_SPEED, max_angular_speed=MAX_TURN)
    old, new = Path.of(16, 0.0), Path.of(16, 0.3)
    now_ns, lead = 430 * MS, 50 * MS
    plan = Trajectory(np.arange(16) * 100 * MS, old.poses, kind="pose")
    chunk = Chunk(300 * MS, 100 * MS, new.poses)
    umi_plan = UmiPlan(instants(0.0, 16), old.rotvecs)
    umi_times = instants(0.35, 16)

    joints = Trajectory(np.arange(16) * 100 * MS, old.rotvecs)
    joint_chunk = Chunk(300 * MS, 100 * MS, new.rotvecs)
    joint_limits = Limits(max_speed=[0.5] * 6, lower=-3.0, upper=3.0)

    many = Path.of(1000, 0.3)
    waypoints = [Waypoint((k + 4) * 100 * MS, pose) for k, pose in enumerate(many.poses)]
    thousand = Chunk(300 * MS, 100 * MS, many.poses)
    # 1000 waypoints take UMI's rule 4 s: 200 of them are measured.
    few = many.rotvecs[:200]

    def splice_chunk() -> object:
        return schedule(plan, chunk, now_ns, limits, lead_ns=lead)

    def rebuilt_chunk() -> object:
        return schedule(plan, Chunk(300 * MS, 100 * MS, new.poses), now_ns, limits, lead_ns=lead)

    sample = best(lambda: plan.at_ns(345 * MS), lambda: umi_plan(np.array([0.345])), 20_000, 200)
    chunk16 = best(splice_chunk, lambda: umi_schedule(umi_plan, umi_times, new.rotvecs, 0.43, 1.5), 3000, 3)
    joint16 = best(lambda: schedule(joints, joint_chunk, now_ns, joint_limits, lead_ns=lead), None, 3000, 0)
    fresh16 = best(rebuilt_chunk, None, 3000, 0)
    list1000 = best(
        lambda: schedule(plan, waypoints, now_ns, limits),
        lambda: umi_schedule(umi_plan, instants(0.4, len(few)), few, 0.43, 1.5),
        50,
        1,
    )
    chunk1000 = best(lambda: schedule(plan, thousand, now_ns, limits), None, 200, 0)

    def bar(what: str, limit_us: float, ours: float, beside: str) -> dict[str, object]:
        return {"what": what, "bar": f"<= {limit_us:g} us", "figure": f"{ours:.2f} us{beside}", "met": ours <= limit_us}

    def against(pair: tuple[float, float]) -> str:
        return f" (UMI's rule {pair[1]:.0f} us: {pair[1] / pair[0]:.0f} times)"

    bars = [
        bar("sample a plan of 16 poses", 5, sample[0], against(sample)),
        bar("schedule a chunk of 16 poses into a plan, both speeds limited", 50, chunk16[0], against(chunk16)),
        bar("the same, and make the Chunk", 50, fresh16[0], ""),
        bar("schedule a chunk of 16 x 6 joints, speeds and range limited", 50, joint16[0], ""),
        bar(
            "schedule 1000 waypoints, from a list of Waypoint",
            1000,
            list1000[0],
            f" (UMI's rule, 200 of them: {list1000[1]:.0f} us)",
        ),
        bar("schedule 1000 waypoints, from a Chunk", 1000, chunk1000[0], ""),
    ]
    if options.json:
        print(json.dumps({"bars": bars}))
        return
    for each in bars:
        print(f"{each['what']}: {each['figure']} (bar {each['bar']}, {'met' if each['met'] else 'MISSED'})")


if __name__ == "__main__":
    main()
