"""The deadlines move to a margin before the device's tick and stay there: by hand at 250 Hz, to the nanosecond."""

import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onbeat._core import monotonic_ns
from onbeat.errors import BadInput
from onbeat.loop import Flag, MemorySink, SendLoop
from onbeat.motion import Limits, Trajectory
from onbeat.motion.lead import Feedback
from onbeat.motion.tick import Tick, find_tick

MS = 1_000_000
STEP = 4 * MS
MOST = STEP // 500
REST = Trajectory([0], [[0.0]])


def loop_of(plan: Trajectory = REST, rate_hz: float = 250, **options: Any) -> SendLoop:
    return SendLoop(MemorySink(plan.width, 10), rate_hz, plan, record_capacity=1 << 20, **options)


def tick_of(t_ns: int, period_ns: float = STEP, ci95_ns: float = 1000.0) -> Tick:
    return Tick(t_ns, period_ns, 10_000.0, ci95_ns, 600)


def run(loop: SendLoop, count: int, deadline: int = 0) -> int:
    for _ in range(count):
        deadline = loop.cycle(deadline, deadline)
    return deadline


def test_the_grid_moves_by_small_steps_and_then_stays_bit_for_bit() -> None:
    loop = loop_of()
    loop.centre(tick_of(1_700_000), 0.002)  # to send at 3.7 ms of every 4, which is 0.3 ms earlier
    deadline, expected = 0, []
    for _ in range(200):
        expected.append(deadline)
        ahead = deadline + STEP
        wanted = -300_000 + STEP * round((ahead + 300_000) / STEP)
        deadline = ahead + max(-MOST, min(MOST, wanted - ahead))
    run(loop, 200)
    records = loop.records()
    assert records["deadline_ns"].tolist() == expected
    assert np.diff(expected).min() == STEP - MOST
    assert expected[-1] % STEP == STEP - 300_000
    assert loop.status().missed == 0


def test_the_middle_is_the_default_and_travel_is_earlier() -> None:
    for margin_s, travel_s, before_ns in ((None, 0.0, 2_000_000), (0.001, 0.0, 1_000_000), (0.001, 0.0004, 1_400_000)):
        loop = loop_of()
        loop.centre(tick_of(500_000_003), margin_s, travel_s)
        deadline = run(loop, 600)
        assert (500_000_003 - deadline) % STEP == before_ns


@pytest.mark.parametrize(("rate_hz", "tick_ms"), [(250, 1.0), (250, 2.0), (100, 20.0), (1000, 10.0)])
def test_a_device_that_ticks_more_or_less_often_than_the_loop(rate_hz: float, tick_ms: float) -> None:
    beat = min(tick_ms, 1e3 / rate_hz) * MS
    loop = loop_of(rate_hz=rate_hz)
    loop.centre(tick_of(123_456_789, tick_ms * MS))
    deadline = run(loop, 600)
    assert (123_456_789 - deadline) % beat == beat / 2


@pytest.mark.parametrize("ppm", [-80.0, 23.7, 900.0])
def test_the_devices_clock_is_followed_for_hours(ppm: float) -> None:
    period = 20 * MS * (1 + ppm * 1e-6)
    loop = loop_of(rate_hz=50)
    loop.centre(tick_of(7_654_321, period), 0.006)
    run(loop, 360_000)  # two hours
    deadlines = loop.records()["deadline_ns"]
    late = deadlines + 6 * MS - 7_654_321
    off = late - np.rint(np.round(late / period) * period)
    assert np.abs(off[1000:]).max() <= 1
    steps = np.diff(deadlines)
    assert np.abs(steps - 20 * MS).max() <= 20 * MS // 500
    assert loop.status().missed == 0


def test_it_follows_what_find_tick_measures_in_reports() -> None:
    rng = np.random.default_rng(2)
    period, start = STEP * (1 + 35e-6), 1_234_567
    loop = loop_of()
    deadline, worst = 0, 0.0
    for second in range(300):
        first = deadline // STEP - 500
        reports = start + np.rint(np.arange(first, first + 500) * period + rng.normal(0, 50_000, 500)).astype(np.int64)
        loop.centre(find_tick(reports), 0.0015)
        deadline = run(loop, 250, deadline)
        if second > 1:
            off = (deadline + 1_500_000 - start) / period
            worst = max(worst, abs(off - round(off)) * period)
    assert worst < 40_000


def test_a_send_that_is_a_quarter_late_costs_no_deadline_while_the_grid_goes_earlier() -> None:
    loop = loop_of()
    loop.centre(tick_of(0, STEP), 0.001)
    deadline = 0
    for _ in range(50):
        deadline = loop.cycle(deadline, deadline + MS)
    assert loop.status().missed == 0
    records = loop.records()
    assert np.diff(records["sent_ns"]).min() >= 3 * MS


def test_centring_that_ends_leaves_the_grid_where_it_is() -> None:
    loop = loop_of()
    loop.centre(tick_of(0), 0.001)
    deadline = run(loop, 20)
    loop.centre(None)
    after = run(loop, 20, deadline)
    assert after == deadline + 20 * STEP
    assert deadline % STEP != 0


