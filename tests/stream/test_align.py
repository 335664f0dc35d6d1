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


def test_looking_back_is_oldest_first_and_ends_at_the_instant() -> None:
    arm = Stream("arm", "manual", "linear", 1, 16)
    camera = Stream("camera", "manual", "object", 0, 16, tolerance_s=1e-6)
    for t in range(0, 101, 10):
        arm.push(t, [float(t)])
        camera.push(t, t)
    observation = align({"arm": arm, "camera": camera}, 100, 3, 24, {"camera": 6})
    assert [sample.value[0] for sample in observation.history["arm"]] == [52.0, 76.0, 100.0]
    assert [sample.value for sample in observation.history["camera"]] == [50, 80, 100]
    assert observation.samples["camera"].value == 100


@pytest.mark.parametrize(("t_ns", "why"), [(130, "not yet"), (60, "gap"), (-20, "forgotten")])
def test_object_that_is_further_away_than_asked_for_is_missing(t_ns: int, why: str) -> None:
    camera = Stream("camera", "manual", "object", 0, 16, tolerance_s=1e-6)
    camera.push_many(np.array([0, 10, 100]), ["a", "b", "c"])
    observation = align({"camera": camera}, t_ns, near_ns={"camera": 15})
    assert observation.missing["camera"].startswith(why)


@pytest.mark.parametrize(("n_obs", "obs_dt_ns"), [(0, 1), (2, 0), (1, -1)])
def test_instants_that_make_no_sense_are_refused(n_obs: int, obs_dt_ns: int) -> None:
    stream = Stream("arm", "manual", "linear", 1, 16)
    with pytest.raises(BadInput, match="n_obs must be >= 1"):
        align({"arm": stream}, 0, n_obs, obs_dt_ns)
