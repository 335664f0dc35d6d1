import json
from dataclasses import asdict
from pathlib import Path

from onbeat.machine.checks import check_machine, worst
from tests.machine.machines import AFTER, BEFORE, GRANTED, REFUSED, TUNED, by_name, judged, made


def test_tuned_machine_has_nothing_to_mend(tmp_path: Path) -> None:
    checks = judged(tmp_path, {})
    assert {name: check.fix for name, check in checks.items() if check.verdict != "good"} == {}


def test_empty_machine_is_judged_without_an_error(tmp_path: Path) -> None:
    checks = check_machine(made(tmp_path, {}), REFUSED, BEFORE, AFTER)
    assert by_name(checks)["sched_fifo"].verdict == "bad"
    assert by_name(checks)["clocksource"].verdict == "unknown"


def test_names_are_the_same_on_every_machine_and_unique(tmp_path: Path) -> None:
    full = [check.name for check in check_machine(made(tmp_path / "a", TUNED), GRANTED, BEFORE, AFTER)]
    empty = [check.name for check in check_machine(made(tmp_path / "b", {}), REFUSED, BEFORE, AFTER)]
    assert full == empty
    assert len(set(full)) == len(full) >= 30
    promised = {"realtime_kernel", "sched_fifo", "memory_lock", "allowed_cpus", "rt_throttling", "cpu_governor", "clocksource"}
    assert promised <= set(full)


def test_every_check_has_a_source_and_fits_json(tmp_path: Path) -> None:
    for check in check_machine(made(tmp_path, {}), REFUSED, BEFORE, AFTER):
        assert check.source
        assert check.words
        json.dumps(asdict(check))


def test_files_of_nonsense_are_judged_without_an_error(tmp_path: Path) -> None:
    files = {name: "?? -1 x,y\n\n" for name in TUNED if not name.startswith("boot")}
    assert len(check_machine(made(tmp_path, files), GRANTED, BEFORE, AFTER)) >= 30


def test_worst_verdict() -> None:
    assert worst([]) == "good"
    assert worst(["good", "unknown"]) == "unknown"
    assert worst(["warn", "bad", "unknown"]) == "bad"
