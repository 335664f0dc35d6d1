from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.device import plant as plant_module
from onbeat.device.plant import LONGEST_READ, Plant, PlantParameters, draw_arm, draw_gripper
from onbeat.errors import BadInput, Forgotten

MS = 1_000_000
PARAMETERS = PlantParameters(
    bus_period_s=0.007,
    hop_s=0.002,
    dead_s=0.020,
    lag_s=(0.050, 0.040),
    max_speed=2.0,
    count=0.0015,
    play=0.0,
    sag=(0.0, 0.0),
    read_s=0.004,
)


def plant(parameters: PlantParameters = PARAMETERS, seed: int = 1) -> Plant:
    return Plant(parameters, np.zeros(parameters.width), 3 * MS, np.random.default_rng(seed))


def instants(first_ms: float, last_ms: float, step_ms: float = 1.0) -> NDArray[np.int64]:
    return np.arange(round(first_ms * MS), round(last_ms * MS), round(step_ms * MS), dtype=np.int64)


def sine_commands(n: int, period_ns: int) -> tuple[list[int], list[list[float]]]:
    sent = [100 * MS + k * period_ns for k in range(n)]
    return sent, [[0.3 * np.sin(t * 6e-9), 0.2 * np.cos(t * 5e-9)] for t in sent]


def test_rests_at_home_until_the_first_command_has_crossed() -> None:
    arm = Plant(PARAMETERS, np.array([0.4, -0.1]), 0, np.random.default_rng(0))
    arm.feed([500 * MS], [[1.0, 1.0]])
    states = arm.at_many(instants(-100, 521.5))
    assert (states == [0.4, -0.1]).all()
    assert (arm.at_many(instants(540, 541)) > [0.4, -0.1]).all()


def test_step_is_rate_limited_and_then_exponential() -> None:
    arm = plant()
    arm.feed([100 * MS], [[0.5, -0.5]])
    t = instants(100, 1000, 0.01)
    states = arm.at_many(t)
    start = int(np.flatnonzero(states[:, 0])[0]) - 1
    oracle = np.zeros(2)
    worst = 0.0
    for row in states[start:]:
        worst = max(worst, float(np.abs(row - oracle).max()))
        oracle = oracle + 1e-5 * np.clip((np.array([0.5, -0.5]) - oracle) / PARAMETERS.lag_s, -2.0, 2.0)
    assert worst < 1e-4
    assert np.abs(np.diff(states, axis=0)).max() <= 2.0 * 1e-5 * (1 + 1e-9)
    assert states[-1] == pytest.approx([0.5, -0.5], abs=1e-6)


