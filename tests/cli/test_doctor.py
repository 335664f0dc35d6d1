import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from onbeat.cli.main import main
from tests.machine.situations import SITUATIONS

ONBEAT = "\nimport sys\nfrom onbeat.cli.main import main\nsys.exit(main())\n"


def doctor(situation: str, *arguments: str, folder: str) -> tuple[int, Any]:
    command = [sys.executable, "-c", SITUATIONS[situation] + ONBEAT, "doctor", "--seconds", "0.6", "--json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    assert done.stderr == ""
    return done.returncode, json.loads(done.stdout)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_doctor_runs_in_every_situation_and_its_exit_code_is_its_verdict(situation: str) -> None:
    code, document = doctor(situation, folder="/proc")  # where nobody may write
    checks = {check["name"]: check for check in document["checks"]}
    assert len(checks) >= 30
    assert code == int(document["level"] == "bad")
    assert document["run"]["folder"] is None
    assert document["selftest"]["cycles"] > 50
    if situation == "without privileges":
        assert code == 1
        assert checks["sched_fifo"]["verdict"] == checks["memory_lock"]["verdict"] == "bad"
        assert not document["selftest"]["sched_fifo"]
    if situation == "on one CPU":
        assert len(checks["allowed_cpus"]["value"]) == 1


def test_folder_is_left_and_load_is_a_second_run(tmp_path: Path) -> None:
    code, document = doctor(
        "as it is", "--load", "gil,disk", "--rate", "500", "--out", str(tmp_path / "out"), folder=str(tmp_path)
    )
    assert code in (0, 1)
    assert [run["kind"] for run in document["selftest"]["runs"]] == ["baseline", "load"]
    assert document["selftest"]["rate_hz"] == 500
    assert json.loads((tmp_path / "out/result.json").read_text()) == document
    assert "under load (gil, disk)" in (tmp_path / "out/report.html").read_text()


def test_words_and_table_for_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "--seconds", "0.6", "--production", "--all"]) in (0, 1)
    said = capsys.readouterr().out
    assert "realtime_kernel" in said
    assert "beside the real jobs" in said
    assert ": cycles by how late they woke (bars are logarithmic)" in said
    assert (tmp_path / "onbeat-doctor/report.html").is_file()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--rate", "333"], "250, 500, 1000"),
        (["--load", "gpu"], "cpu,mem,disk,gil"),
        (["--load", ","], "names nothing"),
        (["--load", "cpu", "--production"], "choose one"),
        (["--rig", "x.yaml"], "--device"),
        (["--device", "nose"], "has no module 'nose'"),
        (["--cpu", "-1"], "0 or more"),
        (["--seconds", "0"], "0.5 to 3600"),
        (["--watch", "/nowhere"], "no recording"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", *arguments]) == 2
    assert words in capsys.readouterr().err.splitlines()[-1]
    assert list(tmp_path.iterdir()) == []


def test_cpu_that_is_not_allowed_is_a_bad_check(tmp_path: Path) -> None:
    code, document = doctor("on one CPU", "--cpu", "4095", folder="/proc")
    assert code == 1
    assert {check["name"] for check in document["checks"] if check["verdict"] == "bad"} >= {"allowed_cpus", "cpu_pinning"}
