"""The native runner by itself: the words it finds, and what it refuses."""

import pytest

from onbeat._core import Cycle
from onbeat.errors import BadInput
from onbeat.loop import MemorySink
from onbeat.loop.native import NativeLoop
from onbeat.motion import Trajectory

MS = 1_000_000


def runner(on_late: str = "skip", spin_us: float = 0, sink_width: int = 1) -> NativeLoop:
    cycle = Cycle(10 * MS, 0, 1, Trajectory([0], [[0.0]]), None, None, None, float("inf"), 0, on_late, 8)
    return NativeLoop(cycle, MemorySink(sink_width, 8), 80, None, spin_us, 8)


def test_before_start_nothing_is_refused_and_nothing_is_wrong() -> None:
    loop = runner()
    assert (loop.running, loop.realtime, loop.refused, loop.locked_bytes, loop.error) == (False, False, (), 0, "")


def test_late_is_put_into_words() -> None:
    loop = runner("stop")
    loop.cycle(0, 7 * MS)
    assert loop.error == "the loop woke 7.000 ms late for the deadline 0 ns and on_late is 'stop'"
    with pytest.raises(BadInput, match="has stopped"):
        loop.cycle(10 * MS, 10 * MS)


def test_a_spin_longer_than_half_a_period_is_refused() -> None:
    runner(spin_us=5000)
    with pytest.raises(BadInput, match="half a period"):
        runner(spin_us=5001)


def test_widths_must_agree() -> None:
    with pytest.raises(BadInput, match="width 1 and the sink has width 2"):
        runner(sink_width=2)
