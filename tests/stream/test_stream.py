import gc
import pickle
import threading
import weakref
from itertools import pairwise
from math import nan, pi, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from onbeat.clock import ManualClock
from onbeat.errors import BadInput, Forgotten, Gap, NotYet
from onbeat.stream import How, Sample, Stream, hold
from tests.oracle import interpolation as oracle
from tests.oracle.history import History

MS = 1_000_000
REFUSALS = {"NOT_YET": NotYet, "FORGOTTEN": Forgotten, "GAP": Gap}
EPOCH_NS = 1_700_000_000_000_000_000


def imu(capacity: int = 100, max_gap_s: float | None = None) -> Stream:
    """Three samples, 10 ms apart, of (t in ms, 1)."""
    stream = Stream("imu", "monotonic", "linear", 2, capacity, max_gap_s)
    for t_ms in (10, 20, 30):
        stream.push(t_ms * MS, [t_ms, 1.0])
    return stream


# What it answers


def test_a_sample_comes_back_exactly() -> None:
    assert imu().at(20 * MS) == Sample(20 * MS, np.array([20.0, 1.0]), How.EXACT, 0, 0, 0.0)


def test_between_samples() -> None:
    sample = imu().at(24 * MS)
    assert (sample.t_ns, sample.how, sample.gap_ns, sample.age_ns) == (24 * MS, How.INTERPOLATED, 10 * MS, 0)
    np.testing.assert_allclose(sample.value, [24.0, 1.0], rtol=1e-15)


def test_newer_than_the_newest_is_not_yet() -> None:
    with pytest.raises(NotYet, match=r"query is 3.200 ms newer than the newest sample of 'imu'; wait or use hold"):
        imu().at(33_200_000)


def test_older_than_the_oldest_is_forgotten() -> None:
    with pytest.raises(
        Forgotten, match=r"query is 1.500 ms older than the oldest sample of 'imu'; ask sooner, or keep more than 100"
    ):
        imu().at(8_500_000)


def test_wide_bracket_is_a_gap() -> None:
    stream = imu(max_gap_s=0.012)
    stream.push(60 * MS, [60.0, 1.0])
    assert stream.at(25 * MS).value[0] == pytest.approx(25.0)
    with pytest.raises(Gap, match=r"samples of 'imu' around the query are 30.000 ms apart and 12.000 ms are allowed"):
        stream.at(45 * MS)
    assert stream.at(60 * MS).how is How.EXACT


def test_empty_stream_is_not_yet() -> None:
    stream = Stream("imu", "monotonic", "linear", 2, 5)
    for ask in (stream.at, lambda t_ns: hold(stream, t_ns)):
        with pytest.raises(NotYet, match="'imu' holds 0 samples"):
            ask(0)
    assert (stream.newest_ns, stream.oldest_ns, len(stream), stream.lag_ns) == (None, None, 0, None)


def test_hold_is_asked_for_by_name_and_says_how_old() -> None:
    assert hold(imu(), 33 * MS) == Sample(33 * MS, np.array([30.0, 1.0]), How.HELD, 0, 3 * MS, None)
    assert hold(imu(), 24 * MS) == Sample(24 * MS, np.array([20.0, 1.0]), How.HELD, 10 * MS, 4 * MS, None)
    assert hold(imu(), 20 * MS).age_ns == 0
    with pytest.raises(Forgotten):
        hold(imu(), 9 * MS)


def test_kind_hold_gives_the_sample_before() -> None:
    stream = Stream("door", "monotonic", "hold", 1, 5)
    stream.push_many([0, 10], [0.0, 1.0])
    assert stream.at(9) == Sample(9, np.array([0.0]), How.HELD, 10, 9, None)
    assert stream.at(10).how is How.EXACT
    with pytest.raises(NotYet):
        stream.at(11)


def test_epoch_instants_keep_their_nanoseconds() -> None:
    stream = Stream("imu", "wall", "linear", 1, 5)
    stream.push_many([EPOCH_NS, EPOCH_NS + 4], [0.0, 4.0])
    np.testing.assert_array_equal(stream.at_many(EPOCH_NS + np.arange(5)).values[:, 0], [0, 1, 2, 3, 4])


