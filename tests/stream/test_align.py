import numpy as np
import pytest

from onbeat.errors import BadInput, ClockMismatch
from onbeat.stream import Stream
from onbeat.stream.align import align


def test_streams_are_asked_for_one_instant() -> None:
    arm = Stream("arm", "manual", "linear", 2, 16)
    arm.push(0, [0.0, 10.0])
    arm.push(100, [1.0, 20.0])
    camera = Stream("camera", "manual", "object", 0, 4)
    camera.push(50, "frame")
    observation = align({"arm": arm, "camera": camera}, 50)
    assert observation.complete
    assert (observation.t_ns, observation.clock) == (50, "manual")
    assert np.allclose(observation.samples["arm"].value, [0.5, 15.0])
    assert observation.samples["camera"].value == "frame"


def test_what_cannot_be_answered_is_missing_with_its_reason() -> None:
    late, old = (Stream(name, "manual", "linear", 1, 16) for name in ("late", "old"))
    for t in (0, 10):
        late.push(t, [0.0])
    for t in (90, 100):
        old.push(t, [0.0])
    torn = Stream("torn", "manual", "linear", 1, 16, max_gap_s=1e-9)
    for t in (0, 100):
        torn.push(t, [0.0])
    observation = align({"late": late, "old": old, "torn": torn}, 50)
    assert not observation.complete
    assert {name: why.split(":")[0] for name, why in observation.missing.items()} == {
        "late": "not yet",
        "old": "forgotten",
        "torn": "gap",
    }


def test_two_clocks_do_not_meet() -> None:
    streams = {name: Stream(name, clock, "linear", 1, 4) for name, clock in (("a", "monotonic"), ("b", "camera"))}
    with pytest.raises(ClockMismatch, match="camera, monotonic"):
        align(streams, 0)


def test_nothing_to_align_is_refused() -> None:
    with pytest.raises(BadInput, match="no streams"):
        align({}, 0)
