from collections.abc import Iterator

import numpy as np
import pytest

from onbeat.clock import ClockEstimator, Exchange, SyncState
from onbeat.errors import BadInput, NotSynced

S = 1_000_000_000


class Line:
    """Exchanges with a server whose clock is a line over ours, legs of a floor and exponential jitter."""

    def __init__(self, seed: int = 1, skew: float = 46e-6, offset_ns: int = -3_000_000) -> None:
        self.rng, self.skew, self.offset_ns = np.random.default_rng(seed), skew, offset_ns
        self.rise_ns = {"outbound": 0, "return": 0}

    def server(self, t_ns: int) -> int:
        return t_ns + self.offset_ns + round(self.skew * t_ns)

    def exchange(self, t_ns: int) -> Exchange:
        out = 100_000 + self.rise_ns["outbound"] + int(self.rng.exponential(30_000))
        back = 100_000 + self.rise_ns["return"] + int(self.rng.exponential(30_000))
        arrived, replied = t_ns + out, t_ns + out + 20_000
        return Exchange(t_ns, self.server(arrived), self.server(replied), replied + back)

    def run(self, start_s: float, end_s: float) -> Iterator[Exchange]:
        for k in range(round(start_s * 8), round(end_s * 8)):
            yield self.exchange(k * S // 8)


def test_bound_holds_and_line_is_known_to_a_microsecond() -> None:
    line, estimator = Line(), ClockEstimator("client", "server")
    for exchange in line.run(0, 120):
        assert estimator.add(exchange) is None
        chart, now = estimator.map_at(exchange.t4_ns), exchange.t4_ns
        truth = line.server(now) - now
        low, high = chart.interval_at_ns(now)
        assert low <= truth <= high
        assert abs(chart.offset_at_ns(now) - truth) <= chart.bound_model_at_ns(now) <= chart.bound_at_ns(now)
        if now > 30 * S:
            assert abs(chart.to_target_ns(now) - line.server(now)) < 1_000
    assert estimator.map_at(now).skew_ppb == pytest.approx(46_000, abs=100)
    assert estimator.epoch == 0


@pytest.mark.parametrize("size_ns", [50_000_000, -50_000_000, 800_000, -3600 * S])
def test_step_is_proven_by_the_first_exchange_after_it(size_ns: int) -> None:
    line, estimator = Line(), ClockEstimator("client", "server")
    for exchange in line.run(0, 30):
        estimator.add(exchange)
    line.offset_ns += size_ns
    event = estimator.add(line.exchange(30 * S))
    assert event is not None
    assert (event.kind, event.leg) == ("step", None)
    assert event.size_lo_ns <= size_ns <= event.size_hi_ns
    assert event.size_hi_ns - event.size_lo_ns < 700_000
    assert estimator.epoch == 1
    assert estimator.state_at(31 * S) is SyncState.ACQUIRING


def test_rate_that_changes_is_proven_and_followed() -> None:
    line, estimator = Line(), ClockEstimator("client", "server")
    for exchange in line.run(0, 60):
        estimator.add(exchange)
    pivot = 60 * S
    line.offset_ns += round(line.skew * pivot) - round(-94e-6 * pivot)
    line.skew = -94e-6
    events = [event for exchange in line.run(60, 70) if (event := estimator.add(exchange))]
    assert [event.kind for event in events] == ["rate"]
    assert events[0].size_lo_ns <= -140_000 <= events[0].size_hi_ns
    assert abs(events[0].t_ns - pivot) < S
    assert estimator.epoch == 0
    assert abs(estimator.map_at(exchange.t4_ns).to_target_ns(exchange.t4_ns) - line.server(exchange.t4_ns)) < 5_000


@pytest.mark.parametrize("leg", ["outbound", "return"])
def test_route_that_grows_on_one_leg_does_not_move_the_offset(leg: str) -> None:
    line, estimator = Line(), ClockEstimator("client", "server")
    for exchange in line.run(0, 60):
        estimator.add(exchange)
    line.rise_ns[leg] = 900_000
    events = [event for exchange in line.run(60, 200) if (event := estimator.add(exchange))]
    assert [(event.kind, event.leg) for event in events] == [("delay", leg)]
    assert events[0].size_lo_ns <= 900_000 <= events[0].size_hi_ns
    now = exchange.t4_ns
    assert abs(estimator.map_at(now).to_target_ns(now) - line.server(now)) < 5_000
    line.rise_ns[leg] = 0
    for exchange in line.run(200, 300):
        event = estimator.add(exchange)
        assert event is None or event.kind == "delay"
    now = exchange.t4_ns
    assert abs(estimator.map_at(now).to_target_ns(now) - line.server(now)) < 5_000


def test_holdover_stays_within_bounds() -> None:
    line, estimator = Line(), ClockEstimator("client", "server", max_bound_s=0.02)
    for exchange in line.run(0, 120):
        estimator.add(exchange)
    now = exchange.t4_ns
    assert estimator.state_at(now + S // 8) is SyncState.LOCKED
    assert estimator.state_at(now + S // 2) is SyncState.HOLDOVER
    later = now + 60 * S
    chart = estimator.map_at(later)
    error = abs(chart.to_target_ns(later) - line.server(later))
    assert error <= chart.bound_model_at_ns(later) <= chart.bound_at_ns(later)
    assert error < 10_000
    assert estimator.state_at(now + 200 * S) is SyncState.EXPIRED


def test_bound_of_the_server_is_added() -> None:
    line, plain, chained = Line(), ClockEstimator("a", "b"), ClockEstimator("a", "b")
    exchange = line.exchange(0)
    plain.add(exchange)
    chained.add(exchange, server_bound_ns=7_000)
    t = exchange.t4_ns
    assert chained.map_at(t).bound_at_ns(t) == plain.map_at(t).bound_at_ns(t) + 7_000


def test_server_whose_own_time_line_moves_inside_its_bound_is_no_step_and_is_covered() -> None:
    line, estimator = Line(), ClockEstimator("a", "b")
    for k, exchange in enumerate(line.run(0, 60)):
        # As a server does that is corrected itself: off by up to 300 us, and by another amount each time.
        wrong = [300_000, -250_000, 120_000][k // 3 % 3]
        moved = Exchange(exchange.t1_ns, exchange.t2_ns + wrong, exchange.t3_ns + wrong, exchange.t4_ns)
        event = estimator.add(moved, server_bound_ns=300_000)
        assert event is None or event.kind != "step"
        chart, now = estimator.map_at(exchange.t4_ns), exchange.t4_ns
        low, high = chart.interval_at_ns(now)
        assert low <= line.server(now) - now <= high


@pytest.mark.parametrize("told", [True, False])
def test_slew_beyond_the_drift_bound_is_covered_where_it_is_told(told: bool) -> None:
    line, estimator = Line(skew=0.0), ClockEstimator("a", "b")
    for exchange in line.run(0, 30):
        estimator.add(exchange)
    pivot, rate, missed, steps, before = 30 * S, 2e-3, 0, 0, exchange.t4_ns
    line.offset_ns -= round(rate * pivot)
    line.skew = rate
    for exchange in line.run(30, 40):
        strayed = round((rate - 100e-6) * (exchange.t4_ns - before)) + 1
        event = estimator.add(exchange, strayed_ns=strayed if told else 0)
        steps += event is not None and event.kind == "step"
        before = exchange.t4_ns
        low, high = estimator.map_at(before).interval_at_ns(before)
        missed += not low <= line.server(before) - before <= high
    assert (missed, steps) == (0, 0) if told else steps > 0


@pytest.mark.parametrize("width", [-1, 2**62, 2**63 - 1])
def test_width_that_cannot_be_is_refused(width: int) -> None:
    line, estimator = Line(), ClockEstimator("a", "b")
    for name in ("server_bound_ns", "strayed_ns"):
        with pytest.raises(BadInput, match="between 0 and 11 days"):
            estimator.add(line.exchange(0), **{name: width})
    assert estimator.exchanges == 0


def test_machine_that_slept_is_a_step_of_that_size() -> None:
    line, estimator = Line(), ClockEstimator("a", "b")
    for exchange in line.run(0, 30):
        estimator.add(exchange)
    line.offset_ns += 5 * S  # ours stood still for five seconds, the server's went on
    event = estimator.add(line.exchange(30 * S))
    assert event is not None
    assert event.size_lo_ns <= 5 * S <= event.size_hi_ns


def test_queue_that_stands_for_long_is_taken_for_no_route() -> None:
    line, estimator = Line(), ClockEstimator("a", "b")
    for exchange in line.run(0, 60):
        estimator.add(exchange)
    events, errors = [], []
    for k in range(60 * 8, 180 * 8):
        line.rise_ns["outbound"] = int(line.rng.uniform(9e6, 13e6)) if k // 8 % 20 < 15 else 0
        exchange = line.exchange(k * S // 8)
        if (event := estimator.add(exchange)) is not None:
            events.append(event)
        now = exchange.t4_ns
        errors.append(abs(estimator.map_at(now).to_target_ns(now) - line.server(now)))
    assert events == []
    assert max(errors) < 5_000


def test_before_the_first_exchange_there_is_no_map() -> None:
    estimator = ClockEstimator("client", "server")
    with pytest.raises(NotSynced):
        estimator.map_at(0)
    assert estimator.state_at(0) is SyncState.ACQUIRING


def test_restart_forgets_and_counts() -> None:
    line, estimator = Line(), ClockEstimator("client", "server")
    estimator.add(line.exchange(0))
    estimator.restart()
    assert estimator.epoch == 1
    with pytest.raises(NotSynced):
        estimator.map_at(0)


def test_replies_out_of_order_and_impossible_settings_are_refused() -> None:
    line, estimator = Line(), ClockEstimator("client", "server")
    estimator.add(line.exchange(S))
    with pytest.raises(BadInput, match="order of arrival"):
        estimator.add(line.exchange(0))
    with pytest.raises(BadInput, match="drift_bound_ppm"):
        ClockEstimator("a", "b", 0.0)
    with pytest.raises(BadInput, match="73 years"):
        ClockEstimator("a", "b").add(Exchange(0, 2**62 + 1, 2**62 + 1, 5))
