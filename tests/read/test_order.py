"""Rows out of order are told from clocks that were set back, while they pass by."""

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.read.order import Disorder, OrderWatch

P = 10_000_000


def watched(t_ns: NDArray[np.int64], size: int = 100) -> tuple[int, Disorder | None]:
    watch, done, wrong = OrderWatch(), 0, None
    for first in range(0, len(t_ns), size):
        done, wrong = watch.push(t_ns[first : first + size])
        if wrong is not None:
            return done, wrong
    return watch.push(t_ns[:0], last=True)


def regular(n: int, jitter: float = 0.0) -> NDArray[np.int64]:
    noise = np.random.default_rng(3).normal(0, jitter * P, n)
    return np.arange(n) * P + noise.astype(np.int64)


@pytest.mark.parametrize("size", [1, 7, 1000, 5000])
def test_swapped_rows_are_misplaced(size: int) -> None:
    t_ns = regular(3000, 0.05)
    t_ns[[1200, 1201]] = t_ns[[1201, 1200]]
    done, wrong = watched(t_ns, size)
    assert wrong == Disorder(1201, int(t_ns[1200] - t_ns[1201]))
    assert done == 1201


def test_late_row_is_misplaced() -> None:
    t_ns = regular(500)
    t_ns = np.insert(np.delete(t_ns, 100), 130, t_ns[100])
    assert watched(t_ns)[1] == Disorder(130, 30 * P)


@pytest.mark.parametrize("reach", [3, 20, 500])
def test_shuffled_rows_are_misplaced(reach: int) -> None:
    order = np.argsort(np.arange(500) + np.random.default_rng(1).uniform(0, reach, 500))
    t_ns = regular(500)[order]
    _, wrong = watched(t_ns)
    assert wrong is not None
    assert wrong.row == int(np.argmax(np.diff(t_ns) < 0)) + 1


@pytest.mark.parametrize("back", [0.3, 1.0, 1.3, 1.5, 5.5, 64.5, 256.0, 1000.0])
@pytest.mark.parametrize("jitter", [0.0, 0.1])
def test_clock_that_was_set_back_is_in_order(back: float, jitter: float) -> None:
    t_ns = regular(3000, jitter)
    t_ns[1500:] -= int(back * P)
    assert watched(t_ns) == (3000, None)


@pytest.mark.parametrize("period", [65, 256, 1000])
def test_counter_that_wraps_is_in_order(period: int) -> None:
    assert watched(regular(3000) % (period * P)) == (3000, None)


def test_two_clocks_in_turn_are_in_order() -> None:
    t_ns = regular(1000)
    t_ns[1::2] += 10**15
    assert watched(t_ns) == (1000, None)


def test_bursts_equal_stamps_and_gaps_are_in_order() -> None:
    t_ns = np.repeat(regular(200), 5)
    t_ns[500:] += 100 * P
    assert watched(t_ns) == (1000, None)


def test_rows_are_not_held_back_without_a_reason() -> None:
    assert OrderWatch().push(regular(10)) == (10, None)


def test_rows_behind_a_step_back_wait_until_it_is_known_what_it_was() -> None:
    watch = OrderWatch()
    assert watch.push(np.array([0, 1, 2, 1]) * P) == (3, None)
    assert watch.push(np.arange(2, 300) * P) == (302, None)


def test_times_of_another_shape_are_refused() -> None:
    with pytest.raises(BadInput, match="one row"):
        OrderWatch().push(np.zeros((2, 2), dtype=np.int64))
