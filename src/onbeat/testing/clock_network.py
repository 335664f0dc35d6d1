"""Two clocks and the network between them, simulated: hours of exchanges in a second, with the truth beside them.

The server's clock is true time. The client's runs at its own, wandering rate. Nothing here knows how an estimator works; there
are effects that none models: queues with memory, stamps of a coarse timer, replies that overtake each other.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from onbeat.clock import Exchange
from onbeat.errors import BadInput

__all__ = ("SCENARIOS", "Network", "Oscillator", "Scenario", "Simulated", "simulate")

FloatArray = NDArray[np.float64]
_STEP_S = 0.05
_WANDER = 3e-9  # random walk of a crystal's rate, 1/sqrt(s)


@dataclass(frozen=True, slots=True)
class Oscillator:
    """The client's clock.

    Args:
        skew_ppm: Rate error, drawn from -+ this.
        wander: Random walk of the rate, 1/sqrt(s).
        warming_ppm_per_s: Steady change of the rate, of either sign.
        daily_ppm: Amplitude of a rate that follows the room over a quarter of an hour.
        flip_ppm: The rate flips by plus and minus this.
        flip_s: Every so often.
        steps: When the client's clock is set, and by how much: (s, s).
    """

    skew_ppm: float = 50.0
    wander: float = _WANDER
    warming_ppm_per_s: float = 0.0
    daily_ppm: float = 0.02
    flip_ppm: float = 0.0
    flip_s: float = 110.0
    steps: tuple[tuple[float, float], ...] = ()


@dataclass(frozen=True, slots=True)
class Network:
    """What happens to a message on the way.

    Args:
        floor_s: Least delay of a leg.
        jitter_s: Mean of the exponential part.
        asymmetry_s: By how much longer the outbound leg is, always.
        tail_share, tail_s: Share of messages with a Pareto tail (a busy host), and its scale.
        burst_share, burst_s: Share of the seconds in which a queue stands, and its mean length (wireless).
        congestion_s: Greatest queue of the outbound leg while it is congested.
        congestion_on_s, congestion_of_s: For so long, in each period of so long.
        route_at_s, route_s: From this instant on the outbound leg is longer by so much.
        loss: Share of exchanges that are lost.
        silent_s: Nothing comes through between these instants.
        coarse_ns: The client's stamps are multiples of this.
    """

    floor_s: float = 100e-6
    jitter_s: float = 30e-6
    asymmetry_s: float = 0.0
    tail_share: float = 0.0
    tail_s: float = 0.0
    burst_share: float = 0.0
    burst_s: float = 0.0
    congestion_s: float = 0.0
    congestion_on_s: float = 20.0
    congestion_of_s: float = 60.0
    route_at_s: float | None = None
    route_s: float = 0.0
    loss: float = 0.01
    silent_s: tuple[float, float] | None = None
    coarse_ns: int = 1


@dataclass(frozen=True, slots=True)
class Scenario:
    """A clock and a network for some time.

    Args:
        name: What the situation is.
        duration_s: For how long.
        rate_hz: Exchanges per second.
        oscillator, network: The two.
    """

    name: str
    duration_s: float = 400.0
    rate_hz: float = 8.0
    oscillator: Oscillator = field(default_factory=Oscillator)
    network: Network = field(default_factory=Network)


_LAN = Network()
_WIFI = Network(floor_s=1e-3, jitter_s=1.5e-3, burst_share=0.1, burst_s=20e-3)

SCENARIOS: Mapping[str, Scenario] = MappingProxyType(
    {
        scenario.name: scenario
        for scenario in (
            Scenario("lan"),
            Scenario("wifi", network=_WIFI),
            Scenario("congestion", network=replace(_LAN, congestion_s=11e-3)),
            Scenario("busy_host", network=Network(floor_s=20e-6, jitter_s=8e-6, tail_share=0.05, tail_s=1e-3)),
            Scenario("thermal", oscillator=Oscillator(warming_ppm_per_s=0.03)),
            Scenario("asymmetry", network=replace(_LAN, asymmetry_s=200e-6)),
            Scenario("step", oscillator=Oscillator(steps=((240.0, -0.05),))),
            Scenario("rate_flips", oscillator=Oscillator(skew_ppm=20.0, flip_ppm=140.0)),
            Scenario("outage", duration_s=600.0, network=replace(_LAN, silent_s=(300.0, 420.0))),
            Scenario("route_change", network=replace(_LAN, route_at_s=300.0, route_s=0.9e-3)),
            Scenario("lossy", network=replace(_LAN, loss=0.3, coarse_ns=1000)),
        )
    }
)


@dataclass(frozen=True, slots=True, eq=False)
class Simulated:
    """What came through, in the order of arrival.

    Args:
        scenario: What was simulated.
        stamps_ns: t1, t2, t3, t4 of each exchange. Shape (n, 4), int64.
        offset_ns: The true offset (server minus client) when the reply arrived. Shape (n,).
        true_s: True time then. Shape (n,).
        offset_at: The true offset at an instant of true time, s to ns.
    """

    scenario: Scenario
    stamps_ns: NDArray[np.int64]
    offset_ns: FloatArray
    true_s: FloatArray
    offset_at: Callable[[float], float]

    def exchanges(self) -> Iterator[Exchange]:
        """Give them one by one."""
        for row in self.stamps_ns.tolist():
            yield Exchange(*row)


def simulate(scenario: Scenario, rng: np.random.Generator) -> Simulated:
    """Run a scenario.

    Args:
        scenario: One of `SCENARIOS`, or one of your own.
        rng: Draws the crystal, the delays and the losses.

    Raises:
        BadInput: it lasts less than a second or has no exchanges.
    """
    if scenario.duration_s < 1 or scenario.rate_hz <= 0:
        raise BadInput(f"a scenario lasts a second or more at some rate, not {scenario.duration_s} s at {scenario.rate_hz} Hz")
    n = int(scenario.duration_s * scenario.rate_hz)
    sent_s = (np.arange(n) + rng.uniform(-0.2, 0.2, n) + 0.2) / scenario.rate_hz
    offset = _offset_of(scenario.oscillator, scenario.duration_s, rng)
    out_s, back_s = _legs(scenario.network, sent_s, rng)
    work_s = rng.gamma(4.0, 8e-6, n)
    arrived_s = sent_s + out_s
    replied_s = arrived_s + work_s
    returned_s = replied_s + back_s
    start_ns = int(rng.integers(0, 10**15))

    def client(true_s: FloatArray) -> NDArray[np.int64]:
        read = np.rint(true_s * 1e9 - offset(true_s)).astype(np.int64) + start_ns
        return read // scenario.network.coarse_ns * scenario.network.coarse_ns

    def server(true_s: FloatArray) -> NDArray[np.int64]:
        return np.rint(true_s * 1e9).astype(np.int64) + start_ns

    stamps = np.stack([client(sent_s), server(arrived_s), server(replied_s), client(returned_s)], axis=1)
    through = rng.random(n) >= scenario.network.loss
    if scenario.network.silent_s is not None:
        begin, end = scenario.network.silent_s
        through &= (sent_s < begin) | (sent_s > end)
    order = np.argsort(returned_s, kind="stable")
    order = order[through[order]]
    return Simulated(
        scenario, stamps[order], offset(returned_s[order]), returned_s[order], lambda true_s: float(offset(np.array([true_s]))[0])
    )


def _offset_of(crystal: Oscillator, duration_s: float, rng: np.random.Generator) -> Callable[[FloatArray], FloatArray]:
    """Give server minus client, ns, at instants of true time."""
    grid_s = np.arange(0.0, duration_s + 10.0, _STEP_S)
    rate = rng.uniform(-crystal.skew_ppm, crystal.skew_ppm) * 1e-6 + np.cumsum(
        rng.normal(0.0, crystal.wander * np.sqrt(_STEP_S), len(grid_s))
    )
    rate += rng.choice((-1.0, 1.0)) * crystal.warming_ppm_per_s * 1e-6 * grid_s
    rate += crystal.daily_ppm * 1e-6 * np.sin(2 * np.pi * (grid_s / 900.0 + rng.random()))
    if crystal.flip_ppm:
        rate += crystal.flip_ppm * 1e-6 * np.where((grid_s // crystal.flip_s) % 2 == 0, 1.0, -1.0)
    gained_ns = np.concatenate([[0.0], np.cumsum((rate[1:] + rate[:-1]) / 2 * _STEP_S)]) * 1e9
    start_ns = rng.uniform(-1e8, 1e8)

    def offset(true_s: FloatArray) -> FloatArray:
        ahead = start_ns + np.interp(true_s, grid_s, gained_ns)
        for at_s, size_s in crystal.steps:
            ahead = ahead + np.where(true_s >= at_s, size_s * 1e9, 0.0)
        return -np.asarray(ahead)

    return offset


def _legs(network: Network, sent_s: FloatArray, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Draw what each leg takes, s."""
    n = len(sent_s)
    legs = []
    for _ in range(2):
        leg = network.floor_s + rng.exponential(network.jitter_s, n)
        if network.tail_share:
            leg += (rng.random(n) < network.tail_share) * network.tail_s * rng.pareto(1.5, n).clip(0, 50)
        if network.burst_share:  # a queue that stands for a second or two and drains: neighbours share it
            standing = rng.random(int(sent_s[-1]) + 2) < network.burst_share
            queue = standing[sent_s.astype(int)] * rng.exponential(network.burst_s, n)
            leg += np.maximum(queue, 0.7 * np.concatenate([[0.0], queue[:-1]]))
        legs.append(leg)
    out, back = legs
    out = out + network.asymmetry_s
    if network.congestion_s:
        on = (sent_s % network.congestion_of_s) < network.congestion_on_s
        out = out + on * (rng.random(n) < 0.97) * rng.uniform(0.0, network.congestion_s, n)
    if network.route_at_s is not None:
        out = out + (sent_s >= network.route_at_s) * network.route_s
    return out, back
