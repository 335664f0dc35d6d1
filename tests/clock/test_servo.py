import pytest

from onbeat.clock import PiServo, hold_time_s, holdover_error_s
from onbeat.errors import BadInput


def run(servo: PiServo, seconds: int, crystal_ppb: float = 46_000.0) -> list[tuple[float, float, float]]:
    offset, correction, rows = 0.0, 0.0, []
    for _ in range(seconds):
        offset += crystal_ppb - correction
        correction = servo.step(offset)
        rows.append((offset, servo.integral_ppb, correction))
    return rows


def test_worked_rows_with_the_gains_of_hardware_stamps() -> None:
    rows = run(PiServo(), 30)
    assert rows[0] == pytest.approx((46000, 13800, 46000))
    assert rows[1] == pytest.approx((46000, 27600, 59800))
    assert rows[2] == pytest.approx((32200, 37260, 59800))
    assert rows[6] == pytest.approx((598, 46547.4, 46966))
    assert rows[9] == pytest.approx((-437, 46141.68, 45835.78), abs=0.6)
    assert all(abs(offset) < 1 for offset, _, _ in rows[20:])


def test_gains_of_software_stamps_take_minutes() -> None:
    rows = run(PiServo(0.1, 0.001), 700)
    worst = max(range(len(rows)), key=lambda k: rows[k][0])
    assert worst + 1 == 26
    assert rows[worst][0] / 1e3 == pytest.approx(386.21, abs=0.01)
    assert abs(rows[560][0]) > 1000
    assert all(abs(offset) < 1000 for offset, _, _ in rows[575:])


def test_scaled_gains_follow_the_interval() -> None:
    assert (PiServo(scaled=True).kp, PiServo(scaled=True).ki) == (0.7, 0.3)
    slow, quick = PiServo(interval_s=4.0, scaled=True), PiServo(interval_s=0.125, scaled=True)
    assert (slow.kp, slow.ki) == pytest.approx((0.175, 0.075))
    assert (quick.kp, quick.ki) == pytest.approx((0.7 * 0.125**-0.3, 0.3 * 0.125**0.4))


@pytest.mark.parametrize(
    ("spec_s", "ppm", "seconds"),
    [(0.003, 46, 65.217), (0.003, 100, 30.0), (0.003, -46, 65.217), (0.001, 0, float("inf")), (0, 0, 0)],
)
def test_hold_time(spec_s: float, ppm: float, seconds: float) -> None:
    assert hold_time_s(spec_s, ppm) == pytest.approx(seconds, abs=5e-4)


def test_hold_time_counts_what_is_off_already() -> None:
    assert hold_time_s(0.003, 100, bound_s=0.001) == pytest.approx(20.0)
    assert hold_time_s(0.003, 100, bound_s=0.004) == 0


@pytest.mark.parametrize(("ppm", "aging", "error_s"), [(46, 0, 2.76e-3), (0.1, 0, 6e-6), (0, 3e-8, 54e-6)])
def test_holdover_of_a_minute(ppm: float, aging: float, error_s: float) -> None:
    assert holdover_error_s(60, ppm, aging) == pytest.approx(error_s)


def test_what_no_servo_has_is_refused() -> None:
    with pytest.raises(BadInput):
        PiServo(kp=-1)
    with pytest.raises(BadInput):
        hold_time_s(-1, 1)
