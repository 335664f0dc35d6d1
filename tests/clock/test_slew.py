import pytest

from onbeat.clock.slew import SlewWatch, Steering

MS = 1_000_000


def test_crystal_that_is_corrected_does_not_stray() -> None:
    watch = SlewWatch(100.0)
    assert watch.ppm is None
    for k in range(50):
        look = Steering(k * 125 * MS, round(46e-6 * k * 125 * MS))
        assert watch.take(look, look) == 0
    assert watch.ppm == pytest.approx(46, abs=0.1)


def test_slew_strays_by_what_is_beyond_the_crystals_share() -> None:
    watch = SlewWatch(100.0)
    strayed = [watch.take(look, look) for k in range(3) if (look := Steering(k * 125 * MS, -500 * 125 * k))]
    # From the exchange before the last one on: 400 ppm of 125 ms, then of 250 ms.
    assert strayed == [0, 50_000, 100_000]
    assert watch.ppm == pytest.approx(-500)


def test_slew_that_begins_inside_a_round_trip_is_seen_by_its_own_exchange() -> None:
    watch = SlewWatch(100.0)
    watch.take(Steering(0, 0), Steering(MS, 0))
    assert watch.take(Steering(100 * MS, 0), Steering(200 * MS, 60_000)) == 40_000


def test_clock_that_went_back_is_no_less_strayed() -> None:
    watch = SlewWatch(100.0)
    watch.take(Steering(10 * MS, 0), Steering(10 * MS, 0))
    assert watch.take(Steering(0, 7), Steering(0, 7)) == 7
