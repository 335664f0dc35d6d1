"""The place of one bright thing on a darker table: the smallest detector that a grasp needs."""

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput

__all__ = ("detect_blob", "detect_cup")

# Less contrast than this is noise; fewer bright pixels are a speck.
_MIN_CONTRAST = 40.0
_MIN_PIXELS = 12
_THRESHOLD = 0.3


def detect_blob(frame: NDArray[np.uint8]) -> tuple[float, float] | None:
    """Find the centroid of the bright blob.

    Weights are grey levels above 0.3 of the contrast, so soft edges count in part and the noise of the table does not.

    Args:
        frame: Grey image, shape (rows, columns).

    Returns:
        (column, row) in pixels, centres at whole numbers; None when nothing is bright or the blob leaves the image.

    Raises:
        BadInput: not a grey image.
    """
    image = np.asarray(frame)
    if image.ndim != 2 or image.dtype != np.uint8:
        raise BadInput(f"a frame must be a grey uint8 image, not {image.dtype} of shape {image.shape}")
    if image.size <= _MIN_PIXELS:
        return None
    counts = np.bincount(image.ravel(), minlength=256)
    below = np.cumsum(counts)
    table = float(np.searchsorted(below, image.size / 2))
    peak = float(np.searchsorted(below, image.size - _MIN_PIXELS))
    if peak - table < _MIN_CONTRAST:
        return None
    weight = np.maximum(image - np.float32(table + _THRESHOLD * (peak - table)), 0)
    by_row, by_column = weight.sum(axis=1, dtype=np.float64), weight.sum(axis=0, dtype=np.float64)
    if by_row[0] or by_row[-1] or by_column[0] or by_column[-1]:
        return None
    total = by_row.sum()
    return float(by_column @ np.arange(by_column.size) / total), float(by_row @ np.arange(by_row.size) / total)


def detect_cup(frame: NDArray[np.uint8], pixels_to_world: NDArray[np.float64]) -> tuple[float, float] | None:
    """Find where the cup stands on the table.

    Args:
        frame: Grey image from above, shape (rows, columns).
        pixels_to_world: The camera's mounting, shape (2, 3): world (x, y) = pixels_to_world @ (column, row, 1).

    Returns:
        (x, y) in m in the base frame, in the middle of the exposure; None when no cup is wholly in view.

    Raises:
        BadInput: not a grey image.
    """
    at = detect_blob(frame)
    if at is None:
        return None
    x, y = pixels_to_world @ (at[0], at[1], 1.0)
    return float(x), float(y)
