"""The rules of `schedule` told one waypoint at a time, in plain lists: slow, and easy to check by eye.

A plan is a list of knots (t_ns, target, due_ns); a waypoint is (t_ns, target). Linear targets only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil

from tests.oracle import interpolation

Vector = Sequence[float]


@dataclass
class Knot:
    t_ns: int
    target: list[float]
    due_ns: int


@dataclass
class Told:
    """What became of a waypoint."""

    kind: str = "kept"
    by_ns: int = 0


def at(plan: Sequence[Knot], t_ns: int) -> list[float]:
    if t_ns <= plan[0].t_ns:
        return plan[0].target
    for before, after in pairwise(plan):
        if before.t_ns <= t_ns < after.t_ns:
            return interpolation.linear(before.target, after.target, interpolation.fraction(before.t_ns, t_ns, after.t_ns))
    return plan[-1].target


def shortest_ns(start: Vector, end: Vector, max_speed: float | None) -> int:
    """The time of the slowest column, rounded up; a move, however small, takes at least a nanosecond."""
    if list(start) == list(end):
        return 0
    seconds = 0.0 if max_speed is None else max(abs(b - a) / max_speed for a, b in zip(start, end, strict=True))
    return max(1, ceil(seconds * 1e9 - 1e-3))


def schedule(
    plan: Sequence[Knot],
    waypoints: Sequence[tuple[int, Vector]],
    now_ns: int,
    max_speed: float | None = None,
    late: str = "drop",
    on_limit: str = "delay",
    lead_ns: int = 0,
    period_ns: int = 4_000_000,
    first_usable_ns: int | None = None,
) -> tuple[list[Knot], list[Told]]:
    due = [t_ns - lead_ns for t_ns, _ in waypoints]
    targets = [list(target) for _, target in waypoints]
    told = [Told() for _ in waypoints]
    rows = range(len(waypoints))

    usable = [due[k] > now_ns and (first_usable_ns is None or waypoints[k][0] >= first_usable_ns) for k in rows]
    first = usable.index(True) if True in usable else len(waypoints)
    held = rows_that_the_plan_holds(plan, due, targets, now_ns, first)

    for k in range(first):
        if k not in held:
            told[k] = Told("dropped", max(0, now_ns - due[k]))
    for k, knot in held.items():
        told[k] = Told("stretched" if knot.t_ns > due[k] else "kept", knot.t_ns - due[k])
    new = [k for k in rows if k >= first and k not in held]
    wanted = dict(zip(rows, due, strict=True))
    if late == "clamp" and not held and first > 0 and (first_usable_ns is None or waypoints[first - 1][0] >= first_usable_ns):
        wanted[first - 1] = now_ns + period_ns
        if first < len(waypoints):
            wanted[first - 1] = min(wanted[first - 1], now_ns + max(1, (due[first] - now_ns) // 2))
        told[first - 1].kind = "late"
        new.insert(0, first - 1)

    last_held = held[max(held)] if held else None
    if not new and (last_held is None or last_held is plan[-1]):
        return list(plan), told

    path = [Knot(now_ns, at(plan, now_ns), now_ns)]
    for knot in plan:
        still_kept = knot.t_ns <= last_held.t_ns if last_held else knot.t_ns < wanted[new[0]]
        if knot.t_ns > now_ns and still_kept:
            path.append(knot)

    base, base_due = path[-1].t_ns, path[-1].due_ns if held else path[-1].t_ns
    befores = [path[-1].target, *(targets[k] for k in new)]
    shortest = {k: shortest_ns(before, targets[k], max_speed) for k, before in zip(new, befores, strict=False)}
    factor = 1.0
    if on_limit == "scale":
        gaps = {k: wanted[k] - before for k, before in zip(new, [base_due, *(wanted[k] for k in new)], strict=False)}
        factor = max([1.0, *(shortest[k] / gaps[k] for k in new)])
    refused = False
    for k in new:
        arrival = max(wanted[k], path[-1].t_ns + shortest[k])
        if factor > 1.0:
            arrival = max(arrival, base + ceil((wanted[k] - base_due) * factor - 1e-3))
        refused |= arrival > wanted[k]
        told[k].by_ns = arrival - due[k]
        if told[k].kind == "kept" and told[k].by_ns > 0:
            told[k].kind = "stretched"
        if arrival > path[-1].t_ns:
            path.append(Knot(arrival, targets[k], due[k]))
    if refused and on_limit == "reject":
        return list(plan), [Told("rejected", each.by_ns) for each in told]
    return path, told


def rows_that_the_plan_holds(
    plan: Sequence[Knot], due: Sequence[int], targets: Sequence[Vector], now_ns: int, first: int
) -> dict[int, Knot]:
    """Rows that stand in the plan as knots to come, one after the other, from a row that is not after the first usable one."""
    pending = [knot for knot in plan if knot.t_ns > now_ns]
    for k in range(min(first + 1, len(due))):
        for i, knot in enumerate(pending):
            if (knot.due_ns, knot.target) == (due[k], targets[k]):
                return run(pending[i:], due, targets, k)
    return {}


def run(pending: Sequence[Knot], due: Sequence[int], targets: Sequence[Vector], k: int) -> dict[int, Knot]:
    held = {k: pending[0]}
    i = 0
    for row in range(k + 1, len(due)):
        following = pending[i + 1] if i + 1 < len(pending) else None
        if following is not None and (following.due_ns, following.target) == (due[row], targets[row]):
            i += 1
        elif not (pending[i].t_ns >= due[row] and pending[i].target == targets[row]):
            break
        held[row] = pending[i]
    return held
