"""Recordings made here, of several rates and kinds of delay; the faults' generator of `onbeat.testing` is another one."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from onbeat.health import Evidence, Timeline, Verdict, timeline
from onbeat.health.clocks import judge_clocks
from onbeat.read import Series, StreamInfo, StreamRecording, row_dtype

WALL = 1_750_000_000 * 10**9
DELAYS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "symmetric": lambda rng, n: 5e-3 + rng.normal(0, 1e-3, n),
    "exponential": lambda rng, n: 2e-3 + rng.exponential(1e-3, n),
    "spikes": lambda rng, n: (
        1e-3 + rng.exponential(2e-4, n) + (rng.random(n) < 0.02) * np.minimum(5e-3 * rng.pareto(1.5, n), 0.2)
    ),
    "fine": lambda rng, n: 3e-4 + rng.exponential(3e-5, n),
}
Offset = Callable[[np.ndarray], np.ndarray]


def stream(
    rng: np.random.Generator,
    moved: Offset,
    name: str = "a",
    hz: float = 100.0,
    span: float = 120.0,
    delay: str = "exponential",
    side: str = "stamp",
    epochs: tuple[int, int] = (WALL, WALL),
) -> Timeline:
    """A stream with 1 % of its samples lost, whose offset moves by a function of time on the side of its stamp or of its log."""
    t = np.arange(int(hz * span)) / hz + rng.normal(0, 0.01 / hz, int(hz * span))
    t = t[rng.random(len(t)) > 0.01]
    arrival = np.maximum.accumulate(t + DELAYS[delay](rng, len(t)))
    stamp, log = (t - moved(t), arrival) if side == "stamp" else (t, arrival + moved(arrival))
    rows = np.zeros(len(t), row_dtype(("stamp_ns", "log_ns")))
    rows["stamp_ns"] = epochs[0] + np.round(stamp * 1e9).astype(np.int64)
    rows["log_ns"] = epochs[1] + np.round(log * 1e9).astype(np.int64)
    series = Series(StreamInfo(name), rows.dtype)
    series.append(rows)
    return timeline(series)


def judged(*lines: Timeline) -> list[Verdict]:
    recording = StreamRecording(Path("x"), "test", lambda: iter(()))
    return list(judge_clocks(Evidence(recording, {line.name: line for line in lines})))


def found(*lines: Timeline) -> list[str]:
    return [v.fault for v in judged(*lines) if v.level == "finding"]


def still(t: np.ndarray) -> np.ndarray:
    return np.zeros(len(t))


def integrated(t: np.ndarray, rate: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(rate[1:] * np.diff(t))])


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("seed", range(12))
def test_clean_streams_are_met_with_silence(seed: int, delay: str) -> None:
    rng = np.random.default_rng(seed)
    hz, span = float(rng.choice([1.0, 10.0, 30.0, 100.0, 400.0])), float(rng.choice([20.0, 60.0, 120.0]))
    assert found(stream(rng, still, hz=hz, span=span, delay=delay)) == []


@pytest.mark.parametrize("delay", DELAYS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("fault", "moved"),
    [
        ("skew", lambda t: -46e-6 * t),
        ("step", lambda t: 30e-3 * (t > 51)),
        ("step", lambda t: -400e-3 * (t > 51) + 20e-6 * t),
        ("slew", lambda t: 500e-6 * np.clip(t - 40, 0, 30)),
        ("rate_flips", lambda t: integrated(t, np.where((t + 9) % 44 < 22, 140e-6, -140e-6))),
        ("reference_died", lambda t: 60e-6 * np.clip(t - 50, 0, None)),
        ("drift", lambda t: 0.4e-6 * t**2 / 2),
        ("tai_utc", lambda t: -37 + 0 * t),
        ("future_stamps", lambda t: -40e-3 + 0 * t),
    ],
)
def test_one_fault_is_named_and_nothing_else(fault: str, moved: Offset, delay: str, seed: int) -> None:
    assert found(stream(np.random.default_rng(seed), moved, delay=delay)) == [fault]


def test_skew_comes_with_its_interval_and_its_sign() -> None:
    verdict = judged(stream(np.random.default_rng(1), lambda t: -46e-6 * t))[0]
    skew = verdict.figures["skew"]
    assert skew.value == pytest.approx(46, rel=0.03)
    assert skew.low is not None
    assert skew.high is not None
    assert skew.low < 46 < skew.high
    assert "fast" in verdict.sentence


@pytest.mark.parametrize("side", ["stamp", "log"])
def test_step_comes_with_its_size_and_its_instant(side: str) -> None:
    verdict = judged(stream(np.random.default_rng(1), lambda t: 120e-3 * (t > 51.234), side=side))[0]
    assert verdict.figures["step"].value == pytest.approx(120e-3, rel=0.01)
    assert verdict.figures["instant"].value == pytest.approx(51.234, abs=0.012)
    assert ("the stamps of a moved" in verdict.sentence) == (side == "stamp")


def test_fast_slew_comes_with_its_rate_and_ends() -> None:
    verdict = judged(stream(np.random.default_rng(1), lambda t: 83_333e-6 * np.clip(t - 50, 0, 1.2), delay="fine"))[0]
    assert verdict.fault == "slew"
    assert verdict.figures["rate"].value == pytest.approx(-83_333, rel=0.05)
    assert verdict.figures["start"].value == pytest.approx(50, abs=0.02)
    assert verdict.figures["end"].value == pytest.approx(51.2, abs=0.02)


def test_small_skew_is_a_note() -> None:
    verdicts = judged(stream(np.random.default_rng(1), lambda t: 5e-6 * t, delay="fine"))
    assert [(v.fault, v.level) for v in verdicts] == [("skew", "note")]


def test_congestion_is_delay() -> None:
    assert found(stream(np.random.default_rng(1), lambda t: 11e-3 * ((t > 30) & (t < 65)), side="log")) == []


def test_delay_that_has_not_come_back_at_the_end_is_no_step() -> None:
    assert found(stream(np.random.default_rng(1), lambda t: 8e-3 * (t > 115), side="log")) == []
    assert found(stream(np.random.default_rng(1), lambda t: 8e-3 * (t < 4), side="log")) == []
    assert found(stream(np.random.default_rng(1), lambda t: 8e-3 * (t > 95), side="log", delay="fine")) == ["step"]


def test_jump_by_exactly_one_period_is_the_neighbour() -> None:
    assert found(stream(np.random.default_rng(1), lambda t: 10e-3 * (t > 40), delay="fine")) == ["one_period_late"]


def test_step_of_all_streams_is_the_recorders() -> None:
    rng = np.random.default_rng(1)
    lines = [
        stream(rng, lambda t: 0.25 * (t > 51), name, hz, side="log") for name, hz in (("a", 100.0), ("b", 30.0), ("c", 400.0))
    ]
    verdicts = judged(*lines)
    assert [v.fault for v in verdicts] == ["step"]
    assert set(verdicts[0].streams) == {"a", "b", "c"}
    assert "all 3 streams" in verdicts[0].sentence


def test_step_of_one_stream_is_its_sources() -> None:
    rng = np.random.default_rng(1)
    verdicts = judged(stream(rng, lambda t: 0.25 * (t > 51)), stream(rng, still, "b"))
    assert [v.streams for v in verdicts] == [("a",)]
    assert "the stamps of a moved and the log times did not" in verdicts[0].sentence


def test_step_of_a_cameras_stamps_is_told_although_its_arrivals_follow_an_exposure() -> None:
    rng = np.random.default_rng(4)
    t = np.arange(1800) / 30
    exposure = 0.006 * np.sin(t / 3) + 0.004 * np.sin(t / 1.1)
    series = Series(StreamInfo("camera", "image"), row_dtype(("stamp_ns", "log_ns")))
    rows = np.zeros(len(t), series.dtype)
    rows["stamp_ns"] = 10**18 + np.round((t + 0.02 * (t > 25) + rng.normal(0, 2e-5, len(t))) * 1e9).astype(np.int64)
    rows["log_ns"] = 10**18 + np.round((t + 0.04 + exposure + rng.exponential(5e-4, len(t))) * 1e9).astype(np.int64)
    series.append(rows)
    verdicts = [v for v in judged(timeline(series)) if v.level == "finding"]
    assert [v.fault for v in verdicts] == ["step"]
    assert verdicts[0].figures["step"].value == pytest.approx(-0.02, rel=0.05)


def test_late_log_times_of_one_stream_among_others_are_its_delay() -> None:
    rng = np.random.default_rng(1)
    assert found(stream(rng, lambda t: 25e-3 * (t > 51), side="log"), stream(rng, still, "b")) == []


def test_two_clocks_are_one_verdict_with_offset_and_rate() -> None:
    rng = np.random.default_rng(1)
    lines = [stream(rng, lambda t: 0.03 * t, name, epochs=(10**9, WALL)) for name in "ab"]
    verdicts = judged(*lines)
    assert [v.fault for v in verdicts] == ["two_clocks"]
    assert set(verdicts[0].streams) == {"a", "b"}
    assert verdicts[0].figures["rate"].value == pytest.approx(0.97, abs=1e-4)
    assert "counts from 0" in verdicts[0].sentence
    assert "wall time of 2025" in verdicts[0].sentence


def test_recording_without_two_times_has_nothing_to_compare() -> None:
    assert judged() == []


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_clock_that_is_set_years_ahead_in_the_recording(share: float) -> None:
    found = stream(np.random.default_rng(5), lambda t: np.where(t < 120 * share, WALL / 1e9 - 500, 0.0))
    (verdict, *more) = judge_clocks(Evidence(StreamRecording(Path("made"), "made", lambda: iter(())), {"a": found}))
    assert verdict.fault == "two_clocks"
    assert verdict.figures["instant"].value == pytest.approx(120 * share, abs=0.1)
    assert verdict.figures["jump"].value == pytest.approx(WALL / 1e9 - 500, abs=1)
    assert more == []
