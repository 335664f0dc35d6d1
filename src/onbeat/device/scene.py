"""What the simulated camera looks at: a cup on a table from above, and a screen; rendered from light, not from time stamps."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import cos, radians, sin
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.units import TimeGrid

__all__ = ("Cup", "RestingCup", "Screen", "SensorNoise", "TableView", "render_screen")

CUP_RADIUS_M = 0.03
_CUP_EDGE_M = 0.0032
_TABLE_ROWS, _TABLE_COLUMNS = 120, 160
_TABLE_LEVEL, _CUP_LEVEL = 52.0, 214.0
_TABLE_NOISE = 2.5
_SCREEN_ROWS, _SCREEN_COLUMNS = 480, 640
_BEZEL = 24
_CODE_PX = 400
_CODE_TOP, _CODE_LEFT = (_SCREEN_ROWS - _CODE_PX) // 2, (_SCREEN_COLUMNS - _CODE_PX) // 2
_QUIET_MODULES = 4
_SCREEN_BLUR_PX = 0.7
# Linear light, as a share of full scale: dark parts of a lit panel, the bezel, white, noise.
_BLACK, _BEZEL_LIGHT, _WHITE, _SCREEN_NOISE = 0.02, 0.006, 0.83, 0.006
_GAMMA = 2.2
_LEVELS = 4096
# OpenBLAS multiplies with one thread up to this many products.
_BLAS_SINGLE = 262_144


class Cup(Protocol):
    """Something that moves over the table."""

    def at_many(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give positions in the base frame in m, shape (n, 3), at instants on the world's clock, past or future."""
        ...


