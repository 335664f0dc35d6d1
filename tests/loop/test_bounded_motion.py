"""Range, speed, acceleration and jerk of what is sent, by hand at 250 Hz: whatever the plan asks, and wherever it breaks off."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.loop import Flag, MemorySink, SendLoop
from onbeat.motion import Limits, Trajectory

MS = 1_000_000
T = 0.004  # the period in seconds
STEP = 4 * MS


class Run:
    """Cycles by hand and what went out."""

    def __init__(self, plan: Trajectory, at: list[float] | None = None, **options: Any) -> None:
        self.sink = MemorySink(plan.width, 100_000)
        self.loop = SendLoop(self.sink, 250, plan, **options)
        if at is not None:
            self.loop.place(at)
        self.deadline = 0

    def cycles(self, count: int, late_ns: int = 0) -> None:
        for _ in range(count):
            self.deadline = self.loop.cycle(self.deadline, self.deadline + late_ns)

    def values(self) -> NDArray[np.float64]:
        return np.asarray(self.sink.drain()["values"])


def sine(speed: float = 2.18) -> Trajectory:
    """1 Hz, with the given peak speed, at rest nowhere near its start."""
    times = np.arange(0, 6000, 1) * MS
    return Trajectory(times, speed / (2 * np.pi) * np.sin(2 * np.pi * times[:, None] * 1e-9))


def within(values: NDArray[np.float64], start: float, speed: float, acceleration: float, jerk: float) -> bool:
    """Differences of what was sent, from rest at `start`."""
    path = np.concatenate([[start] * 3, values])
    first, second, third = (np.abs(np.diff(path, n)).max() / T**n for n in (1, 2, 3))
    return bool(first <= speed * (1 + 1e-6) and second <= acceleration * (1 + 1e-4) and third <= jerk * (1 + 1e-3))


@pytest.mark.parametrize("jerk", [None, 400.0, 2000.0])
@pytest.mark.parametrize("step", [0.002, 0.02, 0.2, 1.0, 3.0])
def test_a_step_is_taken_within_the_limits_and_without_overshoot(step: float, jerk: float | None) -> None:
    run = Run(Trajectory([0], [[step]]), [0.0], limits=Limits(max_speed=3.14, max_acceleration=20.0, max_jerk=jerk))
    run.cycles(500)
    values = run.values()[:, 0]
    assert within(values, 0.0, 3.14, 20.0, jerk or np.inf)
    assert values[-1] == step
    assert values.max() <= step * (1 + 1e-12)
    assert (np.diff(values) >= 0).all()


@pytest.mark.parametrize("jerk", [None, 400.0])
def test_a_path_within_the_limits_passes_to_the_bit(jerk: float | None) -> None:
    plan = sine()
    run = Run(plan, limits=Limits(max_speed=3.14, max_acceleration=20.0, max_jerk=jerk))
    run.cycles(1000)
    records, values = run.loop.records(), run.values()
    limited = (records["flags"] & Flag.LIMITED) != 0
    # It begins in motion, from a device at rest; once it is on the path nothing moves it any more.
    first = int(np.flatnonzero(limited).max()) + 1
    assert first * T < 0.6
    assert np.array_equal(values[first:, 0], plan.at_many(records["t_eff_ns"][first:])[:, 0])


def test_after_a_28_ms_stall_it_is_on_the_plan_again_within_300_ms_and_no_request_is_too_fast() -> None:
    plan = sine()
    run = Run(plan, limits=Limits(max_speed=np.pi))  # 180 deg/s
    run.cycles(250)
    run.cycles(1, late_ns=28 * MS)
    run.cycles(200)
    records, values = run.loop.records(), run.values()[:, 0]
    assert np.abs(np.diff(values)).max() / T <= np.pi * (1 + 1e-9)
    back = records["t_eff_ns"][np.flatnonzero(values != plan.at_many(records["t_eff_ns"])[:, 0])[-1]]
    assert 1028 * MS < back < 1328 * MS
    naive = abs(float((plan.at_ns(1028 * MS) - plan.at_ns(996 * MS))[0])) / T
    assert naive > 5 * np.pi  # what a sender without a limiter asks for: the checker can fail


def test_plans_replaced_at_random_never_leave_the_limits() -> None:
    rng = np.random.default_rng(11)
    limits = Limits(max_speed=[3.0, 1.0], max_acceleration=[20.0, 10.0], max_jerk=[900.0, 300.0], lower=-0.8, upper=0.9)
    run = Run(Trajectory([0], [[0.0, 0.0]]), [0.0, 0.0], limits=limits, extrapolate_s=0.02)
    for _ in range(300):
        run.cycles(int(rng.integers(1, 80)))
        knots = run.deadline + np.cumsum(rng.integers(1, 120, 5)) * MS - 50 * MS
        run.loop.replace(Trajectory(knots, rng.normal(0, 0.6, (5, 2))))
    values = run.values()
    assert values.min() >= -0.8
    assert values.max() <= 0.9
    assert within(values[:, 0], 0.0, 3.0, 20.0, 900.0)
    assert within(values[:, 1], 0.0, 1.0, 10.0, 300.0)


def test_the_first_target_is_limited_against_where_the_device_stands() -> None:
    run = Run(Trajectory([0], [[1.0]]), [0.25], limits=Limits(max_speed=2.0))
    run.cycles(2)
    np.testing.assert_allclose(run.values()[:, 0], [0.258, 0.266], rtol=0, atol=1e-15)
    run.loop.place([0.5])  # it was moved meanwhile
    run.cycles(1)
    np.testing.assert_allclose(run.values()[:, 0], [0.508], rtol=0, atol=1e-15)
    for wrong in ([0.0, 0.0], [np.nan]):
        with pytest.raises(BadInput):
            run.loop.place(wrong)


def test_place_is_refused_while_the_loop_runs() -> None:
    loop = SendLoop(MemorySink(1, 10), 100, Trajectory([0], [[0.0]]))
    loop.start()
    with pytest.raises(BadInput, match="the loop runs"):
        loop.place([0.0])
    loop.stop()


def ends_in_motion() -> Trajectory:
    return Trajectory([0, 400 * MS], [[0.0], [0.4]])  # 1 unit/s until 400 ms


@pytest.mark.parametrize("jerk", [None, 800.0])
def test_a_plan_that_ends_in_motion_goes_on_and_then_comes_to_rest(jerk: float | None) -> None:
    run = Run(ends_in_motion(), limits=Limits(max_acceleration=10.0, max_jerk=jerk), extrapolate_s=0.1)
    run.cycles(400)
    values, flags = run.values()[:, 0], run.loop.records()["flags"]
    beyond = np.flatnonzero(flags & Flag.EXTRAPOLATED)
    assert beyond[0] * STEP == 404 * MS  # the first deadline beyond the end
    np.testing.assert_allclose(values[101:126], np.arange(404, 504, 4) * 1e-3, rtol=0, atol=1e-9)  # 100 ms at its speed
    assert np.abs(np.diff(values[95:])).max() / T <= 1.0 + 1e-6
    slow = np.diff(values[120:])
    assert np.abs(np.diff(slow)).max() / T**2 <= 10.0 * (1 + 1e-4)
    assert (slow >= 0).all()
    rest = values[-1]
    # v t + v^2 / 2a, and with a jerk bound a little more.
    assert 0.4 + 0.1 + 0.04 < rest < 0.4 + 0.1 + 0.08
    assert (flags[beyond[-1] + 1 :] & Flag.HELD).all()
    assert (values[beyond[-1] + 1 :] == rest).all()


def test_without_extrapolation_a_plans_end_is_a_place_to_stay() -> None:
    run = Run(ends_in_motion(), limits=Limits(max_acceleration=10.0))
    run.cycles(300)
    values, flags = run.values()[:, 0], run.loop.records()["flags"]
    assert values[-1] == 0.4
    assert not (flags & Flag.EXTRAPOLATED).any()
    assert np.abs(np.diff(values[60:], 2)).max() / T**2 <= 10.0 * (1 + 1e-4)


def test_extrapolation_stays_in_its_range_and_ends_with_the_next_plan() -> None:
    run = Run(ends_in_motion(), limits=Limits(max_acceleration=20.0, upper=0.45), extrapolate_s=1.0)
    run.cycles(200)
    values = run.values()[:, 0]
    assert values.max() <= 0.45
    assert np.abs(np.diff(values[60:], 2)).max() / T**2 <= 20.0 * (1 + 1e-4)
    run.loop.replace(Trajectory([0], [[0.3]]))
    run.cycles(200)
    assert run.values()[-1, 0] == 0.3


def test_extrapolating_needs_a_way_to_rest() -> None:
    with pytest.raises(BadInput, match="max_acceleration"):
        Run(ends_in_motion(), extrapolate_s=0.1)
    with pytest.raises(BadInput, match="extrapolate_s must be >= 0"):
        Run(ends_in_motion(), limits=Limits(max_acceleration=1.0), extrapolate_s=-0.1)


def test_a_stale_plan_is_given_up_until_the_next() -> None:
    run = Run(sine(), limits=Limits(max_speed=3.14, max_acceleration=20.0), stale_s=1.0)
    run.cycles(500)
    values, flags = run.values()[:, 0], run.loop.records()["flags"]
    stale = np.flatnonzero(flags & Flag.STALE_PLAN)
    assert stale[0] * STEP == 1004 * MS
    assert (flags[stale] & (Flag.EXTRAPOLATED | Flag.HELD)).all()
    assert flags[-1] == Flag.STALE_PLAN | Flag.HELD
    assert np.abs(np.diff(values[240:], 2)).max() / T**2 <= 20.0 * (1 + 1e-4)
    assert values[-1] == values[-20]
    run.loop.replace(sine())
    run.cycles(150)
    records = run.loop.records()
    assert not (records["flags"] & Flag.STALE_PLAN).any()
    assert run.values()[-1, 0] == sine().at_ns(int(records["t_eff_ns"][-1]))[0]


def test_a_stale_plan_without_an_acceleration_repeats_the_last_target() -> None:
    run = Run(ends_in_motion(), stale_s=0.1)
    run.cycles(50)
    values, flags = run.values()[:, 0], run.loop.records()["flags"]
    assert (values[26:] == values[25]).all()
    assert (flags[26:] == (Flag.STALE_PLAN | Flag.HELD)).all()


def test_on_late_hold_brakes_within_the_limits() -> None:
    run = Run(sine(), limits=Limits(max_speed=3.14, max_acceleration=20.0), on_late="hold")
    run.cycles(250)
    run.cycles(1, late_ns=3 * MS)
    run.cycles(100)
    values, flags = run.values()[:, 0], run.loop.records()["flags"]
    assert np.abs(np.diff(values[252:], 2)).max() / T**2 <= 20.0 * (1 + 1e-4)
    assert values[-1] == values[-30]
    assert flags[-1] == Flag.HELD


def test_a_plan_that_is_replaced_inside_the_lead_goes_on_without_a_step_back() -> None:
    run = Run(sine(), limits=Limits(max_speed=3.14, max_acceleration=20.0), lead_s=0.034)
    run.cycles(500)
    for k in range(1, 8):
        times = np.arange(0, 6000, 1) * MS + k  # the same path, its knots a little later, from inside the lead on
        times = times[times > run.deadline + k * 4 * MS]
        run.loop.replace(Trajectory(times, 2.18 / (2 * np.pi) * np.sin(2 * np.pi * times[:, None] * 1e-9)))
        run.cycles(30)
    records, values = run.loop.records(), run.values()[:, 0]
    assert (np.diff(records["t_eff_ns"]) > 0).all()
    assert np.abs(np.diff(values[200:], 2)).max() / T**2 <= 20.0 * (1 + 1e-4)


def test_a_lead_that_shrinks_stops_the_path_and_never_turns_it_back() -> None:
    run = Run(Trajectory([0, 1000 * MS], [[0.0], [1.0]]), lead_s=0.02)
    run.cycles(5)
    run.loop.set_lead(0.0)
    run.cycles(7)
    assert run.loop.records()["t_eff_ns"].tolist() == [n * MS for n in (20, 24, 28, 32, 36, 36, 36, 36, 36, 36, 40, 44)]


def test_a_pose_with_an_acceleration_and_a_jerk_alone_are_refused() -> None:
    pose = Trajectory([0], [[0, 0, 0, 1, 0, 0, 0]], kind="pose")
    with pytest.raises(BadInput, match="of a pose"):
        Run(pose, limits=Limits(max_acceleration=1.0))
    with pytest.raises(BadInput, match="needs max_acceleration"):
        Run(sine(), limits=Limits(max_jerk=1.0))
    run = Run(sine(), limits=Limits(max_acceleration=1.0))
    with pytest.raises(BadInput, match="width"):
        run.loop.replace(pose)


@pytest.mark.parametrize("phase_ms", [0.0, 0.7, 3.999])
def test_with_a_phase_the_deadlines_lie_on_the_clocks_own_grid(phase_ms: float) -> None:
    sinks = [MemorySink(1, 1000), MemorySink(1, 1000)]
    phases_s = (0.0, phase_ms * 1e-3)
    loops = [SendLoop(sink, 250, Trajectory([0], [[0.0]]), phase_s=p) for sink, p in zip(sinks, phases_s, strict=True)]
    for loop in loops:
        loop.start()
        loop.stop()
        loop.start()
    while min(len(sink) for sink in sinks) < 3:
        pass
    for loop in loops:
        loop.stop()
    remainders = [set((loop.records()["deadline_ns"] % STEP).tolist()) for loop in loops]
    assert remainders == [{0}, {round(phase_ms * MS)}]


def test_a_phase_is_less_than_a_period() -> None:
    for wrong in (0.004, -0.001):
        with pytest.raises(BadInput, match="phase"):
            SendLoop(MemorySink(1, 10), 250, Trajectory([0], [[0.0]]), phase_s=wrong)
