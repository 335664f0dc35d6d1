import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onbeat.capture import burst_capture_ns
from onbeat.errors import BadInput

EPOCH_NS = 1_700_000_000_000_000_000


def test_worked_burst_of_the_seed() -> None:
    """32 samples at 400 Hz, 3.1 ms on the way: the oldest is 80.6 ms old, the newest 3.1 ms."""
    ages_ns = EPOCH_NS - burst_capture_ns(EPOCH_NS, 32, 400, 3_100_000)
    assert ages_ns[0] == 80_600_000
    assert ages_ns[-1] == 3_100_000
    assert set(np.diff(ages_ns)) == {-2_500_000}


def test_burst_of_one_is_one_reading() -> None:
    assert burst_capture_ns(1_000, 1, 400.0, 10).tolist() == [990]


def test_oldest_comes_first_as_int64() -> None:
    times_ns = burst_capture_ns(EPOCH_NS, 100, 1000 / 3, 0)
    assert times_ns.dtype == np.int64
    assert times_ns.shape == (100,)
    assert (np.diff(times_ns) > 0).all()


@given(st.integers(-(2**60), 2**60), st.integers(1, 200), st.floats(0.1, 1e6), st.integers(0, 10**10))
def test_within_a_nanosecond_of_the_formula(receive_ns: int, n: int, rate_hz: float, transport_ns: int) -> None:
    ages_ns = (receive_ns - transport_ns) - burst_capture_ns(receive_ns, n, rate_hz, transport_ns)
    exact_ns = np.arange(n - 1, -1, -1) / rate_hz * 1e9
    assert np.abs(ages_ns - exact_ns).max() <= 1 + 1e-15 * exact_ns.max()


@pytest.mark.parametrize(
    ("n", "rate_hz", "transport_ns", "message"),
    [(0, 400, 0, "at least one sample"), (2, 0, 0, "rate_hz"), (2, float("nan"), 0, "rate_hz"), (2, 400, -1, "transport_ns")],
)
def test_burst_that_cannot_be_is_refused(n: int, rate_hz: float, transport_ns: int, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        burst_capture_ns(EPOCH_NS, n, rate_hz, transport_ns)
