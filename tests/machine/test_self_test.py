import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.machine.machine import Machine
from onbeat.machine.self_test import Kind, SelfTest, run_self_test, stolen_cycles


def made(
    late_us: list[float],
    kind: Kind = "baseline",
    *,
    stolen: tuple[int, ...] = (),
    skipped: tuple[int, ...] = (),
    others: float = 0.0,
) -> SelfTest:
    """A run of 1000 cycles at 250 Hz that woke 20 us late, and then some that are given."""
    late = np.array([20.0] * 1000 + late_us)
    marks, missed = np.zeros(len(late), dtype=bool), np.zeros(len(late), dtype=np.int64)
    marks[[1000 + k for k in stolen]] = True
    missed[[1000 + k for k in skipped]] = 1
    loads = ("cpu",) if kind == "load" else ()
    return SelfTest(kind, loads, 250.0, (late * 1e3).astype(np.int64), missed, marks, 0.0, others, True, ())


def test_steady_run_is_good() -> None:
    assert made([]).verdict == "good"
    assert made([]).percentile_us(50) == 20.0


def test_late_cycles_are_bad_and_middling_ones_a_warning() -> None:
    assert made([1500.0] * 5).verdict == "bad"
    assert made([600.0] * 5).verdict == "warn"


def test_one_missed_deadline_is_a_warning_and_many_are_bad() -> None:
    assert made([20.0] * 10, skipped=(3,)).verdict == "warn"
    assert made([20.0] * 10, skipped=(1, 2, 3)).verdict == "bad"


def test_stolen_time_is_left_out_and_kept_beside() -> None:
    test = made([9000.0, 8000.0], stolen=(0, 1), skipped=(0,))
    assert test.verdict == "good"
    assert (test.missed, test.missed_in_all) == (0, 1)
    assert test.percentile_us(100) == 20.0
    assert test.percentile_us(100, stolen=True) == 9000.0


def test_baseline_under_load_is_not_valid() -> None:
    assert "taken under load" in made([], others=0.5).invalid
    assert made([1500.0] * 5, others=0.5).verdict == "unknown"


def test_production_check_without_load_is_not_valid() -> None:
    assert "taken without load" in made([], "production").invalid
    assert made([], "production", others=0.5).invalid == ""


def test_run_whose_time_was_all_stolen_tells_nothing() -> None:
    test = SelfTest("load", ("cpu",), 250.0, np.full(500, 10), np.zeros(500, np.int64), np.ones(500, bool), 0.5, 0.0, True, ())
    assert test.verdict == "unknown"
    assert np.isnan(test.percentile_us(50))


def test_cycles_over_which_the_host_took_time_are_marked() -> None:
    looks = [(0, "cpu 0 0 0 0 0 0 0 0"), (10**9, "cpu 9 0 0 0 0 0 0 0"), (2 * 10**9, "cpu 9 0 0 0 0 0 0 1")]
    begin = np.array([5 * 10**8, 15 * 10**8])
    assert stolen_cycles(begin, begin + 1000, looks).tolist() == [False, True]


def test_loop_runs_and_counts_its_cycles() -> None:
    test, before, after = run_self_test(Machine(), "baseline", 250, 0.6)
    assert 100 <= len(test.lateness_ns) <= 152
    assert (test.lateness_ns >= 0).all()
    assert after.t_ns - before.t_ns >= 600_000_000
    assert len(after.steering) >= 2
    assert after.steering[-1].t_ns - after.steering[0].t_ns >= 500_000_000
    assert test.loads == ()


def test_loop_runs_beside_a_load() -> None:
    test, _, _ = run_self_test(Machine(), "load", 500, 0.6, loads=("gil",))
    assert test.loads == ("gil",)
    assert test.invalid == "" or "stolen" in test.invalid


@pytest.mark.parametrize(
    ("kind", "seconds", "loads"), [("baseline", 1.0, ("cpu",)), ("load", 1.0, ()), ("baseline", 0.1, ()), ("load", 1.0, ("gpu",))]
)
def test_runs_that_make_no_sense_are_refused(kind: Kind, seconds: float, loads: tuple[str, ...]) -> None:
    with pytest.raises(BadInput):
        run_self_test(Machine(), kind, 250, seconds, loads=loads)
