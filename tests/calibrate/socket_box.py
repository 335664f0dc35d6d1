"""A box behind two sockets: told by datagrams from the native loop, reporting by datagrams with stamps of a clock of its own."""

import socket
import struct
import threading
import time
from collections import deque
from contextlib import suppress

import numpy as np

from onbeat.clock import Clock
from onbeat.device import Command, DeviceInfo, DeviceState, ModuleConfig
from onbeat.loop import UdpSink

FRAME, REPORT = struct.Struct("<Qqd"), struct.Struct("<qd")
S = 1_000_000_000
OFFSET_NS, FAST_PPM = 77 * S, 40


class Box(threading.Thread):
    """One joint: goes to what it was told dead_s ago with a lag, and reports where it is every report_s.

    It counts dead_s from the instant in the frame and is true at the instants of its reports, however late this thread wakes: a
    machine that is busy for less than dead_s does not make it another box.
    """

    def __init__(self, dead_s: float, lag_s: float, report_s: float) -> None:
        super().__init__(daemon=True)
        self.dead_ns, self.lag_s, self.report_s = round(dead_s * S), lag_s, report_s
        self.commands = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.commands.bind(("127.0.0.1", 0))
        self.reports = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.reader = ("127.0.0.1", 0)
        self.ended = threading.Event()

    def run(self) -> None:
        told: deque[tuple[int, float]] = deque()
        goal = position = 0.0
        at_ns = due_ns = time.monotonic_ns()
        while not self.ended.is_set():
            self.commands.settimeout(max((due_ns - time.monotonic_ns()) / S, 1e-6))
            with suppress(TimeoutError, BlockingIOError):
                _, sent_ns, value = FRAME.unpack(self.commands.recv(64))
                told.append((sent_ns + self.dead_ns, value))
                continue
            if time.monotonic_ns() < due_ns:
                continue
            while told and told[0][0] <= due_ns:
                effect_ns, new = told.popleft()
                position = goal + (position - goal) * float(np.exp(-(effect_ns - at_ns) / S / self.lag_s))
                goal, at_ns = new, effect_ns
            position = goal + (position - goal) * float(np.exp(-(due_ns - at_ns) / S / self.lag_s))
            at_ns = due_ns
            own_ns = OFFSET_NS + due_ns + due_ns * FAST_PPM // 1_000_000
            self.reports.sendto(REPORT.pack(own_ns, position), self.reader)
            due_ns += round(self.report_s * S)

    def end(self) -> None:
        self.ended.set()
        self.join()
        self.commands.close()
        self.reports.close()


class SocketAxis:
    """The driver of such a box; params: dead_s, lag_s, report_s."""

    def __init__(self, config: ModuleConfig, clock: Clock) -> None:
        self.info = DeviceInfo("joints", 1, "rad", "box behind sockets")
        self.clock = clock
        self.box = Box(**config.params)
        self.sink = UdpSink("127.0.0.1", self.box.commands.getsockname()[1], 1)
        self.socket: socket.socket | None = None
        self.seq = 0

    def connect(self) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 0))
        self.socket.settimeout(5.0)
        self.box.reader = self.socket.getsockname()
        self.box.start()

    def read(self) -> DeviceState:
        assert self.socket is not None
        begin_ns = self.clock.now_ns()
        own_ns, position = REPORT.unpack(self.socket.recv(64))
        self.seq += 1
        return DeviceState(np.array([position]), begin_ns, self.clock.now_ns(), self.seq, sample_ns=own_ns, sample_clock="box")

    def write(self, command: Command) -> None:
        raise NotImplementedError("the native loop sends")

    def hold(self) -> None: ...

    def close(self) -> None:
        if self.socket is not None:
            self.box.end()
            self.socket.close()
            self.socket = None
