import pytest

from onbeat.clock.time_scale import time_scales_apart

S = 1_000_000_000


@pytest.mark.parametrize(
    ("apart_s", "theirs", "ours"),
    [(37, "TAI", "UTC"), (-37, "UTC", "TAI"), (18, "GPS time", "UTC"), (-19, "GPS time", "TAI"), (36.9, "TAI", "UTC")],
)
def test_whole_seconds_between_time_scales_are_named(apart_s: float, theirs: str, ours: str) -> None:
    said = time_scales_apart(round(apart_s * S))
    assert said is not None
    assert f"count {theirs}, and ours {ours}" in said


@pytest.mark.parametrize("apart_s", [0, 0.5, 1, 36.5, 37.5, 3600, -7200, 292e9])
def test_other_differences_are_not(apart_s: float) -> None:
    assert time_scales_apart(round(apart_s * S)) is None
