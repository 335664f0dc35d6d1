"""One cycle out of a run whose every instant is known: an arm that follows its rows late by a known amount."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.motion import Chunk, Trajectory, schedule
from onbeat.motion.kinematics import forward, inverse
from onbeat.policy import Decision
from onbeat.report.cycle import ControlCycle, trace_cycle

MS = 1_000_000
ZERO_NS = 5_000 * MS
STEP_NS, LEAD_NS, ARRIVAL_NS = 100 * MS, 90 * MS, 70 * MS
SENT_NS = np.arange(0, 10_000 * MS, 5 * MS, dtype=np.int64)


def tool(t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Go along y at 0.1 m/s."""
    y = (np.asarray(t_ns) - ZERO_NS) * 1e-10
    return np.stack([np.full_like(y, 0.3), y, np.full_like(y, 0.1)], axis=-1)


class FakeLedger:
    """Frames every 100 ms that are there after 70 ms, and an arm that is late by a known amount."""

    def __init__(self, late_ns: int) -> None:
        self._late_ns = late_ns

    def frames_ns(self) -> NDArray[np.int64]:
        middles = ZERO_NS + STEP_NS * np.arange(4)
        return np.stack([np.arange(4) + 7, middles, middles + ARRIVAL_NS], axis=1)

    def tool_at_many(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        return tool(t_ns - self._late_ns)


def run(stamp_ns: int = 0, aside_m: float = 0.0) -> tuple[list[Decision], list[Any]]:
    """Decide on four frames whose stamps are off by stamp_ns; the rows are where the tool is wanted."""
    plan = Trajectory([0], inverse((0.3, 0.0, 0.1))[None, :])
    decisions, frames = [], []
    for k in range(4):
        middle_ns = ZERO_NS + k * STEP_NS
        wanted = tool(middle_ns + STEP_NS * np.arange(1, 7)) + np.array([aside_m, 0.0, 0.0])
        chunk = Chunk(middle_ns + stamp_ns, STEP_NS, np.stack([inverse(place) for place in wanted]))
        ready_ns = middle_ns + 110 * MS
        plan, outcomes = schedule(plan, chunk, ready_ns, lead_ns=LEAD_NS)
        decisions.append(Decision(ready_ns - 30 * MS, chunk.anchor_ns, ready_ns, {"arm": chunk}, {"arm": outcomes}))
        state = SimpleNamespace(seq=k + 7, span_ns=8 * MS, receive_ns=middle_ns + ARRIVAL_NS)
        frames.append(SimpleNamespace(stamp=SimpleNamespace(capture_ns=chunk.anchor_ns), state=state))
    return decisions, frames


def trace(late_ns: int = 0, stamp_ns: int = 0, aside_m: float = 0.0) -> ControlCycle:
    decisions, frames = run(stamp_ns, aside_m)
    ledger: Any = FakeLedger(late_ns)
    cycle = trace_cycle("measured", decisions, frames, SENT_NS, 200.0, ledger, ZERO_NS + 110 * MS)
    assert cycle is not None
    return cycle


def fates(cycle: ControlCycle) -> Sequence[str]:
    return [row.fate for row in cycle.rows]


def test_instants_count_from_the_true_middle_of_the_exposure() -> None:
    cycle = trace(stamp_ns=3 * MS)
    assert (cycle.exposure_ns, cycle.stamp_ns, cycle.arrived_ns) == (8 * MS, 3 * MS, ARRIVAL_NS)
    assert (cycle.asked_ns, cycle.ready_ns, cycle.next_ns) == (80 * MS, 110 * MS, 210 * MS)
    assert cycle.count == 6
    assert cycle.sends_ns[0] == -500 * MS
    assert set(np.diff(cycle.sends_ns).tolist()) == {5 * MS}


def test_late_row_is_dropped_the_next_is_sent_and_the_rest_is_replaced() -> None:
    # Sending instants are 10, 110, 210, ... ms: at 110 ms the second is no longer in the future.
    cycle = trace()
    assert fates(cycle) == ["dropped", "dropped", "sent", "replaced"]
    sent = cycle.rows[2]
    assert (sent.number, sent.sending_ns, sent.due_ns, sent.wanted_ns) == (3, 210 * MS, 300 * MS, 300 * MS)


@pytest.mark.parametrize("late_ns", [0, 1_234_567, -137 * MS])
def test_arm_is_there_as_late_as_it_is(late_ns: int) -> None:
    for row in trace(late_ns).rows:
        assert row.late_ns == pytest.approx(late_ns, abs=1_000)


def test_wanted_instants_are_of_the_scene_whatever_the_stamp_says() -> None:
    cycle = trace(stamp_ns=-112 * MS)
    assert [row.wanted_ns for row in cycle.rows[:3]] == [100 * MS, 200 * MS, 300 * MS]
    assert [row.due_ns for row in cycle.rows[:3]] == [-12 * MS, 88 * MS, 188 * MS]


def test_pose_that_is_passed_at_a_distance_is_not_reached() -> None:
    assert {row.there_ns for row in trace(aside_m=0.02).rows} == {None}


def test_arm_that_comes_much_later_is_not_there() -> None:
    assert {row.late_ns for row in trace(late_ns=400 * MS).rows} == {None}


def test_run_that_sent_nothing_has_no_cycle() -> None:
    decisions, frames = run()
    ledger: Any = FakeLedger(0)
    assert trace_cycle("measured", [], frames, SENT_NS, 200.0, ledger, ZERO_NS) is None
    late = schedule(Trajectory([0], np.zeros((1, 6))), decisions[0].chunks["arm"], ZERO_NS + 5_000 * MS)[1]
    nothing = Decision(0, decisions[0].anchor_ns, 1, decisions[0].chunks, {"arm": late})
    assert trace_cycle("measured", [nothing], frames, SENT_NS, 200.0, ledger, ZERO_NS) is None


def test_forward_of_a_row_is_where_the_tool_is_wanted() -> None:
    decisions, _ = run()
    assert forward(decisions[0].chunks["arm"].targets)[0] == pytest.approx(tool(ZERO_NS + STEP_NS * np.arange(1, 7)), abs=1e-9)