def test_states_do_not_depend_on_when_they_are_asked_for() -> None:
    sent, values = sine_commands(2000, 1_900_000)
    t = instants(90, 3900)
    at_once = plant()
    at_once.feed(sent, values)
    expected = at_once.at_many(t)

    step_by_step = plant()
    rng = np.random.default_rng(7)
    fed = asked = 0
    while asked < len(t):
        upto = min(len(t), asked + int(rng.integers(1, 40)))
        known = int(np.searchsorted(sent, t[upto - 1], side="right"))
        step_by_step.feed(sent[fed:known], values[fed:known])
        fed = known
        chosen = np.sort(rng.choice(np.arange(asked, upto), size=max(1, (upto - asked) // 3), replace=False))
        assert np.array_equal(step_by_step.at_many(t[chosen]), expected[chosen])
        asked = upto
    assert np.array_equal(step_by_step.at_many(t), expected)
    assert step_by_step.latency_s == at_once.latency_s


def test_one_instant_and_many_agree() -> None:
    sent, values = sine_commands(400, 2 * MS)
    arm = plant()
    arm.feed(sent, values)
    t = instants(150, 900, 7.3)
    many = arm.at_many(t)
    assert all(np.array_equal(arm.at_many(t[k : k + 1])[0], many[k]) for k in range(len(t)))


@pytest.mark.parametrize("period_ms", [1.9, 5.3, 12.7])
def test_latency_is_the_shift_of_a_slow_ramp(period_ms: float) -> None:
    speed = 0.05
    sent = [100 * MS + round(k * period_ms * MS) for k in range(round(20_000 / period_ms))]
    arm = plant()
    arm.feed(sent, [[speed * (t - 100 * MS) * 1e-9] * 2 for t in sent])
    t = instants(2_000, 19_000, 0.73)
    behind = ((t - 100 * MS) * 1e-9)[:, None] - arm.at_many(t) / speed
    assert arm.latency_s == pytest.approx(float(behind.mean()), abs=5e-5)


def test_latency_is_nominal_before_two_commands() -> None:
    arm = plant()
    assert arm.latency_s == PARAMETERS.nominal_latency_s == pytest.approx(0.002 + 0.0035 + 0.020 + 0.045)


def test_silence_of_the_sender_does_not_count_as_latency() -> None:
    sent, values = sine_commands(1000, 2 * MS)
    steady, paused = plant(), plant()
    steady.feed(sent, values)
    steady.at_many(instants(3000, 3001))
    later = [t + 60_000 * MS if k >= 500 else t for k, t in enumerate(sent)]
    paused.feed(later, values)
    paused.at_many(instants(70_000, 70_001))
    assert paused.latency_s == pytest.approx(steady.latency_s, abs=1e-4)


def test_commands_between_two_ticks_are_overtaken_by_the_newest() -> None:
    arm = plant(replace(PARAMETERS, bus_period_s=0.050, max_speed=1e6))
    arm.feed([100 * MS + k * MS for k in range(40)], [[float(k % 2), 0.0] for k in range(40)])
    states = arm.at_many(instants(100, 2000))[:, 0]
    # Of forty commands that go up and down, the bus took one or two; the last one goes up.
    moves = np.diff(states)
    turns = np.count_nonzero(np.diff(np.sign(moves[np.abs(moves) > 1e-9])))
    assert turns <= 1
    assert states[-1] == pytest.approx(1.0, abs=1e-6)


def test_play_swallows_a_small_reversal() -> None:
    arm = plant(replace(PARAMETERS, play=0.001))
    arm.feed([100 * MS, 1100 * MS, 2100 * MS], [[0.1, 0.0], [0.0985, 0.0], [0.05, 0.0]])
    up, small, back = arm.at_many(np.array([1000 * MS, 2000 * MS, 4000 * MS]))[:, 0]
    assert up == pytest.approx(0.099, abs=1e-6)
    assert small == pytest.approx(up, abs=1e-8)
    assert back == pytest.approx(0.051, abs=1e-6)


def test_level_links_sag_and_upright_ones_do_not() -> None:
    parameters = replace(PARAMETERS, lag_s=(0.05,) * 6, sag=(0.0, 0.001, 0.0005, 0.0, 0.0, 0.0))
    level = Plant(parameters, np.zeros(6), 0, np.random.default_rng(0)).at_many(np.array([0]))[0]
    upright = Plant(parameters, np.array([0, np.pi / 2, 0, 0, 0, 0]), 0, np.random.default_rng(0)).at_many(np.array([0]))[0]
    assert level == pytest.approx([0, -0.001, -0.0005, 0, 0, 0], abs=1e-8)
    assert upright == pytest.approx([0, np.pi / 2, 0, 0, 0, 0], abs=1e-6)


def test_no_instants_give_no_states() -> None:
    assert plant().at_many(np.empty(0, dtype=np.int64)).shape == (0, 2)


def test_long_motion_keeps_its_history() -> None:
    sent, values = sine_commands(4000, 2 * MS)
    arm = plant()
    arm.feed(sent, values)
    t = instants(100, 8000, 11)
    early = arm.at_many(t[:200]).copy()
    arm.at_many(t)
    assert np.array_equal(arm.at_many(t)[:200], early)


def test_half_an_hour_is_kept_and_what_is_older_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sent, values = sine_commands(4000, 7 * MS)
    whole, kept = plant(), plant()
    whole.feed(sent, values)
    kept.feed(sent, values)
    t = instants(26_500, 28_000)
    expected = whole.at_many(t)
    monkeypatch.setattr(plant_module, "_KEPT_SEGMENTS", 512)
    assert np.array_equal(kept.at_many(t), expected)
    with pytest.raises(Forgotten, match="before the oldest one that is kept"):
        kept.at_many(instants(100, 101))


def test_drawn_rigs_lie_in_their_ranges() -> None:
    for seed in range(200):
        arm = draw_arm(np.random.default_rng(seed), typical=seed == 0)
        assert 0.035 < arm.nominal_latency_s < 0.125
        assert 2.0 <= arm.max_speed <= 4.0
        assert arm.longest_read_s < arm.dead_s
        gripper = draw_gripper(np.random.default_rng(seed), typical=seed == 0)
        assert 0.039 < gripper.nominal_latency_s < 0.110
        assert 0.08 <= gripper.max_speed <= 0.25
        assert gripper.longest_read_s < gripper.dead_s


def test_read_longer_than_the_dead_time_is_refused() -> None:
    with pytest.raises(BadInput, match="must be shorter than the dead time"):
        replace(PARAMETERS, read_s=0.020 / LONGEST_READ)


def test_parameters_that_are_not_positive_are_refused() -> None:
    with pytest.raises(BadInput, match="positive"):
        replace(PARAMETERS, max_speed=0.0)