def test_at_many_marks_what_has_no_answer() -> None:
    stream = imu(max_gap_s=0.012)
    stream.push(60 * MS, [60.0, 1.0])
    samples = stream.at_many(np.array([5, 10, 15, 45, 61]) * MS)
    assert [How(how) for how in samples.how] == [How.FORGOTTEN, How.EXACT, How.INTERPOLATED, How.GAP, How.NOT_YET]
    np.testing.assert_allclose(samples.values[:, 0], [nan, 10, 15, nan, nan])
    np.testing.assert_array_equal(samples.gap_ns, np.array([5, 0, 10, 30, 1]) * MS)
    np.testing.assert_array_equal(samples.age_ns, 0)
    np.testing.assert_array_equal(samples.t_ns, np.array([5, 10, 15, 45, 61]) * MS)
    assert samples[1] == stream.at(10 * MS)
    assert samples[-1].how is How.NOT_YET
    with pytest.raises(IndexError, match="index 5 of 5"):
        samples[5]
    assert len(list(samples)) == 5


def test_at_many_of_nothing() -> None:
    assert stream_shape(imu(), []) == (0, 2)
    assert stream_shape(imu(), np.array([], dtype=np.int64)) == (0, 2)


def stream_shape(stream: Stream, t_ns: object) -> tuple[int, ...]:
    return stream.at_many(t_ns).values.shape  # type: ignore[arg-type]


def test_ages_of_a_held_kind() -> None:
    stream = Stream("door", "monotonic", "hold", 1, 5)
    stream.push_many([0, 10], [0.0, 1.0])
    np.testing.assert_array_equal(stream.at_many([0, 9, 10]).age_ns, [0, 9, 0])


# What it keeps


def test_late_sample_is_inserted() -> None:
    stream = imu()
    stream.push(24 * MS, [0.0, 0.0])
    np.testing.assert_allclose(stream.at(22 * MS).value, [10.0, 0.5])
    assert stream.counts["out_of_order"] == 1
    assert len(stream) == 4


def test_duplicate_is_counted_and_the_first_stays() -> None:
    stream = imu()
    for t_ms in (10, 20, 30):
        stream.push(t_ms * MS, [9.0, 9.0])
    assert stream.at(30 * MS).value[0] == 30.0
    assert (stream.counts["duplicate"], stream.counts["stored"], len(stream)) == (3, 3, 3)


def test_full_stream_forgets_its_oldest() -> None:
    stream = imu(capacity=3)
    stream.push(40 * MS, [40.0, 1.0])
    assert (stream.oldest_ns, stream.newest_ns, len(stream), stream.counts["overwritten"]) == (20 * MS, 40 * MS, 3, 1)
    stream.push(15 * MS, [15.0, 1.0])
    assert (stream.oldest_ns, stream.counts["forgotten"]) == (20 * MS, 1)
    stream.push(25 * MS, [25.0, 1.0])
    assert (stream.oldest_ns, stream.at(27_500_000).value[0]) == (25 * MS, 27.5)


def test_counts_add_up() -> None:
    stream = imu(capacity=3)
    stream.push(20 * MS, [0.0, 0.0])
    stream.push(1, [0.0, 0.0])
    stream.push_many([50 * MS, 60 * MS], [[nan, 0.0], [1.0, 1.0]])
    for value in ([1.0], [1.0, np.inf]):
        with pytest.raises(BadInput):
            stream.push(70 * MS, value)
    assert stream.counts == {
        "stored": 4,
        "duplicate": 1,
        "nonfinite": 2,
        "nonunit": 0,
        "misshapen": 1,
        "forgotten": 1,
        "out_of_order": 0,
        "overwritten": 1,
    }


def test_push_many_stores_what_it_can() -> None:
    stream = Stream("imu", "monotonic", "linear", 2, 10)
    stream.push_many([1, 2, 3, 4], [[1.0, 1.0], [2.0], [nan, 0.0], [4.0, 4.0]])
    assert (len(stream), stream.counts["misshapen"], stream.counts["nonfinite"]) == (2, 1, 1)
    stream.push_many([5, 6], np.zeros((2, 3)))
    assert (len(stream), stream.counts["misshapen"]) == (2, 3)


