"""Each test is a situation, its numbers worked by hand. Times in the helpers are milliseconds."""

import pickle
from itertools import pairwise
from math import cos, pi, sin, sqrt
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onbeat.errors import BadInput
from onbeat.motion import Chunk, Limits, Outcomes, Trajectory, Waypoint, schedule
from tests.oracle import schedule as oracle

MS = 1_000_000
OnLimit = Literal["delay", "scale", "reject"]


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


@pytest.mark.parametrize("now_ms", [150, 200, 250, 300, 340, 349, 350, 360, 375, 376, 599, 600])
def test_plan_with_stretched_waypoints_sent_again_changes_nothing(now_ms: int) -> None:
    # 0.9 lies behind the turn at 1.0: a row dropped as late would cut the corner that the plan is still on its way to.
    times = way((200, 1.0), (300, 0.9), (310, 0.9), (600, 1.1))
    limits = Limits(max_speed=4.0)
    plan, first = schedule(at_rest(), times, 100 * MS, limits)
    assert knots(plan) == [(100, 0.0), (350, 1.0), (375, 0.9), (600, 1.1)]
    again, outcomes = schedule(plan, times, now_ms * MS, limits)
    assert again is plan
    assert outcomes.tail == ()
    for row, before in zip(outcomes, first, strict=True):
        assert row == before if before.due_ns + before.by_ns > now_ms * MS else row.kind == "dropped"


def test_scaled_plan_sent_again_changes_nothing() -> None:
    times, limits = way((200, 1.0), (400, 1.2)), Limits(max_speed=4.0)
    plan, _ = schedule(at_rest(), times, 100 * MS, limits, on_limit="scale")
    again, outcomes = schedule(plan, times, 150 * MS, limits, on_limit="scale")
    assert again is plan
    assert [(o.kind, o.by_ns) for o in outcomes] == [("stretched", 150 * MS), ("stretched", 450 * MS)]


def test_clamped_plan_sent_again_changes_nothing() -> None:
    times = way((90, 2.0), (150, 3.0))
    plan, _ = schedule(at_rest(), times, 100 * MS, late="clamp", period_ns=10 * MS)
    for now_ms in (102, 120):
        again, _ = schedule(plan, times, now_ms * MS, late="clamp", period_ns=10 * MS)
        assert again is plan


def test_window_that_slides_on_adds_its_last_row_and_keeps_the_corner() -> None:
    limits = Limits(max_speed=4.0)
    plan, _ = schedule(at_rest(), way((200, 1.0), (300, 0.9)), 100 * MS, limits)
    plan, outcomes = schedule(plan, way((200, 1.0), (300, 0.9), (400, 0.9), (500, 1.3)), 310 * MS, limits)
    assert knots(plan) == [(310, 0.84), (350, 1.0), (375, 0.9), (400, 0.9), (500, 1.3)]
    assert kinds(outcomes) == ["stretched", "stretched", "kept", "kept"]


def test_beginning_of_the_plan_sent_again_drops_the_rest() -> None:
    plan, _ = schedule(at_rest(), way((200, 1.0), (300, 2.0), (400, 3.0)), 100 * MS)
    shorter, outcomes = schedule(plan, way((200, 1.0), (300, 2.0)), 150 * MS)
    assert knots(shorter) == [(150, 0.5), (200, 1.0), (300, 2.0)]
    assert [(o.waypoint.t_ns, o.kind, o.by_ns, o.due_ns) for o in outcomes.tail] == [(400 * MS, "dropped", 0, 400 * MS)]


def test_row_with_a_new_target_is_new() -> None:
    plan, _ = schedule(at_rest(), way((200, 1.0), (300, 2.0)), 100 * MS)
    changed, outcomes = schedule(plan, way((200, 1.5), (300, 2.0)), 150 * MS)
    assert knots(changed) == [(150, 0.5), (200, 1.5), (300, 2.0)]
    assert [o.waypoint.target.tolist() for o in outcomes.tail] == [[1.0]]


