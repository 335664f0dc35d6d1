"""As users run it: in processes of its own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli import fake_checks

SCRIPT = fake_checks.__file__


def command(*arguments: str) -> list[str]:
    return [sys.executable, SCRIPT, "check", *arguments]


def run(tmp_path: Path, *arguments: str) -> tuple[int, str, str]:
    done = subprocess.run(command(*arguments), capture_output=True, text=True, check=False, cwd=tmp_path)
    return done.returncode, done.stdout, done.stderr


def make(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text("imu")


def result(folder: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return document


def test_a_folder_of_recordings_has_a_report_each_and_a_summary(tmp_path: Path) -> None:
    make(tmp_path / "data", "a/x.rec", "b/x.rec", "46ppm.rec")
    code, out, err = run(tmp_path, "data", "--out", "out", "--jobs", "2")
    assert (code, err) == (1, "")
    folder = tmp_path / "out"
    assert sorted(path.name for path in folder.iterdir()) == ["46ppm.rec", "report.html", "result.json", "x.rec", "x.rec-2"]
    for inner in ("46ppm.rec", "x.rec", "x.rec-2"):
        assert (folder / inner / "report.html").is_file()
        assert result(folder / inner)["run"]["folder"] == str(folder / inner)
    assert [one["folder"] for one in result(folder)["recordings"]] == ["46ppm.rec", "x.rec", "x.rec-2"]
    first = next(line for line in out.splitlines() if line.startswith("46ppm.rec"))
    assert "1 finding" in first
    assert "skew: imu runs 46 ppm fast." in first
    assert "3 recordings: 1 with findings (most often skew: 1)." in out


def test_good_ones_are_0_and_json_is_one_document(tmp_path: Path) -> None:
    make(tmp_path, "a.rec", "b.rec")
    code, out, err = run(tmp_path, "a.rec", "b.rec", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out) == result(tmp_path / "onbeat-check")


def test_what_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    make(tmp_path, "a.rec", "b.none.rec", "c.killed.rec", "d.broken.rec", "46ppm.rec")
    code, out, err = run(
        tmp_path, "a.rec", "b.none.rec", "c.killed.rec", "d.broken.rec", "46ppm.rec", "--out", "out", "--jobs", "2"
    )
    assert code == 2
    assert err.splitlines() == [
        "onbeat: b.none.rec is no recording",
        "onbeat: c.killed.rec: the process that looked at it was ended, as by a lack of memory; check it alone",
        "onbeat: d.broken.rec ends early at byte 17; 50 rows could be read",
    ]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "46ppm.rec",
        "a.rec",
        "d.broken.rec",
        "report.html",
        "result.json",
    ]
    assert "5 recordings: 1 with findings (most often skew: 1), 3 could not be read whole" in out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_all_and_leaves_nothing(number: signal.Signals, tmp_path: Path) -> None:
    make(tmp_path, "a.slow.rec", "b.slow.rec", "c.slow.rec")
    started = subprocess.Popen(
        command("a.slow.rec", "b.slow.rec", "c.slow.rec", "--jobs", "2", "--out", "out"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
    )
    begun = tmp_path / "begun"
    while started.poll() is None and (not begun.exists() or len(begun.read_text().split()) < 2):
        pass
    os.killpg(started.pid, number)  # as a terminal does: to the children as well
    out, err = started.communicate()
    assert started.returncode == 128 + number
    assert out == ""
    assert err.splitlines()[-1].startswith("onbeat: stopped by")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.slow.rec", "b.slow.rec", "begun", "c.slow.rec"]
    for pid in begun.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
