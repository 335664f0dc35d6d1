import numpy as np
import pytest

from onbeat.calibrate.saturation import Stalls
from onbeat.calibrate.search import (
    at_end,
    best_shift,
    build_record,
    check_alternatives,
    check_ends,
    constant,
    find_alternatives,
    find_shift,
    first_look,
    shift_grid,
    without_stalls,
)
from onbeat.calibrate.shift import Record
from onbeat.calibrate.signals import RefusedError, read_signals
from tests.oracle.motion import Motion, reach, sine, stamps_ns

T = np.arange(0, 10, 0.01)


def record(motion: Motion, delay_s: float) -> Record:
    signals = read_signals(stamps_ns(T), motion(T), stamps_ns(T), motion(T - delay_s))
    return build_record(signals, 0.5)[0]


def test_every_shift_is_judged_on_the_same_samples() -> None:
    found = record(sine(0.5), 0.1)
    # From the longest delay to the end less the lead, and one smoothing window inside both.
    assert found.t_s[0] == pytest.approx(0.51)
    assert found.t_s[-1] == pytest.approx(9.99 - 0.03 - 0.01)


def test_columns_that_never_move_are_set_aside() -> None:
    still = np.zeros(len(T))
    command = np.stack([still, sine(0.5)(T)], axis=1)
    found, used = build_record(read_signals(stamps_ns(T), command, stamps_ns(T), command), 0.5)
    assert used == (1,)
    assert found.measured.shape[1] == 1


def test_best_shift_without_grid() -> None:
    best, _, _, stalled = find_shift(record(sine(0.5, 1.0), 0.1234), 0.5)
    assert best.delay_s == pytest.approx(0.1234, abs=1e-6)
    assert stalled == 0.0


def test_first_look_asks_for_what_it_is_told() -> None:
    noisy = record(sine(0.5), 0.1)
    noise = np.random.default_rng(0).normal(size=noisy.measured.shape)
    noisy = Record(noisy.path, noisy.t_s, noisy.measured + 0.4 * noise)
    assert first_look(noisy, 0.5, 0.6)[0].delay_s == pytest.approx(0.1, abs=0.02)
    with pytest.raises(RefusedError, match=r"wanted 0\.95"):
        first_look(noisy, 0.5, 0.95)


def test_alternatives_need_a_rise_between_them() -> None:
    flat = record(reach(3.0, 1.0), 0.1)
    best, scan = first_look(flat, 0.5, 0.95)
    check_alternatives(flat, best, scan, 1.0)
    twice = record(sine(2.5), 0.05)
    best, scan = first_look(twice, 0.5, 0.95)
    with pytest.raises(RefusedError, match=r"ambiguous: the shifts 50.0 ms, 450.0 ms") as refused:
        check_alternatives(twice, best, scan, 1.0)
    assert refused.value.alternatives == pytest.approx((0.05, 0.45), abs=1e-4)


@pytest.mark.parametrize(
    ("delay_s", "said"),
    [(0.8, "pinned at max_delay_s"), (-0.3, "leads the command by 30.0 ms or more"), (-0.01, "by 10.0 ms: a")],
)
def test_ends(delay_s: float, said: str) -> None:
    best, _ = first_look(record(sine(0.25), delay_s), 0.5, 0.95)
    with pytest.raises(RefusedError, match=said):
        check_ends(best, 0.5)


def test_few_stalls_are_left_out_and_many_refused() -> None:
    whole = record(sine(0.5), 0.1)
    mask = np.zeros(len(whole.t_s), dtype=np.bool_)
    mask[100:150] = True
    assert len(without_stalls(whole, Stalls(mask, 1)).t_s) == len(whole.t_s) - 50
    with pytest.raises(RefusedError, match="stands still 3 times"):
        without_stalls(whole, Stalls(mask, 3))


def test_a_search_to_both_sides_of_zero() -> None:
    grid = shift_grid(-0.1, 0.1)
    assert grid[[0, -1]].tolist() == [-0.1, 0.1]
    assert np.diff(grid).max() <= 0.004 + 1e-12
    near = record(sine(0.5, 1.0), 0.0123)
    scan = near.scan(shift_grid(-0.02, 0.02))
    best = best_shift(near, scan)
    assert best.delay_s == pytest.approx(0.0123, abs=1e-6)
    assert not at_end(scan, best)
    beyond = record(sine(0.5, 1.0), 0.0223)
    scan = beyond.scan(shift_grid(-0.02, 0.02))
    assert at_end(scan, best_shift(beyond, scan))


def test_whether_the_first_shift_of_a_grid_is_a_candidate_is_for_the_caller_to_say() -> None:
    twice = record(sine(8.0), 0.125)
    scan, best = twice.scan(shift_grid(0.0, 0.2)), twice.refine(0.12, 0.13)
    assert find_alternatives(twice, best, scan, 1.0) == pytest.approx((0.0,), abs=1e-6)
    assert find_alternatives(twice, best, scan, 1.0, first=1) == ()


def test_constant_columns() -> None:
    assert constant(np.stack([T, 0 * T, 5 + 0 * T], axis=1)).tolist() == [False, True, True]
