"""A native thread sends on the beat while Python is busy: 200 Hz over UDP, and a record for every cycle."""

import socket
import struct
import time

import numpy as np

from onbeat.loop import SendLoop, UdpSink
from onbeat.motion import Trajectory

receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
receiver.settimeout(5)

now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
plan = Trajectory([now, now + 1_000_000_000], [[0.0], [1.0]])
loop = SendLoop(UdpSink("127.0.0.1", receiver.getsockname()[1], 1), rate_hz=200, plan=plan)

loop.start()
end = time.monotonic() + 0.5
while time.monotonic() < end:  # a busy Python: the loop does not notice
    sum(range(10_000))
loop.stop()

sequence, t_eff_ns, value = struct.unpack("<Qqd", receiver.recv(64))
print(f"first datagram: number {sequence}, evaluated {(t_eff_ns - now) / 1e6:.1f} ms into the plan: {value:.4f}")
records, status = loop.records(), loop.status()
late_us = (records["wake_ns"] - records["deadline_ns"]) / 1e3
print(f"{status.cycles} sends, {status.missed} missed, median lateness {np.median(late_us):.0f} us")
print("real-time priority:", "granted" if status.realtime else "; ".join(status.refused))
receiver.close()
