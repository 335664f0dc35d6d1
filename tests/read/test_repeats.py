import numpy as np
from numpy.typing import NDArray

from onbeat.read.repeats import Pictures, own_digest, picture_digests, signature, unlike_at_rest

SCALE = np.array([10.0])


def film(levels: list[float], exact: list[int] | None = None) -> Pictures:
    """Pictures whose blocks all have one level; each is a key."""
    cells = np.repeat(np.array(levels, dtype=np.float32)[:, None], 4, axis=1)
    codes = np.arange(len(levels)) if exact is None else np.array(exact)
    return Pictures(cells, codes.astype(np.uint32), np.ones(len(levels), dtype=bool))


def test_equal_keys_hold_a_run_together_where_a_coder_flickers() -> None:
    pictures = Pictures(film([60, 69, 60, 69, 60, 69, 60]).cells, np.array([5, 0] * 3 + [5], np.uint32), np.arange(7) % 2 == 0)
    assert all(equal(picture_digests(pictures, np.linspace(0, 10, 7)[:, None], SCALE)))


def equal(digests: NDArray[np.uint64]) -> list[bool]:
    return [bool(x) for x in digests[1:] == digests[:-1]]


def test_signature_is_block_means_whatever_the_size() -> None:
    for height, width in ((480, 640), (97, 131), (20, 20)):
        gray = np.full((height, width), 7, dtype=np.uint8)
        assert np.all(signature(gray) == 7)
    half = np.zeros((60, 80), dtype=np.uint8)
    half[:, 40:] = 200
    assert sorted(set(signature(half).tolist())) == [0.0, 200.0]


def test_picture_that_stays_while_joints_move_is_repeated() -> None:
    pictures = film([0, 20, 40, *[60] * 10, 80], [0, 1, 2, *[3, 4] * 5, 9])
    joints = np.linspace(0, 10, 14)[:, None]
    assert equal(picture_digests(pictures, joints, SCALE)) == [False] * 3 + [True] * 9 + [False]


def test_picture_that_stays_while_joints_rest_is_not() -> None:
    pictures = film([60] * 10, [3] * 10)
    assert not any(equal(picture_digests(pictures, np.zeros((10, 1)), SCALE)))
    assert not any(equal(picture_digests(pictures, None, None)))


def test_still_scene_with_noise_is_not_repeated_though_joints_move() -> None:
    pictures = film([60 + 0.1 * k for k in range(10)])  # within a coder's noise, but no key comes again exactly
    assert not any(equal(picture_digests(pictures, np.linspace(0, 10, 10)[:, None], SCALE)))


def test_slow_motion_adds_up_and_is_not_repeated() -> None:
    pictures = Pictures(film([1.5 * k for k in range(40)]).cells, np.zeros(40, np.uint32), np.zeros(40, dtype=bool))
    joints = np.linspace(0, 10, 40)[:, None]
    assert not any(equal(picture_digests(pictures, joints, SCALE)))


def test_one_picture_twice_in_fast_motion_is_repeated() -> None:
    pictures = film([0, 20, 40, 40.5, 60, 80])
    assert equal(picture_digests(pictures, None, None)) == [False, False, True, False, False]


def test_exact_pictures_of_a_simulated_camera_at_rest_differ() -> None:
    digests = np.array([own_digest(b"a")] * 4 + [own_digest(b"b")] * 3, dtype=np.uint64)
    joints = np.array([0.0, 0, 0, 0, 1, 2, 3])[:, None]
    assert equal(unlike_at_rest(digests, joints, SCALE)) == [False, False, False, False, True, True]
    assert np.array_equal(unlike_at_rest(digests, None, None), digests)
