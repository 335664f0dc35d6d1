from typing import Any

import numpy as np
import pytest

from onbeat.calibrate.held import hold_command
from onbeat.calibrate.plant_model import bands, fit_lagged, fit_plant, fit_tones, response
from tests.oracle.box import Box, run_box, sequence

TONES = np.array([0.5, 1.0, 2.0, 4.0])
BOX = Box(dead_s=0.02, lag_s=0.03)


def record() -> Any:
    command = sequence(TONES, 24, 1.0)
    sent_ns, t_ns, y = run_box(BOX, command, np.random.default_rng(0))
    return (sent_ns - sent_ns[0]) / 1e9, command, (t_ns - sent_ns[0]) / 1e9, y


def test_response_is_the_textbook_one() -> None:
    omega = 2 * np.pi * TONES
    assert response(omega, 0.9, 0.05, 0.03**2) == pytest.approx(0.9 * np.exp(-0.02j * omega) / (1 + 0.03j * omega))


def test_delay_and_lag_are_found_from_a_rough_start() -> None:
    command_s, command, t_s, y = record()
    held = hold_command(command_s, command, t_s[-1], None)
    fit = fit_plant(held, t_s, y, 0.06)
    assert fit.total_s == pytest.approx(0.05, abs=5e-5)
    assert fit.lag_s == pytest.approx(0.03, abs=5e-4)
    exact = fit_lagged(command_s, command, t_s, y, fit)
    assert exact.total_s == pytest.approx(0.05, abs=2e-5)
    assert (exact.residual**2).sum() < (fit.residual**2).sum() * 1.01


def test_each_tone_lies_on_the_curve() -> None:
    command_s, command, t_s, y = record()
    held = hold_command(command_s, command, t_s[-1], None)
    fit = fit_plant(held, t_s, y, 0.05)
    for tone, wanted in zip(fit_tones(held, fit, t_s, TONES), TONES, strict=True):
        assert tone.frequency_hz == pytest.approx(wanted, rel=0.05)
        omega = 2 * np.pi * tone.frequency_hz
        assert tone.gain == pytest.approx(1 / np.hypot(1, omega * 0.03), abs=5e-3)
        assert tone.delay_s == pytest.approx(0.02 + np.arctan(omega * 0.03) / omega, abs=3e-4)


def test_bands_share_every_line_between_tones() -> None:
    lines = np.linspace(0, 10, 2001)
    shares = bands(lines, TONES)
    assert (shares >= 0).all()
    assert shares.sum(axis=0)[(lines > 0) & (lines < 4.0)] == pytest.approx(1.0)
    assert shares.sum(axis=0)[lines > 6] == pytest.approx(0.0)
