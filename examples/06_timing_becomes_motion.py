"""Timing becomes motion in three ways: a late send is a jump, a delay is an error that grows with speed, old feedback shakes.

Run it with: python examples/06_timing_becomes_motion.py
docs/timing.md tells what it prints, and bench/draw_timing.py draws the same runs.

A joint swings at 1 Hz and up to 125 deg/s. Its box takes the newest target every 4 ms, half a period after the sends are due,
moves to it in a straight line, and is where it was told to be 6.54 ms after a send was due.
"""

import ctypes
import threading
import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onbeat.loop import LoopStatus, MemorySink, SendLoop
from onbeat.motion import Limits, Trajectory
from onbeat.motion.lead import Feedback, ahead

MS, SECOND = 1_000_000, 1_000_000_000
RATE_HZ, PERIOD_NS, DELAY_S = 250, 4 * MS, 0.00654
SPEED, OMEGA = 125.0, 2 * np.pi  # the greatest, in deg/s; 1 Hz
STALL_MS = 28
LIMITS = {"no limits": None, "180 deg/s": Limits(180.0), "and 3000 deg/s2": Limits(180.0, 3000.0)}
GAINS = (0.5, 0.9, 1.1)

Instants = NDArray[np.int64]
Floats = NDArray[np.float64]


def swing(start_ns: int) -> Trajectory:
    """Plan four seconds, fastest at every half second, in knots of 1 ms. Targets in deg."""
    t_ns = np.arange(4001) * MS
    return Trajectory(start_ns + t_ns, SPEED / OMEGA * np.sin(OMEGA / SECOND * t_ns)[:, None])


class Sent(NamedTuple):
    """When each target went out, and the target in deg."""

    sent_ns: Instants
    targets: Floats


class Motion(NamedTuple):
    """What the box made of what was sent to it."""

    ticks_ns: Instants
    speeds: Floats  # asked for at each tick, deg/s
    t_ns: Instants
    errors: Floats  # behind the plan at the same instant, deg