@given(
    steps=st.lists(st.tuples(st.integers(1, 200), st.sampled_from([-1.0, 0.0, 0.3, 2.0])), min_size=1, max_size=10),
    again_ms=st.lists(st.integers(0, 2500), min_size=1, max_size=3).map(sorted),
    on_a_knot=st.booleans(),
    lead_ms=st.integers(0, 150),
    on_limit=st.sampled_from(["delay", "scale"]),
    late=st.sampled_from(["drop", "clamp"]),
)
def test_plan_sent_again_changes_nothing_at_any_time(
    steps: list[tuple[int, float]], again_ms: list[int], on_a_knot: bool, lead_ms: int, on_limit: OnLimit, late: Any
) -> None:
    times = np.cumsum([step for step, _ in steps])
    waypoints = way(*((float(t), x) for t, (_, x) in zip(times, steps, strict=True)))
    settings: dict[str, Any] = {"limits": Limits(max_speed=5.0), "late": late, "on_limit": on_limit, "lead_ns": lead_ms * MS}
    plan, _ = schedule(at_rest(), waypoints, 0, **settings)
    first = plan
    instants = [int(first.times_ns[t % len(first)]) if on_a_knot else t * MS + 333 for t in again_ms]
    for now_ns in sorted(instants):
        plan, outcomes = schedule(plan, waypoints, now_ns, **settings)
        assert outcomes.tail == ()
        when = np.unique(np.concatenate([np.linspace(now_ns, now_ns + 3000 * MS, 301).astype(np.int64), first.times_ns]))
        when = when[when >= now_ns]
        assert np.abs(plan.at_many(when) - first.at_many(when)).max() <= 1e-9
        for t_ns in when.tolist():
            assert plan.velocity_at_ns(t_ns)[0] == pytest.approx(first.velocity_at_ns(t_ns)[0], abs=1e-9)


def test_velocity_goes_on_across_a_plan_that_is_extended() -> None:
    plan, _ = schedule(at_rest(), way((200, 1.0), (400, 3.0)), 0)
    velocities = []
    for now_ms in range(10, 400, 10):
        plan, _ = schedule(plan, way((400, 3.0), (500 + now_ms, 3.0)), now_ms * MS)
        velocities.append(float(plan.velocity_at_ns(now_ms * MS)[0]))
    assert velocities == pytest.approx([5.0] * 19 + [10.0] * 20, abs=1e-9)


def test_velocity_is_zero_before_a_plan_begins_and_where_it_ends() -> None:
    plan, _ = schedule(at_rest(), way((200, 1.0)), 100 * MS)
    assert [float(plan.velocity_at_ns(t * MS)[0]) for t in (99, 100, 199, 200)] == [0.0, 10.0, 10.0, 0.0]


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


def test_scale_leaves_a_chunk_that_fits_alone() -> None:
    plan, outcomes = schedule(at_rest(), way((200, 0.4), (400, 1.0)), 100 * MS, Limits(max_speed=4.0), on_limit="scale")
    assert knots(plan) == [(100, 0.0), (200, 0.4), (400, 1.0)]
    assert kinds(outcomes) == ["kept", "kept"]


def test_slowest_joint_stretches_all() -> None:
    rest = Trajectory([0], [[0.0, 0.0]])
    plan, outcomes = schedule(rest, [Waypoint(100 * MS, np.array([0.1, 0.4]))], 0, Limits(max_speed=[1.0, 2.0]))
    assert plan.times_ns.tolist() == [0, 200 * MS]
    assert outcomes[0].by_ns == 100 * MS


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


@pytest.mark.parametrize("name", ["max_speed", "lower", "upper"])
def test_limits_of_another_width_are_refused(name: str) -> None:
    with pytest.raises(BadInput, match=f"{name} has 2 numbers and the targets have width 1"):
        schedule(at_rest(), way((200, 0.5)), 100 * MS, Limits(**dict[str, Any]({name: [1.0, 2.0]})))


