import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.calibrate import camera_latency
from onbeat.errors import BadInput

IntArray = NDArray[np.int64]
START_NS = 1_700_000_000_000_000_000
LATENCY_S, DISPLAY_S = 0.045, 0.025


def session(
    seed: int,
    *,
    frames: int = 150,
    fps: float = 30.0,
    hold_s: float | None = None,
    jitter_s: float = 0.0015,
    held_up: float = 0.03,
    exposure_s: float = 0.01,
    latency_s: float = LATENCY_S,
) -> tuple[IntArray, IntArray, IntArray]:
    """Film a screen whose codes appear DISPLAY_S after they are drawn; a blend without a dominant code cannot be read."""
    rng = np.random.default_rng(seed)
    count = int(frames / fps / 0.05) + 60
    holds = rng.uniform(3.5 / 60, 6.5 / 60, count) if hold_s is None else np.full(count, hold_s)
    drawn = np.cumsum(holds) - holds
    middle = 1.0 + rng.uniform() / fps + np.arange(frames) / fps
    payload, hold, receive = [], [], []
    for instant in middle:
        seen = np.linspace(instant - exposure_s / 2, instant + exposure_s / 2, 41)
        shown, times = np.unique(np.searchsorted(drawn + DISPLAY_S, seen, side="right") - 1, return_counts=True)
        if times.max() < 0.6 * len(seen):
            continue
        k = int(shown[np.argmax(times)])
        late = rng.uniform(0.005, 0.06) if rng.uniform() < held_up else 0.0
        payload.append(drawn[k])
        hold.append(holds[k])
        receive.append(instant + latency_s + jitter_s * rng.normal() + late)
    to_ns = [np.round(np.array(values) * 1e9).astype(np.int64) for values in (payload, hold, receive)]
    return START_NS + to_ns[0], to_ns[1], START_NS + to_ns[2]


def test_exact_bracket_by_hand() -> None:
    # Codes of 100 ms; a frame 1 ms before and one 1 ms after each change, 50 ms + 20 ms late: the bracket is +- 1 ms.
    drawn = np.arange(20) * 100_000_000
    payload = np.repeat(drawn, 2)
    receive = np.stack([drawn + 1_000_000, drawn + 99_000_000], axis=1).ravel() + 70_000_000
    result = camera_latency(payload, np.full(40, 100_000_000), receive, 0.02)
    assert result.conditions["changes"] == 20
    # Always the same two places of the frame interval, so it is known, but the phase is not covered.
    assert result.reason.startswith("poor phase coverage")
    spread = np.tile(np.linspace(-0.9e6, 0.9e6, 20), (2, 1)).T.ravel().astype(np.int64)
    result = camera_latency(payload, np.full(40, 100_000_000), receive + spread, 0.02)
    assert result.value == pytest.approx(0.05, abs=2e-4)
    assert result.ci95 is not None
    assert result.ci95 < 0.001


def test_five_seconds_give_a_millisecond() -> None:
    errors, covered = [], []
    for seed in range(40):
        result = camera_latency(*session(seed), DISPLAY_S)
        assert result.value is not None, result.reason
        assert result.ci95 is not None
        errors.append(result.value - LATENCY_S)
        covered.append(abs(errors[-1]) <= result.ci95)
    assert abs(np.mean(errors)) < 6e-4
    assert np.std(errors) < 1.2e-3
    assert sum(covered) >= 36


def test_codes_that_are_never_seen_do_no_harm() -> None:
    payload, hold, receive = session(1, frames=600)
    seen = np.random.default_rng(1).uniform(size=len(payload)) < 0.2
    result = camera_latency(payload[seen], hold[seen], receive[seen], DISPLAY_S, frames_seen=600)
    assert result.value == pytest.approx(LATENCY_S, abs=3e-3)
    assert result.conditions["read_share"] == pytest.approx(0.2, abs=0.05)


def test_display_is_a_term_of_its_own() -> None:
    sightings = session(2)
    exact = camera_latency(*sightings, DISPLAY_S)
    rough = camera_latency(*sightings, DISPLAY_S, display_ci95_s=0.008)
    assert rough.value == exact.value
    assert rough.conditions["statistical_ci95_s"] == exact.ci95
    assert rough.conditions["display_ci95_s"] == 0.008
    assert exact.ci95 is not None
    assert rough.ci95 == pytest.approx(float(np.hypot(exact.ci95, 0.008)))


@pytest.mark.parametrize("fps", [15.0, 30.0, 60.0])
def test_holds_in_step_with_the_camera_are_refused(fps: float) -> None:
    for seed in range(5):
        result = camera_latency(*session(seed, fps=fps, hold_s=1 / 15), DISPLAY_S)
        assert result.reason.startswith("poor phase coverage: "), result


def test_refusals() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert camera_latency(none, none, none, DISPLAY_S, frames_seen=150).reason.startswith(
        "no code in view: 0 of 150 frames could be read"
    )
    payload, hold, receive = session(3)
    few = payload < payload[0] + 300_000_000
    assert camera_latency(payload[few], hold[few], receive[few], DISPLAY_S).reason.startswith("too few codes")
    assert camera_latency(payload, hold, receive, float("nan")).reason.startswith("the latency of the display must be known")
    assert camera_latency(payload, hold, receive - 60_000_000, DISPLAY_S).reason.startswith("the latency comes out negative, -1")
    mixed = np.random.default_rng(0).permutation(payload)
    assert not camera_latency(mixed, hold, receive, DISPLAY_S).accepted


def test_shapes() -> None:
    with pytest.raises(BadInput, match="do not fit"):
        camera_latency([1, 2], [1], [1, 2], DISPLAY_S)
