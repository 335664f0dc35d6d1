import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.loop import MemorySink, SendLoop
from onbeat.motion import Chunk, Trajectory, schedule
from onbeat.motion.lead import Feedback, ahead, feedback_warning, first_usable_ns, lead_ns

MS = 1_000_000


def test_latency_in_seconds_becomes_a_lead_in_nanoseconds() -> None:
    assert lead_ns(0.1123) == 112_300_000
    assert lead_ns(0) == 0


@pytest.mark.parametrize("latency", [-1e-9, float("nan"), float("inf")])
def test_latency_that_is_no_measurement_is_refused(latency: float) -> None:
    with pytest.raises(BadInput, match="action_latency"):
        lead_ns(latency)


def chunk(n: int = 4, anchor_ms: int = 0, step_ms: int = 100, first_step: int = 1) -> Chunk:
    return Chunk(anchor_ms * MS, step_ms * MS, np.arange(1.0, n + 1)[:, None], first_step)


def test_modules_begin_together_at_the_row_that_the_slowest_can_still_use() -> None:
    # Now is 90 ms. The arm (lead 120 ms) can use rows after 210 ms, the gripper (lead 20 ms) those after 110 ms.
    chunks = {"arm": chunk(), "gripper": chunk()}
    leads = {"arm": 120 * MS, "gripper": 20 * MS}
    assert first_usable_ns(chunks, leads, 90 * MS) == 300 * MS


def test_grasp_is_not_torn_apart() -> None:
    leads = {"arm": 120 * MS, "gripper": 20 * MS}
    first = first_usable_ns({"arm": chunk(), "gripper": chunk()}, leads, 90 * MS)
    kinds = {}
    for name, lead in leads.items():
        plan, outcomes = schedule(Trajectory([0], [[0.0]]), chunk(), 90 * MS, lead_ns=lead, first_usable_ns=first)
        kinds[name] = [(outcome.kind, outcome.by_ns) for outcome in outcomes]
        assert (plan.times_ns + lead).tolist() == [90 * MS + lead, 300 * MS, 400 * MS]
    assert kinds["arm"] == [("dropped", 110 * MS), ("dropped", 10 * MS), ("kept", 0), ("kept", 0)]
    assert kinds["gripper"] == [("dropped", 10 * MS), ("dropped", 0), ("kept", 0), ("kept", 0)]


def test_row_due_exactly_now_is_late() -> None:
    assert first_usable_ns({"arm": chunk()}, {"arm": 0}, 200 * MS) == 300 * MS
    assert first_usable_ns({"arm": chunk()}, {"arm": 0}, 200 * MS - 1) == 200 * MS


def test_modules_with_other_grids_begin_at_one_instant() -> None:
    # Arm at 100, 200, 300 ms; gripper at 10 + 70 k: 80, 150, 220, 290. After 160 ms: 200 and 220.
    chunks = {"arm": chunk(), "gripper": chunk(anchor_ms=10, step_ms=70)}
    assert first_usable_ns(chunks, {"arm": 60 * MS, "gripper": 60 * MS}, 100 * MS) == 220 * MS


def test_module_that_can_use_no_row_keeps_the_others_still() -> None:
    chunks = {"arm": chunk(2), "gripper": chunk(4)}
    first = first_usable_ns(chunks, {"arm": 150 * MS, "gripper": 0}, 90 * MS)
    assert first == 400 * MS + 1
    old = Trajectory([0], [[0.0]])
    for name, lead in (("arm", 150 * MS), ("gripper", 0)):
        plan, outcomes = schedule(old, chunks[name], 90 * MS, lead_ns=lead, first_usable_ns=first)
        assert plan is old
        assert outcomes.count_of("dropped") == len(chunks[name])


