from typing import Any

import numpy as np
import pytest

from onbeat.calibrate.held import hold_command


def test_staircase_is_late_by_half_its_hold() -> None:
    t: Any = np.arange(5000) * 0.004
    held = hold_command(t, np.sin(2 * np.pi * t), t[-1], None)
    assert held.half_hold_s == pytest.approx(0.002)
    at = np.linspace(3, 17, 500)
    slow = held.through(held.smooth, at) + held.offset[1] * at
    expected = np.sin(2 * np.pi * (at - 0.002)) * np.sinc(0.004)
    assert np.ptp(slow - expected) < 2e-4


def test_path_without_hold_is_not_late() -> None:
    t: Any = np.arange(5000) * 0.004
    held = hold_command(t, np.sin(2 * np.pi * t), t[-1], 0.0)
    at = np.linspace(3, 17, 500)
    assert held.half_hold_s == 0
    assert np.ptp(held.through(held.smooth, at) + held.offset[1] * at - np.sin(2 * np.pi * at)) < 2e-4


def test_hold_of_a_coarse_path_is_put_on_top_of_it() -> None:
    t: Any = np.arange(500) * 0.04
    held = hold_command(t, np.sin(np.pi * t), t[-1], 0.01)
    at = np.linspace(3, 17, 500)
    assert held.half_hold_s == 0.005
    assert np.ptp(held.through(held.smooth, at) + held.offset[1] * at - np.sin(np.pi * (at - 0.005))) < 5e-3


def test_pause_of_the_sender_is_no_hold() -> None:
    t: Any = np.concatenate([np.arange(500) * 0.004, 10 + np.arange(500) * 0.004])
    assert hold_command(t, np.sin(t), t[-1], None).half_hold_s < 0.003
