"""Each test is a situation, its numbers worked by hand. Times in the helpers are milliseconds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onbeat.errors import BadInput
from onbeat.motion import Chunk, Limits, Outcomes, Trajectory, Waypoint, schedule

MS = 1_000_000


def at_rest(x: float = 0.0, at_ms: float = 0.0) -> Trajectory:
    return Trajectory([round(at_ms * MS)], [[x]])


def way(*pairs: tuple[float, float]) -> list[Waypoint]:
    return [Waypoint(round(t_ms * MS), np.array([x])) for t_ms, x in pairs]


def knots(plan: Trajectory) -> list[tuple[float, float]]:
    return [(round(float(t) / MS, 3), round(float(x), 9)) for t, (x,) in zip(plan.times_ns, plan.targets, strict=True)]


def kinds(outcomes: Outcomes) -> list[str]:
    return [outcome.kind for outcome in outcomes]


def test_from_rest_the_path_starts_where_the_robot_is_now() -> None:
    plan, outcomes = schedule(at_rest(1.0), way((200, 2.0), (300, 4.0)), 100 * MS)
    assert knots(plan) == [(100, 1.0), (200, 2.0), (300, 4.0)]
    assert kinds(outcomes) == ["kept", "kept"]
    assert float(plan.at_ns(150 * MS)[0]) == 1.5


def test_late_prefix_is_dropped_and_reported() -> None:
    plan, outcomes = schedule(at_rest(), way((40, 1.0), (90, 2.0), (150, 3.0)), 100 * MS)
    assert knots(plan) == [(100, 0.0), (150, 3.0)]
    assert kinds(outcomes) == ["dropped", "dropped", "kept"]
    assert [outcome.by_ns for outcome in outcomes] == [60 * MS, 10 * MS, 0]


def test_waypoint_due_exactly_now_is_late() -> None:
    plan, outcomes = schedule(at_rest(), way((100, 1.0)), 100 * MS)
    assert kinds(outcomes) == ["dropped"]
    assert outcomes[0].by_ns == 0
    assert plan == at_rest()


def test_chunk_wholly_late_leaves_the_plan_alone() -> None:
    old = Trajectory([0, 500 * MS], [[0.0], [5.0]])
    plan, outcomes = schedule(old, way((10, 1.0), (20, 1.0)), 100 * MS)
    assert plan is old
    assert kinds(outcomes) == ["dropped", "dropped"]


def test_lead_is_taken_off_before_lateness_is_judged() -> None:
    plan, outcomes = schedule(at_rest(), way((200, 1.0), (260, 2.0)), 100 * MS, lead_ns=120 * MS)
    assert kinds(outcomes) == ["dropped", "kept"]
    assert (outcomes[0].by_ns, outcomes[0].due_ns) == (20 * MS, 80 * MS)
    assert knots(plan) == [(100, 0.0), (140, 2.0)]
    assert plan.lead_ns == 120 * MS


def test_plan_before_the_first_new_waypoint_is_kept() -> None:
    old = Trajectory([0, 100 * MS, 200 * MS, 300 * MS], [[0.0], [1.0], [5.0], [6.0]])
    plan, outcomes = schedule(old, way((250, 7.0), (350, 8.0)), 150 * MS)
    assert knots(plan) == [(150, 3.0), (200, 5.0), (250, 7.0), (350, 8.0)]
    assert [(o.waypoint.t_ns, o.kind) for o in outcomes.tail] == [(300 * MS, "dropped")]


def test_identical_plan_sent_again_changes_nothing() -> None:
    times = [(t, np.sin(t / 70)) for t in range(100, 900, 50)]
    plan, _ = schedule(at_rest(), way(*times), 0)
    again, outcomes = schedule(plan, way(*times), 333 * MS)
    when = np.arange(333 * MS, 1000 * MS, MS, dtype=np.int64)
    assert np.abs(again.at_many(when) - plan.at_many(when)).max() < 1e-12
    assert outcomes.tail == ()


def test_move_too_fast_arrives_later_and_says_by_how_much() -> None:
    plan, outcomes = schedule(at_rest(), way((200, 1.0)), 100 * MS, Limits(max_speed=4.0))
    assert knots(plan) == [(100, 0.0), (350, 1.0)]
    assert kinds(outcomes) == ["stretched"]
    assert outcomes[0].by_ns == 150 * MS


def test_stretched_waypoint_is_passed_through_before_the_next() -> None:
    plan, outcomes = schedule(at_rest(), way((200, 1.0), (300, 1.1), (600, 1.1)), 100 * MS, Limits(max_speed=4.0))
    assert knots(plan) == [(100, 0.0), (350, 1.0), (375, 1.1), (600, 1.1)]
    assert kinds(outcomes) == ["stretched", "stretched", "kept"]
    assert [outcome.by_ns for outcome in outcomes] == [150 * MS, 75 * MS, 0]


def test_stretch_ends_with_its_chunk() -> None:
    plan, _ = schedule(at_rest(), way((200, 1.0)), 100 * MS, Limits(max_speed=4.0))
    later, outcomes = schedule(plan, way((500, 1.2)), 150 * MS, Limits(max_speed=4.0))
    assert knots(later) == [(150, 0.2), (350, 1.0), (500, 1.2)]
    assert kinds(outcomes) == ["kept"]


def test_chunk_due_before_a_stretched_arrival_takes_its_place() -> None:
    plan, _ = schedule(at_rest(), way((200, 1.0)), 100 * MS, Limits(max_speed=4.0))
    later, outcomes = schedule(plan, way((300, 0.5)), 150 * MS, Limits(max_speed=4.0))
    assert knots(later) == [(150, 0.2), (300, 0.5)]
    assert [(o.waypoint.t_ns, o.kind) for o in outcomes.tail] == [(350 * MS, "dropped")]


def test_scale_stretches_the_whole_chunk_by_one_factor() -> None:
    plan, outcomes = schedule(at_rest(), way((200, 1.0), (400, 1.2)), 100 * MS, Limits(max_speed=4.0), on_limit="scale")
    assert knots(plan) == [(100, 0.0), (350, 1.0), (850, 1.2)]
    assert kinds(outcomes) == ["stretched", "stretched"]


def test_reject_refuses_the_chunk_and_leaves_the_plan() -> None:
    old = at_rest()
    plan, outcomes = schedule(old, way((200, 1.0), (900, 1.2)), 100 * MS, Limits(max_speed=4.0), on_limit="reject")
    assert plan is old
    assert kinds(outcomes) == ["rejected", "rejected"]


def test_target_out_of_range_rejects_the_call() -> None:
    old = at_rest()
    plan, outcomes = schedule(old, way((200, 0.5), (300, 1.5)), 100 * MS, Limits(upper=1.0))
    assert plan is old
    assert kinds(outcomes) == ["rejected", "rejected"]


def test_clamp_keeps_the_newest_late_waypoint_one_period_after_now() -> None:
    plan, outcomes = schedule(at_rest(), way((40, 1.0), (90, 2.0), (150, 3.0)), 100 * MS, late="clamp", period_ns=5 * MS)
    assert knots(plan) == [(100, 0.0), (105, 2.0), (150, 3.0)]
    assert kinds(outcomes) == ["dropped", "late", "kept"]
    assert outcomes[1].by_ns == 15 * MS


def test_clamp_never_passes_the_next_waypoint() -> None:
    plan, outcomes = schedule(at_rest(), way((90, 2.0), (104, 3.0)), 100 * MS, late="clamp", period_ns=10 * MS)
    assert knots(plan) == [(100, 0.0), (102, 2.0), (104, 3.0)]
    assert kinds(outcomes) == ["late", "kept"]


def test_chunk_is_anchored_to_its_observation() -> None:
    chunk = Chunk(anchor_ns=0, step_ns=100 * MS, targets=np.array([[1.0], [2.0], [3.0]]))
    plan, outcomes = schedule(at_rest(), chunk, 150 * MS)
    assert knots(plan) == [(150, 0.0), (200, 2.0), (300, 3.0)]
    assert kinds(outcomes) == ["dropped", "kept", "kept"]


@pytest.mark.parametrize(
    ("waypoints", "message"),
    [
        (way((200, float("nan"))), "waypoint 0 has nan in column 0"),
        (way((200, 1.0), (200, 2.0)), "waypoint 1 is due 0.000 ms before or at waypoint 0"),
        (way((200, 1.0), (150, 2.0)), "50.000 ms before"),
        ([Waypoint(0, np.zeros(2))], "width 2, the plan has width 1"),
        ([], "no waypoints"),
    ],
)
def test_bad_waypoints_are_refused_with_the_numbers(waypoints: list[Waypoint], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        schedule(at_rest(), waypoints, 100 * MS)


def test_negative_lead_is_refused() -> None:
    with pytest.raises(BadInput, match="lead_ns"):
        schedule(at_rest(), way((200, 1.0)), 0, lead_ns=-1)


@given(
    steps=st.lists(st.tuples(st.integers(1, 200), st.floats(-2, 2)), min_size=1, max_size=12),
    again=st.lists(st.tuples(st.integers(1, 200), st.floats(-2, 2)), min_size=1, max_size=12),
    now_ms=st.integers(0, 1500),
    lead_ms=st.integers(0, 150),
    on_limit=st.sampled_from(["delay", "scale"]),
)
def test_any_splice_is_continuous_within_speed_and_through_every_accepted_pose(
    steps: list[tuple[int, float]], again: list[tuple[int, float]], now_ms: int, lead_ms: int, on_limit: str
) -> None:
    limits = Limits(max_speed=5.0)

    def waypoints(steps: list[tuple[int, float]]) -> list[Waypoint]:
        times = np.cumsum([step for step, _ in steps])
        return way(*((float(t), x) for t, (_, x) in zip(times, steps, strict=True)))

    first, _ = schedule(at_rest(), waypoints(steps), 0, limits, on_limit=on_limit)  # type: ignore[arg-type]
    now = now_ms * MS
    plan, outcomes = schedule(first, waypoints(again), now, limits, on_limit=on_limit, lead_ns=lead_ms * MS)  # type: ignore[arg-type]
    assert abs(plan.at_ns(now)[0] - first.at_ns(now)[0]) < 1e-12
    when = np.arange(now, plan.end_ns + MS, MS // 2, dtype=np.int64)
    assert np.abs(np.diff(plan.at_many(when)[:, 0])).max(initial=0.0) <= 5.0 * 0.5e-3 + 1e-9
    for outcome in outcomes:
        assert outcome.by_ns >= 0
        if outcome.kind in ("kept", "stretched"):
            assert abs(plan.at_ns(outcome.due_ns + outcome.by_ns)[0] - outcome.waypoint.target[0]) < 1e-9
