"""Which pictures of a robot's camera show the same instant again, told after a lossy video coder and beside what the joints did.

A coder turns a repeated picture into one that differs by a little, and it smooths the noise of a still scene away, so that a
scene at rest looks repeated too. Measured with libx264 (crf 23 and 30) and SVT-AV1 (crf 30), keys every 2nd picture, as LeRobot
writes: the block means of a repeat differ by at most 3.7 levels; a moving arm changes the largest by more than 5 within a few
pictures. Key pictures of a repeat decode to exactly the same levels again and again; of a still scene with a sensor's
noise they almost never do (2 % at noise of 2 levels).
"""

from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

__all__ = ("Pictures", "own_digest", "picture_digests", "signature", "unlike_at_rest")

_CELLS = (30, 40)
_BLOCK = 8  # pixels; in smaller ones a coder's noise reaches 8 levels
_LEVELS = 4.0
_MOVED = 0.1  # of a joint's range, while the picture stays: more than an arm moves unseen
_MOVED_EXACT = 0.01
_LEAST_RUN = 5
_STALL = 3  # times the levels: the picture before and the one after move as much, so that the scene did not stop
_LEAST_KEYS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Pictures:
    """Pictures of one episode, in order.

    Args:
        cells: Block means of the luminance, by `signature`. Shape (n, cells).
        exact: Hash of the luminance, each level of it. uint32, shape (n,).
        key: Which of them the coder wrote without reference to others. Shape (n,).
    """

    cells: NDArray[np.float32]
    exact: NDArray[np.uint32]
    key: NDArray[np.bool_]


def signature(gray: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Give the mean levels of at most 30 x 40 blocks of a picture, which a coder's noise hardly moves. Shape (cells,)."""
    height, width = gray.shape
    high, wide = (min(max(n // cells, _BLOCK), n) for n, cells in zip(gray.shape, _CELLS, strict=True))
    rows, columns = height // high, width // wide
    blocks = gray[: rows * high, : columns * wide].reshape(rows, high, columns * wide)
    # summing rows first, in 32 bits, is several times faster than a mean over two axes
    sums = blocks.sum(axis=1, dtype=np.uint32).reshape(rows, columns, wide).sum(axis=2, dtype=np.uint32)
    return np.asarray((sums / np.float32(high * wide)).ravel(), dtype=np.float32)


def picture_digests(
    pictures: Pictures, joints: NDArray[np.float64] | None, scale: NDArray[np.float64] | None
) -> NDArray[np.uint64]:
    """Give each picture a digest; equal ones mean that the camera gave the same picture again while the robot moved.

    Args:
        pictures: Of one episode.
        joints: What the joints did, one row a picture; None where the data set does not say.
        scale: The range of each joint in the recording.

    Returns:
        uint64, shape (n,). A picture that stays equal while the robot rests gets its own: that is no repeat that matters.
    """
    n = len(pictures.cells)
    first = np.arange(n)
    for a, b in pairwise(_runs(pictures)):
        if b - a > 1 and (_frozen(pictures, a, b, joints, scale) or _stalled(pictures.cells, a, b)):
            first[a:b] = a
    return np.array([own_digest(pictures.cells[k].tobytes(), int(k)) for k in first], dtype=np.uint64)


def unlike_at_rest(
    digests: NDArray[np.uint64], joints: NDArray[np.float64] | None, scale: NDArray[np.float64] | None
) -> NDArray[np.uint64]:
    """Give equal neighbours digests of their own where the joints rest meanwhile: a simulated camera has no noise.

    Args:
        digests: Of the pictures' exact content.
        joints, scale: As in `picture_digests`.
    """
    out: NDArray[np.uint64] = digests.copy()
    edges = [0, *(np.flatnonzero(np.diff(digests) != 0) + 1).tolist(), len(digests)]
    for a, b in pairwise(edges):
        if b - a > 1 and joints is not None and len(joints) == len(digests) and _movement(joints[a:b], scale) < _MOVED_EXACT:
            out[a:b] = [own_digest(int(digests[a]).to_bytes(8, "little"), k) for k in range(a, b)]
    return out


def own_digest(content: bytes, number: int = 0) -> int:
    """Give 64 bits of a hash of some content, and of a number that makes equal contents differ."""
    return int.from_bytes(blake2b(content, digest_size=8, salt=number.to_bytes(8, "little")).digest(), "little")


def _runs(pictures: Pictures) -> list[int]:
    """Cut where a picture differs from the first of its run, so that slow motion adds up; never between equal keys."""
    cells = pictures.cells
    edges, n = [0], len(cells)
    while edges[-1] < n:
        at = edges[-1]
        ahead = 16
        while True:  # look ahead in growing blocks: mostly the next picture differs already
            odd = np.flatnonzero(np.abs(cells[at + 1 : at + 1 + ahead] - cells[at]).max(axis=1) >= _LEVELS)
            if len(odd) or at + 1 + ahead >= n:
                break
            ahead *= 4
        edges.append(at + 1 + int(odd[0]) if len(odd) else n)
    keys = np.flatnonzero(pictures.key)
    equal = np.flatnonzero(np.diff(pictures.exact[keys].astype(np.int64)) == 0)
    # a rate control changes its mind now and then, and all blocks with it
    within = {k for i in equal for k in range(int(keys[i]) + 1, int(keys[i + 1]) + 1)}
    return [edge for edge in edges if edge not in within]


def _frozen(pictures: Pictures, a: int, b: int, joints: NDArray[np.float64] | None, scale: NDArray[np.float64] | None) -> bool:
    """Say whether the picture stays while the joints move, and key pictures come again exactly."""
    if joints is None or b - a < _LEAST_RUN or _movement(joints[a:b], scale) < _MOVED:
        return False
    keys = pictures.exact[a:b][pictures.key[a:b]]
    return len(keys) < _LEAST_KEYS or len(np.unique(keys)) < len(keys)


def _stalled(cells: NDArray[np.float32], a: int, b: int) -> bool:
    """Say whether the scene moves fast before and after, and stops between: no motion does that for a picture or two."""
    if a < 1 or b >= len(cells) or b - a >= _LEAST_RUN:
        return False
    before, after = np.abs(cells[a] - cells[a - 1]).max(), np.abs(cells[b] - cells[b - 1]).max()
    return bool(min(before, after) >= _STALL * _LEVELS)


def _movement(joints: NDArray[np.float64], scale: NDArray[np.float64] | None) -> float:
    """Give how far the joints went, as a share of their range; a joint that hardly ever moves counts little."""
    if scale is None or not len(scale) or not scale.max() > 0:
        return 0.0
    return float(np.max(np.ptp(joints, axis=0) / np.maximum(scale, 0.2 * scale.max())))
