from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onbeat.capture import Stamp, correct
from onbeat.errors import BadInput
from onbeat.units import to_ns

RAW = Stamp(capture_ns=1_000_000_000, receive_ns=1_000_000_000, bound_ns=3, span_ns=5, seq=7, clock="monotonic")


def test_capture_is_the_stamp_minus_the_latency() -> None:
    assert correct(RAW, 0.1) == replace(RAW, capture_ns=900_000_000, corrected=True)


def test_latency_of_zero_still_marks_it() -> None:
    assert correct(RAW, 0.0) == replace(RAW, corrected=True)


def test_correcting_twice_is_refused() -> None:
    with pytest.raises(BadInput, match="reading 7 is corrected already"):
        correct(correct(RAW, 0.1), 0.1)


@pytest.mark.parametrize("latency_s", [-1e-9, nan, inf, -inf])
def test_latency_that_is_no_measurement_is_refused(latency_s: float) -> None:
    with pytest.raises(BadInput):
        correct(RAW, latency_s)


@given(st.integers(0, 2**62), st.floats(0, 1e6))
def test_only_the_capture_moves_and_only_back(receive_ns: int, latency_s: float) -> None:
    raw = replace(RAW, capture_ns=receive_ns, receive_ns=receive_ns)
    done = correct(raw, latency_s)
    assert done.capture_ns == receive_ns - to_ns(latency_s) <= receive_ns
    assert replace(done, capture_ns=receive_ns, corrected=False) == raw