def test_values_are_copied_and_read_only() -> None:
    stream, value = Stream("imu", "monotonic", "linear", 2, 10), np.array([1.0, 2.0])
    stream.push(1, value)
    value[0] = 9.0
    sample = stream.at(1)
    assert sample.value[0] == 1.0
    assert not sample.value.flags.writeable
    assert not stream.at_many([1]).values.flags.writeable


def test_lag_is_the_longest_recent_interval() -> None:
    stream = imu()
    assert stream.lag_ns == 10 * MS
    stream.push(55 * MS, [0.0, 0.0])
    assert stream.lag_ns == 25 * MS
    for k in range(20):
        stream.push((60 + 5 * k) * MS, [0.0, 0.0])
    assert stream.lag_ns == 5 * MS


# Poses


def pose(angle: float, sign: int = 1) -> list[float]:
    return [angle, 0.0, 0.0, *(sign * x for x in oracle.about([0, 0, 1], angle))]


def test_pose_takes_the_short_arc() -> None:
    stream = Stream("tool", "monotonic", "pose", 7, 10)
    stream.push(0, pose(0.0))
    stream.push(100, pose(0.5, sign=-1))
    np.testing.assert_allclose(stream.at(40).value, pose(0.2), atol=1e-15)


def test_signs_stay_continuous_when_a_late_sample_is_inserted() -> None:
    stream = Stream("tool", "monotonic", "pose", 7, 10)
    angles = [0.0, 1.0, 3.0, 4.0, 5.0]
    for k in (0, 3, 4, 1, 2):  # without 1 and 2 the short arc from 0.0 to 4.0 goes the other way round
        stream.push(k * 1000, pose(angles[k], sign=(-1) ** k))
    values = stream.at_many(np.arange(0, 4001, 10)).values[:, 3:]
    assert np.linalg.norm(np.diff(values, axis=0), axis=1).max() < 0.02
    for k, angle in enumerate(angles):
        np.testing.assert_allclose(stream.at(k * 1000).value[3:], pose(angle)[3:], atol=1e-12)


def test_slerp_is_exact_at_every_separation() -> None:
    for angle in [1e-12, 1e-8, 1e-4, 0.0632, 1.0, pi / 2, 3.0, pi - 1e-6]:
        stream = Stream("head", "monotonic", "slerp", 4, 4)
        stream.push_many([0, 1000], [oracle.about([1, 2, 3], 0.0), oracle.about([1, 2, 3], angle)])
        for t in (1, 217, 500, 999):
            np.testing.assert_allclose(stream.at(t).value, oracle.about([1, 2, 3], angle * t / 1000), atol=4e-16)


def test_nlerp_would_be_off_by_0_9188_degrees() -> None:
    """The seed's number, and that ours has none of it."""
    stream = Stream("head", "monotonic", "slerp", 4, 4)
    stream.push_many([0, 10_000], [oracle.about([1, 0, 0], 0.0), oracle.about([1, 0, 0], pi / 2)])
    u = np.arange(10_001) / 10_000
    chord = np.outer(1 - u, oracle.about([1, 0, 0], 0.0)) + np.outer(u, oracle.about([1, 0, 0], pi / 2))
    nlerp = np.degrees(2 * np.arctan2(chord[:, 1], chord[:, 0])) - 90 * u
    assert np.abs(nlerp).max() == pytest.approx(0.9188, abs=1e-4)
    assert u[np.abs(nlerp[:5000]).argmax()] == pytest.approx(0.2175, abs=1e-3)
    values = stream.at_many(np.arange(10_001)).values
    np.testing.assert_allclose(np.degrees(2 * np.arctan2(values[:, 1], values[:, 0])), 90 * u, atol=1e-12)


def test_quaternion_that_is_no_rotation_is_refused() -> None:
    stream = Stream("tool", "monotonic", "pose", 7, 10)
    with pytest.raises(BadInput, match=r"norm is not 1 within 0.01"):
        stream.push(0, [0, 0, 0, 1, 1, 0, 0])
    stream.push(1, [0, 0, 0, 1.005, 0, 0, 0])
    assert stream.at(1).value[3] == 1.0
    assert stream.counts["nonunit"] == 1


