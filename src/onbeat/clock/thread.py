"""A thread that waits on descriptors, and that a bell ends: rung by any thread, once or often, also in a forked child."""

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass

from onbeat.errors import BadInput

__all__ = ("BelledThread",)


@dataclass(slots=True)
class _Run:
    thread: threading.Thread
    bell: int
    alone: bool = False  # it ended itself: nobody joins it


class BelledThread:
    """Runs a function on a thread of its own, with a descriptor that becomes readable when it is to end.

    Nothing here takes a lock, so a fork at any moment leaves the child nothing that waits for ever.

    Args:
        name: Of the thread, for debuggers.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._runs: list[_Run] = []  # one or none; whoever pops it ends it

    @property
    def started(self) -> bool:
        """Whether it was started and not stopped since, even if its function has returned."""
        return bool(self._runs)

    def start(self, work: Callable[[int], None]) -> None:
        """Call `work(bell)` on a new thread, which a process may leave behind when it exits.

        Raises:
            BadInput: the machine has no thread or no descriptor left.
        """
        try:
            bell = os.eventfd(0)
        except OSError as error:
            raise BadInput(
                f"no descriptor for a thread's bell ({(error.strerror or str(error)).lower()}); close some files"
            ) from None

        def run() -> None:
            try:
                work(bell)
            finally:
                if entry.alone:
                    os.close(bell)

        entry = _Run(threading.Thread(target=run, name=self._name, daemon=True), bell)
        self._runs.append(entry)
        try:
            entry.thread.start()
        except RuntimeError as error:
            self._runs.remove(entry)
            os.close(bell)
            raise BadInput(f"no thread could be started ({error}); end some processes") from None

    def stop(self) -> None:
        """Ring, and wait until it has ended; from the thread itself only the former. Of several callers one does it."""
        try:
            entry = self._runs.pop()
        except IndexError:
            return
        if entry.thread is threading.current_thread():
            entry.alone = True
            os.eventfd_write(entry.bell, 1)
            return
        if entry.thread.is_alive():  # not so in a forked child, whose parent would hear the bell
            os.eventfd_write(entry.bell, 1)
        entry.thread.join()
        os.close(entry.bell)
