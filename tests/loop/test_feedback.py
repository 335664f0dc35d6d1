"""k_p e + k_i (integral of e) with e at the sample's own instant, by hand at 250 Hz; its age, and what is said of it."""

import logging
import threading
import time
from typing import Any

import numpy as np
import pytest

from onbeat._core import monotonic_ns
from onbeat.errors import BadInput
from onbeat.loop import Flag, MemorySink, SendLoop
from onbeat.motion import Limits, Trajectory
from onbeat.motion.lead import Feedback

MS = 1_000_000
STEP = 4 * MS
RAMP = Trajectory([0, 10_000 * MS], [[0.0], [10.0]])  # the value in thousandths is the instant in ms


P_HALF = Feedback(k_p=0.5)


def loop_of(plan: Trajectory = RAMP, feedback: Feedback | None = P_HALF, **options: Any) -> tuple[SendLoop, MemorySink]:
    sink = MemorySink(plan.width, 100_000)
    return SendLoop(sink, 250, plan, feedback=feedback, **options), sink


def run(loop: SendLoop, count: int, deadline: int = 0) -> int:
    for _ in range(count):
        deadline = loop.cycle(deadline, deadline)
    return deadline


@pytest.mark.parametrize("lead_s", [0.0, 0.034])
def test_a_device_that_follows_exactly_is_not_corrected_whatever_the_lead(lead_s: float) -> None:
    loop, sink = loop_of(lead_s=lead_s)
    deadline = run(loop, 20)
    for k in range(50):
        sample = deadline - 7 * MS - k % 3 * MS
        assert loop.feed(sample, [sample * 1e-9])
        deadline = loop.cycle(deadline, deadline)
    frames = sink.drain()
    np.testing.assert_allclose(frames["values"][:, 0], frames["t_eff_ns"] * 1e-9, rtol=0, atol=1e-15)


def test_the_lead_of_a_plan_is_counted_once_too() -> None:
    knots = np.arange(0, 2000, 2) * MS
    led = Trajectory(knots - 34 * MS, np.sin(knots * 1e-9)[:, None], lead_ns=34 * MS)
    loop, sink = loop_of(led)
    deadline = run(loop, 100, 500 * MS)
    sample = deadline - 10 * MS
    assert loop.feed(sample, [np.sin(sample * 1e-9)])
    run(loop, 1, deadline)
    assert sink.drain()["values"][-1, 0] == pytest.approx(np.sin((deadline + 34 * MS) * 1e-9), abs=1e-6)


def test_the_law_by_hand() -> None:
    loop, sink = loop_of(feedback=Feedback(k_p=0.5, k_i=2.0, largest=0.2))
    deadline = run(loop, 25)
    loop.feed(80 * MS, [0.080 - 0.1])
    loop.feed(90 * MS, [0.090 - 0.1])
    run(loop, 1, deadline)
    assert sink.drain()["values"][-1, 0] == pytest.approx(0.1 + 0.5 * 0.1 + 2.0 * 0.1 * 0.01, abs=1e-12)
    loop.feed(100 * MS, [-5.0])
    run(loop, 1, deadline + STEP)
    assert sink.drain()["values"][-1, 0] == pytest.approx(0.104 + 0.2, abs=1e-12)
    assert loop.records()["flags"].tolist() == [0] * 25 + [Flag.CORRECTED] * 2


def test_a_sample_is_compared_with_the_plan_of_its_own_time() -> None:
    """Replaced at 100 and 140 ms; with a lead of 10 ms what takes effect at t was sent at t - 10 ms."""
    loop, sink = loop_of(Trajectory([0], [[1.0]]), Feedback(k_p=1.0), lead_s=0.01)
    run(loop, 25)
    loop.replace(Trajectory([0], [[2.0]]))
    run(loop, 10, 100 * MS)
    loop.replace(Trajectory([0], [[3.0]]))  # never followed
    loop.replace(Trajectory([0], [[4.0]]))
    deadline = run(loop, 5, 140 * MS)
    sink.drain()
    for sample, reference in ((99, 1.0), (109, 1.0), (110, 2.0), (149, 2.0), (150, 4.0), (156, 4.0)):
        assert loop.feed(sample * MS, [reference - 0.25])
        deadline = run(loop, 1, deadline)
        assert sink.drain()["values"][-1, 0] == pytest.approx(4.25, abs=1e-12), sample


def test_without_samples_it_fades_and_is_gone() -> None:
    loop, sink = loop_of(Trajectory([0], [[0.0]]), Feedback(k_p=1.0, max_age_s=0.02))
    deadline = run(loop, 10)
    loop.feed(36 * MS, [-0.1])
    run(loop, 12, deadline)
    # At 40, 44 .. 56 ms in full, then down to nothing at 36 + 40 ms.
    expected = [0.1] * 5 + [0.1 * part for part in (0.8, 0.6, 0.4, 0.2, 0.0)] + [0.0] * 2
    np.testing.assert_allclose(sink.drain()["values"][10:, 0], expected, rtol=0, atol=1e-12)


def test_after_a_gap_the_integral_begins_anew() -> None:
    feedback, _ = Feedback(k_i=1.0).after(0, [1.0], [0.0])
    feedback, correction = feedback.after(50 * MS, [1.0], [0.0])
    assert correction == pytest.approx([0.05])
    feedback, correction = feedback.after(10_000 * MS, [1.0], [0.0])
    assert correction == pytest.approx([0.0])


