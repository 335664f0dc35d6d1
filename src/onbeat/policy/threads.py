"""Drive everything that steps: each on its own thread in real time, or in order from one heap on a manual clock.

A step is `step(now_ns) -> next_ns`: do what is due now and say when to be called again. The same steps run in both
ways, so what a manual clock shows bit by bit is what the threads do.
"""

import heapq
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

from onbeat.clock import Clock, ManualClock
from onbeat.errors import BadInput, DeviceError, OnbeatError

__all__ = ("Drive", "Step")

Step = Callable[[int], int]

_PATIENCE_S = 5.0


@dataclass(slots=True)
class _Worker:
    stop: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None


class Drive:
    """Calls steps when they are due, until `close`.

    On a ManualClock nothing happens between calls of `run_until`, which then runs all steps in the order of their
    instants (equal instants in the order of adding). On any other clock each step has a thread of its own; the first
    error of any step stops it and is raised by the next `run_until`.
    """

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self._manual = clock if isinstance(clock, ManualClock) else None
        self._workers: dict[str, _Worker] = {}
        self._steps: dict[str, Step] = {}
        self._heap: list[tuple[int, int, str, Step]] = []
        self._added = 0
        self._failed = threading.Event()
        self._error: tuple[str, BaseException] | None = None

    def __enter__(self) -> "Drive":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def add(self, name: str, step: Step, first_ns: int | None = None) -> None:
        """Start calling a step, the first time at first_ns or now.

        Raises:
            BadInput: a step of that name runs already.
        """
        if name in self._steps:
            raise BadInput(f"a step named {name!r} runs already")
        due_ns = self.clock.now_ns() if first_ns is None else first_ns
        self._steps[name] = step
        if self._manual is not None:
            heapq.heappush(self._heap, (due_ns, self._added, name, step))
            self._added += 1
            return
        worker = _Worker()
        worker.thread = threading.Thread(
            target=self._run, args=(name, step, due_ns, worker.stop), name=f"onbeat-{name}", daemon=True
        )
        self._workers[name] = worker
        worker.thread.start()

    def remove(self, name: str, patience_s: float = _PATIENCE_S) -> bool:
        """Stop calling a step, and wait for the call under way; nothing happens when there is none of that name.

        Returns:
            Whether the call has ended. One that does not end within patience_s is left behind, and is the step's last.
        """
        if self._steps.pop(name, None) is None:
            return True
        if self._manual is not None:
            self._heap = [entry for entry in self._heap if entry[2] != name]
            heapq.heapify(self._heap)
            return True
        worker = self._workers.pop(name)
        worker.stop.set()
        if worker.thread is not None and worker.thread is not threading.current_thread():
            worker.thread.join(patience_s)
            return not worker.thread.is_alive()
        return True

    def close(self) -> None:
        """Stop all steps; may be called twice."""
        for worker in self._workers.values():
            worker.stop.set()
        for name in list(self._steps):
            self.remove(name)

    def run_until(self, t_ns: int) -> None:
        """Let everything run until the clock reads t_ns.

        Raises:
            OnbeatError: a step failed; the message names it and the error is its cause. A DeviceError comes as it is.
        """
        if self._manual is None:
            while self._error is None and (remaining_ns := t_ns - self.clock.now_ns()) > 0:
                self._failed.wait(remaining_ns * 1e-9)
            if self._error is not None:
                name, error = self._error
                if isinstance(error, DeviceError):  # names its module, and is for the caller to catch
                    raise error
                reason = str(error) if isinstance(error, Exception) else repr(error)
                raise OnbeatError(f"{name} stopped: {reason}") from error
            return
        while self._heap and self._heap[0][0] <= t_ns:
            due_ns, order, name, step = heapq.heappop(self._heap)
            self._manual.set_ns(max(due_ns, self._manual.now_ns()))
            next_ns = step(self._manual.now_ns())
            if self._steps.get(name) is step:
                heapq.heappush(self._heap, (max(next_ns, self._manual.now_ns()), order, name, step))
        self._manual.set_ns(max(t_ns, self._manual.now_ns()))

    def run_for(self, seconds: float) -> None:
        """Let everything run for a while; raises as `run_until`."""
        self.run_until(self.clock.now_ns() + round(seconds * 1e9))

    def _run(self, name: str, step: Step, due_ns: int, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                wait_ns = due_ns - self.clock.now_ns()
                if wait_ns > 0 and stop.wait(wait_ns * 1e-9):
                    return
                due_ns = step(self.clock.now_ns())
        except BaseException as error:  # the outermost frame of a thread: nothing above could see it, not even a sys.exit()
            if self._error is None:
                self._error = (name, error)
            self._failed.set()
