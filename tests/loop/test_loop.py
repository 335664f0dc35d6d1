"""Cycles by hand on a 100 Hz grid (period 10 ms) against numbers worked out on paper; the thread by order and count only."""

import gc
import os
import signal
import subprocess
import sys
import threading
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from onbeat.errors import BadInput, DeviceError
from onbeat.loop import RECORD_DTYPE, Flag, MemorySink, SendLoop
from onbeat.motion import Limits, Trajectory
from onbeat.units import TimeGrid

MS = 1_000_000
RAMP = Trajectory([0, 1000 * MS], [[0.0], [1.0]])  # 1 unit/s: the value in thousandths is the instant in ms


def loop_of(
    plan: Trajectory = RAMP, rate_hz: float | Fraction = 100, capacity: int = 1000, **options: Any
) -> tuple[SendLoop, MemorySink]:
    sink = MemorySink(plan.width, capacity)
    return SendLoop(sink, rate_hz, plan, **options), sink


def run(loop: SendLoop, *lateness_ms: float, first_ms: int = 0) -> list[int]:
    """Do cycles, each woken that late, and give the deadlines in ms."""
    deadlines = [first_ms * MS]
    for late in lateness_ms:
        deadlines.append(loop.cycle(deadlines[-1], deadlines[-1] + round(late * MS)))
    return [deadline // MS for deadline in deadlines]


def test_record_is_one_cache_line() -> None:
    assert RECORD_DTYPE.itemsize == 64


def test_on_time_follows_the_grid_and_evaluates_at_the_deadline() -> None:
    loop, sink = loop_of()
    assert run(loop, 0, 0.1, 2.5) == [0, 10, 20, 30]
    records, frames = loop.records(), sink.drain()
    assert (
        records["wake_ns"].tolist() == records["sent_ns"].tolist() == records["done_ns"].tolist() == [0, 10_100_000, 22_500_000]
    )
    assert records["t_eff_ns"].tolist() == frames["t_eff_ns"].tolist() == [0, 10 * MS, 20 * MS]
    assert frames["sequence"].tolist() == [0, 1, 2]
    assert frames["values"].shape == (3, 1)
    np.testing.assert_allclose(frames["values"][:, 0], [0.0, 0.010, 0.020], rtol=0, atol=1e-15)
    assert not records["flags"].any()
    assert not records["skipped"].any()


@pytest.mark.parametrize(
    ("late_ms", "next_ms", "t_eff_ms", "flags"),
    [
        (2.5, 20, 10, Flag(0)),  # 7.5 ms before the next deadline: exactly 3/4 of a period
        (2.6, 30, 10, Flag.SKIPPED),  # 7.4 ms before it: it counts as missed
        (5.0, 30, 10, Flag.SKIPPED),  # half a period late is still evaluated at the deadline
        (5.1, 30, 15.1, Flag.SKIPPED | Flag.LATE),
        (12.5, 30, 22.5, Flag.SKIPPED | Flag.LATE),
        (12.6, 40, 22.6, Flag.SKIPPED | Flag.LATE),
    ],
)
def test_three_quarters_of_a_period(late_ms: float, next_ms: int, t_eff_ms: float, flags: Flag) -> None:
    loop, _ = loop_of()
    assert run(loop, 0, late_ms)[-1] == next_ms
    record = loop.records()[-1]
    assert record["t_eff_ns"] == round(t_eff_ms * MS)
    assert Flag(record["flags"]) == flags
    assert record["skipped"] == next_ms // 10 - 2
    assert loop.status().missed == next_ms // 10 - 2


def test_a_stall_of_200_ms_sends_once_and_keeps_the_grid() -> None:
    loop, _ = loop_of(rate_hz=500)
    period = 2 * MS
    next_ns = loop.cycle(loop.cycle(0, 0), period + 200_300_000)  # deadline 2 ms, woke at 202.3 ms
    assert next_ns == 204 * MS  # 1.7 ms after the send, more than 3/4 of 2 ms
    assert loop.records()["skipped"].tolist() == [0, 100]  # ticks 2..101; tick 1 was sent late
    assert loop.status().missed == 100
    assert loop.cycle(next_ns, next_ns) == 206 * MS


def test_sends_and_missed_deadlines_fill_the_grid() -> None:
    rng = np.random.default_rng(7)
    loop, _ = loop_of(rate_hz=Fraction(1000, 7))
    grid = TimeGrid(123, Fraction(1000, 7))
    deadline = 123
    for _ in range(500):
        deadline = loop.cycle(deadline, deadline + int(rng.exponential(4 * MS)))
    records, status = loop.records(), loop.status()
    assert grid.tick_ns(status.cycles + status.missed) == deadline
    assert np.diff(records["sent_ns"]).min() >= 0.75 * 7 * MS
    assert set(np.diff([grid.index(t) for t in records["deadline_ns"]]) - 1) == set(records["skipped"][:-1])
    assert all(grid.tick_ns(grid.index(int(t))) == t for t in records["deadline_ns"])


@pytest.mark.parametrize("rate_hz", [300, 29.97, Fraction(30000, 1001), 1 / 3, 100_000])
def test_deadlines_are_those_of_a_time_grid(rate_hz: float | Fraction) -> None:
    loop, _ = loop_of(rate_hz=rate_hz)
    grid = TimeGrid(5, rate_hz)
    deadline = 5
    for k in range(200):
        assert deadline == grid.tick_ns(k)
        deadline = loop.cycle(deadline, deadline)


def test_a_deadline_off_the_grid_begins_a_new_one() -> None:
    loop, _ = loop_of()
    assert run(loop, 0, 0) == [0, 10, 20]
    assert loop.cycle(40 * MS, 40 * MS) == 50 * MS
    assert loop.cycle(53 * MS, 53 * MS) == 63 * MS


def test_lead_looks_further_into_the_plan() -> None:
    loop, sink = loop_of(lead_s=0.006)
    loop.cycle(0, 0)
    loop.set_lead(0.008)
    loop.cycle(10 * MS, 18 * MS)  # late: the instant of sending counts
    np.testing.assert_allclose(sink.drain()["values"][:, 0], [0.006, 0.026], rtol=0, atol=1e-15)
    assert loop.records()["plan"].tolist() == [0, 0]


def test_a_lead_is_applied_once() -> None:
    led = Trajectory([0, 10], [[0.0], [1.0]], lead_ns=5 * MS)
    with pytest.raises(BadInput, match="applied once"):
        loop_of(led, lead_s=0.001)
    loop, _ = loop_of(lead_s=0.001)
    with pytest.raises(BadInput, match=r"5\.000 ms"):
        loop.replace(led)
    loop, _ = loop_of(led)
    with pytest.raises(BadInput, match=r"1\.000 ms"):
        loop.set_lead(0.001)
    loop.set_lead(0.0)
    for wrong in (-0.001, float("nan")):
        with pytest.raises(BadInput):
            loop_of(lead_s=wrong)


def test_replace_counts_plans_and_takes_the_newest() -> None:
    loop, sink = loop_of()
    loop.cycle(0, 0)
    assert loop.replace(Trajectory([0, 1000 * MS], [[5.0], [5.0]])) == 1
    assert loop.replace(Trajectory([0, 1000 * MS], [[6.0], [6.0]])) == 2
    run(loop, 0, 0, first_ms=10)
    assert loop.records()["plan"].tolist() == [0, 2, 2]
    assert sink.drain()["values"][:, 0].tolist() == [0.0, 6.0, 6.0]


def test_outside_its_knots_a_plan_is_held_at_the_nearest_end() -> None:
    loop, sink = loop_of(Trajectory([10 * MS, 20 * MS], [[1.0], [2.0]]))
    run(loop, 0, 0, 0, 0)
    assert [Flag(f) for f in loop.records()["flags"]] == [Flag.HELD, Flag(0), Flag(0), Flag.HELD]
    assert sink.drain()["values"][:, 0].tolist() == [1.0, 1.0, 2.0, 2.0]


def test_a_plan_that_had_ended_is_held_and_flagged_stale() -> None:
    loop, sink = loop_of()
    loop.replace(Trajectory([10 * MS, 20 * MS], [[1.0], [2.0]]))
    run(loop, 0, 0, first_ms=50)
    assert [Flag(f) for f in loop.records()["flags"]] == [Flag.HELD | Flag.STALE_PLAN] * 2
    assert sink.drain()["values"][:, 0].tolist() == [2.0, 2.0]
    loop.replace(Trajectory([0], [[3.0]]))  # a place to stay, not a plan that ended
    loop.cycle(70 * MS, 70 * MS)
    assert Flag(loop.records()["flags"][0]) == Flag.HELD


def test_speed_is_limited_against_the_last_target_sent() -> None:
    loop, sink = loop_of(limits=Limits(max_speed=0.5))  # the plan wants 1 unit/s: half of each step passes
    run(loop, 0, 0, 0)
    np.testing.assert_allclose(sink.drain()["values"][:, 0], [0.0, 0.005, 0.010], rtol=0, atol=1e-15)
    assert [Flag(f) for f in loop.records()["flags"]] == [Flag(0), Flag.LIMITED, Flag.LIMITED]
    assert loop.status().limited == 2


def test_after_a_stall_one_step_is_at_most_one_period_of_speed() -> None:
    loop, sink = loop_of(limits=Limits(max_speed=2.0))
    run(
        loop, 0, 28, 0
    )  # woke at 38 ms: the plan is at 0.038, one period allows 0.020; tick 40 is missed, so 50 follows 12 ms later
    np.testing.assert_allclose(sink.drain()["values"][:, 0], [0.0, 0.020, 0.040], rtol=0, atol=1e-15)


def test_a_plan_at_exactly_the_limit_is_not_limited() -> None:
    loop, _ = loop_of(rate_hz=300, limits=Limits(max_speed=1.0))
    deadline = 0
    for _ in range(250):
        deadline = loop.cycle(deadline, deadline)
    assert loop.status().limited == 0


def test_range_is_kept() -> None:
    plan = Trajectory([0, 100 * MS], [[-1.0, 0.0], [1.0, 5.0]])
    loop, sink = loop_of(plan, limits=Limits(lower=[-0.5, -1.0], upper=[0.5, 1.0]))
    run(loop, 0, first_ms=0)
    run(loop, 0, first_ms=100)
    assert sink.drain()["values"].tolist() == [[-0.5, 0.0], [0.5, 1.0]]
    assert all(loop.records()["flags"] & Flag.LIMITED)


def test_a_pose_is_limited_in_speed_and_in_angular_speed() -> None:
    half = np.sqrt(0.5)
    plan = Trajectory(
        [0, 10 * MS], [[0, 0, 0, 1, 0, 0, 0], [0.03, 0.04, 0, half, 0, 0, half]], kind="pose"
    )  # 5 m/s and 157 rad/s
    loop, sink = loop_of(plan, limits=Limits(max_speed=2.5, max_angular_speed=10.0))
    run(loop, 0, 0)
    values = sink.drain()["values"][1]
    np.testing.assert_allclose(values[:3], [0.015, 0.020, 0.0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(values[3:], [np.cos(0.05), 0, 0, np.sin(0.05)], rtol=0, atol=1e-12)
    assert Flag(loop.records()["flags"][1]) == Flag.LIMITED


def test_on_late_hold_repeats_the_last_target_until_replace() -> None:
    loop, sink = loop_of(on_late="hold")
    assert run(loop, 0, 6, 0) == [0, 10, 30, 40]
    loop.set_lead(0.001)  # no new plan: it goes on holding
    run(loop, 0, first_ms=40)
    loop.replace(RAMP)
    run(loop, 0, first_ms=50)
    np.testing.assert_allclose(sink.drain()["values"][:, 0], [0.0, 0.0, 0.0, 0.0, 0.051], rtol=0, atol=1e-15)
    held = [bool(f & Flag.HELD) for f in loop.records()["flags"]]
    assert held == [False, True, True, True, False]


def test_on_late_stop_sends_nothing_and_says_why() -> None:
    loop, sink = loop_of(on_late="stop")
    run(loop, 0, 6)
    assert len(sink.drain()) == len(loop.records()) == 1
    status = loop.status()
    assert status.missed == 1
    assert "woke 6.000 ms late" in status.error
    with pytest.raises(DeviceError, match=r"woke 6\.000 ms late"):
        loop.cycle(20 * MS, 20 * MS)


def test_a_full_sink_is_flagged_and_counts_as_not_sent() -> None:
    loop, sink = loop_of(capacity=2, limits=Limits(max_speed=1.0))
    run(loop, 0, 0, 0, 0)
    assert sink.drain()["sequence"].tolist() == [0, 1]
    assert sink.dropped == 2
    assert [bool(f & Flag.WOULD_BLOCK) for f in loop.records()["flags"]] == [False, False, True, True]
    run(loop, 0, first_ms=40)
    frame = sink.drain()[0]
    assert frame["sequence"] == 4  # the gap shows what was lost
    np.testing.assert_allclose(frame["values"], [0.02])  # one period on from the last that was sent, not from the last evaluated


def test_records_overflow_is_counted_and_drained() -> None:
    loop, _ = loop_of(record_capacity=3)
    run(loop, 0, 0, 0, 0, 0)
    assert loop.records()["deadline_ns"].tolist() == [0, 10 * MS, 20 * MS]
    assert loop.status().dropped_records == 2
    assert len(loop.records()) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate_hz": 0}, "rate_hz"),
        ({"rate_hz": float("nan")}, "rate_hz"),
        ({"rate_hz": 2e5}, "rate_hz"),
        ({"priority": 99}, "99 belongs to the kernel"),
        ({"priority": 0}, "1..98"),
        ({"cpu": -1}, "cpu"),
        ({"spin_us": 6000}, "half a period"),
        ({"spin_us": -1}, "spin"),
        ({"on_late": "panic"}, "on_late"),
        ({"record_capacity": 0}, "record_capacity"),
        ({"limits": Limits(max_speed=[1.0, 2.0])}, "max_speed"),
    ],
)
def test_bad_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        loop_of(**options)


def test_widths_must_agree() -> None:
    with pytest.raises(BadInput, match="width"):
        SendLoop(MemorySink(2, 10), 100, RAMP)
    loop, _ = loop_of()
    with pytest.raises(BadInput, match="width"):
        loop.replace(Trajectory([0], [[0.0, 0.0]]))


def test_a_cycle_does_not_begin_before_its_deadline() -> None:
    loop, _ = loop_of()
    with pytest.raises(BadInput, match="before the deadline"):
        loop.cycle(10 * MS, 9 * MS)


def wait_for_frames(loop: SendLoop, sink: MemorySink, count: int) -> np.ndarray[Any, Any]:
    frames = sink.drain()
    while len(frames) < count and loop.status().running:
        frames = np.concatenate([frames, sink.drain()])
    return frames


def test_the_thread_sends_on_its_grid_in_order() -> None:
    loop, sink = loop_of(rate_hz=1000)
    loop.start()
    frames = wait_for_frames(loop, sink, 50)
    loop.stop()
    frames = np.concatenate([frames, sink.drain()])
    records, status = loop.records(), loop.status()
    assert frames["sequence"].tolist() == list(range(len(frames)))
    assert frames["sent_ns"].tolist() == records["sent_ns"].tolist()
    assert status.cycles == len(records) == len(frames) >= 50
    start = int(records["deadline_ns"][0])
    assert ((records["deadline_ns"] - start) % MS == 0).all()
    assert records["deadline_ns"][-1] == start + (status.cycles - 1 + records["skipped"][:-1].sum()) * MS
    assert (records["wake_ns"] >= records["deadline_ns"]).all()
    assert (records["done_ns"] >= records["sent_ns"]).all()
    assert np.diff(records["sent_ns"]).min() >= 0.75 * MS
    assert status.error == ""


def test_start_twice_is_refused_and_stop_may_be_called_again() -> None:
    loop, sink = loop_of()
    loop.stop()
    loop.start()
    assert loop.status().running
    with pytest.raises(BadInput, match="runs already"):
        loop.start()
    with pytest.raises(BadInput, match="the loop's thread has the cycles"):
        loop.cycle(0, 0)
    with pytest.raises(BadInput, match="another loop"):
        SendLoop(sink, 100, RAMP).start()
    loop.stop()
    loop.stop()
    assert not loop.status().running
    loop.start()
    loop.stop()
    SendLoop(sink, 100, RAMP).cycle(0, 0)


def thread_names() -> list[str]:
    names = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm") as file:
            names.append(file.read().strip())
    return names


def test_a_loop_that_is_let_go_stops() -> None:
    loop, _ = loop_of()
    loop.start()
    assert "onbeat-loop" in thread_names()
    del loop
    gc.collect()
    assert "onbeat-loop" not in thread_names()


def test_replace_from_two_threads_gives_each_plan_its_own_id() -> None:
    loop, sink = loop_of(rate_hz=10_000)
    loop.start()
    ids: list[list[int]] = [[], []]

    def replace(mine: list[int]) -> None:
        mine.extend(loop.replace(Trajectory([0], [[float(i)]])) for i in range(500))

    threads = [threading.Thread(target=replace, args=(mine,)) for mine in ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ids[0] + ids[1]) == list(range(1, 1001))
    wait_for_frames(loop, sink, 1)
    loop.stop()
    assert (np.diff(loop.records()["plan"]) >= 0).all()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_child_has_no_thread_and_can_let_go_of_the_loop() -> None:
    loop, _ = loop_of()
    loop.start()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            status = loop.status()
            loop.stop()
            code = 0 if not status.running and "fork" in status.error else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert loop.status().running
    loop.stop()


def test_the_interpreter_ends_with_loops_running() -> None:
    program = """
from onbeat.loop import DeviceSink, MemorySink, SendLoop
from onbeat.device.device import DeviceInfo
from onbeat.motion import Trajectory
class Device:
    info = DeviceInfo("joints", 1, "rad", "fake")
    def write(self, command): pass
    def hold(self): pass
plan = Trajectory([0], [[0.0]])
loops = [SendLoop(sink, 1000, plan) for sink in (MemorySink(1, 8), DeviceSink(Device()))]
for loop in loops:
    loop.start()
print("end")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")


FROZEN = """
import sys
from onbeat.loop import MemorySink, SendLoop
from onbeat.motion import Trajectory
sink = MemorySink(1, 100_000)
loop = SendLoop(sink, 500, Trajectory([0], [[0.0]]))
loop.start()
while loop.status().cycles < 50:
    pass
print("sending", flush=True)
sys.stdin.readline()
now = loop.status().cycles
while loop.status().cycles < now + 50:
    pass
loop.stop()
sent, status = sink.drain()["sent_ns"], loop.status()
gaps = sent[1:] - sent[:-1]
print(gaps.min(), gaps.max(), status.cycles + status.missed, (sent[-1] - sent[0]) / 2e6, flush=True)
"""


def test_a_process_that_was_stopped_goes_on_without_a_burst() -> None:
    with subprocess.Popen([sys.executable, "-c", FROZEN], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "sending\n"
        os.kill(child.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        threading.Event().wait(0.1)  # nobody sets it: 50 periods
        os.kill(child.pid, signal.SIGCONT)
        child.stdin.write("go on\n")
        child.stdin.flush()
        closest, widest, deadlines, periods = map(float, child.stdout.readline().split())
    assert child.returncode == 0
    assert closest >= 1.5 * MS
    assert widest >= 100 * MS
    assert abs(deadlines - periods) < 3  # every deadline was sent or counted as missed


@pytest.mark.parametrize("jerk", [None, 1.0])
def test_what_arithmetic_cannot_hold_is_never_sent(jerk: float | None) -> None:
    far = Trajectory([0, 1000 * MS], [[-1.7e308], [1.7e308]])
    loop, sink = loop_of(far, limits=Limits(max_acceleration=1.0, max_jerk=jerk))
    run(loop, *[0.0, 3.0] * 100)
    assert np.isfinite(sink.drain()["values"]).all()
    assert loop.status().limited > 0


def test_lead_of_more_than_an_hour_is_refused() -> None:
    loop, _ = loop_of(lead_s=3600.0)
    for lead_s in (3600.1, 9.2e9, 1e300):
        with pytest.raises(BadInput):
            loop.set_lead(lead_s)
        with pytest.raises(BadInput):
            loop_of(lead_s=lead_s)


@pytest.mark.parametrize("far_ns", [2**63 - 1, 2**62, -(2**62), -(2**63)])
def test_instant_of_two_lifetimes_is_refused_by_hand(far_ns: int) -> None:
    loop, _ = loop_of()
    with pytest.raises(BadInput, match="73 years"):
        loop.cycle(far_ns, far_ns)
    assert run(loop, 0, 0) == [0, 10, 20]


def test_numbers_of_numpy_and_what_is_no_number() -> None:
    loop, _ = loop_of(rate_hz=np.float32(100))
    assert run(loop, 0, 0) == [0, 10, 20]
    with pytest.raises(BadInput, match="must be numbers"):
        loop.place("here")
    with pytest.raises(BadInput, match="cpu"):
        loop_of(cpu=2**40)
    with pytest.raises(BadInput, match="2 GiB"):
        MemorySink(4096, 2**20)
    for limits in ({"lower": float("inf")}, {"upper": [float("-inf")]}):
        with pytest.raises(BadInput, match="nothing to be in"):
            Limits(**limits)
