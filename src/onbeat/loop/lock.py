"""A lock that a forked child finds open."""

import os
import threading

__all__ = ("ProcessLock",)


class ProcessLock:
    """A re-entrant lock between the threads of one process.

    A child that is forked off while another thread holds it has no such thread, so nobody would open it there: it gets a new one.
    """

    __slots__ = ("_lock", "_process")

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process = os.getpid()

    def __enter__(self) -> None:
        if self._process != os.getpid():
            self._lock, self._process = threading.RLock(), os.getpid()
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()
