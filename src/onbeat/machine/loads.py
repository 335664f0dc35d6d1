"""Work that a loop has to bear: processors, memory and a disk kept busy by child processes, and Python's lock by a thread."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from onbeat.errors import BadInput

__all__ = ("LOADS", "check_loads", "run_loads")

LOADS = ("cpu", "mem", "disk", "gil")

# Each ends by itself when its parent has gone: a killed doctor leaves nothing behind.
_PROGRAMS = {
    "cpu": "import os, sys\nparent = int(sys.argv[1])\nwhile os.getppid() == parent:\n    sum(range(100_000))\n",
    "mem": (
        "import os, sys\nparent = int(sys.argv[1])\none, two = bytearray(64 << 20), bytearray(64 << 20)\n"
        "while os.getppid() == parent:\n    one[:] = two\n    two[:] = one\n"
    ),
    "disk": (
        "import os, sys, tempfile\nparent = int(sys.argv[1])\ndata = bytes(4 << 20)\n"
        "with tempfile.TemporaryFile() as file:\n"
        "    while os.getppid() == parent:\n        file.seek(0)\n        file.write(data)\n"
        "        file.flush()\n        os.fsync(file.fileno())\n"
    ),
}


def check_loads(names: Sequence[str]) -> None:
    """Refuse a load that there is not.

    Raises:
        BadInput: a name that is none of LOADS.
    """
    unknown = [name for name in names if name not in LOADS]
    if unknown:
        raise BadInput(f"no load {unknown[0]!r}; take some of {','.join(LOADS)}")


@contextmanager
def run_loads(names: Sequence[str]) -> Iterator[None]:
    """Keep the machine busy while the block lasts, and end all of it with the block.

    Args:
        names: Of LOADS. cpu: a process on each allowed CPU; mem: copies of 64 MB; disk: 4 MB written and synced, over and over,
            where temporary files go; gil: a thread of this process that computes in Python.

    Raises:
        BadInput: a name that is none of LOADS.
    """
    check_loads(names)
    with ExitStack() as stack:
        for name in names:
            if name == "gil":
                stack.enter_context(_lock_held())
            else:
                for _ in range(len(os.sched_getaffinity(0)) if name == "cpu" else 1):
                    stack.enter_context(_child(_PROGRAMS[name]))
        yield


@contextmanager
def _child(program: str) -> Iterator[None]:
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(os.getpid())], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def _lock_held() -> Iterator[None]:
    done = threading.Event()

    def compute() -> None:
        while not done.is_set():
            sum(range(10_000))

    thread = threading.Thread(target=compute, name="doctor-load")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
