"""The runner of a loop that runs in its device's own process: plans go there, records come back."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat._core import Cycle
from onbeat.errors import BadInput, DeviceError
from onbeat.loop.lock import ProcessLock
from onbeat.loop.process import STOP_S, ProcessDevice
from onbeat.loop.realtime import SOFT_PROCESS, refusals
from onbeat.motion.trajectory import Trajectory

__all__ = ("ProcessLoop",)

_NOTHING = (0,) * 6


class ProcessLoop:
    """The runner of a ProcessDevice, with the cycle's own methods.

    A device that is not connected yet is opened by `start`, and held and closed by `stop`.

    Args:
        settings: The arguments of the native cycle; the one that is made of them here checks plans and leads, and counts plans.
        device: The device.
        priority, cpu: What the loop there asks for.
    """

    soft = True

    def __init__(self, settings: tuple[Any, ...], device: ProcessDevice, priority: int, cpu: int | None) -> None:
        self._settings = settings
        self._cycle = Cycle(*settings)
        self._plan: Trajectory = settings[3]
        self._aim: tuple[Any, ...] | None = None  # the newest target of a stream that is followed
        self._beat = (0, 0.0)
        self._plan_id = 0
        self._lead_ns: int = settings[8]
        self._device = device
        self._priority, self._cpu = priority, cpu
        self._control = ProcessLock()
        self._started = self._opened = False
        self._at: list[float] | None = None
        self._first_id = 0
        self._report: tuple[int, int, int, int] = (-1, -1, -1, 0)
        self._counted: tuple[int, ...] = _NOTHING  # by loops that have ended
        self._kept: list[NDArray[np.int64]] = []  # their last records
        self._error = ""

    @property
    def width(self) -> int:
        """Numbers in a target."""
        return self._cycle.width

    @property
    def running(self) -> bool:
        """Whether the loop in the process goes on."""
        return bool(self._ask("state", (False,))[0])

    @property
    def error(self) -> str:
        """Why it stopped on its own."""
        _, said = self._ask("state", (False, ""))
        return said or self._error

    @property
    def realtime(self) -> bool:
        """Whether SCHED_FIFO was granted."""
        return self._report[0] == 0

    @property
    def refused(self) -> tuple[str, ...]:
        """What was refused, after what a soft loop cannot promise."""
        fifo, affinity, stack, _ = self._report
        return (SOFT_PROCESS, *refusals(fifo, affinity, stack, 0, priority=self._priority, cpu=self._cpu, record_bytes=0))

    @property
    def locked_bytes(self) -> int:
        """Memory of the process's loop that cannot be paged out."""
        return self._report[3]

    def start(self) -> None:
        """Start the loop there, after the process where the device is not connected yet."""
        with self._control:
            if self.running:
                raise BadInput("the loop runs already; stop it first")
            self.stop()
            self._error = ""
            self._first_id = self._plan_id - (self._aim is not None)
            settings = (*self._settings[:3], self._plan, *self._settings[4:8], self._lead_ns, *self._settings[9:])
            self._opened = not self._device.connected
            if self._opened:
                self._device.connect()
            try:
                self._report = self._device.ask("start", settings, self._at, self._priority, self._cpu)
            except BaseException:
                if self._opened:
                    self._device.close()
                raise
            self._at = None
            self._started = True
            self._device.tell("centre", *self._beat)
            if self._aim is not None:
                self._device.tell("aim", *self._aim)

    def place(self, at: NDArray[np.float64]) -> None:
        """Say where the device stands, before the start."""
        with self._control:
            if self.running:
                raise BadInput("the loop runs, and knows what it sent last; stop it before place()")
            self._cycle.place(at)
            self._at = np.asarray(at).tolist()

    def stop(self) -> None:
        """Stop the loop; its last records are kept. A device that `start` has opened is held and closed."""
        if not self._device.connected:  # nor is it in a fork of this process
            return
        with self._control:
            last = self._ask("stop", None)
            if last is None:
                return
            self._started = False
            self._error, rows, counted = last
            self._keep(rows)
            self._counted = tuple(a + b for a, b in zip(self._counted, counted, strict=True))
            if self._opened:
                try:
                    self._device.hold()
                finally:
                    self._device.close()

    def cycle(self, deadline_ns: int, wake_ns: int) -> int:
        """Refuse: the cycles are the process's."""
        raise BadInput(
            "the device of this loop lives in a process of its own, on the real clock; for cycles by hand use DeviceSink"
        )

    def replace(self, plan: Trajectory) -> int:
        """Follow another plan from the next cycle on."""
        with self._control:
            self._plan_id = self._cycle.replace(plan)
            self._plan, self._aim = plan, None
            if self._started:
                self._device.tell("plan", plan)
            return self._plan_id

    def aim(self, t_ns: int, position: NDArray[np.float64], velocity: NDArray[np.float64] | None = None) -> int:
        """Take the newest target of a stream."""
        with self._control:
            self._plan_id = self._cycle.aim(t_ns, position, velocity)
            self._aim = (t_ns, position, velocity)
            if self._started:
                self._device.tell("aim", *self._aim)
            return self._plan_id

    def centre(self, at_ns: int, period_ns: float) -> None:
        """Move the grid to a beat, and keep it there."""
        with self._control:
            self._cycle.centre(at_ns, period_ns)
            self._beat = (at_ns, period_ns)
            if self._started:
                self._device.tell("centre", *self._beat)

    def reference(self, t_ns: int) -> NDArray[np.float64] | None:
        """Give where the plan that was in force then wanted the device; None where none was."""
        wanted: NDArray[np.float64] | None = self._ask("reference", None, t_ns)
        return wanted

    def correct(self, t_ns: int, values: NDArray[np.float64], good_ns: int) -> None:
        """Take what feedback adds."""
        if self._started:
            self._device.tell("correct", t_ns, values, good_ns)

    def feedback_ages(self) -> tuple[int, int, int]:
        """Say how old samples were at sends: how many, the median and the 99th percentile, of this start."""
        count, p50_ns, p99_ns = self._ask("feedback_ages", (0, 0, 0))
        return count, p50_ns, p99_ns

    def set_lead(self, lead_ns: int) -> None:
        """Look so much further into the plan."""
        with self._control:
            self._cycle.set_lead(lead_ns)
            self._lead_ns = lead_ns
            if self._started:
                self._device.tell("lead", lead_ns)

    def records(self) -> NDArray[np.int64]:
        """Take out the records that wait."""
        with self._control:
            rows = self._ask("records", None)
            if rows is not None:
                self._keep(rows)
            taken = self._kept
            self._kept = []
        return np.concatenate(taken) if taken else np.empty((0, 8), dtype=np.int64)

    def counts(self) -> tuple[int, ...]:
        """Count over all starts of this loop."""
        with self._control:
            now = self._ask("counts", _NOTHING)
            return tuple(before + count for before, count in zip(self._counted, now, strict=True))

    def _keep(self, rows: NDArray[np.int64]) -> None:
        rows[:, 5] += self._first_id
        self._kept.append(rows)

    def _ask(self, verb: str, otherwise: Any, *arguments: Any) -> Any:
        """Ask the loop there, or give the other answer when there is none: it is not started, or its process is gone."""
        if not self._started:
            return otherwise
        try:
            return self._device.ask(verb, patience_s=STOP_S) if verb == "stop" else self._device.ask(verb, *arguments)
        except DeviceError as gone:
            self._error = self._error or str(gone)
            self._started = False
            return otherwise
