import numpy as np

from onbeat.evidence.signals import Span, motion_between, motion_of, spans
from tests.health.motion_streams import START_NS, evidence, position, rate, recorded, stream, tones

T_S = np.arange(0, 20, 0.01)
NS = START_NS + np.rint(T_S * 1e9).astype(np.int64)


def quaternions(angle: np.ndarray) -> np.ndarray:
    """Turn about z."""
    zero = np.zeros_like(angle)
    return np.column_stack([np.cos(angle / 2), zero, zero, np.sin(angle / 2)])


def test_pose_gives_turning_in_the_frame_of_the_body_and_travelling() -> None:
    angle = 3 * np.sin(T_S)
    pose = np.column_stack([2 * T_S, np.zeros((len(T_S), 2)), quaternions(angle)])
    seen = motion_of("pose", NS, pose)
    assert seen is not None
    at_s = (seen.t_ns - START_NS) / 1e9
    np.testing.assert_allclose(seen.vectors["turn"][:, 2], 3 * np.cos(at_s), atol=1e-3)
    np.testing.assert_allclose(seen.vectors["travel"], np.tile([2.0, 0, 0], (len(seen), 1)), atol=1e-9)
    np.testing.assert_allclose(seen.speeds["turn"], np.abs(3 * np.cos(at_s)), atol=1e-3)


def test_pose_of_the_world_as_the_body_sees_it_turns_the_other_way_in_the_other_frame() -> None:
    rng = np.random.default_rng(4)
    q = np.column_stack([np.ones(len(T_S)), np.cumsum(rng.normal(0, 0.01, (len(T_S), 3)), axis=0)])
    seen, inverse = (
        motion_of("pose", NS, np.column_stack([np.zeros((len(T_S), 3)), q * sign])) for sign in ([1, 1, 1, 1], [1, -1, -1, -1])
    )
    assert seen is not None
    assert inverse is not None
    np.testing.assert_allclose(inverse.vectors["turn"], -seen.vectors["turn of the world"], atol=1e-9)
    np.testing.assert_allclose(seen.speeds["turn"], inverse.speeds["turn"], atol=1e-9)


def test_quaternion_that_changes_its_sign_is_the_same_attitude() -> None:
    pose = np.column_stack([np.zeros((len(T_S), 3)), quaternions(0.5 * T_S)])
    pose[::3, 3:] *= -1
    seen = motion_of("pose", NS, pose)
    assert seen is not None
    np.testing.assert_allclose(seen.vectors["turn"][:, 2], 0.5, atol=1e-9)


def test_joints_give_their_rates_between_their_stamps() -> None:
    motion = tones(np.random.default_rng(0), 6)
    seen = motion_of("joints", NS, position(motion, T_S))
    assert seen is not None
    np.testing.assert_allclose(seen.vectors["joints"], rate(motion, (seen.t_ns - START_NS) / 1e9), atol=0.02)


def test_no_rate_across_a_hole() -> None:
    keep = (T_S < 5) | (T_S > 8)
    seen = motion_of("joints", NS[keep], T_S[keep, None])
    assert seen is not None
    assert not ((seen.t_ns > NS[510]) & (seen.t_ns < NS[790])).any()
    np.testing.assert_allclose(seen.vectors["joints"], 1.0)


def test_unsorted_repeated_and_missing_rows_are_put_in_order() -> None:
    order = np.random.default_rng(1).permutation(len(NS))
    values = np.column_stack([np.sin(T_S), T_S, T_S])[order]
    values[5] = np.nan
    seen = motion_of("rotation", np.concatenate([NS[order], NS[:3]]), np.vstack([values, values[:3]]))
    assert seen is not None
    assert (np.diff(seen.t_ns) > 0).all()
    assert len(seen) in (len(NS) - 1, len(NS))


def test_values_without_the_shape_of_their_kind_carry_no_motion() -> None:
    assert motion_of("rotation", NS, np.zeros((len(NS), 2))) is None
    assert motion_of("pose", NS, np.zeros((len(NS), 6))) is None
    assert motion_of("joints", NS[:3], np.zeros((3, 6))) is None
    assert motion_of("pose", NS, np.zeros((len(NS), 7))) is None


def test_span_is_read_exactly_also_where_the_timeline_keeps_a_part_of_the_rows() -> None:
    t_s = np.arange(0, 400, 0.002)
    made = stream("gyro", "rotation", t_s, np.column_stack([t_s, t_s, t_s]))
    gathered, seen = evidence(recorded(made))
    with gathered:
        timeline = seen.timelines["gyro"]
        assert not timeline.whole
        assert spans(timeline) == [Span(None, START_NS, START_NS + 399_998_000_000)]
        found = motion_between(timeline, Span(None, START_NS + 100_000_000_000, START_NS + 110_000_000_000))
    assert found is not None
    assert len(found) == 5001
    np.testing.assert_allclose(found.vectors["turn"][[0, -1], 0], [100.0, 110.0])


def test_stream_without_motion_gives_none() -> None:
    gathered, seen = evidence(recorded(stream("t", "numbers", T_S, T_S[:, None])))
    with gathered:
        assert motion_between(seen.timelines["t"], Span(None, START_NS, START_NS + 10**10)) is None
