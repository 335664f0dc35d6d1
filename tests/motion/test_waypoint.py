from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onbeat.errors import BadInput
from onbeat.motion.waypoint import Chunk, Waypoint

EPOCH_NS = 1_700_000_000_000_000_000


class TestWaypoint:
    def test_keeps_its_own_copy(self) -> None:
        target = np.array([1.0, 2.0])
        waypoint = Waypoint(5, target)
        target[0] = 9.0
        assert waypoint.target.tolist() == [1.0, 2.0]
        with pytest.raises(ValueError, match="read-only"):
            waypoint.target[0] = 9.0

    def test_takes_lists_and_numpy_integers(self) -> None:
        waypoint = Waypoint(np.int64(EPOCH_NS), [1, 2])  # type: ignore[arg-type]
        assert type(waypoint.t_ns) is int
        assert waypoint.target.dtype == np.float64

    def test_is_a_value(self) -> None:
        assert Waypoint(5, np.array([1.0])) == Waypoint(5, np.array([1.0]))
        assert Waypoint(5, np.array([1.0])) != Waypoint(6, np.array([1.0]))
        assert Waypoint(5, np.array([1.0])) != Waypoint(5, np.array([1.0, 1.0]))
        assert Waypoint(5, np.array([1.0])) != "a waypoint"

    @pytest.mark.parametrize(("a", "b"), [(0.0, -0.0), (np.nan, -np.nan), (1.0, 1.0)])
    def test_equal_ones_have_equal_hashes(self, a: float, b: float) -> None:
        one, other = Waypoint(5, np.array([a])), Waypoint(5, np.array([b]))
        assert one == other
        assert hash(one) == hash(other)

    @pytest.mark.parametrize("target", [1.0, [[1.0]], [[1.0], [1.0, 2.0]], ["up"], None])
    def test_target_of_another_shape_is_refused(self, target: object) -> None:
        with pytest.raises(BadInput, match="target must"):
            Waypoint(5, target)  # type: ignore[arg-type]


class TestChunk:
    def test_kth_row_is_due_k_steps_after_the_anchor_from_first_step(self) -> None:
        chunk = Chunk(EPOCH_NS, 100_000_000, np.zeros((3, 2)))
        assert [w.t_ns - EPOCH_NS for w in chunk.waypoints()] == [100_000_000, 200_000_000, 300_000_000]

    def test_first_step_of_umi_is_zero(self) -> None:
        chunk = Chunk(EPOCH_NS, 100_000_000, np.zeros((2, 2)), first_step=0)
        assert [w.t_ns - EPOCH_NS for w in chunk.waypoints()] == [0, 100_000_000]

    @given(st.integers(-(2**62), 2**62), st.integers(1, 10**10), st.integers(-5, 5), st.integers(1, 30))
    def test_due_instants_are_exact(self, anchor_ns: int, step_ns: int, first_step: int, n: int) -> None:
        waypoints = Chunk(anchor_ns, step_ns, np.arange(float(n))[:, None], first_step).waypoints()
        assert [(w.t_ns, w.target[0]) for w in waypoints] == [(anchor_ns + (first_step + k) * step_ns, k) for k in range(n)]

    @given(st.integers(-500, 500), st.integers(1, 50), st.integers(-5, 5), st.integers(1, 9), st.integers(-900, 900))
    def test_first_row_after_an_instant_is_the_first_that_is_due_later(
        self, anchor_ns: int, step_ns: int, first_step: int, n: int, t_ns: int
    ) -> None:
        chunk = Chunk(anchor_ns, step_ns, np.zeros((n, 1)), first_step)
        later = [k for k in range(n) if chunk.t_ns(k) > t_ns]
        assert chunk.first_row_after(t_ns) == (later[0] if later else n)

    def test_keeps_its_own_copy(self) -> None:
        targets = np.zeros((2, 2))
        chunk = Chunk(0, 1, targets)
        targets[0, 0] = 9.0
        assert chunk.targets[0, 0] == 0.0
        assert not chunk.targets.flags.writeable

    def test_is_as_long_as_its_rows(self) -> None:
        assert len(Chunk(0, 1, np.zeros((3, 2)))) == 3

    def test_is_a_value(self) -> None:
        assert Chunk(0, 1, np.zeros((3, 2))) == Chunk(0, 1, np.zeros((3, 2)))
        assert Chunk(0, 1, np.zeros((3, 2))) != Chunk(0, 1, np.zeros((3, 2)), first_step=0)
        assert Chunk(0, 1, np.zeros((3, 2))) != Chunk(0, 1, np.ones((3, 2)))
        assert Chunk(0, 1, np.zeros((3, 2))) != "a chunk"

    @pytest.mark.parametrize("step_ns", [0, -1])
    def test_step_that_does_not_go_forward_is_refused(self, step_ns: int) -> None:
        with pytest.raises(BadInput, match="step_ns must be > 0"):
            Chunk(0, step_ns, np.zeros((3, 2)))

    def test_chunk_of_nothing_is_refused(self) -> None:
        with pytest.raises(BadInput, match="at least one target"):
            Chunk(0, 1, np.zeros((0, 2)))

    def test_rows_of_another_shape_are_refused(self) -> None:
        with pytest.raises(BadInput, match="targets must have 2 dimension"):
            Chunk(0, 1, np.zeros(3))


@pytest.mark.parametrize("t_ns", [1.9, float("nan"), float("inf"), "5", None, 2**63])
def test_an_instant_is_never_cut_off(t_ns: Any) -> None:
    # time.time() handed over as it is would be 1.7 s after zero: silently late for ever.
    says = r"must (be an int of nanoseconds|fit into 64 bits)"
    with pytest.raises(BadInput, match=f"t_ns {says}"):
        Waypoint(t_ns, np.zeros(1))
    with pytest.raises(BadInput, match=f"anchor_ns {says}"):
        Chunk(t_ns, 1, np.zeros((1, 1)))
    with pytest.raises(BadInput, match=f"step_ns {says}"):
        Chunk(0, t_ns, np.zeros((1, 1)))


def test_steps_are_whole() -> None:
    with pytest.raises(BadInput, match=r"first_step must be a whole number of steps, not 1\.5"):
        Chunk(0, 1, np.zeros((1, 1)), 1.5)  # type: ignore[arg-type]
