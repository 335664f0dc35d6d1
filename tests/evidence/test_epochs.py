import pytest

from onbeat.evidence.epochs import Leap, clock_kind, leap_between

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
