import numpy as np
import pytest

from onbeat.evidence.envelope import envelope
from onbeat.evidence.shapes import SHAPES, Shape, shape

T = np.arange(12_000) / 100


def shaped(offset: np.ndarray, seed: int = 0, jitter_s: float = 3e-4, t: np.ndarray = T) -> Shape:
    return shape(envelope(t, offset + np.random.default_rng(seed).exponential(jitter_s, len(t))))


def integrated(rate: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(rate[1:] * np.diff(T))])


@pytest.mark.parametrize("seed", range(20))
def test_flat_offset_is_constant(seed: int) -> None:
    assert shaped(0 * T, seed).kind == "constant"


def test_line_is_a_line_with_its_slope() -> None:
    found = shaped(46e-6 * T)
    assert found.kind == "line"
    assert found.rate.value == pytest.approx(46e-6, rel=0.01)
    assert abs(found.rate.value - 46e-6) < 4 * found.rate.std


def test_line_with_a_jump() -> None:
    found = shaped(20e-6 * T + 5e-3 * (T > 50))
    assert found.kind == "steps"
    assert len(found.edges) == 1
    assert found.edges[0].size.value == pytest.approx(5e-3, rel=0.02)


def test_steep_piece_that_ends() -> None:
    found = shaped(500e-6 * np.clip(T - 40, 0, 20))
    assert found.kind == "slew"
    assert [e.at.value for e in found.edges] == pytest.approx([40, 60], abs=0.3)


def test_two_rates_that_take_turns() -> None:
    found = shaped(integrated(np.where((T + 7) % 40 < 20, 140e-6, -140e-6)))
    assert found.kind == "flips"
    assert found.rates is not None
    assert found.period is not None
    assert found.period.value == pytest.approx(40, rel=0.02)
    assert [r.value for r in found.rates] == pytest.approx([140e-6, -140e-6], rel=0.03)


def test_flat_then_line() -> None:
    found = shaped(30e-6 * np.clip(T - 50, 0, None), jitter_s=1e-4)
    assert found.kind == "died"
    assert found.edges[0].at.value == pytest.approx(50, abs=3)
    assert found.edges[0].size.value == pytest.approx(30e-6, rel=0.05)


def test_bend() -> None:
    found = shaped(0.5 * 0.2e-6 * T**2)
    assert found.kind == "bend"
    assert found.bend.value == pytest.approx(0.2e-6, rel=0.03)


def test_delay_that_rises_and_comes_back_is_no_break() -> None:
    found = shaped(11e-3 * ((T > 30) & (T < 65)))
    assert found.kind == "constant"
    assert 0.2 < found.away.mean() < 0.4


def congested(begin: float, end: float, most: float) -> np.ndarray:
    """Delay that rises and falls again, as of a busy network."""
    share: np.ndarray = np.clip(1 - np.abs(2 * (T - begin) / (end - begin) - 1), 0, 1)
    return most * share


@pytest.mark.parametrize("begin", [-1.5, 58, 109])
def test_slew_is_seen_beside_a_spell_of_delay(begin: float) -> None:
    found = shaped(500e-6 * np.clip(T - 30, 0, 12) + congested(begin, begin + 5, 15e-3), jitter_s=1e-4)
    assert found.kind == "slew"
    assert [e.at.value for e in found.edges] == pytest.approx([30, 42], abs=0.3)


def test_turning_rates_are_seen_through_delay_at_a_turn() -> None:
    offset = integrated(np.where(T % 40 < 20, 140e-6, -140e-6)) + congested(38.5, 42.5, 12e-3)
    found = shaped(offset, jitter_s=1e-4)
    assert found.kind == "flips"
    assert [r.value for r in found.rates or ()] == pytest.approx([140e-6, -140e-6], rel=0.05)


@pytest.mark.parametrize("row", [5, -5, -45])
def test_lone_sample_at_an_end_is_no_break(row: int) -> None:
    offset = 4e-6 * T
    offset[row] -= 33e-3
    assert shaped(offset, jitter_s=1e-4).kind == "line"


def test_wandering_delay_has_no_shape() -> None:
    rng = np.random.default_rng(5)
    wander = np.interp(T, np.linspace(0, 120, 25), np.cumsum(rng.normal(0, 1e-3, 25)))
    assert shaped(wander, jitter_s=1e-5).kind == "unclear"


def test_every_kind_has_a_name() -> None:
    assert {"constant", "line", "steps", "slew", "flips", "died", "bend", "unclear"} <= set(SHAPES)


def test_time_that_hardly_goes_on_has_no_shape() -> None:
    """As along stamps of which thousands share one."""
    t = np.where(T < 64, 0.0, 128.0)
    assert shaped(T - t, t=t).kind == "unclear"
