"""The frame itself: a new skip, a thread or a child process that is left behind fail a run that would else pass."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent


def run(tmp_path: Path, test: str, skips: str = "", data: str = "nowhere") -> subprocess.CompletedProcess[str]:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (folder / "skips.txt").write_text(skips)
    (folder / "test_it.py").write_text(test)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    real_data: x\n")
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=tmp_path,
        env={**os.environ, "ONBEAT_DATA": data},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_clean_run_passes(tmp_path: Path) -> None:
    assert run(tmp_path, "def test_a():\n    pass\n").returncode == 0


SKIP = "import pytest\n\ndef test_a():\n    pytest.skip('no such camera here')\n\ndef test_b():\n    pass\n"


def test_new_skip_fails_and_is_named(tmp_path: Path) -> None:
    done = run(tmp_path, SKIP)
    assert done.returncode == 1
    assert "tests/test_it.py::test_a: no such camera here" in done.stdout


def test_known_skip_passes(tmp_path: Path) -> None:
    assert run(tmp_path, SKIP, "# why\ntests/test_it.py::test_a  no such camera\n").returncode == 0


def test_known_skip_with_another_reason_fails(tmp_path: Path) -> None:
    assert run(tmp_path, SKIP, "tests/test_it.py::test_a  no such arm\n").returncode == 1


def test_skip_of_a_whole_module_is_a_skip(tmp_path: Path) -> None:
    done = run(tmp_path, "import pytest\n\npytest.skip('not on this machine', allow_module_level=True)\n")
    assert done.returncode == 1
    assert "not on this machine" in done.stdout


def test_expected_failure_is_no_skip(tmp_path: Path) -> None:
    test = "import pytest\n\n@pytest.mark.xfail(strict=True)\ndef test_a():\n    raise ValueError\n"
    assert run(tmp_path, test).returncode == 0


def test_thread_left_running_fails(tmp_path: Path) -> None:
    test = (
        "import threading, time\n\n"
        "def test_a():\n    threading.Thread(target=time.sleep, args=(30,), name='stray', daemon=True).start()\n"
    )
    done = run(tmp_path, test)
    assert done.returncode == 1
    assert "left running: thread 'stray', first seen after tests/test_it.py::test_a" in done.stdout


def test_child_process_left_running_fails(tmp_path: Path) -> None:
    test = (
        "import os, subprocess, sys\n\nkept = []\n\n"
        "def test_a():\n    kept.append(subprocess.Popen([sys.executable, '-c', 'input()'], stdin=subprocess.PIPE))\n"
    )
    done = run(tmp_path, test)
    assert done.returncode == 1
    assert "left running: child process" in done.stdout


DATA = "import pytest\n\n@pytest.mark.real_data\ndef test_a(data_dir):\n    assert data_dir.is_dir()\n"


def test_absent_recordings_skip_with_one_sentence(tmp_path: Path) -> None:
    done = run(tmp_path, DATA, (TESTS / "skips.txt").read_text())
    assert done.returncode == 0
    assert "1 skipped" in done.stdout


def test_recordings_named_by_the_environment_are_used(tmp_path: Path) -> None:
    assert "1 passed" in run(tmp_path, DATA, data=str(tmp_path)).stdout


def test_test_that_reads_recordings_must_say_so(tmp_path: Path) -> None:
    done = run(tmp_path, DATA.replace("@pytest.mark.real_data\n", ""))
    assert done.returncode == 1
    assert "carries the marker real_data" in done.stdout


def test_every_line_of_the_list_says_why() -> None:
    lines = [line for line in (TESTS / "skips.txt").read_text().splitlines() if line and not line.startswith("#")]
    assert all(len(line.split("  ", 1)[1].strip()) > 10 for line in lines)
