import subprocess
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


NAMED = """
import ctypes, sys
ctypes.CDLL(None).prctl(15, b"\\xff\\xfebad", 0, 0, 0)
print("named", flush=True)
sys.stdin.read()
"""


def test_process_whose_name_is_no_text_and_keeper_that_speaks_none() -> None:
    from onbeat.clock import daemons

    with subprocess.Popen([sys.executable, "-c", NAMED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "named\n"
        assert ask_daemons(look_s=0.01)[-1].name == "kernel"
    assert daemons._run((sys.executable, "-c", r"import os; os.write(1, b'\xff\n')")) == "\ufffd\n"
