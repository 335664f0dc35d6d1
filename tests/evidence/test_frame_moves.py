import numpy as np
import pytest

from onbeat.evidence.frame_moves import frame_moves

PERIOD_NS = 33_333_333
START_NS = 1_700_000_000_123_456_789
FRAMES = 1800


def light(swing: float = 0.3) -> np.ndarray:
    """Exposures that follow the light, in units of 100 us, ns."""
    k = np.arange(FRAMES)
    ms = 10 * np.exp(swing * np.sin(k / 170) + 0.1 * np.sin(k / 61))
    return np.round(ms, 1) * 1e6


def stamps(shift_ns: np.ndarray, jitter_ns: float = 2_000.0, seed: int = 0) -> np.ndarray:
    k = np.arange(len(shift_ns))
    noise = np.random.default_rng(seed).normal(0, jitter_ns, len(k))
    return START_NS + k * PERIOD_NS + np.rint(shift_ns + noise).astype(np.int64)


def told(shift_ns: np.ndarray, jitter_ns: float = 2_000.0) -> np.ndarray | None:
    found = frame_moves(stamps(shift_ns, jitter_ns))
    return None if found is None else found.shift_ns


@pytest.mark.parametrize("sign", [1, -1])
def test_half_an_exposure_is_counted_in_its_grains(sign: int) -> None:
    moved = sign * light() / 2
    found = frame_moves(stamps(moved))
    assert found is not None
    assert found.grain_ns == pytest.approx(50_000, rel=0.02)
    assert found.jitter_ns == pytest.approx(2_000 * 2**0.5, rel=0.3)
    assert np.abs(found.shift_ns - (moved - moved[0])).max() < 100_000


@pytest.mark.parametrize(
    "clock_ns",
    [
        700e3 / 30 * np.clip(np.arange(FRAMES) - 600, 0, 400),
        -150e3 / 30 * np.maximum(np.arange(FRAMES) - 900, 0),
        300e3 / 30 * 150 * (1 - np.abs(np.mod(np.arange(FRAMES) / 150, 2) - 1)),
    ],
    ids=["slew", "reference died", "flips"],
)
def test_clock_is_no_exposure(clock_ns: np.ndarray) -> None:
    moved = light() / 2
    found = frame_moves(stamps(moved + clock_ns))
    assert found is not None
    assert np.abs(found.shift_ns - (moved - moved[0])).max() < 100_000
    line = np.polyfit(np.arange(FRAMES), found.clock_ns - clock_ns, 1)
    assert np.abs(found.clock_ns - clock_ns - np.polyval(line, np.arange(FRAMES))).max() < 100_000


@pytest.mark.parametrize("step_ms", [-40.0, -6.5, 6.5, 40.0, 180.0])
def test_clock_that_is_set_is_no_exposure(step_ms: float) -> None:
    moved = light() / 2
    found = told(moved + 1e6 * step_ms * (np.arange(FRAMES) > 700))
    assert found is not None
    assert np.abs(found - (moved - moved[0])).max() < 700_000


def test_lost_frames_do_not_matter() -> None:
    moved = light() / 2
    kept = np.random.default_rng(1).random(FRAMES) > 0.05
    found = frame_moves(stamps(moved)[kept])
    assert found is not None
    assert np.abs(found.shift_ns - (moved[kept] - moved[kept][0])).max() < 100_000


def test_exposure_that_rests_moves_nothing() -> None:
    assert told(np.zeros(FRAMES)) is None


def test_jitter_as_large_as_the_grain_hides_it() -> None:
    assert told(light() / 2, jitter_ns=60_000.0) is None


def test_exposure_without_a_grain_tells_nothing() -> None:
    assert told(5e6 * np.sin(np.arange(FRAMES) / 40)) is None


@pytest.mark.parametrize("unit_ns", [1_000, 10_000, 1_000_000])
def test_rounded_stamps_are_no_exposure(unit_ns: int) -> None:
    even = START_NS + np.arange(FRAMES) * PERIOD_NS
    assert frame_moves(even // unit_ns * unit_ns) is None


def test_stamps_of_a_poll_each_millisecond_are_no_exposure() -> None:
    even = START_NS + np.arange(FRAMES) * PERIOD_NS
    noise = np.random.default_rng(2).normal(0, 25_000, FRAMES).astype(np.int64)
    assert frame_moves(even // 1_000_000 * 1_000_000 + noise) is None


def test_few_frames_tell_nothing() -> None:
    assert frame_moves(stamps(light() / 2)[:100]) is None


def test_stamps_that_stand_still_tell_nothing() -> None:
    assert frame_moves(np.full(FRAMES, START_NS)) is None
