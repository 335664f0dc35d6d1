import pytest

from onbeat.clock import Exchange
from onbeat.errors import BadInput

MS = 1_000_000


@pytest.mark.parametrize(
    ("stamps_ms", "offset_ms", "delay_ms", "bound_ms"),
    [((0, 12.2, 15.5, 28.1), -0.2, 24.8, 12.4), ((0, 18.0, 21.3, 28.1), 5.6, 24.8, 12.4)],
)
def test_worked_exchanges_of_the_notation(
    stamps_ms: tuple[float, ...], offset_ms: float, delay_ms: float, bound_ms: float
) -> None:
    exchange = Exchange(*(round(t * MS) for t in stamps_ms))
    assert (exchange.offset_ns, exchange.delay_ns, exchange.bound_ns) == (
        round(offset_ms * MS),
        round(delay_ms * MS),
        round(bound_ms * MS),
    )


def test_error_is_half_of_the_difference_of_the_legs() -> None:
    out, back, offset = 18 * MS, 7 * MS, 5 * MS
    exchange = Exchange(0, out + offset, out + offset + 3, out + 3 + back)
    assert exchange.offset_ns - offset == (out - back) // 2
    assert abs(exchange.offset_ns - offset) <= exchange.bound_ns


def test_residence_that_a_switch_measured_is_taken_off_its_leg() -> None:
    plain = Exchange(0, 200, 210, 320)
    waited = Exchange(0, 200 + 5_000, 210 + 5_000, 320 + 5_000 + 700, outbound_residence_ns=5_000, return_residence_ns=700)
    assert waited.offset_ns == plain.offset_ns
    assert waited.delay_ns == plain.delay_ns


def test_odd_delays_are_bounded_upwards() -> None:
    assert Exchange(0, 0, 0, 3).bound_ns == 2


@pytest.mark.parametrize("stamps", [(10, 5, 5, 9), (0, 5, 20, 10)])
def test_clock_that_was_set_in_mid_exchange_is_refused(stamps: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match="discard"):
        Exchange(*stamps)


def test_negative_residence_is_refused() -> None:
    with pytest.raises(BadInput, match="residence"):
        Exchange(0, 1, 2, 3, outbound_residence_ns=-1)


def test_floats_are_refused() -> None:
    with pytest.raises(BadInput, match="to_ns"):
        Exchange(0.5, 1, 2, 3)  # type: ignore[arg-type]