def box(sent: Sent, plan: Trajectory, begin_ns: int, end_ns: int) -> Motion:
    """Move as told, from one instant to another; both are deadlines."""
    ticks_ns = np.arange(begin_ns - 5 * PERIOD_NS + PERIOD_NS // 2, end_ns, PERIOD_NS)
    taken = sent.targets[np.searchsorted(sent.sent_ns, ticks_ns, side="right") - 1]
    t_ns = np.arange(begin_ns, end_ns, MS // 4)
    there = np.interp(t_ns - begin_ns - DELAY_S * SECOND + PERIOD_NS / 2, ticks_ns - begin_ns, taken)
    speeds = np.diff(taken) * (SECOND / PERIOD_NS)
    return Motion(ticks_ns[1:], speeds, t_ns, plan.at_many(t_ns)[:, 0] - there)


# Real threads


class Race(NamedTuple):
    """One process, one plan, one lead, at the same time: a Python thread that sends, and a SendLoop."""

    plan: Trajectory
    begin_ns: int
    busy_until_ns: int  # from begin_ns until here a Python thread computes
    held_ns: tuple[int, int]  # later, alone, a call into C holds the interpreter lock
    python: Sent
    ours: Sent
    status: LoopStatus


def sleep_until(deadline_ns: int) -> None:
    while (left_ns := deadline_ns - time.monotonic_ns()) > 0:
        time.sleep(left_ns / SECOND)


def race() -> Race:
    begin_ns = (time.monotonic_ns() // PERIOD_NS + 75) * PERIOD_NS
    busy_until_ns = begin_ns + 2 * SECOND
    plan, lead_ns = swing(begin_ns), round(DELAY_S * SECOND)
    sink, stop, quiet = MemorySink(1, 4096), threading.Event(), threading.Event()
    loop = SendLoop(sink, RATE_HZ, plan, lead_s=DELAY_S, phase_s=0.0)
    sent: list[tuple[int, float]] = []

    def send() -> None:  # as well as a Python thread can: absolute deadlines, and after a stall where the plan is now
        deadline_ns = begin_ns - 25 * PERIOD_NS
        while not stop.is_set():
            sleep_until(deadline_ns)
            late = time.monotonic_ns() - deadline_ns > PERIOD_NS // 2
            target = plan.at_ns((time.monotonic_ns() if late else deadline_ns) + lead_ns)[0]
            sent.append((time.monotonic_ns(), target))
            deadline_ns = (time.monotonic_ns() // PERIOD_NS + 1) * PERIOD_NS

    def compute() -> None:
        while not quiet.is_set():
            sum(range(10_000))

    threads = [threading.Thread(target=send), threading.Thread(target=compute)]
    loop.start()
    threads[0].start()
    sleep_until(begin_ns)
    threads[1].start()
    sleep_until(busy_until_ns)
    quiet.set()
    sleep_until(begin_ns + 3 * SECOND - STALL_MS // 2 * MS)
    held_from_ns = time.monotonic_ns()
    ctypes.PyDLL(None).usleep(STALL_MS * 1000)  # a library that does not let go of the lock while it waits
    held_ns = held_from_ns, time.monotonic_ns()
    time.sleep(0.3)
    stop.set()
    for thread in threads:
        thread.join()
    loop.stop()
    frames = sink.drain()
    stamps, targets = zip(*sent, strict=True)
    python = Sent(np.array(stamps), np.array(targets))
    return Race(plan, begin_ns, busy_until_ns, held_ns, python, Sent(frames["sent_ns"], frames["values"][:, 0]), loop.status())


# Stopped time: exact, the same on every machine


def by_hand(limits: Limits | None = None, lead_s: float = 0.0, stall_ms: int = 0) -> Sent:
    """Send the plan from 0.5 s to 2.5 s without a thread; where there is a stall, it ends after the fastest moment, at 1 s."""
    sink = MemorySink(1, 4096)
    loop = SendLoop(sink, RATE_HZ, swing(0), limits, lead_s)
    deadline_ns = SECOND // 2
    while deadline_ns < 5 * SECOND // 2:
        late_ns = stall_ms * MS if deadline_ns == SECOND else 0
        deadline_ns = loop.cycle(deadline_ns, deadline_ns + late_ns)
    frames = sink.drain()
    return Sent(frames["sent_ns"], frames["values"][:, 0])


def by_formula() -> Sent:
    """Send q + qdot t_lead, for who does not know the future."""
    sent_ns, targets = by_hand()
    rates = SPEED * np.cos(OMEGA / SECOND * sent_ns)
    return Sent(sent_ns, ahead(targets, rates, DELAY_S))


class Fed(NamedTuple):
    """A run with feedback: deg, and how old the newest report was at each send, s."""

    t_ns: Instants
    errors: Floats
    ages_s: Floats


def fed_back(k_p: float, own_instant: bool = True, sag: float = 0.0) -> Fed:
    """Add k_p e to an exact lead, for a box that reports every 10.04 ms where it is.

    Args:
        own_instant: Compare each report with the plan at the report's own instant; else with the plan at the send.
        sag: 0: the joint swings. Else it is at rest, and a load makes it sag by so many deg at 0.5 s.
    """
    plan = Trajectory([0], [[0.0]]) if sag else swing(0)
    sent_ns = np.arange(0, 5 * SECOND // 2, PERIOD_NS)
    sent, ages_s = np.zeros(len(sent_ns)), np.zeros(len(sent_ns))
    corrector = Feedback(k_p)

    def position(t_ns: float, known: int) -> float:
        there = np.interp(t_ns - DELAY_S * SECOND, sent_ns[:known], sent[:known])
        return float(there) - (sag if t_ns >= SECOND // 2 else 0.0)

    for k, now_ns in enumerate(sent_ns.tolist()):
        sample_ns = now_ns // 10_040_000 * 10_040_000
        ages_s[k] = (now_ns - sample_ns) / SECOND
        measured = [position(sample_ns, k + 1)]
        if own_instant:
            corrector, correction = corrector.after(sample_ns, plan.at_ns(sample_ns), measured)
        else:
            correction = k_p * (plan.at_ns(now_ns) - measured)
        sent[k] = (plan.at_ns(now_ns + round(DELAY_S * SECOND)) + correction)[0]
    t_ns = np.arange(SECOND // 4, 9 * SECOND // 4, MS // 4)
    there = [position(t, len(sent)) for t in t_ns.tolist()]
    return Fed(t_ns, plan.at_many(t_ns)[:, 0] - there, ages_s)


# What came out


def jump(run: Race) -> list[str]:
    lines = [f"1. A late send is a jump. {RATE_HZ} targets a second of a plan that is never faster than {SPEED:.0f} deg/s."]
    senders = (("a Python thread", run.python), ("SendLoop", run.ours))
    lines.append("   beside a Python thread that computes, 2 s:")
    for name, sent in senders:
        sends_ns = sent.sent_ns[(sent.sent_ns >= run.begin_ns) & (sent.sent_ns < run.busy_until_ns)]
        motion = box(sent, run.plan, run.begin_ns, run.busy_until_ns)
        most = f"silent for up to {np.diff(sends_ns).max() / MS:.1f} ms, asked for up to {np.abs(motion.speeds).max():.0f} deg/s"
        lines.append(f"     {name:18} {len(sends_ns):3} of 500 sent, {most}")
    lines.append(f"   a call into C holds the interpreter lock for {(run.held_ns[1] - run.held_ns[0]) / MS:.1f} ms:")
    for name, sent in senders:
        speeds = box(sent, run.plan, run.held_ns[0] // PERIOD_NS * PERIOD_NS, run.held_ns[1] + 5 * PERIOD_NS).speeds
        still = int((np.abs(speeds) < 1).sum())
        lines.append(f"     {name:18} stood still for {still} periods, asked for up to {np.abs(speeds).max():.0f} deg/s")
    return lines


def stall() -> list[str]:
    lines = [f"   the whole machine stalls for {STALL_MS} ms (stopped time):"]
    for name, limits in LIMITS.items():
        motion = box(by_hand(limits, DELAY_S, STALL_MS), swing(0), 900 * MS, 1500 * MS)
        back_ms = (motion.t_ns[np.flatnonzero(np.abs(motion.errors) > 0.1)[-1]] - SECOND) / MS - STALL_MS
        asked = motion.speeds.max()
        lines.append(f"     {name:18} asked for up to {asked:.0f} deg/s, on the plan again after {back_ms:.0f} ms (to 0.1 deg)")
    return lines


def delay() -> list[str]:
    lines = [
        f"2. A delay is an error that grows with speed. {DELAY_S * 1e3:.2f} ms at {SPEED:.0f} deg/s, at most (stopped time):"
    ]
    for name, sent in (("no lead", by_hand()), ("q + qdot t_lead", by_formula()), ("exact lead", by_hand(lead_s=DELAY_S))):
        errors = box(sent, swing(0), SECOND, 2 * SECOND).errors
        lines.append(f"     {name:18} {np.abs(errors).max():.4f} deg")
    return lines


def wander(run: Race) -> list[str]:
    lines = ["   the exact lead on real threads, beside a Python thread that computes:"]
    for name, sent in (("a Python thread", run.python), ("SendLoop", run.ours)):
        errors = box(sent, run.plan, run.begin_ns + 100 * MS, run.busy_until_ns).errors
        lines.append(f"     {name:18} {np.sqrt(np.mean(errors**2)):.3f} deg rms, {np.abs(errors).max():.3f} deg at most")
    return lines


def feedback() -> list[str]:
    age_ms = fed_back(0.0).ages_s * 1e3
    half, most = np.median(age_ms), age_ms.max()
    lines = [f"3. Old feedback shakes (stopped time). Reports are {half:.1f} ms old at half of the sends, {most:.1f} ms at most."]
    lines.append(f"   an exact lead at {SPEED:.0f} deg/s, and k_p e beside it, at most:")
    for name, k_p, own_instant in (("k_p 0", 0.0, True), ("0.5, against now", 0.5, False), ("0.5, own instant", 0.5, True)):
        lines.append(f"     {name:18} {np.abs(fed_back(k_p, own_instant).errors).max():.4f} deg")
    lines.append("   at rest, a load makes the joint sag by 1 deg; how far it swings from 0.1 s after that on:")
    for k_p in GAINS:
        fed = fed_back(k_p, sag=1.0)
        swings = np.ptp(fed.errors[(fed.t_ns >= 600 * MS) & (fed.t_ns < 650 * MS)])
        lines.append(f"     k_p {k_p:<14} {swings:.3f} deg")
    return lines


def tell(run: Race) -> list[str]:
    return jump(run) + stall() + delay() + wander(run) + feedback()


if __name__ == "__main__":
    run = race()
    print("\n".join(tell(run)))
    print("real-time priority of the SendLoop:", "granted" if run.status.realtime else "; ".join(run.status.refused))
