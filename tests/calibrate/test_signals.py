import math

import numpy as np
import pytest

from onbeat.calibrate.signals import RefusedError, half_width, milliseconds, read_signals
from onbeat.errors import BadInput

T_NS = np.arange(5) * 10_000_000 + 1_700_000_000_123_456_789


def test_seconds_count_from_the_first_command_without_loss() -> None:
    signals = read_signals(T_NS, np.arange(5.0), T_NS + 1, np.arange(5.0))
    assert signals.command_s.tolist() == [0.0, 0.01, 0.02, 0.03, 0.04]
    assert signals.measured_s[0] == 1e-9
    assert signals.command.shape == signals.measured.shape == (5, 1)


def test_measured_stamps_may_repeat_but_the_command_needs_one_value_an_instant() -> None:
    twice = T_NS.copy()
    twice[3] = twice[2]
    assert len(read_signals(T_NS, np.arange(5.0), twice, np.arange(5.0)).measured_s) == 5
    with pytest.raises(RefusedError, match=r"sample 3 comes 0\.000 ms before sample 2; sort"):
        read_signals(twice, np.arange(5.0), T_NS, np.arange(5.0))


def test_two_sensors_are_called_by_their_names_and_neither_may_repeat() -> None:
    twice = T_NS.copy()
    twice[3] = twice[2]
    with pytest.raises(RefusedError, match=r"stamps of a are not sorted: sample 3 comes 0\.000 ms before sample 2; sort"):
        read_signals(T_NS, np.arange(5.0), twice, np.arange(5.0), names=("b", "a"), repeats=False)
    with pytest.raises(BadInput, match="b has 1 columns and a has 2"):
        read_signals(T_NS, np.arange(5.0), T_NS, np.zeros((5, 2)), names=("b", "a"))


def test_more_than_one_step_back_is_counted() -> None:
    with pytest.raises(RefusedError, match=r"measured are not sorted: sample 1 comes 10\.000 ms before sample 0, and 3 more"):
        read_signals(T_NS, np.arange(5.0), T_NS[::-1], np.arange(5.0))


def test_values_that_are_not_finite() -> None:
    with pytest.raises(RefusedError, match="command has 2 values that are not finite, of 5"):
        read_signals(T_NS, [0.0, math.nan, 1.0, -math.inf, 2.0], T_NS, np.arange(5.0))


def test_shapes() -> None:
    with pytest.raises(BadInput, match="one stamp a sample"):
        read_signals(T_NS, np.zeros((5, 0)), T_NS, np.zeros((5, 0)))
    with pytest.raises(BadInput, match="command has 2 columns and measured has 1"):
        read_signals(T_NS, np.zeros((5, 2)), T_NS, np.zeros(5))


def test_a_duration_in_words() -> None:
    assert milliseconds(0.12345) == "123.5 ms"


def test_values_that_no_position_has() -> None:
    with pytest.raises(RefusedError, match=r"measured has values up to 4e\+300"):
        read_signals(T_NS, np.arange(5.0), T_NS, np.arange(5.0) * 1e300)


def test_stamps_further_apart_than_int64_can_say() -> None:
    with pytest.raises(RefusedError, match="years apart; take the stamps of one clock"):
        read_signals(T_NS - 6 * 10**18, np.arange(5.0), T_NS + 6 * 10**18, np.arange(5.0))
    far = np.array([-(2**63), 2**63 - 1])
    with pytest.raises(RefusedError, match="not sorted"):
        read_signals(far[::-1], np.arange(2.0), far, np.arange(2.0))
    with pytest.raises(BadInput, match="beyond int64"):
        read_signals(T_NS, np.arange(5.0), T_NS.astype(np.uint64) + np.uint64(2**63), np.arange(5.0))


def test_half_of_an_interval_is_never_nothing() -> None:
    assert half_width(0.0044) == "± 4.4 ms"
    assert half_width(50e-6) == "± 0.1 ms"
    assert half_width(1e-6) == "under ± 0.1 ms"
    assert half_width(None) == ""
