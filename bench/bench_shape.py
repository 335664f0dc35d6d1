"""How closely streamed targets are followed within limits, and what a step costs; ruckig beside it in the same run.

The peer is what an online trajectory generator is used for in streaming: every period a time-optimal move from its own last
state to the newest target, at rest there. It is also tried with the target's velocity. Errors are at the same instant: where the
joint is when the target was true.
"""

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import ruckig
from numpy.typing import NDArray

from onbeat.motion import Limits, OnlineShaper, point_to_point, stop_ramp

SPEED, ACCELERATION, JERK = 3.1, 20.0, 400.0
LIMITS = Limits(SPEED, ACCELERATION, JERK)
DT, JOINTS, ROUNDS = 0.004, 7, 7
SECONDS, SETTLED_S = 22.0, 2.0

Array = NDArray[np.float64]
Step = Callable[[Array, Array], Array]
Motion = Callable[[Array, int], tuple[Array, Array]]


def ours(width: int, told: bool, start: Array) -> Step:
    shaper = OnlineShaper(width, LIMITS, DT, start=start)

    def step(target: Array, velocity: Array) -> Array:
        return np.array(shaper.step(target, velocity if told else None))

    return step


def peer(width: int, led: bool, start: Array) -> Step:
    """Take each state of ruckig as the next one's current state, never a measured one."""
    otg, given, out = ruckig.Ruckig(width, DT), ruckig.InputParameter(width), ruckig.OutputParameter(width)
    given.synchronization = ruckig.Synchronization.No
    given.current_position = start.tolist()
    given.max_velocity, given.max_acceleration, given.max_jerk = ([most] * width for most in (SPEED, ACCELERATION, JERK))

    def step(target: Array, velocity: Array) -> Array:
        given.target_position = target.tolist()
        if led:
            given.target_velocity = np.clip(velocity, -0.99 * SPEED, 0.99 * SPEED).tolist()
        otg.update(given, out)
        out.pass_to_input(given)
        return np.array([out.new_position, out.new_velocity, out.new_acceleration])

    return step


def tones(t: Array, seed: int) -> tuple[Array, Array]:
    """Give a slow and a fast tone of random frequency and phase that need at most 80 % of the acceleration."""
    rng = np.random.default_rng(seed)
    slow, fast = 2 * np.pi * np.array([rng.uniform(0.3, 0.6), rng.uniform(1.0, 1.6)])
    phases = rng.uniform(0, 2 * np.pi, size=2)
    place = 0.5 * np.sin(slow * t + phases[0]) + 0.1 * np.sin(fast * t + phases[1])
    return place, 0.5 * slow * np.cos(slow * t + phases[0]) + 0.1 * fast * np.cos(fast * t + phases[1])


def hand(t: Array, seed: int) -> tuple[Array, Array]:
    """Give a hand: noise below 2 Hz, 0.25 rad rms, which needs at most 80 % of the acceleration."""
    rng = np.random.default_rng(seed)
    lines = rng.uniform(0.1, 2.0, size=30) * 2 * np.pi
    parts = rng.normal(size=30) / lines
    phases = rng.uniform(0, 2 * np.pi, size=30)
    place, rate, bend = (
        np.sin(np.multiply.outer(t, lines) + phases + turn * np.pi / 2) @ (parts * lines**turn) for turn in range(3)
    )
    size = min(0.25 / place.std(), 0.8 * ACCELERATION / np.abs(bend).max(), 0.8 * SPEED / np.abs(rate).max())
    return size * place, size * rate


def shake(hertz: float, t: Array, seed: int) -> tuple[Array, Array]:
    """Give a slow tone with a shake of 0.1 rad that no joint of these limits can follow."""
    slow, fast, phase = np.pi, 2 * np.pi * hertz, float(seed)
    place = 0.5 * np.sin(slow * t) + 0.1 * np.sin(fast * t + phase)
    return place, 0.5 * slow * np.cos(slow * t) + 0.1 * fast * np.cos(fast * t + phase)


