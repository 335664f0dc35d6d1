"""What the hard bound owes whatever the network does: properties on two exact clocks (tests/oracle/two_clocks.py).

The rates are at the very ends of what the drift bound allows, so that a bound that grows too slowly is found at once.
"""

from fractions import Fraction

from hypothesis import example, given
from hypothesis import strategies as st

from onbeat.clock import ClockEstimator, ClockMap, Exchange
from onbeat.errors import BadInput
from tests.oracle.two_clocks import Polyline, true_offset_ns

S = 1_000_000_000
HALF_PPM = 500
# d(server - client) / d(client) of a server 500 ppm fast and a client 500 ppm slow.
DRIFT_PPM = 1e6 * ((1 + HALF_PPM * 1e-6) / (1 - HALF_PPM * 1e-6) - 1) * (1 + 1e-12)
STRETCHES = 8

rates = st.lists(
    st.one_of(st.sampled_from([-HALF_PPM, HALF_PPM]), st.fractions(-HALF_PPM, HALF_PPM, max_denominator=1000)),
    min_size=1,
    max_size=STRETCHES,
)
delays = st.one_of(st.sampled_from([0, 1, 100_000_000]), st.integers(0, 1000), st.integers(0, 50_000_000))
starts = st.one_of(st.sampled_from([0, -(2**60), 2**60]), st.integers(-(2**60), 2**60))
# What passes before the probe leaves, the two legs, and how long the server thinks, ns.
trips = st.lists(st.tuples(st.integers(0, 2 * S), delays, delays, st.integers(0, 100_000)), min_size=1, max_size=40)


def holds(chart: ClockMap, client: Polyline, server: Polyline, client_ns: int) -> None:
    truth = true_offset_ns(client, server, client_ns)
    low, high = chart.interval_at_ns(client_ns)
    assert low <= truth <= high
    assert abs(chart.to_target_ns(client_ns) - (client_ns + truth)) <= chart.bound_at_ns(client_ns)


@given(starts, starts, rates, rates, st.sampled_from([S // 10, S, 5 * S]), trips, st.booleans(), st.booleans())
@example(0, 0, [0], [0], S, [(1, 0, 0, 0), (1, 0, 0, 0)], False, False)
# Half a nanosecond is rounded away on the way there, and not on the way back.
@example(0, 0, [0], [Fraction(500)], S, [(999, 0, 0, 0), (2000, 0, 0, 0), (1001, 0, 0, 0)], False, False)
def test_truth_is_inside_after_every_exchange_and_until_the_next(
    client_start: int,
    server_start: int,
    client_rates: list[Fraction | int],
    server_rates: list[Fraction | int],
    stretch_ns: int,
    waits: list[tuple[int, int, int, int]],
    twice: bool,
    pipelined: bool,
) -> None:
    client, server = Polyline(client_start, client_rates, stretch_ns), Polyline(server_start, server_rates, stretch_ns)
    estimator = ClockEstimator("client", "server", DRIFT_PPM)
    t, arrivals = Fraction(0), []
    for wait_ns, outbound_ns, back_ns, think_ns in waits:
        t += wait_ns + Fraction(1, 3)
        t2 = t + outbound_ns
        t3 = t2 + think_ns
        t4 = t3 + back_ns
        stamps = (client.stamp(t), server.stamp(t2), server.stamp(t3), client.stamp(t4))
        if not pipelined:
            t = t4
        try:
            arrivals += [(t4, Exchange(*stamps))] * (2 if twice else 1)
        except BadInput:  # no delay, and a server that thinks faster than we wait: less than no time
            continue
    arrivals.sort(key=lambda arrival: arrival[0])
    for k, (t4, exchange) in enumerate(arrivals):
        event = estimator.add(exchange)
        assert event is None or event.kind != "step"
        chart = estimator.map_at(exchange.t4_ns)
        until = arrivals[k + 1][0] if k + 1 < len(arrivals) else t4 + 100 * S
        for at in (t4, (t4 + until) / 2, until):
            holds(chart, client, server, client.stamp(at))


@given(starts, rates, rates, trips, st.integers(0, 39), st.integers(1, 2**40), st.booleans())
def test_step_larger_than_what_is_known_is_proven_and_the_new_line_holds(
    start: int,
    client_rates: list[Fraction | int],
    server_rates: list[Fraction | int],
    waits: list[tuple[int, int, int, int]],
    at: int,
    size_ns: int,
    backward: bool,
) -> None:
    client = Polyline(start, client_rates, S)
    before = Polyline(0, server_rates, S)
    after = Polyline(-size_ns if backward else size_ns, server_rates, S)
    estimator = ClockEstimator("client", "server", DRIFT_PPM)
    t, epoch = Fraction(0), 0
    for k, (wait_ns, outbound_ns, back_ns, think_ns) in enumerate(waits):
        server = after if k >= at else before
        t += wait_ns + Fraction(1, 3)
        t2 = t + outbound_ns
        t3 = t2 + think_ns
        t4 = t3 + back_ns
        try:
            exchange = Exchange(client.stamp(t), server.stamp(t2), server.stamp(t3), client.stamp(t4))
        except BadInput:
            continue
        t = t4
        known = estimator.map_at(exchange.t4_ns).interval_at_ns(exchange.t4_ns) if estimator.exchanges else None
        event = estimator.add(exchange)
        chart = estimator.map_at(exchange.t4_ns)
        truth = true_offset_ns(client, server, exchange.t4_ns)
        if event is not None and event.kind == "step":
            assert k >= at
            epoch += 1
            assert event.size_lo_ns <= (-size_ns if backward else size_ns) <= event.size_hi_ns
            assert known is not None
        # A step too small to be proven hides in the bound, and is not promised to be held.
        if epoch or k < at:
            low, high = chart.interval_at_ns(exchange.t4_ns)
            assert low <= truth <= high
    assert estimator.epoch == epoch
