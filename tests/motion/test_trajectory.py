import pickle
from itertools import pairwise
from math import pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.motion import Trajectory
from tests.oracle import interpolation as oracle

MS = 1_000_000
knots_ns = st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=12, unique=True).map(sorted)
numbers = st.floats(-1e6, 1e6)


def linear() -> Trajectory:
    return Trajectory([0, 100 * MS, 300 * MS], [[0.0, 1.0], [1.0, 1.0], [2.0, -1.0]])


def turn() -> Trajectory:
    """A metre forward and a quarter turn about x, the second quaternion with the other sign."""
    h = sqrt(0.5)
    return Trajectory([0, 1000 * MS], np.array([[0, 0, 0, 1, 0, 0, 0], [1, 0, 0, -h, -h, 0, 0]]), kind="pose")


def test_passes_through_its_knots() -> None:
    path = linear()
    for t_ns, target in zip(path.times_ns, path.targets, strict=True):
        np.testing.assert_array_equal(path.at_ns(t_ns), target)


def test_between_knots() -> None:
    np.testing.assert_allclose(linear().at_ns(25 * MS), [0.25, 1.0])
    np.testing.assert_allclose(linear().at_ns(200 * MS), [1.5, 0.0])


def test_stays_at_its_ends_with_zero_velocity() -> None:
    path = linear()
    for t_ns in (-1, -(2**63)):
        np.testing.assert_array_equal(path.at_ns(t_ns), [0.0, 1.0])
        np.testing.assert_array_equal(path.velocity_at_ns(t_ns), [0.0, 0.0])
    for t_ns in (300 * MS, 2**63 - 1):
        np.testing.assert_array_equal(path.at_ns(t_ns), [2.0, -1.0])
        np.testing.assert_array_equal(path.velocity_at_ns(t_ns), [0.0, 0.0])


def test_velocity_at_a_knot_is_that_of_the_segment_that_begins_there() -> None:
    np.testing.assert_allclose(linear().velocity_at_ns(0), [10.0, 0.0])
    np.testing.assert_allclose(linear().velocity_at_ns(100 * MS), [5.0, -10.0])


def test_one_knot_is_a_place_to_stay() -> None:
    path = Trajectory([5], [[1.0, 2.0, 3.0]])
    assert (path.start_ns, path.end_ns, len(path), path.width) == (5, 5, 1, 3)
    np.testing.assert_array_equal(path.at_many([0, 5, 9]), [[1.0, 2.0, 3.0]] * 3)
    np.testing.assert_array_equal(path.velocity_at_ns(5), [0.0, 0.0, 0.0])


def test_pose_takes_the_short_arc_and_keeps_its_sign() -> None:
    path = turn()
    np.testing.assert_allclose(path.at_ns(500 * MS), [0.5, 0, 0, *oracle.about([1, 0, 0], pi / 4)], atol=1e-15)
    np.testing.assert_allclose(path.at_ns(1000 * MS), [1, 0, 0, sqrt(0.5), sqrt(0.5), 0, 0], atol=1e-15)
    np.testing.assert_array_equal(path.targets[1, 3:], [-sqrt(0.5), -sqrt(0.5), 0, 0])


def test_velocity_of_a_pose_is_linear_then_angular_in_the_body() -> None:
    np.testing.assert_allclose(turn().velocity_at_ns(300 * MS), [1, 0, 0, pi / 2, 0, 0], atol=1e-12)


def test_knots_at_the_ends_of_the_time_line() -> None:
    path = Trajectory([-(2**63), 2**63 - 1], [[0.0], [1.0]])
    assert path.at_ns(0)[0] == pytest.approx(0.5)


@given(knots_ns, st.integers(-(2**62), 2**62), st.data())
def test_linear_agrees_with_the_textbook(times_ns: list[int], t_ns: int, data: st.DataObject) -> None:
    targets = data.draw(hnp.arrays(np.float64, (len(times_ns), 2), elements=numbers))
    path = Trajectory(times_ns, targets)
    expected = targets[0] if t_ns < times_ns[0] else targets[-1]
    for k, (before_ns, after_ns) in enumerate(pairwise(times_ns)):
        if before_ns <= t_ns < after_ns:
            expected = np.array(oracle.linear(targets[k], targets[k + 1], oracle.fraction(before_ns, t_ns, after_ns)))
    np.testing.assert_allclose(path.at_ns(t_ns), expected, rtol=1e-12, atol=1e-9)
    np.testing.assert_array_equal(path.at_many([t_ns])[0], path.at_ns(t_ns))


unit_quaternions = (
    hnp.arrays(np.float64, 4, elements=st.floats(-1, 1))
    .filter(lambda q: bool(np.linalg.norm(q) > 0.1))
    .map(lambda q: q / np.linalg.norm(q))
)


@given(unit_quaternions, unit_quaternions, st.integers(0, 1000))
def test_pose_agrees_with_the_textbook(a: NDArray[np.float64], b: NDArray[np.float64], t_ns: int) -> None:
    if abs(oracle.dot(a.tolist(), b.tolist())) < 1e-3:
        return  # half a turn apart, either way round is right
    path = Trajectory([0, 1000], [[0, 0, 0, *a], [1, 2, 3, *b]], kind="pose")
    expected = oracle.pose([0, 0, 0, *a], [1, 2, 3, *b], t_ns / 1000)
    np.testing.assert_allclose(path.at_ns(t_ns), expected, atol=1e-9)
    assert np.linalg.norm(path.at_ns(t_ns)[3:]) == pytest.approx(1.0, abs=1e-12)


