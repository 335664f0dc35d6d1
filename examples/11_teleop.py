"""A hand streams its position at an unsteady 90 Hz; the loop follows at 250 Hz, led by the device's delay, within the limits."""

import time

import numpy as np

from onbeat.loop import Flag, MemorySink, SendLoop
from onbeat.motion import Limits, Trajectory

LATE_S = 0.0065  # the device's delay, as `onbeat calibrate` or `onbeat identify` measure it


def hand(t_s: float) -> tuple[float, float]:
    """Where the hand is, in rad, and how fast."""
    w = 2 * np.pi * 0.8
    return 0.4 * (1 - np.cos(w * t_s)), 0.4 * w * np.sin(w * t_s)


sink = MemorySink(width=1, capacity=4096)
limits = Limits(max_speed=3.1, max_acceleration=20.0, max_jerk=400.0, lower=-1.5, upper=1.5)
here = Trajectory([0], [[0.0]])
loop = SendLoop(sink, rate_hz=250, plan=here, limits=limits, lead_s=LATE_S, stale_s=0.1)
loop.start()

rng = np.random.default_rng(0)
began = time.monotonic_ns()
while (t_ns := time.monotonic_ns()) < began + 2_000_000_000:
    position, velocity = hand((t_ns - began) * 1e-9)
    loop.aim([position], [velocity], t_ns)
    time.sleep(rng.uniform(0.006, 0.016))
time.sleep(0.5)  # the hand lets go: the newest target is soon older than stale_s
loop.stop()

frames, records = sink.drain(), loop.records()
t_s = (frames["t_eff_ns"] - began) * 1e-9
sent = frames["values"][:, 0]
off = np.array([abs(value - hand(t)[0]) for value, t in zip(sent, t_s, strict=True)])[(t_s > 0.5) & (t_s < 1.9)]
print(f"followed: {1e3 * np.median(off):.1f} mrad from the hand where the device will be {1e3 * LATE_S:.1f} ms later, mostly")
print(f"fastest step {np.abs(np.diff(sent)).max() / 0.004:.2f} of {limits.max_speed} rad/s")
stale = (records["flags"] & Flag.STALE_PLAN) != 0
print(f"let go: given up {t_s[stale][0] - 2.0:.2f} s after the last target, at rest: {bool(records['flags'][-1] & Flag.HELD)}")
