from typing import Any

import numpy as np
import pytest

from onbeat.calibrate.held import Held, hold_command
from onbeat.calibrate.plant_beyond import SEEN, look_beyond, straighten
from onbeat.calibrate.plant_model import PlantFit, fit_plant
from tests.oracle.box import Box, multisine, run_box, sequence

TONES = np.array([0.5, 1.0, 2.0, 4.0])
SINES = sequence(TONES, 30, 1.0)
MANY = multisine(TONES, 30, 0.3)


def fitted(box: Box, command: Any, seed: int = 0) -> tuple[Held, PlantFit, Any]:
    sent_ns, t_ns, y = run_box(box, command, np.random.default_rng(seed))
    t_s = (t_ns - sent_ns[0]) / 1e9
    held = hold_command((sent_ns - sent_ns[0]) / 1e9, command, t_s[-1], None)
    late = t_s > 0.3
    return held, fit_plant(held, t_s[late], y[late], box.l_eff_s), t_s[late]


def test_nothing_is_seen_where_nothing_is() -> None:
    held, fit, t_s = fitted(Box(dead_s=0.02, lag_s=0.03), SINES)
    beyond = look_beyond(held, fit, t_s)
    assert max(abs(effect.deviations) for effect in (beyond.drift, beyond.play, beyond.pole)) < SEEN
    assert straighten(fit) is fit


def test_drift_of_a_clock_is_told_in_ppm() -> None:
    held, fit, t_s = fitted(Box(dead_s=0.02, lag_s=0.03, clock_ppm=50), MANY)
    drift = look_beyond(held, fit, t_s).drift
    assert drift.size == pytest.approx(5e-5, rel=0.1)
    assert drift.deviations > SEEN


def test_play_is_told_in_the_unit_of_the_motion_with_what_it_adds() -> None:
    held, fit, t_s = fitted(Box(dead_s=0.02, lag_s=0.03, play=1e-3), SINES)
    play = look_beyond(held, fit, t_s).play
    assert play.size == pytest.approx(1e-3, rel=0.25)
    # Beside a speed of 1 rad/s at most, a milliradian is at least a millisecond.
    assert play.moves_s > 0.0008


def test_second_pole_is_seen() -> None:
    held, fit, t_s = fitted(Box(dead_s=0.01, lag_s=0.02, second_s=0.012), SINES)
    assert abs(look_beyond(held, fit, t_s).pole.deviations) > SEEN


def test_sag_moves_no_delay_and_leaves_the_residual() -> None:
    box = Box(dead_s=0.02, lag_s=0.03, sag=0.03)
    held, fit, _ = fitted(box, MANY)
    straight = straighten(fit)
    assert straight.sse < 0.2 * fit.sse
    assert straight.halves[1] < 0.5 * fit.halves[1]
    assert straight.total_s + held.half_hold_s == pytest.approx(box.l_eff_s, abs=1e-5)
