"""A stream of targets whose future is unknown, by hand at 250 Hz: led, shaped, given up when it stops, and in turn with plans."""

import threading
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from onbeat._core import monotonic_ns
from onbeat.device import Command, DeviceInfo
from onbeat.errors import BadInput
from onbeat.loop import DeviceSink, Flag, MemorySink, SendLoop
from onbeat.motion import Limits, OnlineShaper, Trajectory
from tests.threads import together

MS = 1_000_000
T = 0.004
STEP = 4 * MS
LIMITS = Limits(max_speed=3.1, max_acceleration=20.0, max_jerk=400.0)
HOME = Trajectory([0], [[0.0]])


def loop_of(plan: Trajectory = HOME, limits: Limits | None = LIMITS, **options: Any) -> tuple[SendLoop, MemorySink]:
    sink = MemorySink(plan.width, 100_000)
    return SendLoop(sink, 250, plan, limits, **options), sink


def differences(values: NDArray[np.float64], start: float = 0.0) -> list[float]:
    path = np.concatenate([[start] * 3, values])
    return [float(np.abs(np.diff(path, n)).max()) / T**n for n in (1, 2, 3)]


def within(values: NDArray[np.float64], start: float = 0.0) -> bool:
    return all(found <= most for found, most in zip(differences(values, start), (3.1 + 1e-6, 20.002, 400.4), strict=True))


@pytest.mark.parametrize(("lead_ms", "k_ff"), [(0.0, 1.0), (6.5, 1.0), (6.5, 0.5), (34.0, 0.0)])
def test_the_law_of_the_lead_by_hand(lead_ms: float, k_ff: float) -> None:
    """q + k_ff qdot t_lead into a shaper that starts where the plan is: to the last bits what the loop sends."""
    loop, sink = loop_of(lead_s=lead_ms * 1e-3, k_ff=k_ff)
    shaper = OnlineShaper(1, LIMITS, T, start=[0.0])
    deadline, expected = 0, []
    for k in range(400):
        loop.aim([0.3 * k * T], [0.3], deadline)
        deadline = loop.cycle(deadline, deadline)
        led = 0.3 * k * T + k_ff * 0.3 * lead_ms * 1e-3
        # The first cycle has nothing before it to count its period from: by hand that is one period all the same.
        expected.append(float(shaper.step([led], [0.3])[0][0]))
    np.testing.assert_allclose(sink.drain()["values"][:, 0], expected, rtol=0, atol=1e-12)


def sine(t_s: NDArray[np.float64] | float) -> tuple[Any, Any]:
    w = 2 * np.pi * 0.7
    return 0.5 * np.sin(w * t_s), 0.5 * w * np.cos(w * t_s)


@pytest.mark.parametrize(("told", "most_mrad"), [(True, 5.0), (False, 12.0)])
@pytest.mark.parametrize(("hz", "jitter_ms"), [(250, 0.5), (90, 2.0), (1000, 0.1)])
def test_a_hand_is_followed_at_its_own_unsteady_rate_and_led(told: bool, most_mrad: float, hz: int, jitter_ms: float) -> None:
    rng = np.random.default_rng(3)
    loop, sink = loop_of(lead_s=0.0065)
    stamps = np.unique((np.arange(4 * hz) * 1e9 / hz + rng.normal(0, jitter_ms * MS, 4 * hz)).astype(np.int64)).tolist()
    deadline = 0
    while stamps:
        while stamps and stamps[0] <= deadline:
            q, rate = sine(stamps[0] * 1e-9)
            loop.aim([q], [rate] if told else None, stamps.pop(0))
        deadline = loop.cycle(deadline, deadline)
    frames = sink.drain()
    off = np.abs(frames["values"][:, 0] - sine(frames["t_eff_ns"] * 1e-9)[0])[frames["t_eff_ns"] > 1500 * MS]
    assert 1e3 * off.max() < most_mrad
    assert within(frames["values"][:, 0])