def behind(
    make: Callable[[Array], Step], seeds: range, motion: Callable[..., tuple[Array, Array]], held: int, noise: float
) -> float:
    """Give the rms error at the same instant, rad, over seeds."""
    t = DT * np.arange(1, round(SECONDS / DT))
    errors = []
    for seed in seeds:
        place, rate = motion(t, seed)
        shown = np.arange(len(t)) // held * held
        seen = place[shown] + noise * np.random.default_rng(seed + 1000).normal(size=len(t))[shown]
        step = make(place[:1])
        out = np.array([step(p, v)[0, 0] for p, v in zip(seen[:, None], rate[shown][:, None], strict=True)])
        errors.append(out - place)
    return float(np.sqrt(np.mean(np.square(errors)[:, t > SETTLED_S])))


def overshoot(size: float) -> tuple[float, float]:
    """Give overshoot as a part of the step, and when it is within 1 % of it, s."""
    step = ours(1, False, np.zeros(1))
    place = np.array([step(np.array([size]), np.zeros(1))[0, 0] for _ in range(1000)])
    return float(place.max() / size - 1), float(DT * (1 + np.flatnonzero(np.abs(place - size) > 0.01 * size)[-1]))


def worst(seeds: range) -> tuple[float, int]:
    """Give the largest part of any limit that wild targets reached, and in how many steps."""
    most, steps = 0.0, 0
    for seed in seeds:
        rng = np.random.default_rng(seed)
        limits = Limits(SPEED, ACCELERATION, JERK, lower=-1.0, upper=1.0)
        shaper = OnlineShaper(JOINTS, limits, DT, start=np.zeros(JOINTS))
        before = np.zeros(JOINTS)
        target = np.zeros(JOINTS)
        for k in range(1000):
            if k % 40 == 0:
                kind = rng.integers(4)
            if kind == 0 and k % 40 == 0:
                target = rng.uniform(-2, 2, size=JOINTS)
            elif kind == 1:
                target = target + DT * rng.uniform(-8, 8, size=JOINTS)
            elif kind == 2:
                target = rng.normal(size=JOINTS)
            place, speed, acceleration = shaper.step(target, rng.normal(scale=9.0, size=JOINTS) if kind == 3 else None)
            jerk = (acceleration - before) / DT
            parts = (place, speed / SPEED, acceleration / ACCELERATION, jerk / JERK)
            most, steps, before = max(most, *(float(np.abs(part).max()) for part in parts)), steps + 1, acceleration
    return most, steps


def microseconds(call: Callable[[int], object], calls: int) -> float:
    begin = time.perf_counter_ns()
    for k in range(calls):
        call(k)
    return (time.perf_counter_ns() - begin) / calls * 1e-3


