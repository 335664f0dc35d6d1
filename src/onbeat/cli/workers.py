"""Work that is done by several processes side by side; one that dies takes only its own task with it."""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from onbeat.cli.main import silence_libraries
from onbeat.cli.terminal import only_we_speak

__all__ = ("in_processes",)

_Task = TypeVar("_Task")
_Result = TypeVar("_Result")


def in_processes(work: Callable[[_Task], _Result], tasks: Sequence[_Task], jobs: int) -> Iterator[tuple[int, _Result | None]]:
    """Do tasks in processes of their own, at most `jobs` at a time, and give each result when it is there.

    Args:
        work: A function of a module; its task and its result cross a pipe.
        tasks: Begun in this order.
        jobs: How many processes.

    Yields:
        Number of the task, and its result; None where the process died of it (killed, out of memory, a defect, which it has
        printed on stderr). When the caller stops early or is interrupted, all processes are ended.
    """
    context = multiprocessing.get_context("spawn")  # a fork would copy locks that threads of numpy hold
    waiting = deque(range(len(tasks)))
    processes: dict[Any, Any] = {}  # by our end of the pipe
    busy: dict[Any, int] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < jobs:
                pipe = next((pipe for pipe in processes if pipe not in busy), None)
                if pipe is None:
                    pipe, theirs = context.Pipe()
                    process = context.Process(target=_serve, args=(work, theirs), daemon=True)
                    processes[pipe] = process
                    _start(process)
                    theirs.close()
                busy[pipe] = waiting.popleft()
                with suppress(BrokenPipeError):  # it died while it was idle; the end of its pipe says so below
                    pipe.send(tasks[busy[pipe]])
            ready: list[Any] = wait(list(busy))
            for pipe in ready:
                try:
                    result = pipe.recv()
                except (EOFError, ConnectionError):
                    result = None
                    process = processes.pop(pipe)
                    process.join()
                yield busy.pop(pipe), result
    finally:
        for pipe, process in processes.items():
            process.terminate()
            pipe.close()
        for process in processes.values():
            process.join()


def _start(process: Any) -> None:
    """Start a process that Ctrl-C does not reach: it would say how far its own start had come."""
    resource_tracker.ensure_running()  # it would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))  # which the process inherits
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """Wait until the parent is gone, however it went, and end this process."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGKILL)


def _serve(work: Callable[[Any], Any], pipe: Connection) -> None:
    """Do one task after the other until the other end closes. Ctrl-C is the parent's: it ends us."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    silence_libraries()
    try:
        with only_we_speak():
            while True:
                pipe.send(work(pipe.recv()))
    except (EOFError, BrokenPipeError):
        return
