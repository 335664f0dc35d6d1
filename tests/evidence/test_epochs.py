import numpy as np
import pytest

from onbeat.evidence.epochs import Leap, clock_kind, epoch_change, leap_between
from tests.health.made import START_NS, line

IN_2025 = 1_750_000_000 * 10**9
IN_2014 = 1_400_000_000 * 10**9


def test_clocks_are_known_by_their_numbers() -> None:
    assert clock_kind(IN_2025) == "wall time of 2025-06-15"
    assert "counts from 0" in clock_kind(3_600 * 10**9)
    assert "counts from 0" in clock_kind(-5)


@pytest.mark.parametrize(
    ("offset_s", "leap"),
    [
        (-36.997, Leap("TAI", "UTC", 37)),
        (37.012, Leap("UTC", "TAI", -37)),
        (-17.95, Leap("GPS time", "UTC", 18)),
        (-18.99, Leap("TAI", "GPS time", 19)),
        (19.0, Leap("GPS time", "TAI", -19)),
    ],
)
def test_scales_of_time_are_told_by_their_constant(offset_s: float, leap: Leap) -> None:
    assert leap_between(offset_s, IN_2025, 0.02) == leap


@pytest.mark.parametrize("offset_s", [0.0, 36.0, -36.2, -37.3, 1.0, -40e-3, 35.0])
def test_other_offsets_are_none(offset_s: float) -> None:
    assert leap_between(offset_s, IN_2025, 0.02) is None


def test_the_constant_was_smaller_before_2017() -> None:
    assert leap_between(-34.99, IN_2014, 0.02) == Leap("TAI", "UTC", 35)
    assert leap_between(-36.99, IN_2014, 0.02) is None


def test_time_since_boot_has_no_leap_seconds() -> None:
    assert leap_between(-37.0, 100 * 10**9, 0.02) is None


UPTIME = 500 * 10**9


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("logged", [True, False])
def test_sensor_that_counts_from_its_start_until_its_time_is_set(share: float, logged: bool) -> None:
    true = START_NS + np.arange(1000) * 10_000_000
    early = np.arange(1000) < 1000 * share
    stamp = np.where(early, true - START_NS + UPTIME, true)
    found = epoch_change(line("x", stamp_ns=stamp, **({"log_ns": true + 2_000_000} if logged else {})))
    assert found is not None
    assert (found.row, found.times) == (1000 * share, 1)
    assert found.jump_ns == pytest.approx(START_NS - UPTIME, rel=1e-9)
    if logged:
        assert found.share == pytest.approx(min(share, 1 - share))
        assert len(np.unique(true - found.stamps)) == 1


def test_two_recordings_put_together_are_one_clock() -> None:
    stamp = START_NS + np.arange(1000) * 10_000_000 + (np.arange(1000) > 500) * 7200 * 10**9
    assert epoch_change(line("x", stamp_ns=stamp)) is None
    assert epoch_change(line("x", stamp_ns=stamp, log_ns=stamp + 2_000_000)) is None


def test_few_stamps_of_nothing() -> None:
    true = START_NS + np.arange(1000) * 10_000_000
    stamp = np.where(np.arange(1000) % 100 == 50, 0, true)
    found = epoch_change(line("x", stamp_ns=stamp, log_ns=true + 2_000_000))
    assert found is not None
    assert (found.times, found.other_ns, found.share) == (20, 0, 0.01)
    assert np.array_equal(found.stamps, true)
