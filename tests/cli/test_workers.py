"""In processes of their own: what starts processes leaves one that tracks them until its parent ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import json, os, signal, sys
from pathlib import Path
from onbeat.cli.workers import in_processes

def work(task):
    if task == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if task == "raise":
        raise ZeroDivisionError("a defect")
    if task == "wait":
        with open("pids", "a") as pids:
            pids.write(f"{os.getpid()} ")
        signal.pause()
    return [task.upper(), os.getpid()]

if __name__ == "__main__":
    tasks, jobs = json.loads(sys.argv[1]), int(sys.argv[2])
    got = {}
    try:
        for number, result in in_processes(work, tasks, jobs):
            got[number] = result
    except KeyboardInterrupt:
        print("interrupted")
    else:
        print(json.dumps(got))
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


def run(script: Path, tasks: list[str], jobs: int) -> tuple[dict[str, Any], str]:
    command = [sys.executable, str(script), json.dumps(tasks), str(jobs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=script.parent)
    return json.loads(done.stdout), done.stderr


def test_every_task_is_done_once_by_few_processes(script: Path) -> None:
    got, err = run(script, list("abcdefg"), 2)
    assert {number: word for number, (word, _) in got.items()} == {str(k): c for k, c in enumerate("ABCDEFG")}
    assert len({pid for _, pid in got.values()}) <= 2
    assert err == ""


def test_no_task_no_process(script: Path) -> None:
    assert run(script, [], 2) == ({}, "")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_process_that_dies_takes_only_its_task_with_it(script: Path, jobs: int) -> None:
    got, err = run(script, ["a", "die", "b", "raise", "c"], jobs)
    assert {number: result and result[0] for number, result in got.items()} == {
        "0": "A",
        "1": None,
        "2": "B",
        "3": None,
        "4": "C",
    }
    assert "ZeroDivisionError: a defect" in err  # a defect is not hidden


def test_ctrl_c_ends_the_children(script: Path) -> None:
    command = [sys.executable, str(script), json.dumps(["wait"] * 3), "2"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=script.parent)
    pids = script.parent / "pids"
    while child.poll() is None and len(pids.read_text().split() if pids.exists() else []) < 2:
        pass
    child.send_signal(signal.SIGINT)
    out, err = child.communicate()
    assert (out, err) == ("interrupted\n", "")
    for pid in pids.read_text().split():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)


def test_no_child_outlives_a_parent_that_was_killed(script: Path) -> None:
    command = [sys.executable, str(script), json.dumps(["wait"] * 3), "2"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=script.parent)
    pids = script.parent / "pids"
    while child.poll() is None and len(pids.read_text().split() if pids.exists() else []) < 2:
        pass
    child.kill()
    child.communicate()  # the pipes close when the last of its children has ended
    for pid in pids.read_text().split():
        assert not Path(f"/proc/{pid}").exists() or "Z" in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2]


def test_ctrl_c_while_the_children_start_is_quiet(script: Path) -> None:
    command = [sys.executable, str(script), json.dumps(["wait"] * 3), "3"]
    child = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=script.parent, start_new_session=True
    )
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children")
    while child.poll() is None and len(children.read_text().split()) < 3:  # the tracker and two
        pass
    os.killpg(child.pid, signal.SIGINT)
    out, err = child.communicate()
    assert (out, err) == ("interrupted\n", "")