def test_arrival_after_the_end_of_time_is_refused() -> None:
    with pytest.raises(BadInput, match="an arrival does not fit into 64 bits"):
        schedule(at_rest(), way((200, 1.0), (300, -1.0), (400, 1.0)), 100 * MS, Limits(max_speed=1e-300))


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
        (way((200, 1.0), (300, float("-inf"))), "waypoint 1 has -inf in column 0"),
        ([Waypoint(0, np.zeros(2))], "width 2, the plan has width 1"),
        ([Waypoint(0, np.zeros(1)), Waypoint(1, np.zeros(2))], "waypoint 0 has 1 and waypoint 1 has 2"),
        ([], "no waypoints"),
        (Chunk(2**63 - 2, 1, np.zeros((2, 1))), "row 1 of the chunk does not fit into 64 bits"),
    ],
)
def test_bad_waypoints_are_refused_with_the_numbers(waypoints: list[Waypoint] | Chunk, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        schedule(at_rest(), waypoints, 100 * MS)


def test_negative_lead_is_refused() -> None:
    with pytest.raises(BadInput, match="lead_ns"):
        schedule(at_rest(), way((200, 1.0)), 0, lead_ns=-1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"late": "later"}, "'drop' or 'clamp'"),
        ({"on_limit": "bend"}, "'delay', 'scale' or 'reject'"),
        ({"period_ns": 0}, "period_ns"),
    ],
)
def test_words_that_mean_nothing_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        schedule(at_rest(), way((200, 1.0)), 0, **arguments)


def test_row_before_the_first_usable_instant_is_dropped_though_it_is_not_late() -> None:
    plan, outcomes = schedule(at_rest(), way((50, 1.0), (150, 2.0), (250, 3.0)), 100 * MS, first_usable_ns=250 * MS)
    assert knots(plan) == [(100, 0.0), (250, 3.0)]
    assert [(o.kind, o.by_ns) for o in outcomes] == [("dropped", 50 * MS), ("dropped", 0), ("kept", 0)]


def test_row_before_the_first_usable_instant_that_the_plan_holds_stays() -> None:
    times = way((50, 1.0), (150, 2.0), (250, 3.0))
    plan, _ = schedule(at_rest(), times, 0)
    again, outcomes = schedule(plan, times, 100 * MS, first_usable_ns=250 * MS)
    assert again is plan
    assert kinds(outcomes) == ["dropped", "kept", "kept"]


def test_nothing_is_clamped_before_the_first_usable_instant() -> None:
    settings: Any = {"late": "clamp", "first_usable_ns": 95 * MS}
    plan, _ = schedule(at_rest(), way((90, 2.0), (150, 3.0)), 100 * MS, **settings)
    assert knots(plan) == [(100, 0.0), (150, 3.0)]
    plan, _ = schedule(at_rest(), way((95, 2.0), (150, 3.0)), 100 * MS, **settings)
    assert knots(plan) == [(100, 0.0), (104, 2.0), (150, 3.0)]


def turned(degrees: float, x: float = 0.0, norm: float = 1.0) -> list[float]:
    """Give a pose x metres along, turned about z."""
    half = degrees * pi / 360
    return [x, 0.0, 0.0, norm * cos(half), 0.0, 0.0, norm * sin(half)]


def poses(*targets: list[float], step_ms: int = 100) -> Chunk:
    return Chunk(0, step_ms * MS, np.array(targets))


def test_pose_that_turns_too_fast_arrives_later() -> None:
    rest = Trajectory([0], [turned(0)], kind="pose")
    # 90 degrees at 3 rad/s take 523.599 ms; 0.2 m at 1 m/s take 200 ms.
    plan, outcomes = schedule(rest, poses(turned(90, 0.2)), 0, Limits(max_speed=1.0, max_angular_speed=3.0))
    assert plan.kind == "pose"
    assert outcomes[0].by_ns == pytest.approx(423_598_776, abs=1)
    assert np.linalg.norm(plan.velocity_at_ns(0)[3:]) == pytest.approx(3.0, abs=1e-8)


def test_pose_that_moves_too_fast_arrives_later() -> None:
    rest = Trajectory([0], [turned(0)], kind="pose")
    plan, outcomes = schedule(rest, poses(turned(90, 0.8)), 0, Limits(max_speed=1.0, max_angular_speed=3.0))
    assert outcomes[0].by_ns == 700 * MS
    np.testing.assert_allclose(plan.at_ns(400 * MS), turned(45, 0.4), atol=1e-12)


