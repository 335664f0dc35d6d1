from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onbeat.capture import camera_capture_ns
from onbeat.errors import BadInput

MS = 1_000_000
ARRIVES_NS = 100_000 * MS
durations = st.integers(0, 10**9)


@pytest.mark.parametrize(("exposure_ns", "capture_ns"), [(2 * MS, 99_990 * MS), (20 * MS, 99_981 * MS)], ids=["bright", "dim"])
def test_worked_frames_of_the_seed(exposure_ns: int, capture_ns: int) -> None:
    assert camera_capture_ns(ARRIVES_NS, exposure_ns, 2 * MS, 5_500_000, 1_500_000) == capture_ns


def row_ns(row: int) -> int:
    return camera_capture_ns(ARRIVES_NS, 5 * MS, 12 * MS, 5_500_000, 1_500_000, row=row, rows=1080)


def test_spread_of_a_rolling_shutter() -> None:
    assert row_ns(1079) - row_ns(0) == 11_988_888  # 11.989 ms


def test_row_0_is_the_whole_frame() -> None:
    assert row_ns(0) == camera_capture_ns(ARRIVES_NS, 5 * MS, 12 * MS, 5_500_000, 1_500_000) == 99_978_500_000


def test_readout_is_subtracted_once() -> None:
    """The last row is read out when the transfer begins: nothing of the readout is left before it but one row."""
    last_ns = ARRIVES_NS - 1_500_000 - 5_500_000 - 5 * MS // 2
    assert last_ns - row_ns(1079) == pytest.approx(12 * MS / 1080, abs=1)


@given(st.integers(0, 2**62), durations, durations, durations, durations, st.integers(1, 5000), st.data())
def test_exact_and_rounded_down(
    receive_ns: int, exposure_ns: int, readout_ns: int, transfer_ns: int, driver_ns: int, rows: int, data: st.DataObject
) -> None:
    row = data.draw(st.integers(0, rows - 1))
    exact = receive_ns - driver_ns - transfer_ns - readout_ns * (1 - Fraction(row, rows)) - Fraction(exposure_ns, 2)
    assert camera_capture_ns(receive_ns, exposure_ns, readout_ns, transfer_ns, driver_ns, row, rows) == floor(exact)


def test_integers_of_numpy_do_not_wrap() -> None:
    numbers = (1_700_000_000 * 10**9, 5 * MS + 1, 12 * MS + 1, 5_500_000, 1_500_000, 1079, 1080)
    assert camera_capture_ns(*(np.int64(n) for n in numbers)) == camera_capture_ns(*numbers)


@pytest.mark.parametrize("name", ["exposure_ns", "readout_ns", "transfer_ns", "driver_ns"])
def test_negative_stage_is_refused_by_name(name: str) -> None:
    stages = {"exposure_ns": 1, "readout_ns": 1, "transfer_ns": 1, "driver_ns": 1} | {name: -5}
    with pytest.raises(BadInput, match=f"{name} must be >= 0, not -5"):
        camera_capture_ns(0, **stages)


@pytest.mark.parametrize(("row", "rows"), [(-1, 10), (10, 10), (0, 0)])
def test_row_outside_the_frame_is_refused(row: int, rows: int) -> None:
    with pytest.raises(BadInput, match="row must lie in"):
        camera_capture_ns(0, 0, 0, 0, 0, row=row, rows=rows)


@pytest.mark.parametrize(("row", "rows"), [(1, None), (None, 10)])
def test_row_without_rows_is_refused(row: int | None, rows: int | None) -> None:
    with pytest.raises(BadInput, match="together or not at all"):
        camera_capture_ns(0, 0, 0, 0, 0, row=row, rows=rows)