@given(st.lists(unit_quaternions, min_size=2, max_size=6))
def test_sign_never_jumps_along_the_path(rotations: list[NDArray[np.float64]]) -> None:
    path = Trajectory(np.arange(len(rotations)) * 1000, [[0, 0, 0, *q] for q in rotations], kind="pose")
    sampled = path.at_many(np.arange(0, 1000 * (len(rotations) - 1) + 1, 10))[:, 3:]
    assert np.linalg.norm(np.diff(sampled, axis=0), axis=1).max() <= pi / 2 / 100 * 1.001


def test_arrays_are_copied_and_read_only() -> None:
    times_ns, targets = np.array([0, 10]), np.array([[0.0], [1.0]])
    path = Trajectory(times_ns, targets)
    times_ns[0] = 5
    targets[0] = 7
    assert (path.start_ns, path.targets[0, 0]) == (0, 0.0)
    assert not path.times_ns.flags.writeable
    assert not path.targets.flags.writeable
    path.at_ns(3)[0] = 9.0
    assert path.at_ns(3)[0] == pytest.approx(0.3)


def test_arrays_outlive_the_path() -> None:
    times_ns = linear().times_ns
    np.testing.assert_array_equal(times_ns, [0, 100 * MS, 300 * MS])


def test_equality_is_by_value() -> None:
    assert linear() == linear()
    assert hash(linear()) == hash(linear())
    assert linear() != turn()
    assert linear() != Trajectory(linear().times_ns, linear().targets, lead_ns=1)
    assert linear() != "linear"
    assert pickle.loads(pickle.dumps(linear())) == linear()


def test_knows_which_knots_are_late() -> None:
    path = Trajectory([0, 10 * MS], [[0.0], [1.0]], due_ns=[0, 7 * MS])
    assert path.due_ns.tolist() == [0, 7 * MS]
    assert not path.due_ns.flags.writeable
    assert path != Trajectory([0, 10 * MS], [[0.0], [1.0]])
    assert pickle.loads(pickle.dumps(path)) == path
    assert linear().due_ns.tolist() == linear().times_ns.tolist()
    assert Trajectory([0, 10 * MS], [[0.0], [1.0]], due_ns=[0, 10 * MS]) == Trajectory([0, 10 * MS], [[0.0], [1.0]])


@pytest.mark.parametrize(
    ("due_ns", "sentence"), [([0], "2 knots and 1 instants"), ([0, 12 * MS], "knot 1 is due 2.000 ms after")]
)
def test_knots_are_on_time_or_late(due_ns: list[int], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        Trajectory([0, 10 * MS], [[0.0], [1.0]], due_ns=due_ns)


def test_repr_speaks_of_units() -> None:
    assert repr(Trajectory([5, 10 * MS], [[0.0], [1.0]], lead_ns=MS)) == (
        "Trajectory(linear, width 1, 2 knots from 5 ns over 10.000 ms, lead 1.000 ms)"
    )


@pytest.mark.parametrize(
    ("times_ns", "targets", "kind", "sentence"),
    [
        ([], np.zeros((0, 2)), "linear", "at least one knot"),
        ([0, 1], [[1.0]], "linear", "2 instants and 1 targets"),
        ([0], [1.0], "linear", "shape \\(n, width\\)"),
        ([0], np.zeros((1, 0)), "linear", "width >= 1"),
        ([2 * MS, 0], [[1.0], [2.0]], "linear", "knot 1 is 2.000 ms before or at knot 0"),
        ([0, 0], [[1.0], [2.0]], "linear", "strictly increasing"),
        ([0], [[1.0, float("nan")]], "linear", "knot 0 has nan in column 1"),
        ([0.5], [[1.0]], "linear", "ints of nanoseconds"),
        ([0], [["much"]], "linear", "numbers of one shape"),
        ([0], [[1.0]], "straight", "'linear' or 'pose', not 'straight'"),
        ([0], [[1.0]], "pose", "7 numbers"),
        ([0], [[0, 0, 0, 1, 1, 0, 0]], "pose", "norm 1.4142"),
    ],
)
def test_bad_input_is_refused_with_the_numbers(times_ns: object, targets: object, kind: str, sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        Trajectory(times_ns, targets, kind=kind)  # type: ignore[arg-type]


def test_negative_lead_is_refused() -> None:
    with pytest.raises(BadInput, match="lead_ns must be >= 0, not -1"):
        Trajectory([0], [[1.0]], lead_ns=-1)


@pytest.mark.parametrize("t_ns", [0.5, np.float64(1.0), "1", 2**63])
def test_instants_are_int64(t_ns: int) -> None:
    with pytest.raises(BadInput, match="t_ns must"):
        linear().at_ns(t_ns)


def test_every_kind_of_int_is_an_instant() -> None:
    expected = linear().at_ns(25 * MS)
    np.testing.assert_array_equal(linear().at_ns(np.int32(25 * MS)), expected)
    for dtype in (np.int32, np.int64, np.uint64):
        np.testing.assert_array_equal(linear().at_many(np.array([25 * MS], dtype=dtype))[0], expected)
    np.testing.assert_array_equal(linear().at_many(np.array([25 * MS, 0, 0])[::2])[0], expected)
    with pytest.raises(BadInput, match="ints of nanoseconds"):
        linear().at_many(np.array([2**63], dtype=np.uint64))
    assert linear().at_many([]).shape == (0, 2)
