import sys

from onbeat.clock.daemons import ask_daemons, steered_ppm


def test_kernel_always_answers_and_others_only_where_they_run() -> None:
    reports = ask_daemons(look_s=0.1)
    assert reports[-1].name == "kernel"
    assert {report.name for report in reports} <= {"chrony", "ptp4l", "phc2sys", "kernel"}


def test_rate_against_the_raw_crystal_is_of_a_crystals_size() -> None:
    assert abs(steered_ppm(0.2)) < 1000


def test_keeper_that_hangs_or_is_missing_does_not_hang_us() -> None:
    from onbeat.clock import daemons

    assert daemons._run(("no-such-command-at-all",)) is None
    assert daemons._run((sys.executable, "-c", "print('x')")) == "x\n"
