from typing import Any

import numpy as np
import pytest

from onbeat.calibrate.held import hold_command
from onbeat.calibrate.plant_checks import check_rates, check_tones, first_delay, in_step, stale_share
from onbeat.calibrate.signals import RefusedError
from tests.oracle.box import Box, multisine, run_box

TONES = np.array([0.5, 1.3, 2.9])
COMMAND = multisine(TONES, 20, 0.2)
COMMAND_S: Any = np.arange(len(COMMAND)) * 0.004


def test_alias_is_named_with_the_frequency_it_would_show() -> None:
    held = hold_command(COMMAND_S, COMMAND, 20.0, None)
    with pytest.raises(RefusedError, match=r"another one, at 0\.90 Hz"):
        check_rates(TONES, held, np.arange(0, 20, 0.5), 0.0)


def test_tones_that_were_sent_pass_and_others_do_not() -> None:
    held = hold_command(COMMAND_S, COMMAND, 20.0, None)
    check_tones(held, TONES)
    with pytest.raises(RefusedError, match=r"does not move at 1\.8 Hz"):
        check_tones(held, np.array([0.5, 1.8, 2.9]))


def test_first_delay_is_near() -> None:
    sent_ns, t_ns, y = run_box(Box(dead_s=0.08), COMMAND, np.random.default_rng(0))
    held = hold_command(COMMAND_S, COMMAND, 20.0, None)
    assert first_delay(held, (t_ns - sent_ns[0]) / 1e9, y, 0.5) == pytest.approx(0.08, abs=0.004)


def test_step_of_samples_is_seen_also_where_two_places_alternate() -> None:
    t: Any = np.arange(1, 3000)
    assert in_step(COMMAND_S, t * 0.004 + 0.001, 0.004) > 0.99
    assert in_step(COMMAND_S, t * 0.006 + 0.001, 0.004) > 0.49
    assert in_step(COMMAND_S, t * 0.0041237, 0.004) < 0.05


def test_stale_samples_are_counted() -> None:
    x = np.sin(np.linspace(0, 20, 2000))
    assert stale_share(x, x) == 0
    assert stale_share(x, np.repeat(x[::5], 5)) == pytest.approx(0.8, abs=0.05)
