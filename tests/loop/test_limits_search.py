"""Plans, streams, corrections, leads and stalls in any order: no send leaves the range or passes a speed or an acceleration."""

from typing import Any

import numpy as np
import pytest

from onbeat.loop import Flag, MemorySink, SendLoop
from onbeat.motion import Limits, Trajectory
from onbeat.motion.lead import Feedback

MS = 1_000_000
CYCLES = 1500


def moved(loop: SendLoop, deadline: int, rng: np.random.Generator, stream: dict[str, Any] | None) -> dict[str, Any] | None:
    """Tell the loop something, most often a target of the stream that goes on."""
    draw = rng.random()
    if draw < 0.03:
        knots = deadline + np.cumsum(rng.integers(1, 150, int(rng.integers(1, 6)))) * MS - 60 * MS
        loop.replace(Trajectory(knots, rng.normal(0, 0.7, (len(knots), 2))))
        return None
    if draw < 0.06:
        told, noise = bool(rng.random() < 0.5), float(rng.choice([0, 0.01, 0.3]))
        stream = {"size": rng.uniform(0.05, 1.5, 2), "rate": 2 * np.pi * rng.uniform(0.2, 3, 2), "told": told, "noise": noise}
    elif draw < 0.07:
        loop.set_lead(float(rng.choice([0, 0.01, 0.05, 0.2])))
    if stream is not None:
        phase = stream["rate"] * deadline * 1e-9
        target = stream["size"] * np.sin(phase) + stream["noise"] * rng.normal(0, 1, 2)
        loop.aim(target, stream["rate"] * stream["size"] * np.cos(phase) if stream["told"] else None, deadline)
    return stream


# The first are those in which the range was kept by a jump of 32 times the acceleration, before stops were looked at ahead.
@pytest.mark.parametrize("seed", range(40))
def test_whatever_it_is_told_the_loop_leaves_itself_a_way_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    hz = int(rng.choice([50, 100, 250, 500]))
    speed = 10 ** rng.uniform(-1, 1, 2)
    acceleration = speed * 10 ** rng.uniform(0.3, 1.5, 2)
    jerk = acceleration * 10 ** rng.uniform(0.5, 1.8, 2)
    lower, upper = rng.uniform(-1, -0.2, 2), rng.uniform(0.2, 1, 2)
    limits = Limits(max_speed=speed, max_acceleration=acceleration, max_jerk=jerk, lower=lower, upper=upper)
    sink = MemorySink(2, CYCLES)
    more: dict[str, Any] = {"stale_s": 0.1} if seed % 2 else {"extrapolate_s": 0.02}
    feedback = Feedback(k_p=0.3, k_i=1.0, largest=0.2)
    loop = SendLoop(sink, hz, Trajectory([0], [[0.0, 0.0]]), limits, feedback=feedback, record_capacity=2 * CYCLES, **more)
    loop.place([0.0, 0.0])
    deadline, stream, period = 0, None, 1_000_000_000 // hz
    for _ in range(CYCLES):
        stream = moved(loop, deadline, rng, stream)
        if rng.random() < 0.3:
            loop.feed(deadline - 5 * MS, rng.normal(0, 0.5, 2))
        late = int(rng.choice([0.1, 0.45, 0.9, 1.5, 2.5]) * period) if rng.random() < 0.02 else 0
        deadline = loop.cycle(deadline, deadline + late)
    records, values = loop.records(), np.concatenate([[[0.0, 0.0]], sink.drain()["values"]])
    assert len(values) == CYCLES + 1
    assert (values >= lower).all()
    assert (values <= upper).all()
    sent = np.where(records["flags"] & Flag.LATE, records["sent_ns"], records["deadline_ns"])
    elapsed = np.diff(np.concatenate([[-period], sent]))
    dt = np.minimum(elapsed, period)[:, None] * 1e-9
    speeds = np.diff(values, axis=0) / dt
    assert (np.abs(speeds) <= speed * (1 + 1e-6)).all()
    before = np.concatenate([[[0.0, 0.0]], speeds[:-1]])
    before[elapsed > 3 * period] = 0.0  # after such a gap the device stands
    assert (np.abs(speeds - before) / dt <= acceleration * (1 + 1e-3) + 1e-6).all()
