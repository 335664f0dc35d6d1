"""What was everything at the camera's instant? Streams answer between their samples, and refuse what they cannot know."""

import numpy as np

from onbeat.errors import NotYet
from onbeat.stream import Stream, align, hold

MS = 1_000_000

arm = Stream("arm", "monotonic", kind="linear", width=2, capacity=1024)
camera = Stream("camera", "monotonic", kind="object", width=0, capacity=8)

for k in range(20):  # joints every 10 ms
    arm.push(k * 10 * MS, np.array([0.01 * k, -0.02 * k]))
camera.push(87 * MS, "the frame that was exposed at 87 ms")

observation = align({"arm": arm, "camera": camera}, 87 * MS)
print(observation.samples["camera"].value)
print("the joints at that instant:", observation.samples["arm"].value)

try:
    arm.at(250 * MS)
except NotYet as error:
    print("refused:", error)
print("held, because it was asked for by name:", hold(arm, 250 * MS))