def test_turn_goes_the_short_way_round() -> None:
    rest = Trajectory([0], [turned(170)], kind="pose")
    # From 170 to 190 degrees, written as -170: 20 degrees at 1 rad/s, not 340.
    _, outcomes = schedule(rest, poses(turned(-170)), 0, Limits(max_angular_speed=1.0))
    assert outcomes[0].by_ns == pytest.approx(round(20 * pi / 180 * 1e9) - 100 * MS, abs=1)


def test_quaternions_become_unit_and_continuous_in_sign_with_the_plan() -> None:
    rest = Trajectory([0], [turned(0)], kind="pose")
    negative = [0.0, 0.0, 0.0, *(-np.array(turned(20))[3:])]
    plan, outcomes = schedule(rest, poses(turned(10, norm=1.004), negative, turned(30, norm=0.995)), 0)
    np.testing.assert_allclose(plan.targets, [turned(0), turned(10), turned(20), turned(30)], atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(plan.targets[:, 3:], axis=1), 1.0, atol=1e-15)
    assert outcomes[1].waypoint.target.tolist() == negative


def test_poses_sent_again_change_nothing_whatever_their_sign_and_norm() -> None:
    rest = Trajectory([0], [turned(0)], kind="pose")
    limits = Limits(max_speed=1.0, max_angular_speed=1.0)
    chunk = poses(turned(10, 0.1, norm=1.004), turned(50, 0.2), turned(-120, 0.1, norm=0.995))
    plan, first = schedule(rest, chunk, 0, limits, lead_ns=20 * MS)
    other_sign = Chunk(chunk.anchor_ns, chunk.step_ns, chunk.targets * np.array([1, 1, 1, -1, -1, -1, -1]))
    for sent in (chunk, other_sign):
        for now_ns in (50 * MS, int(plan.times_ns[1]), 1000 * MS):
            again, outcomes = schedule(plan, sent, now_ns, limits, lead_ns=20 * MS)
            assert again is plan
            assert outcomes.by_ns[-1] == first.by_ns[-1]


def test_pose_off_unit_norm_is_refused() -> None:
    rest = Trajectory([0], [turned(0)], kind="pose")
    with pytest.raises(BadInput, match=r"waypoint 1 has a quaternion of norm 1\.5000"):
        schedule(rest, poses(turned(0), turned(10, norm=1.5)), 0)


def test_range_of_a_pose_is_that_of_its_position() -> None:
    rest = Trajectory([0], [turned(0)], kind="pose")
    for upper in (0.1, [0.1, 1.0, 1.0], [0.1, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0]):
        plan, outcomes = schedule(rest, poses(turned(0, 0.09), turned(10, 0.1)), 0, Limits(upper=upper))
        assert kinds(outcomes) == ["kept", "kept"]
        plan, outcomes = schedule(rest, poses(turned(0, 0.11)), 0, Limits(upper=upper))
        assert plan is rest


def test_half_turn_keeps_to_the_speed() -> None:
    rest = Trajectory([0], [turned(0)], kind="pose")
    plan, _ = schedule(rest, poses([0.0, 0.0, 0.0, 0.0, sqrt(0.5), sqrt(0.5), 0.0]), 0, Limits(max_angular_speed=2.0))
    assert plan.end_ns == pytest.approx(pi / 2 * 1e9, abs=1)