# Objects


def test_object_is_exact_or_nearest_within_the_tolerance() -> None:
    stream = Stream("cam", "monotonic", "object", 0, 10, tolerance_s=0.005)
    first, second = np.zeros((2, 2), np.uint8), {"seq": 2}
    stream.push(100 * MS, first)
    stream.push(133 * MS, second)
    assert stream.at(100 * MS).value is first
    assert stream.at(100 * MS).how is How.EXACT
    assert (stream.at(104 * MS).value is first, stream.at(104 * MS).how, stream.at(104 * MS).age_ns) == (True, How.HELD, 4 * MS)
    assert (stream.at(130 * MS).value, stream.at(130 * MS).age_ns) == (second, -3 * MS)
    assert stream.at(136 * MS).value is second
    with pytest.raises(Gap, match=r"no sample of 'cam' lies within 5.000 ms of the query, those around it are 33.000 ms apart"):
        stream.at(116 * MS)
    with pytest.raises(NotYet, match=r"6.000 ms newer"):
        stream.at(139 * MS)
    with pytest.raises(Forgotten):
        stream.at(94 * MS)
    assert hold(stream, 500 * MS).value is second
    assert stream.lag_ns == 5 * MS
    assert repr(stream) == "Stream('cam', object, width 0, clock 'monotonic', 2 of 10 samples, newest 133000000 ns)"


def test_objects_in_columns() -> None:
    stream = Stream("cam", "monotonic", "object", 0, 10)
    stream.push_many([1, 3], ["one", "three"])
    samples = stream.at_many([1, 2, 3, 4])
    assert samples.values.tolist() == ["one", None, "three", None]
    assert samples.how.tolist() == [How.EXACT, How.GAP, How.EXACT, How.NOT_YET]
    assert [sample.value for sample in samples] == ["one", None, "three", None]


class Frame:
    """Something a weak reference can point to."""


def test_forgotten_objects_are_let_go() -> None:
    stream = Stream("cam", "monotonic", "object", 0, 3)
    frames = [Frame() for _ in range(8)]
    alive = [weakref.ref(frame) for frame in frames]
    for k in (0, 1, 2, 4, 3, 5, 7, 6):  # some late, one of them overwriting
        stream.push(k, frames[k])
    stream.push(7, Frame())
    stream.push(0, Frame())
    del frames
    gc.collect()
    assert [k for k in range(8) if alive[k]() is not None] == [5, 6, 7]
    assert [stream.at(k).value is alive[k]() for k in (5, 6, 7)] == [True] * 3
    del stream
    assert all(ref() is None for ref in alive)


def test_stream_in_its_own_frame_is_collected() -> None:
    stream, frame = Stream("cam", "monotonic", "object", 0, 3), Frame()
    frame.stream = stream  # type: ignore[attr-defined]
    stream.push(0, frame)
    alive = weakref.ref(frame)
    del stream, frame
    gc.collect()
    assert alive() is None


def test_pushing_from_a_dying_object() -> None:
    stream = Stream("cam", "monotonic", "object", 0, 1)

    class Last:
        def __del__(self) -> None:
            stream.push(10, "from the grave")

    stream.push(0, Last())
    stream.push(1, "one")
    assert stream.at(10).value == "from the grave"


# Against the slow version


