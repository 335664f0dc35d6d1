import numpy as np
import pytest

from onbeat.evidence.envelope import envelope
from onbeat.evidence.shapes import Number
from onbeat.evidence.timeline import timeline
from onbeat.health.clock_cases import figure, plot_of, shaped
from onbeat.health.examine import examine
from onbeat.health.offsets import Offset, offset
from onbeat.read import Series, StreamInfo, row_dtype
from onbeat.testing.recordings import STREAMS, arm_rig


def made(d_s: np.ndarray, kind: str = "other", hz: float = 100.0, *, arrivals_move: bool = False) -> Offset:
    rng = np.random.default_rng(0)
    rows = np.zeros(len(d_s), row_dtype(("stamp_ns", "log_ns")))
    even = (np.arange(len(d_s)) / hz * 1e9).astype(np.int64) + 10**18
    apart = ((d_s + rng.exponential(2e-4, len(d_s))) * 1e9).astype(np.int64)
    log = even + apart if arrivals_move else even
    rows["log_ns"] = log
    rows["stamp_ns"] = log - apart
    series = Series(StreamInfo("x", kind), rows.dtype)
    series.append(rows)
    of = offset(timeline(series), int(log[0]))
    if of is None:
        pytest.fail("there are enough rows")
    return of


T = np.arange(6000) / 100


def faults(of: Offset) -> list[str]:
    return [case.fault for case in shaped(of, envelope(of.t, of.d, floor=of.floor))]


def test_ramp_of_a_camera_without_exposures_may_be_its_exposure() -> None:
    ramp = 2_500e-6 * np.clip(T - 20, 0, 4)
    assert faults(made(ramp)) == ["slew"]
    assert faults(made(ramp, "image", arrivals_move=True)) == []


def test_ramp_of_a_cameras_own_stamps_is_its_clock() -> None:
    ramp = 2_500e-6 * np.clip(T - 20, 0, 4)
    assert faults(made(ramp, "image")) == ["slew"]


def test_daemons_own_rate_is_told_of_a_camera_too() -> None:
    assert faults(made(500e-6 * np.clip(T - 20, 0, 10), "image")) == ["slew"]


def test_delay_of_a_camera_that_jumps_may_be_its_exposure() -> None:
    moved = 0.008 * (T > 20)
    assert faults(made(moved)) == ["step"]
    rng_free = made(moved, "image")
    assert faults(rng_free) in ([], ["step"])
    assert all(case.side == "stamp" for case in shaped(rng_free, envelope(rng_free.t, rng_free.d)))


def test_two_steps_are_two_cases() -> None:
    assert faults(made(0.02 * (T > 20) + 0.03 * (T > 40))) == ["step", "step"]


def test_half_a_millisecond_is_no_step() -> None:
    assert faults(made(0.5e-3 * (T > 20))) == []


def test_figure_holds_its_95_percent() -> None:
    shown = figure(Number(1.0, 0.1), "s")
    assert [shown.low, shown.high] == pytest.approx([0.804, 1.196])


def test_plot_is_thinned() -> None:
    of = made(np.zeros(50_000))
    assert len(plot_of(of).curves[0].x) <= 2000


def test_rates_that_flip_by_less_than_the_scatter_are_no_clocks() -> None:
    # Two detours of arrivals in a clean recording of 24 s: each leg is 0.5 ms, the scatter 0.4 ms.
    rng = np.random.default_rng([12022, 0])
    rng.uniform()
    rig = arm_rig(rng, None, STREAMS)
    assert [verdict.fault for verdict in examine(rig).verdicts if verdict.level == "finding"] == []
