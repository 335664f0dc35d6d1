"""A soft loop in a process of its own: a Python-only device, built there from its YAML, at real-time priority, away from this
process's interpreter lock.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat._core import Cycle
from onbeat.clock import SystemClock
from onbeat.device.config import ModuleConfig, load_module_config
from onbeat.device.load import open_device
from onbeat.errors import BadInput, DeviceError
from onbeat.loop.realtime import SOFT_PROCESS, refusals
from onbeat.motion.trajectory import Trajectory

__all__ = ("ModuleSink", "ProcessLoop")

_PATIENCE_S = 5.0
_CONNECT_S = 60.0
_NOTHING = (0,) * 6


class ModuleSink:
    """Targets to the device of a module's YAML. The device lives in a process of its own, from the loop's start to its stop.

    The loop there is Python and therefore soft, but it has its own interpreter and asks for SCHED_FIFO. Nobody else may have the
    hardware open meanwhile; read it through a second device where it allows that.

    Args:
        module: A module's YAML, or its ModuleConfig out of a rig.

    Raises:
        BadInput: the YAML is not acceptable, the driver cannot be built, takes no targets, or comes from no file.
    """

    __slots__ = ("config", "width")

    def __init__(self, module: ModuleConfig | str | Path) -> None:
        self.config = module if isinstance(module, ModuleConfig) else load_module_config(module)
        if self.config.path is None:
            raise BadInput(f"module {self.config.name!r} comes from no file, so no other process can build it; use DeviceSink")
        info = open_device(self.config, SystemClock()).info  # touches no hardware before connect
        if info.width < 1:
            raise BadInput(f"a device of kind {info.kind!r} and width {info.width} takes no targets")
        self.width: int = info.width

    def __repr__(self) -> str:
        return f"ModuleSink({self.config.name}, width {self.width})"


class ProcessLoop:
    """The runner of a ModuleSink, with the cycle's own methods: plans go to the process, records come back.

    Args:
        settings: The arguments of the native cycle; the one that is made of them here checks plans and leads, and counts plans.
        sink: The module.
        priority, cpu: What the process asks for.
    """

    soft = True

    def __init__(self, settings: tuple[Any, ...], sink: ModuleSink, priority: int, cpu: int | None) -> None:
        self._settings = settings
        self._cycle = Cycle(*settings)
        self._plan: Trajectory = settings[3]
        self._plan_id = 0
        self._lead_ns: int = settings[8]
        self._sink = sink
        self._priority, self._cpu = priority, cpu
        self._control = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None
        self._link: Connection[Any, Any] | None = None
        self._at: list[float] | None = None
        self._first_id = 0
        self._report: tuple[int, int, int, int] = (-1, -1, -1, 0)
        self._counted: tuple[int, ...] = _NOTHING  # by processes that have ended
        self._kept: list[NDArray[np.int64]] = []  # their last records
        self._error = ""

    @property
    def width(self) -> int:
        """Numbers in a target."""
        return self._cycle.width

    @property
    def running(self) -> bool:
        """Whether the loop in the process goes on."""
        with self._control:
            return bool(self._link is not None and (answer := self._ask("state")) is not None and answer[0])

    @property
    def error(self) -> str:
        """Why it stopped on its own."""
        with self._control:
            if self._link is not None and (answer := self._ask("state")) is not None:
                self._error = answer[1]
            return self._error

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
        """Start the process, build and connect the device there, and start the loop."""
        with self._control:
            if self.running:
                raise BadInput("the loop runs already; stop it first")
            self.stop()
            self._error = ""
            ours, theirs = socket.socketpair()
            command = [sys.executable, "-m", "onbeat.loop.child", str(theirs.fileno())]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
            # A session of its own: Ctrl-C is for the parent, which then stops it.
            self._process = subprocess.Popen(
                command, pass_fds=[theirs.fileno()], env=environment, stdin=subprocess.DEVNULL, start_new_session=True
            )
            theirs.close()
            self._link = Connection(ours.detach())
            self._first_id = self._plan_id
            config = self._sink.config
            settings = (*self._settings[:3], self._plan, *self._settings[4:8], self._lead_ns, *self._settings[9:])
            job = (str(config.path), config.name, config.inline, settings, self._at, self._priority, self._cpu)
            self._at = None
            answer = self._ask(job, _CONNECT_S)
            if answer is None or answer[0] != "ready":
                reason = answer[1] if answer is not None else self._error
                self.stop()
                raise DeviceError(f"the loop's process did not start: {reason}")
            self._report = answer[1]

    def place(self, at: NDArray[np.float64]) -> None:
        """Say where the device stands, before the start."""
        with self._control:
            if self.running:
                raise BadInput("the loop runs, and knows what it sent last; stop it before place()")
            self._cycle.place(at)
            self._at = np.asarray(at).tolist()

    def stop(self) -> None:
        """Stop the loop, hold and close the device, and end the process; its last records are kept."""
        with self._control:
            if self._link is None or self._process is None:
                return
            self._ask("stop", _PATIENCE_S)
            if self._link is not None:
                self._link.close()
            self._end_process()

    def cycle(self, deadline_ns: int, wake_ns: int) -> int:
        """Refuse: the cycles are the process's."""
        raise BadInput(
            "the device of this loop lives in a process of its own, on the real clock; for cycles by hand use DeviceSink"
        )

    def replace(self, plan: Trajectory) -> int:
        """Follow another plan from the next cycle on."""
        with self._control:
            self._plan_id = self._cycle.replace(plan)
            self._plan = plan
            if self._link is not None:
                self._ask(("plan", plan))
            return self._plan_id

    def set_lead(self, lead_ns: int) -> None:
        """Look so much further into the plan."""
        with self._control:
            self._cycle.set_lead(lead_ns)
            self._lead_ns = lead_ns
            if self._link is not None:
                self._ask(("lead", lead_ns))

    def records(self) -> NDArray[np.int64]:
        """Take out the records that wait."""
        with self._control:
            if self._link is not None and (answer := self._ask("records")) is not None:
                self._keep(answer)
            taken = self._kept
            self._kept = []
        return np.concatenate(taken) if taken else np.empty((0, 8), dtype=np.int64)

    def counts(self) -> tuple[int, ...]:
        """Count over all processes of this loop."""
        with self._control:
            answer = self._ask("counts") if self._link is not None else None
            now = answer or _NOTHING
            return tuple(before + count for before, count in zip(self._counted, now, strict=True))

    def _keep(self, rows: NDArray[np.int64]) -> None:
        rows[:, 5] += self._first_id
        self._kept.append(rows)

    def _ask(self, message: Any, patience_s: float = _PATIENCE_S) -> Any:
        """Send a message and wait for its answer; None when the process is gone, which `error` then says."""
        link = self._link
        if link is None:
            return None
        try:
            link.send(message)
            if not link.poll(patience_s):
                self._error = (
                    f"the device's process has not answered for {patience_s:g} s and was killed; "
                    "the device may still move, so cut its power"
                )
                self._end_process()
                return None
            answer = link.recv()
        except (EOFError, OSError):
            code = self._end_process()
            named = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
            self._error = f"the device's process ended {named}; the device may still move, so cut its power"
            return None
        if message == "stop":
            self._error, rows, counted = answer
            self._keep(rows)
            self._counted = tuple(a + b for a, b in zip(self._counted, counted, strict=True))
            self._link = None
            link.close()
            self._end_process()
        return answer

    def _end_process(self) -> int:
        """Wait for the process, kill it when it does not end; give its exit code."""
        process, self._process = self._process, None
        if self._link is not None:
            self._link.close()
            self._link = None
        if process is None:
            return 0
        try:
            return process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()
