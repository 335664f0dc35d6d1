import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.clock import ManualClock
from onbeat.device import Command, Device, SinkDevice
from onbeat.device.plant import COUNT_RAD
from onbeat.device.scene import RestingCup
from onbeat.device.simulated import SimulatedArm, SimulatedGripper, World
from onbeat.errors import BadInput, DeviceError, NotYet
from onbeat.loop import SendLoop
from onbeat.motion import Trajectory
from onbeat.motion.kinematics import forward

MS = 1_000_000
START_NS = 1_000_000_000_000
MakeSink = Callable[[int], Any]


def world(make_sink: MakeSink, seed: int = 0, fast: bool = True) -> World:
    made = World(seed, ManualClock(START_NS), RestingCup(), fast=fast, make_sink=make_sink)
    for device in (made.arm, made.gripper, made.camera):
        device.connect()
    return made


def clock_of(made: World) -> ManualClock:
    clock = made.clock
    assert isinstance(clock, ManualClock)
    return clock


def swing(made: World, seconds: float, period_ns: int, read_every_ns: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Send a swing to all joints and read the arm on the way; the values read and their stamps."""
    clock = clock_of(made)
    home = made.ledger.arm_at_many(np.array([START_NS]))[0]
    values, stamps = [], []
    next_read_ns = START_NS
    for k in range(round(seconds * 1e9 / period_ns)):
        now_ns = START_NS + k * period_ns
        clock.set_ns(now_ns)
        made.arm.sink.push(now_ns, home + 0.2 * np.sin((now_ns - START_NS) * 6e-9))
        if now_ns >= next_read_ns:
            state = made.arm.read()
            values.append(state.value)
            stamps.append(state.receive_ns)
            next_read_ns = now_ns + read_every_ns
    return np.array(values), np.array(stamps)


def test_modules_are_devices(list_sink: MakeSink) -> None:
    made = world(list_sink)
    assert isinstance(made.arm, SinkDevice)
    assert isinstance(made.gripper, SinkDevice)
    assert isinstance(made.camera, Device)
    assert (made.arm.info.kind, made.arm.info.width, made.arm.info.unit) == ("joints", 6, "rad")
    assert (made.gripper.info.kind, made.gripper.info.width, made.gripper.info.unit) == ("gripper", 1, "m")


def test_arm_rests_at_home_with_the_tool_down(list_sink: MakeSink) -> None:
    made = world(list_sink)
    position, _ = forward(made.arm.read().value)
    assert position == pytest.approx([0.25, 0, 0.15], abs=2e-3)
    assert made.ledger.tool_at_many(np.array([START_NS]))[0] == pytest.approx([0.25, 0, 0.15], abs=1e-3)


def test_values_are_whole_encoder_counts_and_read_only(list_sink: MakeSink) -> None:
    value = world(list_sink).arm.read().value
    assert np.round(value / COUNT_RAD) * COUNT_RAD == pytest.approx(value, abs=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        value[0] = 0


def test_stamps_are_rounded_and_lie_about_a_transaction_after_the_beginning(list_sink: MakeSink) -> None:
    made = world(list_sink)
    clock = clock_of(made)
    durations = []
    for _ in range(400):
        clock.advance_ns(9_876_543)
        state = made.arm.read()
        assert state.begin_ns == clock.now_ns()
        assert state.receive_ns % 100_000 == 0
        durations.append(state.receive_ns - state.begin_ns)
    assert min(durations) > 0.7 * 5.8 * MS
    assert max(durations) < 1.3 * 5.8 * MS
    assert np.mean(durations) == pytest.approx(5.8 * MS, rel=0.02)
    assert made.ledger.truth()["arm"]["receive_latency"] == pytest.approx(0.5 * float(np.mean(durations)) * 1e-9, abs=3e-4)


def test_few_polls_are_answered_from_the_cache(list_sink: MakeSink) -> None:
    made = world(list_sink)
    clock = clock_of(made)
    states = []
    for _ in range(3000):
        clock.advance_ns(10 * MS)
        states.append(made.gripper.read())
    repeats = [a for a, b in pairwise(states) if b.seq == a.seq]
    assert 0.02 < len(repeats) / len(states) < 0.04
    assert {b.seq - a.seq for a, b in pairwise(states)} == {0, 1}
    assert all(a.value is b.value for a, b in pairwise(states) if a.seq == b.seq)


def test_sample_lies_inside_the_transaction(list_sink: MakeSink) -> None:
    made = world(list_sink)
    clock = clock_of(made)
    home = made.ledger.arm_at_many(np.array([START_NS]))[0]
    misses = 0
    for k in range(2000):
        clock.set_ns(START_NS + k * 4 * MS)
        made.arm.sink.push(clock.now_ns(), home + 0.2 * np.sin(k * 0.03))
        if k % 5 == 0 and k > 100:
            state = made.arm.read()
            clock.set_ns(max(clock.now_ns(), state.receive_ns - 3 * MS))
            inside = np.linspace(state.begin_ns, state.receive_ns + 200_000, 200).astype(np.int64)
            true = made.ledger.arm_at_many(inside)
            misses += bool((np.abs(true - state.value).min(axis=0) > 0.75 * COUNT_RAD).any())
    # What remains are the cached answers.
    assert misses < 0.06 * 380


def test_reads_do_not_change_the_motion(list_sink: MakeSink) -> None:
    often, seldom = world(list_sink, 3), world(list_sink, 3)
    swing(often, 4.0, 3 * MS, 7 * MS)
    swing(seldom, 4.0, 3 * MS, 900 * MS)
    t = np.arange(START_NS, START_NS + 3990 * MS, 777_777)
    assert np.array_equal(often.ledger.arm_at_many(t), seldom.ledger.arm_at_many(t))
    latencies = [made.ledger.truth()["arm"]["action_latency"] for made in (often, seldom)]
    assert latencies[0] == pytest.approx(latencies[1], abs=1e-5)


def test_ledger_may_be_asked_from_another_thread(list_sink: MakeSink) -> None:
    quiet, asked = world(list_sink, 2), world(list_sink, 2)
    expected, _ = swing(quiet, 3.0, 4 * MS, 10 * MS)
    done = threading.Event()
    failures: list[Exception] = []

    def ask() -> None:
        while not done.is_set():
            try:
                asked.ledger.tool_at_many(np.array([START_NS + 5 * MS]))
                asked.ledger.truth()
            except Exception as error:
                failures.append(error)
                return

    asking = threading.Thread(target=ask)
    asking.start()
    values, _ = swing(asked, 3.0, 4 * MS, 10 * MS)
    done.set()
    asking.join()
    assert failures == []
    assert np.array_equal(values, expected)


def test_same_seed_is_the_same_to_the_last_bit(list_sink: MakeSink) -> None:
    one, two = world(list_sink, 5), world(list_sink, 5)
    values, stamps = swing(one, 3.0, 4 * MS, 10 * MS)
    # What other modules do in between must not matter.
    for _ in range(20):
        two.gripper.read()
        two.camera.read()
    again_values, again_stamps = swing(two, 3.0, 4 * MS, 10 * MS)
    assert np.array_equal(values, again_values)
    assert np.array_equal(stamps, again_stamps)


def test_reading_ahead_of_a_manual_clock_is_what_waiting_would_have_read(list_sink: MakeSink) -> None:
    ahead, waiting = world(list_sink, 7), world(list_sink, 7, fast=False)
    home = ahead.ledger.arm_at_many(np.array([START_NS]))[0]
    for k in range(300):
        states = []
        for made in (ahead, waiting):
            clock_of(made).set_ns(START_NS + k * 12 * MS)
            made.arm.sink.push(START_NS + k * 12 * MS, home + 0.3 * np.sin(k * 0.1))
            states.append(made.arm.read())
        assert np.array_equal(states[0].value, states[1].value)
        assert states[0].receive_ns == states[1].receive_ns
    assert clock_of(waiting).now_ns() >= states[1].receive_ns


def test_latency_of_the_ledger_is_the_shift_of_a_slow_ramp(list_sink: MakeSink) -> None:
    made = world(list_sink, 11)
    clock = clock_of(made)
    start_ns, speed = START_NS + 100 * MS, 0.002
    for k in range(2500):
        clock.set_ns(start_ns + k * 8 * MS)
        made.gripper.sink.push(clock.now_ns(), [0.04 + speed * k * 0.008])
    t = np.arange(start_ns + 2_000 * MS, start_ns + 19_000 * MS, 1_234_567)
    opening = made.ledger.gripper_at_many(t)[:, 0]
    behind_s = (t - start_ns) * 1e-9 - (opening - 0.04) / speed
    play_s = made.gripper._bench.parameters.play / speed
    assert made.ledger.truth()["gripper"]["action_latency"] == pytest.approx(float(behind_s.mean()) - play_s, abs=1e-4)


def test_speed_limit_holds(list_sink: MakeSink) -> None:
    made = world(list_sink, 4)
    made.arm.write(Command(START_NS, np.array([1.5, 1.2, -1.0, 0.0, 0.5, -2.0])))
    clock_of(made).advance_ns(2000 * MS)
    t = np.arange(START_NS, START_NS + 2000 * MS, MS)
    fastest = np.abs(np.diff(made.ledger.arm_at_many(t), axis=0)).max() * 1e3
    assert fastest == pytest.approx(made.ledger.truth()["arm"]["max_speed"], rel=2e-3)


def test_write_and_hold_reach_the_plant(list_sink: MakeSink) -> None:
    made = world(list_sink)
    clock = clock_of(made)
    made.gripper.write(Command(START_NS, np.array([0.10])))
    clock.advance_ns(200 * MS)
    moving = made.ledger.gripper_at_many(np.array([clock.now_ns()]))[0, 0]
    made.gripper.hold()
    clock.advance_ns(2000 * MS)
    held = made.ledger.gripper_at_many(np.array([clock.now_ns()]))[0, 0]
    assert 0.045 < moving < 0.095
    assert held == pytest.approx(moving, abs=2e-4)


def test_goals_stop_at_the_jaws_ends_and_nonsense_is_ignored(list_sink: MakeSink) -> None:
    made = world(list_sink)
    clock = clock_of(made)
    made.gripper.sink.push(START_NS, [5.0])
    made.gripper.sink.push(START_NS + 1, [np.nan])
    clock.advance_ns(5000 * MS)
    assert made.gripper.read().value == pytest.approx([0.12], abs=2e-4)


def test_targets_of_another_shape_are_refused(list_sink: MakeSink) -> None:
    made = world(list_sink)
    with pytest.raises(BadInput, match="must be 6 finite"):
        made.arm.write(Command(START_NS, np.zeros(5)))
    with pytest.raises(BadInput, match="must be 1 finite"):
        made.gripper.write(Command(START_NS, np.array([np.nan])))


def test_modules_that_are_not_connected_say_so(list_sink: MakeSink) -> None:
    made = World(0, ManualClock(START_NS), RestingCup(), fast=True, make_sink=list_sink)
    for device in (made.arm, made.gripper, made.camera):
        with pytest.raises(DeviceError, match="call connect first"):
            device.read()
    made.arm.connect()
    made.arm.close()
    made.arm.close()
    made.gripper.connect()
    made.gripper.close()
    with pytest.raises(DeviceError, match="not connected"):
        made.arm.hold()
    with pytest.raises(DeviceError, match="not connected"):
        made.gripper.write(Command(START_NS, np.array([0.01])))


def test_future_is_not_told(list_sink: MakeSink) -> None:
    made = world(list_sink)
    with pytest.raises(NotYet, match=r"100\.0 ms from now"):
        made.ledger.arm_at_many(np.array([START_NS, START_NS + 100 * MS]))


def test_lost_commands_are_an_error(list_sink: MakeSink) -> None:
    made = world(list_sink)
    made.arm.sink.dropped = 3
    with pytest.raises(DeviceError, match="3 commands did not fit"):
        made.arm.read()


def test_nobody_rig_has_the_copied_numbers(list_sink: MakeSink) -> None:
    copied = {
        ("arm", "action_latency"): (0.12, 0.010),
        ("arm", "receive_latency"): (0.000124, 0.0005),
        ("gripper", "action_latency"): (0.132, 0.020),
        ("gripper", "receive_latency"): (0.01, 0.005),
        ("camera", "receive_latency"): (0.194, 0.050),
    }
    right = 0
    for seed in range(40):
        truth = World(seed, ManualClock(START_NS), RestingCup(), fast=True, make_sink=list_sink).ledger.truth()
        assert 0.040 <= truth["camera"]["receive_latency"] <= 0.130
        right += sum(abs(truth[m][key] - value) < near for (m, key), (value, near) in copied.items())
    assert right <= 6


def test_seeds_give_different_rigs(list_sink: MakeSink) -> None:
    seen = {str(world(list_sink, seed).ledger.truth()) for seed in range(20)}
    assert len(seen) == 20


@pytest.mark.parametrize("seed", [-1, 1.5, True, "a"])
def test_seed_must_be_a_whole_number(seed: Any, list_sink: MakeSink) -> None:
    with pytest.raises(BadInput, match="whole number"):
        World(seed, ManualClock(0), RestingCup(), fast=True, make_sink=list_sink)


def test_native_loop_drives_the_arm_and_the_ledger_knows_its_age() -> None:
    made = World(0, ManualClock(START_NS), RestingCup(), fast=True)
    made.arm.connect()
    home = made.arm.read().value
    speed = 0.01
    plan = Trajectory([START_NS, START_NS + 20_000 * MS], np.stack([home, home + 20 * speed]))
    loop = SendLoop(made.arm.sink, 250, plan)
    deadline_ns = START_NS
    while deadline_ns < START_NS + 15_000 * MS:
        made.clock.sleep_until_ns(deadline_ns)
        deadline_ns = loop.cycle(deadline_ns, deadline_ns)
        made.arm.read()
    t = np.arange(START_NS + 3_000 * MS, START_NS + 15_000 * MS, 1_234_567)
    behind_s = plan.at_many(t)[:, [0, 3, 4, 5]] - made.ledger.arm_at_many(t)[:, [0, 3, 4, 5]]
    lag_s = made.arm._bench.parameters.lag_s
    unlike_s = np.mean([lag_s[k] for k in (0, 3, 4, 5)]) - np.mean(lag_s)
    play_s = made.arm._bench.parameters.play / speed
    expected_s = float(behind_s.mean()) / speed - play_s - unlike_s
    assert made.ledger.truth()["arm"]["action_latency"] == pytest.approx(expected_s, abs=1e-4)


class Config:
    def __init__(self, **params: Any) -> None:
        self.params = params


def test_module_from_a_yaml_is_the_one_of_the_world(list_sink: MakeSink) -> None:
    made = world(list_sink, 9)
    for module, build in ((made.arm, SimulatedArm), (made.gripper, SimulatedGripper)):
        alone = build(Config(seed=9), ManualClock(START_NS))
        assert alone._bench.parameters == module._bench.parameters
        alone.connect()
        assert np.array_equal(alone.read().value, module.read().value)
        assert alone.sink.drain().dtype.names == ("sequence", "sent_ns", "t_eff_ns", "values")


def test_unknown_parameter_is_refused() -> None:
    with pytest.raises(BadInput, match="no parameter 'sede'"):
        SimulatedArm(Config(sede=1), ManualClock(START_NS))