def test_module_without_a_lead_is_refused() -> None:
    with pytest.raises(BadInput, match="no lead for the chunk of 'gripper'; there are leads for arm"):
        first_usable_ns({"gripper": chunk()}, {"arm": 0}, 0)
    with pytest.raises(BadInput, match="no chunks"):
        first_usable_ns({}, {}, 0)


def sine_plan(lead: int = 0) -> Trajectory:
    knots = np.arange(0, 2001) * MS
    return Trajectory(knots - lead, np.sin(2 * np.pi * knots / 1e9)[:, None], lead_ns=lead)


@pytest.mark.parametrize(("in_plan", "in_loop"), [(34 * MS, 0.0), (0, 0.034)])
def test_command_is_the_plan_at_the_instant_at_which_it_takes_effect(in_plan: int, in_loop: float) -> None:
    sink = MemorySink(1, 256)
    loop = SendLoop(sink, 250, sine_plan(in_plan), lead_s=in_loop)
    deadline = 500 * MS
    for _ in range(100):
        deadline = loop.cycle(deadline, deadline)
    sent = sink.drain()
    effect = (sent["sent_ns"] + 34 * MS) / 1e9
    assert sent["values"][:, 0] == pytest.approx(np.sin(2 * np.pi * effect), abs=1e-5)


def test_lead_in_plan_and_loop_is_refused() -> None:
    with pytest.raises(BadInput, match="lead"):
        SendLoop(MemorySink(1, 256), 250, sine_plan(MS), lead_s=0.001)


def test_stream_is_continued_in_a_straight_line() -> None:
    assert ahead([1.0, 2.0], [0.5, -1.0], 0.1) == pytest.approx([1.05, 1.9])
    assert ahead([1.0], [0.5], 0.1, k_ff=0.5) == pytest.approx([1.025])
    with pytest.raises(BadInput, match="lead_s"):
        ahead([1.0], [0.5], -0.1)
    with pytest.raises(BadInput, match="shape"):
        ahead([1.0], [0.5, 1.0], 0.1)


def test_feedback_is_off_unless_asked_for() -> None:
    feedback = Feedback()
    assert not feedback.on
    _, correction = feedback.after(MS, [1.0], [0.0])
    assert correction == pytest.approx([0.0])
    assert feedback_warning(0, 0, 0.005, 0.01) == ""


def test_feedback_compares_at_the_instant_of_the_sample() -> None:
    plan = sine_plan()
    feedback = Feedback(k_p=0.5, k_i=2.0)
    for t in (100 * MS, 110 * MS):
        feedback, correction = feedback.after(t, plan.at_ns(t), plan.at_ns(t) - 0.1)
    assert correction == pytest.approx([0.5 * 0.1 + 2.0 * 0.1 * 0.01])
    again, correction = feedback.after(110 * MS, plan.at_ns(110 * MS), plan.at_ns(110 * MS) - 0.1)
    assert again.integral == pytest.approx(feedback.integral)


def test_integral_stops_at_the_largest_correction() -> None:
    feedback = Feedback(k_i=1.0, largest=0.2)
    for k in range(1, 100):
        feedback, correction = feedback.after(k * 100 * MS, [1.0], [0.0])
    assert correction == pytest.approx([0.2])
    assert feedback.integral == pytest.approx([0.2])


def test_samples_out_of_order_and_not_finite_are_refused() -> None:
    feedback, _ = Feedback(k_p=0.1).after(2 * MS, [1.0], [0.0])
    with pytest.raises(BadInput, match="older"):
        feedback.after(MS, [1.0], [0.0])
    with pytest.raises(BadInput, match="finite"):
        feedback.after(3 * MS, [1.0], [float("nan")])
    with pytest.raises(BadInput, match="k_p"):
        Feedback(k_p=-1)


def test_warning_names_the_age_of_the_feedback() -> None:
    warning = feedback_warning(0.95, 0.0, 0.00499, 0.0104)
    assert "5.0 ms old" in warning
    assert "10.4 ms" in warning
    assert "rings" in warning