def costs() -> tuple[float, float, float]:
    """Give what a step of 7 joints costs, told and not, and one of ruckig, us; interleaved, the best of each."""
    t: Array = DT * np.arange(2000, dtype=np.float64)
    joints = [tones(t, k) for k in range(JOINTS)]
    places, rates = (np.stack(each, axis=1) for each in zip(*joints, strict=True))
    shaper, told = (OnlineShaper(JOINTS, LIMITS, DT, start=places[0]) for _ in range(2))
    otg, given, out = ruckig.Ruckig(JOINTS, DT), ruckig.InputParameter(JOINTS), ruckig.OutputParameter(JOINTS)
    given.synchronization = ruckig.Synchronization.No
    given.current_position = places[0].tolist()
    given.max_velocity, given.max_acceleration, given.max_jerk = ([most] * JOINTS for most in (SPEED, ACCELERATION, JERK))
    listed = places.tolist()

    def update(k: int) -> None:
        given.target_position = listed[k]
        otg.update(given, out)
        out.pass_to_input(given)

    rounds = [
        (
            microseconds(lambda k: shaper.step(places[k]), len(t)),
            microseconds(lambda k: told.step(places[k], rates[k]), len(t)),
            microseconds(update, len(t)),
        )
        for _ in range(ROUNDS)
    ]
    best = np.min(rounds, axis=0)
    return float(best[0]), float(best[1]), float(best[2])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print one JSON object of bars at the end")
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    seeds = range(options.seeds)
    bars: list[dict[str, Any]] = []

    def tell(what: str, bar: str, figure: str, met: bool | None) -> None:
        bars.append({"what": what, "bar": bar, "figure": figure, "met": met})
        if not options.json:
            mark = {True: "met   ", False: "MISSED", None: "      "}[met]
            print(f"{mark} {what}: {figure} (bar: {bar})", flush=True)

    cases = (
        ("two tones, 250 Hz", tones, 1, 0.0, 8.0),
        ("a hand below 2 Hz, 250 Hz", hand, 1, 0.0, 8.0),
        ("two tones, held at 31 Hz", tones, 8, 0.0, 8.0),
        ("two tones, 250 Hz, 0.5 mrad of noise", tones, 1, 0.0005, 8.0),
        ("two tones, 250 Hz, 3 mrad of noise", tones, 1, 0.003, 4.0),
        ("a shake of 3 Hz, 1.8 times the acceleration", partial(shake, 3.0), 1, 0.0, 0.8),
        ("a shake of 5 Hz, 5 times the acceleration", partial(shake, 5.0), 1, 0.0, 0.8),
    )
    for name, motion, held, noise, wanted in cases:
        rest, led = (behind(partial(peer, 1, led), seeds, motion, held, noise) for led in (False, True))
        alone, told = (behind(partial(ours, 1, told), seeds, motion, held, noise) for told in (False, True))
        figure = (
            f"{1e3 * alone:.2f} mrad rms ({1e3 * told:.2f} told the velocity); ruckig {1e3 * rest:.1f}, "
            f"{rest / alone:.2g} times, and {1e3 * led:.1f} with the velocity"
        )
        bar = (
            f"{wanted:g} times closer than ruckig at rest"
            if wanted >= 1
            else f"at most {1 / wanted:g} times as far as ruckig at rest"
        )
        tell(f"moving target, {name}", bar, figure, rest / alone >= wanted)

    sizes = (0.005, 0.02, 0.1, 0.5, 1.0, 2.0)
    steps = [overshoot(size) for size in sizes]
    highest = max(over for over, _ in steps)
    tell(f"overshoot on a step of {sizes[0]:g} to {sizes[-1]:g} rad", "<= 1 %", f"{100 * max(highest, 0):.4f} %", highest <= 0.01)
    best = point_to_point([0.0], [1.0], LIMITS).duration_s
    settles = dict(zip(sizes, steps, strict=True))[1.0][1]
    tell(
        "a step of 1 rad, within 1 %",
        "<= 1.1 of the time-optimal move",
        f"{1e3 * settles:.0f} of {1e3 * best:.0f} ms",
        settles <= 1.1 * best,
    )
    most, count = worst(range(4 * options.seeds))
    tell(
        "limits under wild targets",
        "never exceeded",
        f"{100 * most:.4f} % of a limit at most, {count} steps of 7",
        most <= 1 + 1e-12,
    )
    estimated, told_cost, theirs = costs()
    figure = f"{estimated:.2f} us ({told_cost:.2f} told the velocity); ruckig {theirs:.1f} us without synchronisation"
    tell("a step of 7 joints, called from Python", "<= 5 us", figure, estimated <= 5)
    state = np.zeros(JOINTS), np.linspace(-1, 1, JOINTS), np.zeros(JOINTS)
    ramp = min(microseconds(lambda _: stop_ramp(*state, LIMITS), 200) for _ in range(ROUNDS))
    move = min(microseconds(lambda _: point_to_point(state[0], state[1], LIMITS), 200) for _ in range(ROUNDS))
    tell("a stop ramp and a move of 7 joints", "<= 2 ms each", f"{ramp:.0f} and {move:.0f} us", max(ramp, move) <= 2000)
    if options.json:
        print(json.dumps({"bars": bars}))


if __name__ == "__main__":
    main()