@given(
    st.sampled_from(["linear", "hold"]),
    st.integers(1, 8),
    st.none() | st.integers(1, 30),
    st.lists(st.tuples(st.integers(0, 60), st.floats(-1e3, 1e3)), max_size=40),
    st.integers(-(2**62), 2**62),
)
def test_agrees_with_a_sorted_list(
    kind: str, capacity: int, max_gap_ns: int | None, pushes: list[tuple[int, float]], start_ns: int
) -> None:
    slow = History(kind, capacity, max_gap_ns)
    stream = Stream("x", "c", kind, 1, capacity, None if max_gap_ns is None else max_gap_ns * 1e-9)  # type: ignore[arg-type]
    for t, x in pushes:
        slow.push(start_ns + t, [x])
        stream.push(start_ns + t, [x])
    assert {reason: stream.counts[reason] for reason in slow.counts} == slow.counts
    queries = [start_ns + t for t in range(-1, 62)]
    together = stream.at_many(queries)
    for k, t_ns in enumerate(queries):
        how, value = slow.at(t_ns)
        assert How(together.how[k]).name == how
        np.testing.assert_allclose(together.values[k], [nan] if value is None else value, rtol=1e-12, atol=1e-12)
        if value is None:
            with pytest.raises(REFUSALS[how]):
                stream.at(t_ns)
        else:
            assert stream.at(t_ns) == together[k]


@st.composite
def paths(draw: st.DrawFn) -> list[tuple[int, list[float]]]:
    """Poses that turn by less than half a turn from one to the next, in any order of arrival, in any sign."""
    n = draw(st.integers(2, 8))
    times_ns = sorted(draw(st.lists(st.integers(0, 10**9), min_size=n, max_size=n, unique=True)))
    q, path = [1.0, 0.0, 0.0, 0.0], []
    for t_ns in times_ns:
        axis = draw(st.lists(st.floats(0.1, 1), min_size=3, max_size=3))
        q = oracle.unit(oracle.multiply(q, oracle.about(axis, draw(st.floats(-2.5, 2.5)))))
        sign = draw(st.sampled_from([1, -1]))
        path.append((t_ns, [draw(st.floats(-10, 10)) for _ in range(3)] + [sign * x for x in q]))
    return draw(st.permutations(path))


@given(paths())
def test_poses_agree_with_the_textbook_and_never_jump(path: list[tuple[int, list[float]]]) -> None:
    slow, stream = History("pose", 8), Stream("tool", "c", "pose", 7, 8)
    for t_ns, value in path:
        slow.push(t_ns, value)
        stream.push(t_ns, value)
    times_ns = [t_ns for t_ns, _ in slow.samples]
    for before_ns, after_ns in pairwise(times_ns):
        queries = before_ns + (after_ns - before_ns) * np.arange(101) // 100
        values = stream.at_many(queries).values
        for t_ns, value in zip(queries[::10].tolist(), values[::10], strict=True):
            expected = slow.at(t_ns)[1]
            assert expected is not None
            np.testing.assert_allclose(value[:3], expected[:3], atol=1e-9)
            assert oracle.same_rotation(value[3:].tolist(), oracle.unit(expected[3:])) < 1e-9
        if after_ns - before_ns >= 100:
            assert np.linalg.norm(np.diff(values[:, 3:], axis=0), axis=1).max() < 0.03


# Value types


def test_sample_is_a_value() -> None:
    sample = imu().at(20 * MS)
    assert repr(sample) == (
        f"Sample(t_ns=20000000, value=array([20.,  1.]), how={How.EXACT!r}, gap_ns=0, age_ns=0, error_bound=0.0)"
    )
    assert hash(sample) == hash(imu().at(20 * MS))
    assert pickle.loads(pickle.dumps(sample)) == sample
    assert sample != imu().at(30 * MS)
    assert sample != "sample"
    with pytest.raises(AttributeError):
        sample.t_ns = 3  # type: ignore[misc]
    match sample:
        case Sample(t_ns, value, How.EXACT):
            assert (t_ns, value[0]) == (20 * MS, 20.0)
        case _:
            pytest.fail("a sample matches by position")


def test_samples_are_a_value() -> None:
    samples = imu().at_many([5 * MS, 20 * MS])
    assert samples == imu().at_many([5 * MS, 20 * MS])
    assert samples != imu().at_many([5 * MS, 21 * MS])
    assert repr(samples).startswith("Samples(t_ns=array([ 5000000, 20000000]")
    with pytest.raises(TypeError, match="unhashable"):
        hash(samples)


def test_columns_outlive_the_samples() -> None:
    values = imu().at_many([20 * MS]).values
    gc.collect()
    assert values.tolist() == [[20.0, 1.0]]


