import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.capture.blob import detect_blob, detect_cup
from onbeat.errors import BadInput


def disc(column: float, row: float, radius: float = 7.5, peak: float = 210.0) -> NDArray[np.uint8]:
    rows, columns = np.mgrid[:120, :160]
    cover = 1 / (1 + np.exp(np.clip((np.hypot(columns - column, rows - row) - radius) / 0.8, -50, 50)))
    noise = np.random.default_rng(3).normal(0, 2.5, (120, 160))
    return np.asarray(np.clip(50 + (peak - 50) * cover + noise, 0, 255), dtype=np.uint8)


@pytest.mark.parametrize(("column", "row"), [(80.0, 60.0), (33.27, 91.61), (120.5, 20.5)])
def test_centroid_is_found_to_a_twentieth_of_a_pixel(column: float, row: float) -> None:
    assert detect_blob(disc(column, row)) == pytest.approx((column, row), abs=0.05)


def test_world_position_uses_the_mounting() -> None:
    pixels_to_world = np.array([[0.0, -0.004, 0.55], [-0.004, 0.0, 0.32]])
    assert detect_cup(disc(80.0, 60.0), pixels_to_world) == pytest.approx((0.55 - 0.24, 0.0), abs=3e-4)


def test_empty_table_has_no_cup() -> None:
    assert detect_blob(disc(-100.0, -100.0)) is None
    assert detect_cup(disc(-100.0, -100.0), np.zeros((2, 3))) is None


def test_faint_cup_is_not_seen() -> None:
    assert detect_blob(disc(80.0, 60.0, peak=70.0)) is None


@pytest.mark.parametrize(("column", "row"), [(1.0, 60.0), (158.0, 60.0), (80.0, 0.0), (80.0, 119.0)])
def test_cut_cup_is_not_given_a_place(column: float, row: float) -> None:
    assert detect_blob(disc(column, row)) is None


def test_tiny_image_has_no_cup() -> None:
    assert detect_blob(np.full((2, 3), 255, dtype=np.uint8)) is None


def test_colour_image_is_refused() -> None:
    with pytest.raises(BadInput, match="grey uint8"):
        detect_blob(np.zeros((4, 4, 3), dtype=np.uint8))
