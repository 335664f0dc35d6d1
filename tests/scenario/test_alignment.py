"""Four sensors on a lossy network, one late and one dying: what can be answered is answered, all else is counted by reason."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.clock import ManualClock
from onbeat.stream import Aligner, Observation, Stream

MS = 1_000_000
START_NS = 1_700_000_000_000_000_000
LONG_NS = 12_000 * MS
DEATH_NS = START_NS + 6_000 * MS
MAX_WAIT_NS = 500 * MS
LOST = 0.05


@dataclass(frozen=True)
class Sensor:
    name: str
    kind: str
    rate_hz: float
    delay_ns: int
    max_gap_ns: int


SENSORS = (
    Sensor("camera", "object", 30, 60 * MS, 0),
    Sensor("arm", "linear", 400, 2 * MS, 6 * MS),
    Sensor("imu", "linear", 200, 1 * MS, 11 * MS),
    Sensor("force", "linear", 10, 5 * MS, 210 * MS),
)


def signal(t_ns: int) -> float:
    return (t_ns - START_NS) * 1e-9


def deliveries(sensor: Sensor, rng: np.random.Generator) -> NDArray[np.int64]:
    """Give (capture, arrival) of what arrives: jittered by up to 1 ms, 5 % lost; the imu dies half way."""
    k = np.arange(int(LONG_NS * 1e-9 * sensor.rate_hz), dtype=np.int64)
    capture = START_NS + k * 1_000_000_000 // int(sensor.rate_hz) + rng.integers(0, 300_000, len(k))
    arrival = np.maximum.accumulate(capture + sensor.delay_ns + rng.integers(0, MS, len(k)))
    kept = rng.random(len(k)) >= LOST
    if sensor.name == "imu":
        kept &= capture < DEATH_NS
    return np.stack([capture[kept], arrival[kept]], axis=1)


def run(
    seed: int, drain_every_ns: int, lag_ns: int | None
) -> tuple[Aligner, list[tuple[int, Observation]], dict[str, NDArray[np.int64]]]:
    rng = np.random.default_rng(seed)
    sent = {sensor.name: deliveries(sensor, rng) for sensor in SENSORS}
    clock = ManualClock(START_NS)
    streams = {
        s.name: Stream(s.name, clock, "object", 0, 64)
        if s.kind == "object"
        else Stream(s.name, clock, "linear", 1, 1024, max_gap_s=s.max_gap_ns * 1e-9)
        for s in SENSORS
    }
    aligner = Aligner(streams, None if lag_ns is None else lag_ns * 1e-9, "camera", MAX_WAIT_NS * 1e-9, capacity=64)
    arrivals = sorted((int(at), name, int(t)) for name, rows in sent.items() for t, at in rows)
    released: list[tuple[int, Observation]] = []
    place = 0
    while clock.now_ns() < START_NS + LONG_NS + 2 * MAX_WAIT_NS:
        clock.advance_ns(drain_every_ns)
        while place < len(arrivals) and arrivals[place][0] <= clock.now_ns():
            _, name, t_ns = arrivals[place]
            streams[name].push(t_ns, t_ns if name == "camera" else [signal(t_ns)])
            place += 1
        released += [(clock.now_ns(), observation) for observation in aligner.drain(clock.now_ns())]
        assert aligner.counts["pending"] <= 20
    return aligner, released, sent


def answerable(sensor: Sensor, rows: NDArray[np.int64], t_ns: int, late_ns: int) -> bool:
    """Say whether samples around t_ns exist, close enough, that have arrived soon enough."""
    stamps = rows[:, 0].tolist()
    after, before = bisect_left(stamps, t_ns), bisect_right(stamps, t_ns) - 1
    if before < 0 or after == len(stamps) or stamps[after] - stamps[before] > sensor.max_gap_ns:
        return False
    return int(rows[after, 1]) <= t_ns + late_ns


@pytest.mark.parametrize("lag_ns", [None, 350 * MS])
@pytest.mark.parametrize("seed", range(3))
def test_every_answerable_query_is_answered_and_every_other_counted(seed: int, lag_ns: int | None) -> None:
    every_ns = 1 * MS
    aligner, released, sent = run(seed, every_ns, lag_ns)
    queries = sent["camera"][:, 0].tolist()
    assert [observation.t_ns for _, observation in released] == queries
    counted = {sensor.name: 0 for sensor in SENSORS}
    for _, observation in released:
        for sensor in SENSORS:
            can = answerable(sensor, sent[sensor.name], observation.t_ns, MAX_WAIT_NS)
            assert (sensor.name in observation.samples) == can, (sensor.name, observation)
            if not can:
                counted[sensor.name] += 1
                assert observation.missing[sensor.name].split(":")[0] in {"not yet", "silent", "forgotten", "gap"}
            elif sensor.name == "camera":
                assert observation.samples["camera"].value == observation.t_ns
            else:
                assert abs(observation.samples[sensor.name].value[0] - signal(observation.t_ns)) < 1e-9
    assert {name: sum(reasons.values()) for name, reasons in aligner.missing.items()} == counted
    counts = aligner.counts
    assert counts["queried"] == len(queries) == counts["complete"] + counts["incomplete"]
    assert counts["dropped"] == counts["pending"] == counts["passed_over"] == 0
    # What died is missing from then on, and silent once it has been so for max_wait; nothing else suffers.
    assert aligner.missing["imu"]["silent"] > 150
    assert aligner.missing["camera"] == dict.fromkeys(aligner.missing["camera"], 0)


@pytest.mark.parametrize("lag_ns", [None, 350 * MS])
def test_dead_stream_delays_the_others_no_longer_than_max_wait(lag_ns: int | None) -> None:
    _, released, _ = run(7, 1 * MS, lag_ns)
    waits_ms = {
        part: [(now_ns - o.t_ns) / MS for now_ns, o in released if begin <= o.t_ns < end]
        for part, begin, end in (
            ("alive", START_NS + 500 * MS, DEATH_NS - 20 * MS),
            ("dying", DEATH_NS - 20 * MS, DEATH_NS + MAX_WAIT_NS),
            ("dead", DEATH_NS + MAX_WAIT_NS, START_NS + LONG_NS - MAX_WAIT_NS),
        )
    }
    assert max(waits_ms["dying"]) <= MAX_WAIT_NS / MS + 1
    slowest = 350 if lag_ns else 320  # the force sensor: up to three periods and its delay
    assert max(waits_ms["alive"]) <= slowest + 1
    assert max(waits_ms["dead"]) <= slowest + 1
    if lag_ns:
        # Every observation is equally old, but for the millisecond between two drains.
        assert min(waits_ms["alive"] + waits_ms["dead"]) >= 350


def test_answers_do_not_depend_on_when_they_are_asked_for() -> None:
    _, often, _ = run(3, 1 * MS, 350 * MS)
    _, seldom, _ = run(3, 7 * MS, 350 * MS)
    alive = [
        [
            (o.t_ns, sorted(o.samples), [o.samples[n].value for n in sorted(o.samples)])
            for _, o in released
            if o.t_ns < DEATH_NS - 20 * MS
        ]
        for released in (often, seldom)
    ]
    assert alive[0] == alive[1]
