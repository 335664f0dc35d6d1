from typing import Any

import numpy as np
import pytest

from onbeat.errors import BadInput, ClockMismatch
from onbeat.stream import Aligner, Stream
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


MS = 1_000_000


def line(name: str, *times_ms: int, capacity: int = 64) -> Stream:
    stream = Stream(name, "manual", "linear", 1, capacity, max_gap_s=0.1)
    for t in times_ms:
        stream.push(t * MS, [float(t)])
    return stream


def test_query_is_released_as_soon_as_all_have_come_so_far() -> None:
    arm, tip = line("arm", 0, 10), line("tip", 0, 10)
    aligner = Aligner([arm, tip])
    aligner.query(15 * MS)
    assert aligner.drain(16 * MS) == []
    arm.push(20 * MS, [20.0])
    assert aligner.drain(21 * MS) == []
    tip.push(20 * MS, [20.0])
    (observation,) = aligner.drain(22 * MS)
    assert observation.complete
    assert [sample.value[0] for sample in observation.samples.values()] == [15.0, 15.0]
    assert aligner.drain(23 * MS) == []
    assert aligner.counts["complete"] == aligner.counts["queried"] == 1


def test_fixed_lag_releases_no_sooner() -> None:
    aligner = Aligner([line("arm", 0, 10, 20)], lag_s=0.030)
    aligner.query(15 * MS)
    assert aligner.drain(45 * MS - 1) == []
    assert len(aligner.drain(45 * MS)) == 1


def test_queries_come_out_in_order_of_time() -> None:
    aligner = Aligner([line("arm", 0, 10, 20)])
    for t in (15, 5, 12):
        aligner.query(t * MS)
    assert [observation.t_ns // MS for observation in aligner.drain(20 * MS)] == [5, 12, 15]


def test_stream_that_stays_behind_is_missing_after_max_wait() -> None:
    arm, tip = line("arm", 0, 10, 20, 30), line("tip", 0, 10)
    aligner = Aligner([arm, tip], max_wait_s=0.1)
    aligner.query(11 * MS)
    assert aligner.drain(110 * MS) == []
    (observation,) = aligner.drain(111 * MS)
    assert observation.samples["arm"].value[0] == 11.0
    # It was heard of 101 ms ago by then.
    assert observation.missing["tip"].startswith("silent: not yet: query is 1.000 ms newer")
    assert aligner.missing == {"arm": dict.fromkeys(("not yet", "silent", "forgotten", "gap"), 0)} | {
        "tip": {"not yet": 0, "silent": 1, "forgotten": 0, "gap": 0}
    }


def test_silent_stream_is_not_waited_for_until_it_speaks_again() -> None:
    arm, tip = line("arm"), line("tip", 0)
    aligner = Aligner([arm, tip], max_wait_s=0.1)
    for t in range(0, 500, 10):
        arm.push(t * MS, [0.0])
    aligner.query(485 * MS)
    assert [sorted(observation.samples) for observation in aligner.drain(491 * MS)] == [["arm"]]
    for t in (492, 502):
        tip.push(t * MS, [0.0])
    arm.push(500 * MS, [0.0])
    aligner.query(499 * MS)
    assert [sorted(observation.samples) for observation in aligner.drain(503 * MS)] == [["arm", "tip"]]


def test_stream_that_never_spoke_is_waited_for_once() -> None:
    arm = line("arm", *range(0, 400, 10))
    aligner = Aligner([arm, line("tip")], max_wait_s=0.1)
    aligner.query(200 * MS)
    aligner.query(385 * MS)
    assert [o.t_ns for o in aligner.drain(299 * MS)] == []
    assert [o.t_ns for o in aligner.drain(300 * MS)] == [200 * MS]
    assert [o.t_ns for o in aligner.drain(400 * MS)] == [385 * MS]
    assert aligner.missing["tip"] == {"not yet": 1, "silent": 1, "forgotten": 0, "gap": 0}


def test_instant_that_is_forgotten_or_in_a_gap_is_not_waited_for() -> None:
    aligner = Aligner([line("arm", 100, 110, 300, 310)])
    aligner.query(50 * MS)
    aligner.query(200 * MS)
    first, second = aligner.drain(312 * MS)
    assert first.missing["arm"].startswith("forgotten")
    assert second.missing["arm"].startswith("gap")
    assert (aligner.counts["forgotten"], aligner.counts["gap"], aligner.counts["incomplete"]) == (1, 1, 2)


def test_image_is_not_answered_while_a_nearer_one_may_come() -> None:
    eye = Stream("eye", "manual", "object", 0, 8, tolerance_s=0.02)
    eye.push(0, "a")
    aligner = Aligner([eye])
    aligner.query(19 * MS)
    assert aligner.drain(19 * MS) == []
    eye.push(30 * MS, "b")
    assert aligner.drain(31 * MS)[0].samples["eye"].value == "b"


def test_each_new_sample_of_the_master_is_a_query() -> None:
    eye = Stream("eye", "manual", "object", 0, 8)
    arm = line("arm", *range(0, 200, 10))
    eye.push(5 * MS, "before")
    aligner = Aligner({"eye": eye, "arm": arm}, master="eye")
    for t in (15, 25, 37):
        eye.push(t * MS, t)
    assert [o.samples["eye"].value for o in aligner.drain(200 * MS)] == [15, 25, 37]
    eye.push(20 * MS, "late")
    eye.push(45 * MS, 45)
    assert [o.samples["eye"].value for o in aligner.drain(200 * MS)] == [45]
    for t in range(60, 160, 10):
        eye.push(t * MS, t)
    assert [o.samples["eye"].value for o in aligner.drain(200 * MS)] == list(range(80, 160, 10))
    assert aligner.counts["passed_over"] == 3
    assert aligner.counts["complete"] == aligner.counts["queried"] == 12


def test_waiting_queries_are_bounded_and_the_oldest_is_dropped() -> None:
    aligner = Aligner([line("arm", 0)], capacity=10)
    for t in range(1, 101):
        aligner.query(t * MS)
        aligner.query(t * MS)
    counts = aligner.counts
    assert (counts["queried"], counts["dropped"], counts["pending"], counts["repeated"]) == (100, 90, 10, 100)
    assert [o.t_ns // MS for o in aligner.drain(10**12)] == list(range(91, 101))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"lag_s": -0.1}, "0 <= lag_s"),
        ({"lag_s": 0.2, "max_wait_s": 0.1}, "lag_s <= max_wait_s"),
        ({"max_wait_s": 0.0}, "max_wait_s > 0"),
        ({"lag_s": float("nan")}, "0 <= lag_s"),
        ({"capacity": 0}, "capacity >= 1"),
        ({"master": "eye"}, "the master 'eye' is not among the streams arm"),
    ],
)
def test_aligner_that_makes_no_sense_is_refused(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        Aligner([line("arm")], **given)


def test_aligner_needs_names_and_one_clock() -> None:
    with pytest.raises(BadInput, match="the same name"):
        Aligner([line("arm"), line("arm")])
    with pytest.raises(ClockMismatch):
        Aligner([line("arm"), Stream("eye", "camera", "object", 0, 4)])