VERBS = ["centre", "aim", "told", "replace", "lead", "feed", "off"]
moves = st.lists(st.tuples(st.sampled_from(VERBS), st.integers(0, 4 * MS), st.integers(0, 40)), max_size=40)


@settings(max_examples=200, deadline=None)
@given(moves)
def test_any_order_with_any_lateness_keeps_the_distance_and_the_limits(steps: list[tuple[str, int, int]]) -> None:
    sink = MemorySink(1, 1 << 14)
    limits = Limits(max_speed=3.0, max_acceleration=20.0, max_jerk=400.0, lower=-3.0, upper=3.5)
    loop = SendLoop(sink, 250, REST, limits, feedback=Feedback(k_p=0.4, largest=0.2))
    loop.place([0.0])
    deadline = 0
    for verb, number, count in steps:
        if verb == "centre":
            loop.centre(tick_of(number, STEP * (1 + (count - 20) * 1e-5)), 0.001)
        elif verb == "off":
            loop.centre(None)
        elif verb in ("aim", "told"):
            loop.aim([number / MS], [2.0] if verb == "told" else None, deadline)
        elif verb == "replace":
            loop.replace(Trajectory([deadline, deadline + 100 * MS], [[0.0], [number / MS]]))
        elif verb == "feed":
            loop.feed(deadline - 3 * MS, [number / MS - 2])
        else:
            loop.set_lead(number * 1e-9)
        deadline = loop.cycle(deadline, deadline + number)
        deadline = run(loop, count, deadline)
    records, values = loop.records(), np.concatenate([[0.0], sink.drain()["values"][:, 0]])
    assert (np.diff(records["sent_ns"]) >= 3 * MS).all()
    assert (np.diff(records["t_eff_ns"]) >= 0).all()
    passed = np.diff(records["deadline_ns"]) - STEP * (records["skipped"][:-1] + 1)
    assert (np.abs(passed) <= MOST).all()
    assert ((records["flags"] & Flag.SKIPPED) != 0).tolist() == (records["skipped"] > 0).tolist()
    assert values.min() >= -3.0
    assert values.max() <= 3.5
    reference = np.where(records["flags"] & Flag.LATE, records["sent_ns"], records["deadline_ns"])
    elapsed = np.diff(np.concatenate([[-STEP], reference]))
    # A step counts against one period at most: a whole one, and with a beat the largest move of the grid more.
    most = (STEP, STEP + MOST)
    speeds = [(0.0, 0.0)]
    for step, ns in zip(np.diff(values).tolist(), elapsed.tolist(), strict=True):
        now = [step / (min(ns, longest) * 1e-9) for longest in most]
        assert min(abs(one) for one in now) <= 3.0 * (1 + 1e-6)
        assert min(abs(one - last) for one in now for last in speeds[-1]) <= 20.0 * min(ns, STEP + MOST) * 1e-9 * (1 + 1e-6)
        speeds.append((now[0], now[1]))


def test_what_cannot_be_kept_is_refused() -> None:
    loop = loop_of()
    with pytest.raises(BadInput, match="no beat in common; run the loop at 298"):
        loop.centre(tick_of(0, 10.04 * MS))
    with pytest.raises(BadInput, match="inside the tick's period"):
        loop.centre(tick_of(0), 0.005)
    with pytest.raises(BadInput, match="known only to"):
        loop.centre(tick_of(0, STEP, 1.5 * MS), 0.001)
    with pytest.raises(BadInput, match="travel_s"):
        loop.centre(tick_of(0), 0.001, -0.001)
    with pytest.raises(BadInput, match="phase_s"):
        loop_of(phase_s=0.001).centre(tick_of(0))


def test_a_tick_of_another_clock_is_refused_while_the_loop_runs() -> None:
    loop = loop_of()
    loop.start()
    try:
        loop.centre(tick_of(monotonic_ns()))
        with pytest.raises(BadInput, match="find it again"):
            loop.centre(tick_of(1_700_000_000_000_000_000))
    finally:
        loop.stop()


def test_the_thread_moves_its_grid_while_others_speak_to_it() -> None:
    loop = loop_of(rate_hz=1000)
    loop.start()
    tick = tick_of(monotonic_ns() + 123_456, MS)

    def speak() -> None:
        for k in range(300):
            loop.replace(REST)
            loop.set_lead(1e-6 * k)
            loop.centre(tick, 0.0003)

    around = [threading.Thread(target=speak) for _ in range(3)]
    for each in around:
        each.start()
    for each in around:
        each.join()
    begun = loop.status().cycles
    while loop.status().cycles < begun + 600:  # half a period in steps of 1/500 takes 250
        time.sleep(0.01)
    loop.stop()
    deadlines = loop.records()["deadline_ns"]
    assert (int(deadlines[-1]) + 300_000 - tick.t_ns) % MS == 0
