from typing import Any

import numpy as np
import pytest

from onbeat.calibrate.held import hold_command
from onbeat.calibrate.plant_fit import Choice, chi2_limit, choose_fit, second_pole
from tests.oracle.box import Box, run_box, sequence

TONES = np.array([0.5, 1.0, 2.0, 4.0])
COMMAND = sequence(TONES, 24, 1.0)


def choose(box: Box, seed: int = 0) -> tuple[Choice, Any]:
    sent_ns, t_ns, y = run_box(box, COMMAND, np.random.default_rng(seed))
    command_s, t_s = (sent_ns - sent_ns[0]) / 1e9, (t_ns - sent_ns[0]) / 1e9
    held = hold_command(command_s, COMMAND, t_s[-1], None)
    late = t_s > 0.3
    return choose_fit(held, command_s, COMMAND, t_s[late], y[late], box.l_eff_s, steps=True), t_s[late]


@pytest.mark.parametrize(
    ("box", "shown", "within_s"),
    [
        (Box(dead_s=0.0123), True, 3e-6),
        (Box(dead_s=0.0123, lag_s=0.0007), True, 5e-6),
        (Box(dead_s=0.0123, lag_s=0.0029), True, 8e-6),
        (Box(dead_s=0.0123, smooth=True), False, 8e-6),
        (Box(dead_s=0.0123, smooth=True, lag_s=0.01), False, 8e-6),
    ],
)
def test_steps_are_seen_where_they_are_and_the_total_is_right(box: Box, shown: bool, within_s: float) -> None:
    choice, _ = choose(box)
    assert choice.shown == shown
    assert choice.fit.total_s + choice.held.half_hold_s == pytest.approx(box.l_eff_s, abs=within_s)
    assert choice.half_s < within_s


@pytest.mark.parametrize("box", [Box(tick_s=0.00101), Box(stamp_noise_s=1e-4)])
def test_steps_that_come_at_times_of_their_own_are_not_believed(box: Box) -> None:
    choice, _ = choose(box)
    assert not choice.shown
    assert abs(choice.fit.total_s + choice.held.half_hold_s - box.l_eff_s) < 2 * choice.half_s
    assert choice.half_s > 1e-5


def test_samples_at_one_place_leave_open_whether_there_are_steps() -> None:
    for smooth in (False, True):
        box = Box(report_s=(0.008, 0.008), jitter_s=0.0, smooth=smooth)
        choice, _ = choose(box)
        assert abs(choice.fit.total_s + choice.held.half_hold_s - box.l_eff_s) < choice.half_s
        assert choice.half_s > 3e-4


def test_second_pole_is_taken_into_the_total() -> None:
    box = Box(dead_s=0.01, lag_s=0.02, second_s=0.012)
    one, t_s = choose(box)
    two = second_pole(one, t_s, TONES)
    assert abs(one.fit.total_s + 0.002 - box.l_eff_s) > 2 * one.half_s
    assert two.second
    assert abs(two.fit.total_s + 0.002 - box.l_eff_s) < 1.5 * two.half_s < 1e-5


def test_limit_of_chi2_is_that_of_the_tables() -> None:
    # 99 % quantiles over their degrees of freedom, from any table: 15.086 / 5, 36.191 / 19.
    assert chi2_limit(5) == pytest.approx(15.086 / 5, rel=0.01)
    assert chi2_limit(19) == pytest.approx(36.191 / 19, rel=0.01)
