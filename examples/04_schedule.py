"""A policy's chunk becomes a plan: anchored to its image, sent action_latency early, the late part dropped and reported."""

import numpy as np

from onbeat.motion import Chunk, Limits, Trajectory, schedule
from onbeat.motion.lead import lead_ns

MS = 1_000_000

plan = Trajectory([0], [[0.0]])  # at rest
now = 200 * MS
# The image was true at 80 ms; row k is due k steps of 100 ms after it.
chunk = Chunk(anchor_ns=80 * MS, step_ns=100 * MS, targets=np.array([[0.1], [0.2], [0.3], [1.5]]))

plan, outcomes = schedule(plan, chunk, now, Limits(max_speed=2.0), lead_ns=lead_ns(0.098))

for row, outcome in enumerate(outcomes):
    print(f"row {row}, to be sent at {outcome.due_ns / MS:.0f} ms: {outcome.kind} ({outcome.by_ns / MS:.1f} ms)")
print("where it is to be at 300 ms:", plan.at_ns(300 * MS))