def test_a_stream_that_stops_comes_to_rest_and_is_taken_up_again() -> None:
    loop, sink = loop_of(stale_s=0.05)
    deadline = 0
    for k in range(400):
        if not 150 <= k < 250:
            loop.aim([sine(k * T)[0]], [sine(k * T)[1]], deadline)
        deadline = loop.cycle(deadline, deadline)
    values, flags = sink.drain()["values"][:, 0], loop.records()["flags"]
    stale = (flags & Flag.STALE_PLAN) != 0
    # The newest is of deadline 149; at 162 it is 52 ms old.
    assert np.flatnonzero(stale).tolist() == list(range(162, 250))
    assert Flag(flags[162]) == Flag.STALE_PLAN | Flag.EXTRAPOLATED
    assert Flag(flags[249]) == Flag.STALE_PLAN | Flag.HELD
    assert values[249] == values[248] == values[230]
    assert within(values)
    assert abs(values[-1] - sine(399 * T)[0]) < 5e-3


def test_a_target_from_the_future_is_not_fresh_for_ever() -> None:
    loop, sink = loop_of(stale_s=0.05)
    loop.place([0.0])
    loop.aim([1.0], None, 10**18)  # of another clock; nobody can tell before the loop runs
    deadline = 0
    for _ in range(100):
        deadline = loop.cycle(deadline, deadline)
    assert (sink.drain()["values"] == 0.0).all()
    assert (loop.records()["flags"] == Flag.STALE_PLAN | Flag.HELD).all()


def test_a_target_may_be_stamped_a_little_ahead() -> None:
    loop, _ = loop_of(stale_s=0.02)
    loop.aim([1.0], None, 90 * MS)
    deadline = 0
    for _ in range(20):
        deadline = loop.cycle(deadline, deadline)
    assert not (loop.records()["flags"] & Flag.STALE_PLAN).any()


def test_without_stale_s_the_last_target_is_a_place_to_stay() -> None:
    loop, sink = loop_of()
    loop.aim([0.4], None, 0)
    deadline = 0
    for _ in range(500):
        deadline = loop.cycle(deadline, deadline)
    values = sink.drain()["values"][:, 0]
    assert values[-1] == pytest.approx(0.4, abs=1e-9)
    assert values.max() <= 0.4 + 1e-9
    assert within(values)


def test_plans_and_streams_take_over_from_each_other_without_a_jump() -> None:
    rng = np.random.default_rng(5)
    loop, sink = loop_of()
    deadline, ids = 0, []
    for _ in range(60):
        if rng.random() < 0.5:
            knots = deadline + np.arange(0, 600, 5) * MS
            ids.append(loop.replace(Trajectory(knots, rng.normal(0, 0.3) + np.sin(knots * 1e-9)[:, None])))
        else:
            at = rng.normal(0, 0.3)
            for k in range(int(rng.integers(1, 60))):
                ids.append(loop.aim([at + sine(k * T)[0]], None, deadline))
                deadline = loop.cycle(deadline, deadline)
        for _ in range(int(rng.integers(1, 60))):
            deadline = loop.cycle(deadline, deadline)
    values, records = sink.drain()["values"][:, 0], loop.records()
    assert within(values)
    assert ids == sorted(ids)
    assert (np.diff(records["plan"]) >= 0).all()
    assert records["plan"][-1] == ids[-1]


def test_a_stream_begins_where_the_device_stands() -> None:
    for placed, at in ((None, 0.0), ([0.7], 0.7)):
        loop, sink = loop_of()
        if placed is not None:
            loop.place(placed)
        loop.aim([1.0], None, 0)
        loop.cycle(0, 0)
        assert abs(float(sink.drain()["values"][0, 0]) - at) <= 400 * T**3


def test_a_stream_begins_inside_the_range_where_the_plan_is_not() -> None:
    limits = Limits(max_speed=3.1, max_acceleration=20.0, max_jerk=400.0, lower=-1.0, upper=1.0)
    loop, sink = loop_of(Trajectory([0], [[2.0]]), limits)
    loop.aim([0.5], t_ns=0)
    deadline = 0
    for _ in range(300):
        deadline = loop.cycle(deadline, deadline)
    values = sink.drain()["values"][:, 0]
    assert values.max() <= 1.0
    assert values[-1] == pytest.approx(0.5, abs=1e-6)
    assert loop.records()["flags"][0] & Flag.LIMITED