class TestOutcomes:
    def outcomes(self) -> Outcomes:
        old = Trajectory([0, 500 * MS], [[0.0], [5.0]], lead_ns=20 * MS)
        return schedule(old, way((40, 1.0), (150, 2.0)), 100 * MS, Limits(max_speed=40.0), lead_ns=10 * MS)[1]

    def test_is_a_sequence(self) -> None:
        outcomes = self.outcomes()
        assert len(outcomes) == 2
        assert outcomes[-1] == outcomes[1]
        assert outcomes[0:2] == list(outcomes)
        assert outcomes == self.outcomes()
        assert outcomes != "two"
        with pytest.raises(IndexError):
            outcomes[2]

    def test_arrays_are_read_only_and_outlive_it(self) -> None:
        by_ns, codes, targets = self.outcomes().by_ns, self.outcomes().codes, self.outcomes().targets
        assert (by_ns.tolist(), codes.tolist(), targets.tolist()) == ([70 * MS, 0], [3, 0], [[1.0], [2.0]])
        assert not by_ns.flags.writeable
        assert not targets.flags.writeable
        assert self.outcomes().due_ns.tolist() == [30 * MS, 140 * MS]
        assert self.outcomes().times_ns.tolist() == [40 * MS, 150 * MS]

    def test_tail_speaks_of_the_old_plan_with_its_own_lead(self) -> None:
        tail = self.outcomes().tail
        assert [(o.waypoint.t_ns, o.due_ns, o.kind, o.by_ns) for o in tail] == [(520 * MS, 500 * MS, "dropped", 0)]

    def test_says_what_there_is(self) -> None:
        assert repr(self.outcomes()) == "Outcomes(1 kept, 1 dropped)"
        assert self.outcomes().count_of("dropped") == 1

    def test_survives_pickling(self) -> None:
        copy = pickle.loads(pickle.dumps(self.outcomes()))
        assert copy == self.outcomes()
        assert copy.tail == self.outcomes().tail


rows = st.lists(st.tuples(st.integers(1, 90), st.sampled_from([-1.0, 0.0, 0.25, 1.0, 2.0])), min_size=1, max_size=8)


@given(
    chunks=st.lists(st.tuples(rows, st.integers(0, 150)), min_size=1, max_size=5),
    resend=st.lists(st.booleans(), min_size=5, max_size=5),
    max_speed=st.sampled_from([None, 3.0, 20.0]),
    late=st.sampled_from(["drop", "clamp"]),
    on_limit=st.sampled_from(["delay", "scale", "reject"]),
    lead_ms=st.integers(0, 60),
    first_usable_ms=st.one_of(st.none(), st.integers(0, 300)),
)
def test_agrees_with_the_rules_told_one_waypoint_at_a_time(
    chunks: list[tuple[list[tuple[int, float]], int]],
    resend: list[bool],
    max_speed: float | None,
    late: Any,
    on_limit: Any,
    lead_ms: int,
    first_usable_ms: int | None,
) -> None:
    plan, told_plan = at_rest(), [oracle.Knot(0, [0.0], 0)]
    now_ms, sent = 0, way((1, 0.0))
    for (steps, wait_ms), again in zip(chunks, resend, strict=False):
        now_ms += wait_ms
        times = now_ms - 50 + np.cumsum([step for step, _ in steps])
        fresh = way(*((float(t), x) for t, (_, x) in zip(times, steps, strict=True)))
        # Sent again with a later row: what the plan holds and what is new stand side by side.
        sent = [*sent, Waypoint(sent[-1].t_ns + 40 * MS, np.array([0.5]))] if again else fresh
        first_usable_ns = None if first_usable_ms is None else (now_ms + first_usable_ms) * MS
        settings: dict[str, Any] = {
            "late": late,
            "on_limit": on_limit,
            "lead_ns": lead_ms * MS,
            "first_usable_ns": first_usable_ns,
        }
        plan, outcomes = schedule(plan, sent, now_ms * MS, Limits(max_speed=max_speed), **settings)
        pairs = [(w.t_ns, w.target.tolist()) for w in sent]
        told_plan, told = oracle.schedule(told_plan, pairs, now_ms * MS, max_speed, **settings)
        assert [(o.kind, o.by_ns) for o in outcomes] == [(t.kind, t.by_ns) for t in told]
        assert plan.times_ns.tolist() == [knot.t_ns for knot in told_plan]
        assert plan.due_ns.tolist() == [knot.due_ns for knot in told_plan]
        np.testing.assert_allclose(plan.targets, [knot.target for knot in told_plan], atol=1e-12)
        assert all(a < b for a, b in pairwise(plan.times_ns))


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