@dataclass(frozen=True, slots=True)
class RestingCup:
    """A cup that stands still, at a position in the base frame in m."""

    position: tuple[float, float, float] = (0.30, 0.0, 0.0)

    def at_many(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the same position for every instant, shape (n, 3)."""
        return np.tile(np.array(self.position), (len(t_ns), 1))


class Screen:
    """A panel that refreshes at a fixed rate: what is drawn goes out with the next vsync and glows one refresh later.

    So light follows a draw by one to two refreshes, 1.5 on average. One thread draws; the camera may look at any time.

    Args:
        start_ns: Instant of some vsync, on the world's clock.
        refresh_hz: Of the panel.
    """

    _KEPT = 256

    def __init__(self, start_ns: int, refresh_hz: float = 59.94) -> None:
        self.refresh_hz = refresh_hz
        self._vsync = TimeGrid(start_ns, refresh_hz)
        self._drawn_ns = -(1 << 62)
        # Replaced as a whole, so that a reader sees one state or the next and needs no lock.
        self._shown: tuple[tuple[int, NDArray[np.float32]], ...] = ()

    def show(self, image_uint8: NDArray[np.uint8], t_ns: int) -> None:
        """Draw a matrix of modules (0 black, 255 white, square) at an instant; it replaces what was there.

        Raises:
            BadInput: not a square uint8 matrix of up to 177 modules, or drawn before the last draw.
        """
        image = np.asarray(image_uint8)
        if image.dtype != np.uint8 or image.ndim != 2 or image.shape[0] != image.shape[1] or not 1 <= len(image) <= 177:
            raise BadInput(f"an image must be a square uint8 matrix of 1 to 177 modules, not {image.dtype} {image.shape}")
        if t_ns < self._drawn_ns:
            raise BadInput(f"draws must be in order; this one is {self._drawn_ns - t_ns} ns before the last one")
        self._drawn_ns = int(t_ns)
        # The vsync at or after the draw, and one refresh more.
        light_ns = self._vsync.tick_ns(self._vsync.index(int(t_ns) - 1) + 2)
        light = ((image / 255.0) ** _GAMMA).astype(np.float32)
        kept = self._shown[:-1] if self._shown and self._shown[-1][0] == light_ns else self._shown
        self._shown = (*kept[-self._KEPT :], (light_ns, light))

    def light(self, begin_ns: int, end_ns: int) -> list[tuple[float, NDArray[np.float32] | None]]:
        """Give the shares of an exposure and the linear light of the modules shown in each; None is the dark panel."""
        shown = self._shown
        starts = [light_ns for light_ns, _ in shown]
        edges = [begin_ns, *(s for s in starts if begin_ns < s < end_ns), end_ns]
        parts: list[tuple[float, NDArray[np.float32] | None]] = []
        for edge, following in pairwise(edges):
            before = [light for light_ns, light in shown if light_ns <= edge]
            parts.append(((following - edge) / (end_ns - begin_ns), before[-1] if before else None))
        return parts


class SensorNoise:
    """Unit white noise for images, cut from one field at a random place: cheap, and fresh for each frame."""

    _MARGIN = 96

    def __init__(self, rng: np.random.Generator) -> None:
        shape = (_SCREEN_ROWS + self._MARGIN, _SCREEN_COLUMNS + self._MARGIN)
        self._field = rng.standard_normal(shape, dtype=np.float32)

    def cut(self, rng: np.random.Generator, rows: int, columns: int) -> NDArray[np.float32]:
        """Give a field of shape (rows, columns), as a view."""
        top, left = rng.integers(0, self._MARGIN, size=2)
        return self._field[top : top + rows, left : left + columns]


class TableView:
    """The table from straight above: 160 x 120 pixels of about 4 mm, turned a little, as cameras are mounted.

    Args:
        rng: Draws the mounting.

    Attributes:
        pixels_to_world: (2, 3), read-only: world (x, y) in m = pixels_to_world @ (column, row, 1).
    """

    def __init__(self, rng: np.random.Generator) -> None:
        metres = 0.004 * (1 + rng.uniform(-0.03, 0.03))
        turn = radians(rng.uniform(-3, 3))
        # Up in the image is +x of the base (away from the arm), left is +y.
        by_column = metres * np.array([-sin(turn), -cos(turn)])
        by_row = metres * np.array([-cos(turn), sin(turn)])
        centre = np.array([0.32, 0.0]) + rng.uniform(-0.01, 0.01, size=2)
        corner = centre - by_column * (_TABLE_COLUMNS - 1) / 2 - by_row * (_TABLE_ROWS - 1) / 2
        self.pixels_to_world = np.stack([by_column, by_row, corner], axis=1)
        self.pixels_to_world.flags.writeable = False
        self._to_pixels = np.linalg.inv(self.pixels_to_world[:, :2])
        self._radius_px, self._edge_px = CUP_RADIUS_M / metres, _CUP_EDGE_M / metres
        rows, columns = np.mgrid[:_TABLE_ROWS, :_TABLE_COLUMNS]
        shade = 5.0 * (columns / _TABLE_COLUMNS - 0.5) + 4.0 * (rows / _TABLE_ROWS - 0.5)
        self._table = (_TABLE_LEVEL + shade).astype(np.float32)

    def render(self, cup_in_world: NDArray[np.float64], noise: NDArray[np.float32]) -> NDArray[np.uint8]:
        """Render one exposure: the cup averaged over its positions during it, shape (k, 2 or 3), with noise."""
        image = self._table.copy()
        at = (cup_in_world[:, :2] - self.pixels_to_world[:, 2]) @ self._to_pixels.T
        margin = self._radius_px + 12 * self._edge_px
        low = np.clip(np.floor(at.min(axis=0) - margin), 0, (_TABLE_COLUMNS, _TABLE_ROWS)).astype(int)
        high = np.clip(np.ceil(at.max(axis=0) + margin), 0, (_TABLE_COLUMNS, _TABLE_ROWS)).astype(int)
        if (high > low).all():
            columns = np.arange(low[0], high[0])[None, None, :] - at[:, 0, None, None]
            rows = np.arange(low[1], high[1])[None, :, None] - at[:, 1, None, None]
            outside = (np.hypot(columns, rows) - self._radius_px) / self._edge_px
            cover = (1 / (1 + np.exp(np.minimum(outside, 50.0)))).mean(axis=0)
            patch = image[low[1] : high[1], low[0] : high[0]]
            patch += cover * (_CUP_LEVEL - patch)
        image += _TABLE_NOISE * noise + 0.5
        return np.asarray(np.clip(image, 0, 255), dtype=np.uint8)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the image."""
        return _TABLE_ROWS, _TABLE_COLUMNS


SCREEN_SHAPE = (_SCREEN_ROWS, _SCREEN_COLUMNS)
_TO_GREY = np.round(255 * (np.arange(_LEVELS) / (_LEVELS - 1)) ** (1 / _GAMMA)).astype(np.uint8)


def _spread(modules: int) -> NDArray[np.float32]:
    # Row i of the code square is lit by the modules that a blurred pixel there covers; columns alike.
    centre = (np.arange(_CODE_PX) + 0.5) * modules / _CODE_PX
    edges = (np.arange(modules + 1) - centre[:, None]) / (_SCREEN_BLUR_PX * modules / _CODE_PX)
    edges[:, 0], edges[:, -1] = -60.0, 60.0
    return np.asarray(np.diff(1 / (1 + np.exp(-np.clip(edges, -60, 60))), axis=1), dtype=np.float32)


def _product(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float32]:
    # In slices too small for BLAS to start threads on: those spin, and took 10 times the CPU from the robot's own threads.
    slices = next(n for n in (25, 50, 100, 200, 400) if n == _CODE_PX or a.size * b.shape[1] <= n * _BLAS_SINGLE)
    return (a.reshape(slices, -1, a.shape[1]) @ b).reshape(_CODE_PX, -1)


def render_screen(
    parts: Sequence[tuple[float, NDArray[np.float32] | None]],
    noise: NDArray[np.float32],
    covered: bool,
    spreads: dict[int, NDArray[np.float32]],
) -> NDArray[np.uint8]:
    """Render one exposure of the screen: light blended linearly, then blur, noise and the grey curve of a camera.

    Args:
        parts: Shares of the exposure and the linear light of the modules in each, from `Screen.light`.
        noise: Unit noise, shape (480, 640).
        covered: Paint over the code.
        spreads: Kept by the caller from frame to frame; a matrix for each size of code.

    Returns:
        Image of shape (480, 640).
    """
    lit = sum(share for share, light in parts if light is not None)
    image = np.full(SCREEN_SHAPE, _BEZEL_LIGHT, dtype=np.float32)
    image[_BEZEL:-_BEZEL, _BEZEL:-_BEZEL] = _BLACK + lit * (_WHITE - _BLACK)
    code = image[_CODE_TOP : _CODE_TOP + _CODE_PX, _CODE_LEFT : _CODE_LEFT + _CODE_PX]
    if covered:
        code[:] = 0.25 * _WHITE
    elif lit:
        code[:] = _BLACK
        blends: dict[int, NDArray[np.float32]] = {}
        for share, light in parts:
            if light is not None:
                size = len(light)
                blends[size] = blends.get(size, np.zeros((size, size), np.float32)) + np.float32(share) * light
        for size, blend in blends.items():
            shares = np.float32(sum(share for share, light in parts if light is not None and len(light) == size))
            padded = np.pad(blend, _QUIET_MODULES, constant_values=shares)
            if size not in spreads:
                spreads[size] = _spread(size + 2 * _QUIET_MODULES)
            spread = spreads[size]
            code += np.float32(_WHITE - _BLACK) * _product(_product(spread, padded), spread.T)
    image += np.float32(_SCREEN_NOISE) * noise
    image *= _LEVELS - 1
    np.clip(image, 0, _LEVELS - 1, out=image)
    return np.asarray(_TO_GREY[image.astype(np.uint16)], dtype=np.uint8)
