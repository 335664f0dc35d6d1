import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from onbeat.errors import BadInput
from onbeat.machine.loads import LOADS, check_loads, run_loads


def children() -> set[str]:
    return {pid for path in Path("/proc/self/task").glob("*/children") for pid in path.read_text().split()}


def test_loads_run_while_the_block_lasts_and_not_longer() -> None:
    before = children()
    with run_loads(LOADS):
        assert len(children() - before) == len(os.sched_getaffinity(0)) + 2
        assert any(thread.name == "doctor-load" for thread in threading.enumerate())
    assert children() == before
    assert not any(thread.name == "doctor-load" for thread in threading.enumerate())


def test_loads_end_when_the_block_raises() -> None:
    before = children()
    with pytest.raises(KeyboardInterrupt), run_loads(("disk", "gil")):
        raise KeyboardInterrupt
    assert children() == before


def test_load_ends_when_its_parent_is_killed() -> None:
    program = (
        "import os, signal, sys\nfrom pathlib import Path\nfrom onbeat.machine.loads import run_loads\n"
        "with run_loads(('mem',)):\n"
        "    print(*[p for path in Path('/proc/self/task').glob('*/children') for p in path.read_text().split()], flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    child = int(done.stdout.split()[0])
    deadline = threading.Event()
    for _ in range(600):
        if not Path(f"/proc/{child}").exists() or "Z" in Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]:
            return
        deadline.wait(0.1)
    os.kill(child, 9)
    pytest.fail(f"load {child} outlived its parent")


def test_unknown_load_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(BadInput, match="cpu,mem,disk,gil"):
        check_loads(("gpu",))