@pytest.mark.parametrize("given_up", ["stale", "late"])
@pytest.mark.parametrize("seed", range(8))
def test_a_stream_that_is_given_up_near_the_end_of_its_range_stops_inside_within_the_limits(given_up: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bound = float(rng.uniform(0.1, 0.5))
    jerk = float(rng.choice([150.0, 400.0]))
    limits = Limits(max_speed=3.1, max_acceleration=20.0, max_jerk=jerk, lower=-bound, upper=bound)
    options: dict[str, Any] = {"stale_s": 0.05} if given_up == "stale" else {"on_late": "hold"}
    loop, sink = loop_of(HOME, limits, **options)
    loop.place([0.0])
    deadline, sent = 0, [np.zeros(1)]
    for _ in range(40):
        for _ in range(int(rng.integers(5, 90))):
            t_s = deadline * 1e-9
            loop.aim([0.9 * np.sin(9 * t_s)], [8.1 * np.cos(9 * t_s)], deadline)
            deadline = loop.cycle(deadline, deadline)
        deadline = loop.cycle(deadline, deadline + (3 * MS if given_up == "late" else 0))
        for _ in range(150):
            deadline = loop.cycle(deadline, deadline)
        assert loop.records()["flags"][-1] & Flag.HELD
        sent.append(sink.drain()["values"][:, 0])
        if given_up == "late":  # lets go of it
            loop.replace(Trajectory([deadline], sent[-1][-1:, None]))
    values = np.concatenate(sent)
    assert np.abs(values).max() <= bound
    first, second, third = differences(values)
    assert first <= 3.1 * (1 + 1e-6)
    assert second <= 20.0 * (1 + 1e-4)
    assert third <= jerk * (1 + 1e-3)


def test_a_device_that_stands_out_of_its_range_is_brought_back_into_it() -> None:
    loop, sink = loop_of(limits=Limits(max_speed=3.1, max_acceleration=20.0, max_jerk=400.0, lower=-0.5, upper=0.5))
    loop.place([0.8])
    deadline = 0
    for k in range(400):
        loop.aim([2.0 if k < 300 else -2.0], None, deadline)
        deadline = loop.cycle(deadline, deadline)
    values = sink.drain()["values"][:, 0]
    assert values.max() <= 0.8
    assert values[299] == pytest.approx(0.5, abs=1e-6)
    assert values.min() >= -0.5


moves = st.lists(
    st.tuples(
        st.sampled_from(["aim", "told", "replace", "lead", "cycle", "late", "stall"]),
        st.floats(-2, 2),
        st.integers(1, 40),
    ),
    min_size=1,
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(moves)
def test_any_order_keeps_the_limits_the_distance_and_the_direction_of_time(steps: list[tuple[str, float, int]]) -> None:
    limits = Limits(max_speed=3.1, max_acceleration=20.0, max_jerk=400.0, lower=-1.5, upper=1.5)
    loop, sink = loop_of(limits=limits, stale_s=0.1)
    loop.place([0.0])
    deadline, newest = 0, -1
    for verb, number, count in steps:
        late = {"late": 3 * MS, "stall": count * MS}.get(verb, 0)
        if verb in ("aim", "told") and deadline > newest:
            newest = deadline
            loop.aim([number], [3 * number] if verb == "told" else None, deadline)
        elif verb == "replace":
            knots = deadline + np.arange(5) * count * MS
            loop.replace(Trajectory(knots, number * np.array([[0.1], [1.0], [-0.3], [0.5], [0.0]])))
            newest = -1 if newest < deadline else newest
        elif verb == "lead":
            loop.set_lead(abs(number) * 0.01)
        for n in range(count):
            deadline = loop.cycle(deadline, deadline + (late if n == 0 else 0))
    records, values = loop.records(), np.concatenate([[0.0], sink.drain()["values"][:, 0]])
    assert (np.diff(records["sent_ns"]) >= 3 * MS).all()
    assert (np.diff(records["t_eff_ns"]) >= 0).all()
    assert np.abs(values).max() <= 1.5
    reference = np.where(records["flags"] & Flag.LATE, records["sent_ns"], records["deadline_ns"])
    elapsed = np.diff(np.concatenate([[-STEP], reference]))
    speed = 0.0
    for k, passed in enumerate(elapsed.tolist()):
        dt = min(passed, STEP) * 1e-9
        now = float(values[k + 1] - values[k]) / dt
        assert abs(now) <= 3.1 * (1 + 1e-6)
        assert abs(now - (speed if passed <= 3 * STEP else 0.0)) / dt <= 20.0 * (1 + 1e-4)
        speed = now
    if not any(verb in ("late", "stall") for verb, _, _ in steps):
        assert differences(values[1:])[2] <= 400 * (1 + 1e-3)


def test_what_cannot_be_aimed_at_is_refused() -> None:
    loop, _ = loop_of()
    loop.aim([0.0], None, 10)
    loop.aim([0.0], None, 10)  # the same sample once more
    for message, arguments in (
        ("width 1", ([0.0, 1.0], None, 20)),
        ("velocity 2", ([0.0], [0.0, 1.0], 20)),
        ("nan", ([np.nan], None, 20)),
        ("velocity is inf", ([0.0], [np.inf], 20)),
        ("order of time", ([0.0], None, 9)),
        ("another target has the stamp 10 ns", ([0.5], None, 10)),
        ("another target has the stamp 10 ns", ([0.0], [0.0], 10)),
        ("must be numbers", (["left"], None, 20)),
        ("one row", ([[0.0]], None, 20)),
        ("velocity must be numbers", ([0.0], [1j], 20)),
        ("does not run", ([0.0], None, None)),
    ):
        with pytest.raises(BadInput, match=message):
            loop.aim(*arguments)
    for limits in (None, Limits(max_speed=1.0, max_acceleration=2.0)):
        with pytest.raises(BadInput, match="max_jerk"):
            loop_of(limits=limits)[0].aim([0.0], None, 0)
    with pytest.raises(BadInput, match="k_ff"):
        loop_of(k_ff=-1.0)
    pose = Trajectory([0], [[0, 0, 0, 1, 0, 0, 0]], kind="pose")
    with pytest.raises(BadInput, match="max_jerk"):
        loop_of(pose, Limits(max_speed=1.0))[0].aim(np.zeros(7), None, 0)


def test_a_stamp_of_another_clock_is_refused_while_the_loop_runs() -> None:
    loop, _ = loop_of()
    loop.start()
    try:
        loop.aim([0.0])
        for t_ns, side in ((1_700_000_000_000_000_000, "ahead of"), (monotonic_ns() - 11_000_000_000, "behind")):
            with pytest.raises(BadInput, match=side):
                loop.aim([0.0], None, t_ns)
    finally:
        loop.stop()


class Writes:
    """A device that remembers what was written."""

    def __init__(self) -> None:
        self.info = DeviceInfo("joints", 1, "rad", "writes")
        self.values: list[float] = []

    def write(self, command: Command) -> None:
        self.values.append(float(command.target[0]))

    def hold(self) -> None: ...


@pytest.mark.parametrize("soft", [False, True])
def test_aim_replace_and_lead_from_several_threads(soft: bool) -> None:
    device, memory = Writes(), MemorySink(1, 1 << 16)
    loop = SendLoop(DeviceSink(device) if soft else memory, 250, HOME, LIMITS, stale_s=0.02)  # type: ignore[arg-type]
    loop.start()

    def stream(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(400):
            loop.aim(rng.normal(0, 1, 1))
            if rng.random() < 0.05:
                loop.replace(Trajectory([0], rng.normal(0, 1, (1, 1))))
                loop.set_lead(0.01 * rng.random())

    around = [threading.Thread(target=stream, args=(seed,)) for seed in range(3)]
    for each in around:
        each.start()
    for each in around:
        each.join()
    while loop.status().cycles < 20:
        time.sleep(0.01)
    loop.stop()
    values = np.array(device.values) if soft else memory.drain()["values"][:, 0]
    assert loop.status().error == ""
    assert np.abs(np.diff(values)).max() <= 3.1 * T * (1 + 1e-6)


def test_targets_of_now_from_several_threads_are_all_taken() -> None:
    loop, _ = loop_of()
    loop.start()
    refused: list[BadInput] = []

    def aims() -> None:
        for _ in range(2000):
            try:
                loop.aim([0.1])
            except BadInput as error:
                refused.append(error)

    try:
        together(aims, 4)
    finally:
        loop.stop()
    assert not refused