def test_stream_speaks_of_itself() -> None:
    stream = Stream("imu", ManualClock(id="robot"), "linear", 2, 5, max_gap_s=0.1)
    assert (stream.name, stream.clock, stream.kind, stream.width, stream.capacity) == ("imu", "robot", "linear", 2, 5)
    assert (stream.max_gap_ns, stream.tolerance_ns) == (100 * MS, 0)
    assert repr(stream) == "Stream('imu', linear, width 2, clock 'robot', 0 of 5 samples, empty)"
    assert imu().max_gap_ns is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("x", "c", "spline", 1, 5), "kind must be one of hold, linear, .* not 'spline'"),
        (("x", 3, "linear", 1, 5), "clock must be a Clock or the id"),
        (("x", "c", "linear", 0, 5), "width must be >= 1, not 0"),
        (("x", "c", "pose", 6, 5), "a pose stream has width 7 .* not 6"),
        (("x", "c", "slerp", 3, 5), "a slerp stream has width 4 .* not 3"),
        (("x", "c", "object", 2, 5), "an object stream has width 0, not 2"),
        (("x", "c", "linear", 1, 0), "capacity must be >= 1, not 0"),
        (("x", "c", "linear", 1, -3), "capacity must be >= 1, not -3"),
        (("x", "c", "linear", 1, 5, -1.0), "max_gap_s must lie between 0 and 9e9 s, not -1"),
        (("x", "c", "linear", 1, 5, nan), "max_gap_s .* not nan"),
        (("x", "c", "linear", 1, 5, None, 0.1), "tolerance_s is for object streams, not for linear"),
    ],
)
def test_bad_streams_are_refused(arguments: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(BadInput, match=sentence):
        Stream(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("t_ns", "value", "rate", "sentence"),
    [
        (0.5, [1.0, 2.0], None, "t_ns must be an int of nanoseconds, not a float"),
        (2**63, [1.0, 2.0], None, "64 bits"),
        (0, [1.0], None, r"a value of 'imu' must have the shape \(2,\), not 1 dimension\(s\) and 1 number\(s\)"),
        (0, [[1.0, 2.0]], None, r"not 2 dimension\(s\)"),
        (0, [1.0, nan], None, "a sample of 'imu' is not finite"),
        (0, "much", None, "must be numbers"),
        (0, [1.0, 2.0], [1.0, 2.0], "kind linear, which takes no rate"),
    ],
)
def test_bad_samples_are_refused(t_ns: int, value: object, rate: list[float] | None, sentence: str) -> None:
    stream = imu()
    with pytest.raises(BadInput, match=sentence):
        stream.push(t_ns, value, rate)
    assert len(stream) == 3


def test_lengths_must_agree() -> None:
    with pytest.raises(BadInput, match="2 instants and 1 rows"):
        imu().push_many([1, 2], [[1.0, 1.0]])


# Threads


def test_readers_never_see_half_a_sample_while_another_thread_pushes() -> None:
    """Large queries release the GIL, so they do run beside the pushes; each row is one sample: all its columns are equal."""
    width, stop = 16, threading.Event()
    stream = Stream("x", "c", "linear", width, 64)
    stream.push_many(np.arange(64), np.repeat(np.arange(64.0)[:, None], width, axis=1))
    torn: list[NDArray[np.float64]] = []

    def read() -> None:
        while not stop.is_set():
            newest_ns = stream.newest_ns
            assert newest_ns is not None
            values = stream.at_many(newest_ns - np.arange(2000) % 60).values
            answered = values[~np.isnan(values[:, 0])]
            if (answered != answered[:, :1]).any():
                torn.append(answered)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for k in range(64, 20_000):
        late = k - 3 if k % 5 == 0 else k
        stream.push(late, np.full(width, float(late)))
    stop.set()
    for reader in readers:
        reader.join()
    assert torn == []


def test_square_root_of_half_is_unit() -> None:
    stream = Stream("head", "c", "slerp", 4, 2)
    q = [sqrt(0.5), sqrt(0.5), 0.0, 0.0]
    stream.push(0, q)
    assert stream.at(0).value.tolist() == q