def test_a_correction_stays_within_the_limits() -> None:
    rng = np.random.default_rng(1)
    limits = Limits(max_speed=1.5, max_acceleration=20.0, max_jerk=800.0, lower=-0.5, upper=0.9)
    loop, sink = loop_of(feedback=Feedback(k_p=0.8, k_i=0.5, largest=0.3), limits=limits)
    loop.place([0.0])
    deadline = 0
    for _ in range(300):
        deadline = run(loop, 1, deadline)
        loop.feed(deadline - STEP, rng.normal(0, 1, 1))
    values = np.concatenate([[0.0] * 3, sink.drain()["values"][:, 0]])
    assert np.abs(np.diff(values)).max() / 0.004 <= 1.5 * (1 + 1e-6)
    assert np.abs(np.diff(values, 2)).max() / 0.004**2 <= 20.0 * (1 + 1e-4)
    assert np.abs(np.diff(values, 3)).max() / 0.004**3 <= 800.0 * (1 + 1e-3)
    assert values.max() <= 0.9


def test_a_plant_with_a_gain_is_brought_onto_the_plan_by_the_integral() -> None:
    loop, sink = loop_of(Trajectory([0], [[1.0]]), Feedback(k_i=3.0, largest=0.5))
    deadline = 0
    for _ in range(2000):
        deadline = run(loop, 1, deadline)
        loop.feed(deadline - STEP, [0.9 * float(sink.drain()["values"][-1, 0])])
    deadline = run(loop, 1, deadline)
    assert 0.9 * float(sink.drain()["values"][-1, 0]) == pytest.approx(1.0, abs=1e-6)


def test_switching_it_on_says_so_with_the_measured_age(caplog: pytest.LogCaptureFixture) -> None:
    loop, _ = loop_of()
    assert "not known yet" in loop.status().feedback
    deadline = run(loop, 10)
    with caplog.at_level(logging.WARNING, "onbeat.loop"):
        for k in range(400):
            if k % 2 == 0:
                loop.feed(deadline - 5 * MS, [0.0])
            deadline = loop.cycle(deadline, deadline)
    # 5 ms old at every second send and 9 ms at the ones between, each up to the next tenth of a millisecond.
    sentence = loop.status().feedback
    assert "5.1 ms old half of the time and 9.1 ms one time in a hundred" in sentence
    assert [record.getMessage() for record in caplog.records if "corrects the past" in record.getMessage()] != []
    assert len(caplog.records) == 1


def test_off_by_default() -> None:
    for feedback in (None, Feedback()):
        loop, _ = loop_of(feedback=feedback)
        assert loop.status().feedback == ""
        with pytest.raises(BadInput, match="feedback is off"):
            loop.feed(0, [0.0])


def test_where_no_plan_was_in_force_a_sample_is_left_out() -> None:
    loop, _ = loop_of(limits=Limits(max_speed=3.0, max_acceleration=20.0, max_jerk=400.0))
    assert not loop.feed(0, [0.0])  # nothing was sent yet
    deadline = run(loop, 5, 100 * MS)
    assert not loop.feed(99 * MS, [0.0])
    loop.aim([0.0], None, deadline)
    run(loop, 5, deadline)
    assert not loop.feed(deadline + MS, [0.0])
    assert loop.feed(deadline - MS, [0.0])
    assert not (loop.records()["flags"] & Flag.CORRECTED).any()


def test_a_sample_from_the_future_does_not_count_for_ever() -> None:
    loop, _ = loop_of()
    deadline = run(loop, 20)
    assert loop.feed(10**18, [0.5])  # of another clock; by hand nobody can tell
    run(loop, 50, deadline)
    assert not (loop.records()["flags"] & Flag.CORRECTED).any()


def test_what_is_no_sample_is_refused() -> None:
    loop, _ = loop_of()
    run(loop, 20)
    loop.feed(50 * MS, [0.0])
    bad: list[tuple[str, int, Any]] = [
        ("shape", 60, [0.0, 1.0]),
        ("finite", 60, [np.nan]),
        ("older", 49, [0.0]),
        ("must be numbers", 60, ["x"]),
    ]
    for message, ms, sample in bad:
        with pytest.raises(BadInput, match=message):
            loop.feed(ms * MS, sample)
    pose = Trajectory([0], [[0, 0, 0, 1, 0, 0, 0]], kind="pose")
    with pytest.raises(BadInput, match="for joints"):
        loop_of(pose)
    with pytest.raises(BadInput, match="max_age_s"):
        Feedback(k_p=0.1, max_age_s=0.0)


def test_samples_plans_and_targets_from_several_threads() -> None:
    limits = Limits(max_speed=3.0, max_acceleration=20.0, max_jerk=400.0)
    loop, sink = loop_of(Trajectory([0], [[0.0]]), Feedback(k_p=0.5, largest=0.2), limits=limits, lead_s=0.002)
    loop.start()

    def plans(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(300):
            loop.replace(Trajectory([0], rng.normal(0, 0.1, (1, 1))))
            if rng.random() < 0.1:
                loop.aim(rng.normal(0, 0.1, 1))

    around = [threading.Thread(target=plans, args=(seed,)) for seed in range(2)]
    for each in around:
        each.start()
    for _ in range(400):
        loop.feed(monotonic_ns() - 5 * MS, [0.0])
    for each in around:
        each.join()
    while (status := loop.status()).running and status.cycles < 10:
        time.sleep(0.004)
    loop.stop()
    assert loop.status().error == ""
    assert np.abs(np.diff(sink.drain()["values"][:, 0])).max() <= 3.0 * 0.004 * (1 + 1e-6)
