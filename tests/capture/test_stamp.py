from dataclasses import FrozenInstanceError, replace

import pytest

from onbeat.capture import Stamp
from onbeat.errors import BadInput

STAMP = Stamp(capture_ns=90, receive_ns=100, bound_ns=3, span_ns=5, seq=7, clock="monotonic")


def test_arrives_uncorrected() -> None:
    assert not STAMP.corrected


def test_is_a_value() -> None:
    assert replace(STAMP) == STAMP
    assert replace(STAMP, seq=8) != STAMP
    assert len({STAMP, replace(STAMP)}) == 1
    with pytest.raises(FrozenInstanceError):
        STAMP.seq = 8  # type: ignore[misc]


def test_reading_may_be_true_at_the_instant_it_arrives() -> None:
    assert replace(STAMP, capture_ns=100).capture_ns == 100


def test_reading_that_is_true_after_it_arrived_is_refused() -> None:
    with pytest.raises(BadInput, match=r"reading 7 would be true 1\.500 ms after it arrived"):
        replace(STAMP, capture_ns=1_500_100)


@pytest.mark.parametrize("name", ["bound_ns", "span_ns"])
def test_negative_width_is_refused(name: str) -> None:
    with pytest.raises(BadInput, match="must be >= 0"):
        replace(STAMP, **{name: -1})  # type: ignore[arg-type]
