import numpy as np
import pytest

from onbeat.evidence.excerpts import Moving, excerpts, moves
from onbeat.evidence.signals import Motion, Span, motion_of

SECOND = 1_000_000_000


def moving(name: str, spans: list[Span], hz: float = 50.0, lively: tuple[float, float] = (0.0, 1e9)) -> Moving:
    """Turns about x, faster between the two instants."""

    def read(span: Span) -> Motion | None:
        t_ns = np.arange(span.first_ns, span.last_ns, round(SECOND / hz), dtype=np.int64)
        t_s = t_ns / SECOND
        fast = np.where((t_s >= lively[0]) & (t_s <= lively[1]), 5.0, 0.1)
        return motion_of("rotation", t_ns, np.column_stack([fast * np.sin(3 * t_s), 0 * t_s, 0 * t_s]))

    return Moving(name, "rotation", SECOND / hz, spans, read)


def test_short_recording_is_taken_whole() -> None:
    found = excerpts(moving("a", [Span(None, 0, 30 * SECOND)]), moving("b", [Span(None, 5 * SECOND, 60 * SECOND)]))
    assert [e.third for e in found] == [0, 1, 2]
    assert found[0].a.t_ns[0] == 5 * SECOND
    assert found[-1].a.t_ns[-1] == pytest.approx(30 * SECOND, abs=SECOND / 10)


def test_long_recording_is_taken_where_it_is_lively_and_from_every_third() -> None:
    whole = [Span(None, 0, 1200 * SECOND)]
    found = excerpts(moving("a", whole, lively=(500.0, 700.0)), moving("b", whole))
    assert [e.third for e in found] == [0, 0, 1, 1, 2, 2]
    assert all(490 <= e.a.t_ns[0] / SECOND <= 710 for e in found if e.third == 1)


def test_only_equal_segments_are_compared() -> None:
    a = moving("a", [Span(0, 0, 20 * SECOND), Span(1, 0, 20 * SECOND)])
    b = moving("b", [Span(1, 0, 20 * SECOND), Span(2, 0, 20 * SECOND)])
    found = excerpts(a, b)
    assert sum((int(e.a.t_ns[-1]) - int(e.a.t_ns[0])) / SECOND for e in found) == pytest.approx(20, abs=0.5)


def test_streams_of_different_times_share_nothing() -> None:
    assert excerpts(moving("a", [Span(None, 0, 20 * SECOND)]), moving("b", [Span(None, 90 * SECOND, 120 * SECOND)])) == []


def test_noise_is_no_motion() -> None:
    t_ns = np.arange(0, 30 * SECOND, SECOND // 100, dtype=np.int64)
    noise = motion_of("rotation", t_ns, np.random.default_rng(0).normal(size=(len(t_ns), 3)))
    still = motion_of("rotation", t_ns, np.full((len(t_ns), 3), 0.08))
    turning = moving("a", []).read(Span(None, 0, 30 * SECOND))
    assert noise is not None
    assert still is not None
    assert turning is not None
    assert [moves([m]) for m in (noise, still, turning)] == [False, False, True]
    assert not moves([])
