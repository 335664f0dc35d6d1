from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.errors import BadInput, Gap, NotYet
from onbeat.stream import How, Stream
from onbeat.stream.interpolate import METHODS, largest_error
from tests.oracle import interpolation as oracle
from tests.oracle.hand import Hand, angle_between

RNG = np.random.default_rng(5)


def jittered(n: int, rate_hz: float, jitter: float = 0.2) -> NDArray[np.int64]:
    ticks = np.arange(n) + RNG.uniform(-jitter, jitter, n)
    return np.round(ticks * 1e9 / rate_hz).astype(np.int64)


def queries(t_ns: NDArray[np.int64], n: int = 20_000) -> NDArray[np.int64]:
    """Instants between the third sample and the third last."""
    return np.sort(RNG.integers(t_ns[2], t_ns[-3], n))


def cube(t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    t = t_ns / 1e9
    return np.stack([1 + 2 * t - 3 * t**2 + 4 * t**3, t**3], axis=1)


def cube_rate(t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    t = t_ns / 1e9
    return np.stack([2 - 6 * t + 12 * t**2, 3 * t**2], axis=1)


@pytest.mark.parametrize("kind", ["cubic", "hermite"])
def test_exact_on_cubes_at_any_spacing(kind: Any) -> None:
    t_ns = jittered(100, 100.0, jitter=0.45)
    stream = Stream("x", "c", kind, 2, 100)
    stream.push_many(t_ns, cube(t_ns), cube_rate(t_ns) if kind == "hermite" else None)
    asked = np.sort(RNG.integers(t_ns[0], t_ns[-1], 1000))  # the ends too: there the four samples are on one side
    np.testing.assert_allclose(stream.at_many(asked).values, cube(asked), atol=1e-12)
    for t in asked[:20]:
        np.testing.assert_allclose(stream.rate_at(int(t)), cube_rate(np.array([t]))[0], atol=1e-9)


def test_cubic_of_few_samples_has_the_order_that_they_allow() -> None:
    stream = Stream("x", "c", "cubic", 1, 10)
    stream.push_many([0, 10], [0.0, 10.0])
    assert stream.at(3).value[0] == pytest.approx(3.0)
    stream.push(20, [40.0])
    assert stream.at(3).value[0] == pytest.approx(3.0 + 3 * (3 - 10) / 10)  # the parabola through the three


def test_neighbour_across_a_gap_is_not_used() -> None:
    stream = Stream("x", "c", "cubic", 1, 10, max_gap_s=15e-9)
    stream.push_many([0, 100, 110, 200], [1e6, 0.0, 1.0, -1e6])
    assert stream.at(105).value[0] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("rate_hz", "rated", "position_mm", "rotation_mdeg"),
    [(100, True, 0.0015, 0.3), (100, False, 0.5, 170), (200, True, 1e-4, 0.02)],
)
def test_a_hand_is_followed_within_the_bars(rate_hz: float, rated: bool, position_mm: float, rotation_mdeg: float) -> None:
    hand = Hand.drawn(np.random.default_rng(0))
    t_ns = jittered(int(20 * rate_hz), rate_hz, jitter=0.0)
    stream = Stream("tool", "c", "pose", 7, len(t_ns))
    stream.push_many(t_ns, hand.pose(t_ns), hand.rate(t_ns) if rated else None)
    asked = queries(t_ns)
    truth, values = hand.pose(asked), stream.at_many(asked).values
    assert np.linalg.norm(values[:, :3] - truth[:, :3], axis=1).max() * 1e3 <= position_mm
    assert np.degrees(angle_between(values[:, 3:], truth[:, 3:])).max() * 1e3 <= rotation_mdeg


@pytest.mark.parametrize("jitter", [0.0, 0.2])
@pytest.mark.parametrize("rated", [True, False])
def test_the_bound_holds_and_is_not_idle(rated: bool, jitter: float) -> None:
    hand = Hand.drawn(np.random.default_rng(1))
    t_ns = jittered(2000, 100.0, jitter)
    stream = Stream("tool", "c", "pose", 7, len(t_ns))
    stream.push_many(t_ns, hand.pose(t_ns), hand.rate(t_ns) if rated else None)
    asked = queries(t_ns)
    truth, samples = hand.pose(asked), stream.at_many(asked)
    errors = np.stack(
        [np.linalg.norm(samples.values[:, :3] - truth[:, :3], axis=1), angle_between(samples.values[:, 3:], truth[:, 3:])], axis=1
    )
    assert (samples.error_bound >= errors).mean(axis=0).min() >= 0.999
    assert (np.percentile(samples.error_bound, 99, axis=0) <= 3 * np.percentile(errors, 99, axis=0)).all()


@pytest.mark.parametrize("kind", ["linear", "cubic", "hermite"])
def test_the_bound_of_positions(kind: Any) -> None:
    hand = Hand.drawn(np.random.default_rng(2))
    t_ns = jittered(2000, 100.0)
    stream = Stream("x", "c", kind, 3, len(t_ns))
    stream.push_many(t_ns, hand.pose(t_ns)[:, :3], hand.rate(t_ns)[:, :3] if kind == "hermite" else None)
    asked = queries(t_ns)
    samples = stream.at_many(asked)
    errors = np.linalg.norm(samples.values - hand.pose(asked)[:, :3], axis=1)
    assert samples.error_bound.shape == (len(asked),)
    assert (samples.error_bound >= errors).mean() >= 0.999
    assert np.percentile(samples.error_bound, 99) <= 3 * np.percentile(errors, 99)


def test_bound_is_unknown_without_neighbours() -> None:
    stream = Stream("x", "c", "linear", 1, 10)
    stream.push_many([0, 10], [0.0, 1.0])
    assert stream.at(5).error_bound is None
    assert np.isnan(stream.at_many([5]).error_bound[0])
    assert stream.at(10).error_bound == 0.0
    stream.push(20, [2.0])
    assert stream.at(5).error_bound == 0.0


@pytest.mark.parametrize("kind", ["slerp", "pose"])
def test_rates_of_rotations(kind: Any) -> None:
    hand = Hand.drawn(np.random.default_rng(3))
    t_ns = jittered(400, 200.0)
    first, first_rate = (3, 3) if kind == "slerp" else (0, 0)
    stream = Stream("tool", "c", kind, 7 - first, len(t_ns))
    stream.push_many(t_ns, hand.pose(t_ns)[:, first:], hand.rate(t_ns)[:, first_rate:])
    for t in queries(t_ns, 200):
        np.testing.assert_allclose(stream.rate_at(int(t)), hand.rate(np.array([t]))[0, first_rate:], atol=2e-3)
    np.testing.assert_array_equal(stream.rate_at(int(t_ns[7])), hand.rate(t_ns[7:8])[0, first_rate:])


def test_rate_without_measured_rates_is_that_of_the_bracket() -> None:
    stream = Stream("x", "c", "linear", 1, 10, max_gap_s=1.5)
    stream.push_many(np.array([0, 1, 2, 9, 10]) * 10**9, [0.0, 1.0, 5.0, 9.0, 8.0])
    assert stream.rate_at(0)[0] == pytest.approx(1.0)
    assert stream.rate_at(10**9)[0] == pytest.approx(4.0)
    assert stream.rate_at(2 * 10**9)[0] == pytest.approx(4.0)  # a gap begins here
    assert stream.rate_at(10 * 10**9)[0] == pytest.approx(-1.0)
    with pytest.raises(Gap):
        stream.rate_at(5 * 10**9)


def test_rate_of_a_steady_turn() -> None:
    stream = Stream("head", "c", "slerp", 4, 10)
    stream.push_many([0, 10**9], [oracle.about([0, 0, 1], 0.0), oracle.about([0, 0, 1], 1.0)])
    np.testing.assert_allclose(stream.rate_at(3 * 10**8), [0.0, 0.0, 1.0], atol=1e-12)


def test_some_samples_may_come_without_a_rate() -> None:
    stream = Stream("tool", "c", "slerp", 4, 10)
    stream.push(0, oracle.about([0, 0, 1], 0.0), [0.0, 0.0, 0.0])
    stream.push(10**9, oracle.about([0, 0, 1], 1.0))
    stream.push(2 * 10**9, oracle.about([0, 0, 1], 2.0), [0.0, 0.0, 0.0])
    np.testing.assert_allclose(stream.at(5 * 10**8).value, oracle.about([0, 0, 1], 0.5), atol=1e-15)
    stream.push(3 * 10**9, oracle.about([0, 0, 1], 3.0), [0.0, 0.0, 0.0])
    # Standing still at both ends: in the middle half of the way, at a quarter 10/64 of it.
    np.testing.assert_allclose(stream.at(2_250_000_000).value, oracle.about([0, 0, 1], 2 + 10 / 64), atol=1e-15)


def test_rates_are_refused_where_they_make_no_sense() -> None:
    with pytest.raises(BadInput, match="kind hermite, which needs the measured rate"):
        Stream("x", "c", "hermite", 1, 10).push(0, [1.0])
    with pytest.raises(BadInput, match=r"a rate of 'x' must have the shape \(1,\)"):
        Stream("x", "c", "hermite", 1, 10).push(0, [1.0], [1.0, 2.0])
    with pytest.raises(BadInput, match="kind hold, which has no rate"):
        Stream("x", "c", "hold", 1, 10).rate_at(0)
    with pytest.raises(NotYet):
        Stream("x", "c", "linear", 1, 10).rate_at(0)


def test_one_sample_has_the_rate_that_came_with_it() -> None:
    stream = Stream("x", "c", "hermite", 1, 10)
    stream.push(5, [1.0], [3.0])
    assert stream.rate_at(5).tolist() == [3.0]
    linear = Stream("x", "c", "linear", 1, 10)
    linear.push(5, [1.0])
    with pytest.raises(NotYet, match="holds 1 samples, too few"):
        linear.rate_at(5)


def test_cubic_waits_for_its_second_sample_behind_the_instant() -> None:
    stream = Stream("x", "c", "cubic", 1, 10)
    stream.push_many([0, 10, 20], [0.0, 1.0, 2.0])
    assert stream.lag_ns == 20


def test_golden_errors_of_the_notation() -> None:
    assert largest_error("hold", 3.4, 1 / 400) / 2 == pytest.approx(4.25e-3)  # nearest: half of the hold
    assert largest_error("linear", 2.0, 1 / 400) == pytest.approx(0.0016e-3, rel=0.03)
    assert largest_error("cubic", 1.0, 1.0) / largest_error("hermite", 1.0, 1.0) == pytest.approx(9.0)


def test_errors_are_asked_for_by_known_kinds() -> None:
    assert set(METHODS) == {"hold", "linear", "slerp", "pose", "cubic", "hermite"}
    with pytest.raises(BadInput, match=r"kind must be one of hold, .* not 'spline'"):
        largest_error("spline", 1.0, 1.0)
    with pytest.raises(BadInput, match="must be >= 0"):
        largest_error("linear", -1.0, 1.0)


def test_interpolated_is_said() -> None:
    stream = Stream("x", "c", "cubic", 1, 10)
    stream.push_many([0, 10], [0.0, 1.0])
    assert stream.at(5).how is How.INTERPOLATED
