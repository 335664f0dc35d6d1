"""Targets become motion that a joint can do: streamed ones, a move, a stop, and a stop that lets a swinging load rest."""

import numpy as np

from onbeat.errors import MissingExtra
from onbeat.motion import Limits, OnlineShaper, input_shaper, point_to_point, stop_ramp
from onbeat.motion.generators import figure_eight
from onbeat.motion.shape_input import residual_vibration, shaped_stop

limits = Limits(max_speed=3.1, max_acceleration=20.0, max_jerk=400.0, lower=-2.9, upper=2.9)

# A hand moves, lets go for a moment, and is somewhere else: 250 targets a second.
dt_s = 0.004
t = dt_s * np.arange(1000)
hand = 0.5 * np.sin(np.pi * t) + np.where(t > 2, 0.8, 0.0)
shaper = OnlineShaper(width=1, limits=limits, dt_s=dt_s)
motion = np.array([shaper.step([target]) for target in hand])[:, :, 0]
behind = 1e3 * np.abs(motion[:, 0] - hand)
settled = t[np.flatnonzero(behind > 10)[-1]]
most_behind = behind[(t > 0.5) & (t < 2)].max()
print(f"streamed: at most {most_behind:.1f} mrad behind; it is back {settled - 2:.2f} s after a jump of 0.8 rad")
speed, acceleration, jerk = motion[:, 1], motion[:, 2], np.diff(motion[:, 2]) / dt_s
for name, values, most in (("speed", speed, 3.1), ("acceleration", acceleration, 20.0), ("jerk", jerk, 400.0)):
    print(f"  highest {name}: {np.abs(values).max():.1f} of {most}")

try:
    move = point_to_point(start=[0.0, 1.0], end=[1.0, 0.9], limits=limits)
    plan = move.plan(start_ns=0)
    print(f"point to point: {move.duration_s:.3f} s, both joints arrive together; a plan of {len(plan)} knots")
except MissingExtra as error:
    print(error)

# A bag of 1.03 Hz hangs from the gripper, and the arm has to stop.
state = [0.0], [1.5], [0.0]
stop = stop_ramp(*state, limits)
print(f"stop: {1e3 * stop.duration_s:.0f} ms, {stop.position[-1, 0]:.3f} rad further, and the bag swings")
for kind in ("zv", "zvd", "ei"):
    impulses = input_shaper(kind, frequency_hz=1.03)
    shaped = shaped_stop(*state, limits, *impulses)
    left = [100 * residual_vibration(*impulses, 1.03 * off) for off in (1.0, 1.1)]
    print(f"  {kind}: {1e3 * shaped.duration_s:.0f} ms, {shaped.position[-1, 0]:.3f} rad further")
    print(f"      {left[0]:.1f} % of the swing is left, and {left[1]:.1f} % where the bag is 10 % faster")

figure = figure_eight(center=(0.4, 0.0, 0.2), width_m=0.3, height_m=0.15, peak_speed_mps=0.165)
print(
    f"figure-8: {figure.duration_s:.1f} s, never faster than {figure.peak_speed:.3f} m/s or {figure.peak_acceleration:.3f} m/s2"
)
