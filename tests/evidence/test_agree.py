from itertools import pairwise

import numpy as np
import pytest

from onbeat.evidence.agree import Excerpt, agree
from onbeat.evidence.signals import Motion, motion_of
from tests.health.motion_streams import START_NS, position, rate, tones

TURN = np.linalg.qr(np.random.default_rng(9).normal(size=(3, 3)))[0]


def pieces(a: Motion | None, b: Motion | None, count: int = 3) -> list[Excerpt]:
    assert a is not None
    assert b is not None
    edges = np.linspace(max(a.t_ns[0], b.t_ns[0]), min(a.t_ns[-1], b.t_ns[-1]), count + 1)
    inside = [[(m.t_ns >= lo) & (m.t_ns < hi) for m in (a, b)] for lo, hi in pairwise(edges)]
    return [Excerpt(3 * k // count, a.take(x), b.take(y)) for k, (x, y) in enumerate(inside)]


def gyro(rng: np.random.Generator, late_s: float, hz: float, *, bias: float, noise: float, span_s: float = 40.0) -> Motion:
    """A gyro mounted askew, with a bias."""
    motion = tones(np.random.default_rng(3), 3)
    t_s = np.arange(0.003, span_s, 1 / hz)
    values = rate(motion, t_s) @ TURN.T + bias + rng.normal(0, noise, (len(t_s), 3))
    found = motion_of("rotation", START_NS + np.rint((t_s + late_s) * 1e9).astype(np.int64), values)
    assert found is not None
    return found


def joints(motion_seed: int, hz: float, span_s: float = 40.0) -> Motion | None:
    t_s = np.arange(0, span_s, 1 / hz)
    return motion_of(
        "joints", START_NS + np.rint(t_s * 1e9).astype(np.int64), position(tones(np.random.default_rng(motion_seed), 3), t_s)
    )


@pytest.mark.parametrize("late_s", [0.11, -0.025, 0.0])
def test_offset_is_found_through_another_frame_another_unit_and_a_bias(late_s: float) -> None:
    found = agree(pieces(joints(3, 100.0), gyro(np.random.default_rng(0), late_s, 400.0, bias=0.5, noise=0.02)))
    assert found is not None
    assert found.result.value == pytest.approx(-late_s, abs=1e-3)
    assert [third.value for third in found.thirds] == pytest.approx([-late_s] * 3, abs=2e-3)
    assert found.what == "joints with turn"


def test_unrelated_motions_are_refused() -> None:
    found = agree(pieces(joints(4, 100.0), gyro(np.random.default_rng(0), 0.0, 400.0, bias=0.0, noise=0.02)))
    assert found is not None
    assert not found.result.accepted
    assert found.result.reason.startswith("unrelated")


def test_magnitudes_are_compared_where_no_mixture_agrees() -> None:
    """One stream turns in the frame of the world, the other in that of a body that tumbles: only how fast it turns agrees."""
    rng = np.random.default_rng(5)
    motion = tones(rng, 3)
    a_s, b_s = np.arange(0, 40, 0.01), np.arange(0.004, 40, 1 / 60)
    wobble = np.stack(
        [
            np.stack([np.cos(b_s * 2), -np.sin(b_s * 2), 0 * b_s], 1),
            np.stack([np.sin(b_s * 2), np.cos(b_s * 2), 0 * b_s], 1),
            np.stack([0 * b_s, 0 * b_s, 1 + 0 * b_s], 1),
        ],
        1,
    )
    tumble = np.einsum("nij,njk->nik", wobble, wobble.transpose(0, 2, 1)[:, [1, 2, 0]])
    b = np.einsum("nij,nj->ni", tumble, rate(motion, b_s))
    ns = [START_NS + np.rint(t * 1e9).astype(np.int64) for t in (a_s, b_s + 0.05)]
    found = agree(pieces(motion_of("rotation", ns[0], rate(motion, a_s)), motion_of("rotation", ns[1], b)))
    assert found is not None
    assert found.what == "speed of turn"
    assert found.result.value == pytest.approx(-0.05, abs=1e-3)


def test_pieces_with_time_between_them_are_compared_each_with_its_own() -> None:
    a, b = joints(3, 100.0, 300.0), gyro(np.random.default_rng(1), 0.02, 200.0, bias=0.1, noise=0.02, span_s=300.0)
    every = pieces(a, b, 30)
    found = agree([Excerpt(k // 2, every[n].a, every[n].b) for k, n in enumerate((1, 4, 11, 17, 22, 28))])
    assert found is not None
    assert found.result.value == pytest.approx(-0.02, abs=1e-3)


def test_two_fast_streams_are_thinned_and_still_agree() -> None:
    found = agree(
        pieces(
            gyro(np.random.default_rng(1), 0.0, 1000.0, bias=0.1, noise=0.02),
            gyro(np.random.default_rng(2), 0.005, 900.0, bias=0.0, noise=0.02),
        )
    )
    assert found is not None
    assert found.result.value == pytest.approx(-0.005, abs=2e-4)
    assert found.result.n <= 4000


def test_nothing_to_compare_gives_none() -> None:
    assert agree([]) is None


@pytest.mark.parametrize(("seed", "late_s"), [(2, 0.065), (3, 0.007), (5, -0.02)])
def test_axes_that_only_one_stream_sees_do_not_pull_the_offset(seed: int, late_s: float) -> None:
    """A wheeled base turns about one axis; the other axes of the gyro go with how that turn changes, by chance."""
    amplitude, pulsation, phase = tones(np.random.default_rng(seed), 3)
    motion = amplitude, pulsation / 4, phase
    a_s, b_s = np.arange(0, 40, 0.005), np.arange(0.01, 40, 0.02)
    yaw = np.zeros((len(b_s), 3))
    yaw[:, 2] = rate(motion, b_s)[:, 2]
    a_ns, b_ns = (START_NS + np.rint(t * 1e9).astype(np.int64) for t in (a_s, b_s + late_s))
    found = agree(pieces(motion_of("rotation", a_ns, rate(motion, a_s)), motion_of("rotation", b_ns, yaw)))
    assert found is not None
    assert found.result.value == pytest.approx(-late_s, abs=2e-4)
