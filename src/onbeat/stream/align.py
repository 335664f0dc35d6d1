"""What was everything at one instant: an observation from several streams, with a reason for what is missing."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from onbeat.errors import BadInput, ClockMismatch, Forgotten, Gap, NotYet
from onbeat.stream.stream import Sample, Stream, hold
from onbeat.units import to_ns

__all__ = ("Aligner", "Observation", "align")

_MAX_WAIT_S = 0.5


@dataclass(frozen=True, slots=True)
class Observation:
    """Several streams at one instant, and at instants before it where a policy looks back.

    Args:
        t_ns: The instant, on `clock`; a policy's chunk is anchored to it.
        samples: By stream name, what could be answered.
        missing: By stream name, why the others could not: "not yet", "silent", "forgotten" or "gap", with the numbers.
        clock: Id of the clock.
        history: By stream name, the samples at all instants that were asked for, oldest first; the last is that of `samples`.
    """

    t_ns: int
    samples: Mapping[str, Sample]
    missing: Mapping[str, str]
    clock: str
    history: Mapping[str, tuple[Sample, ...]] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def complete(self) -> bool:
        """Whether every stream could answer."""
        return not self.missing


def align(
    streams: Mapping[str, Stream],
    t_ns: int,
    n_obs: int = 1,
    obs_dt_ns: int = 0,
    near_ns: Mapping[str, int] = MappingProxyType({}),
) -> Observation:
    """Ask every stream for one instant, and for those before it; nothing is clamped, what cannot be answered is missing.

    Args:
        streams: By name, all on one clock.
        t_ns: The instant, on that clock.
        n_obs: How many instants: t_ns and those obs_dt_ns, 2 obs_dt_ns, ... before it.
        obs_dt_ns: Time between them.
        near_ns: By name of an object stream, how far its nearest object may lie, where that is less than its tolerance_s.

    Raises:
        ClockMismatch: the streams are on different clocks.
        BadInput: there are no streams, or the instants make no sense.
    """
    clock = _one_clock(streams)
    if n_obs < 1 or obs_dt_ns < 0 or (n_obs > 1 and obs_dt_ns == 0):
        raise BadInput(f"n_obs must be >= 1 and obs_dt_ns > 0 between several, not {n_obs} and {obs_dt_ns}")
    history: dict[str, tuple[Sample, ...]] = {}
    missing: dict[str, str] = {}
    for name, stream in streams.items():
        try:
            instants = (t_ns - k * obs_dt_ns for k in reversed(range(n_obs)))
            history[name] = tuple(_at(stream, instant, near_ns.get(name)) for instant in instants)
        except NotYet as error:
            missing[name] = f"not yet: {error}"
        except Forgotten as error:
            missing[name] = f"forgotten: {error}"
        except Gap as error:
            missing[name] = f"gap: {error}"
    samples = {name: answers[-1] for name, answers in history.items()}
    return Observation(t_ns, MappingProxyType(samples), MappingProxyType(missing), clock, MappingProxyType(history))


class Aligner:
    """Answers queries for instants that are not over yet: each once, in order of time, when the streams have come so far.

    A stream that cannot answer is missing from its observation, with the reason; the others are there. A stream that has been
    silent for max_wait_s is not waited for any more, until it speaks again. Nothing is dropped without being counted. May be used
    from one thread at a time; the streams may be pushed to from any.

    Args:
        streams: By name, or a sequence of streams whose names they are; all on one clock.
        lag_s: Release at t + lag_s and not before, so that every observation is equally old. When not given, as soon as all
            streams have answered.
        master: Name of a stream each of whose new samples is a query at its instant.
        max_wait_s: After t + max_wait_s an observation is released with what there is. It must be longer than the delay of the
            slowest stream. When not given: lag_s, or 0.5 s without that.
        capacity: Queries that wait; when one more comes, the oldest is dropped, and counted.

    Raises:
        ClockMismatch: the streams are on different clocks.
        BadInput: there are no streams, the master is not one of them, or a number makes no sense.
    """

    def __init__(
        self,
        streams: Mapping[str, Stream] | Sequence[Stream],
        lag_s: float | None = None,
        master: str | None = None,
        max_wait_s: float | None = None,
        *,
        capacity: int = 1024,
    ) -> None:
        named = streams if isinstance(streams, Mapping) else {stream.name: stream for stream in streams}
        if len(named) != len(streams):
            raise BadInput("two streams have the same name; give them by name, as a mapping")
        self.clock = _one_clock(named)
        if master is not None and master not in named:
            raise BadInput(f"the master {master!r} is not among the streams {', '.join(named)}")
        if max_wait_s is None:
            max_wait_s = _MAX_WAIT_S if lag_s is None else lag_s
        if not max_wait_s > 0 or not 0 <= (lag_s or 0) <= max_wait_s or capacity < 1:
            raise BadInput(
                f"0 <= lag_s <= max_wait_s, max_wait_s > 0 and capacity >= 1 must hold, not {lag_s}, {max_wait_s} and {capacity}"
            )
        self._streams = dict(named)
        self._lag_ns = to_ns(lag_s or 0)
        self._max_wait_ns = to_ns(max_wait_s)
        self._capacity = capacity
        self._pending: list[int] = []
        self._counts = dict.fromkeys(("queried", "repeated", "dropped", "passed_over", "complete", "incomplete"), 0)
        self._missing = {name: dict.fromkeys(("not yet", "silent", "forgotten", "gap"), 0) for name in named}
        self._first_ns: int | None = None
        self._master = None if master is None else self._streams[master]
        self._master_ns = None if self._master is None else self._master.newest_ns
        self._master_stored = 0 if self._master is None else self._master.counts["stored"]

    @property
    def counts(self) -> dict[str, int]:
        """What became of the queries: queried = complete + incomplete + dropped + pending.

        repeated asked for an instant that waited already; passed_over are samples of the master that came out of order, or were
        overwritten before a drain saw them. "not yet", "silent", "forgotten" and "gap" count the missing fields of all streams.
        """
        reasons = {
            key: sum(counts[key] for counts in self._missing.values()) for key in ("not yet", "silent", "forgotten", "gap")
        }
        return {**self._counts, "pending": len(self._pending), **reasons}

    @property
    def missing(self) -> dict[str, dict[str, int]]:
        """How often each stream was missing, by name and reason."""
        return {name: dict(counts) for name, counts in self._missing.items()}

    def query(self, t_ns: int) -> None:
        """Ask for an instant; `drain` gives the answer."""
        if t_ns in self._pending:
            self._counts["repeated"] += 1
            return
        self._counts["queried"] += 1
        heapq.heappush(self._pending, t_ns)
        if len(self._pending) > self._capacity:
            heapq.heappop(self._pending)
            self._counts["dropped"] += 1

    def drain(self, now_ns: int) -> list[Observation]:
        """Take the observations that are due, in order of time.

        Args:
            now_ns: On the clock of the streams.
        """
        if self._first_ns is None:
            self._first_ns = now_ns
        self._query_master()
        released = []
        while self._pending and (observation := self._answer(self._pending[0], now_ns)) is not None:
            heapq.heappop(self._pending)
            self._count(observation)
            released.append(observation)
        return released

    def _answer(self, t_ns: int, now_ns: int) -> Observation | None:
        """Give the observation at an instant, or None while it is worth waiting."""
        over = now_ns >= t_ns + self._max_wait_ns
        if now_ns < t_ns + self._lag_ns:
            return None
        silent = {name for name, stream in self._streams.items() if self._is_silent(stream, now_ns)}
        waiting = not over and any(not _reaches(s, t_ns) for name, s in self._streams.items() if name not in silent)
        if waiting:
            return None
        observation = align(self._streams, t_ns)
        behind = {name for name, why in observation.missing.items() if why.startswith("not yet")}
        if behind - silent and not over:
            return None
        if not behind & silent:
            return observation
        said = {name: f"silent: {observation.missing[name]}" for name in behind & silent}
        missing = MappingProxyType({**observation.missing, **said})
        return Observation(t_ns, observation.samples, missing, self.clock, observation.history)

    def _is_silent(self, stream: Stream, now_ns: int) -> bool:
        heard_ns = stream.newest_ns
        if heard_ns is None:
            heard_ns = self._first_ns
        return heard_ns is not None and now_ns - heard_ns > self._max_wait_ns

    def _count(self, observation: Observation) -> None:
        self._counts["complete" if observation.complete else "incomplete"] += 1
        for name, why in observation.missing.items():
            self._missing[name][why.split(":")[0]] += 1

    def _query_master(self) -> None:
        """Ask for the instants of the master's samples since the last time, found from the newest backwards."""
        master = self._master
        if master is None or master.newest_ns in (None, self._master_ns):
            return
        stored, newest_ns = master.counts["stored"], master.newest_ns
        found: list[int] = []
        t_ns: int | None = newest_ns
        while t_ns is not None and (self._master_ns is None or t_ns > self._master_ns):
            found.append(t_ns)
            try:
                t_ns = t_ns - 1 - hold(master, t_ns - 1).age_ns
            except Forgotten:
                t_ns = None
        self._counts["passed_over"] += max(0, stored - self._master_stored - len(found))
        self._master_ns, self._master_stored = newest_ns, stored
        for instant in reversed(found):
            self.query(instant)


def _reaches(stream: Stream, t_ns: int) -> bool:
    """Say whether a stream has come as far as an instant; of an object stream a nearer one may still come before that."""
    newest_ns = stream.newest_ns
    return newest_ns is not None and newest_ns >= t_ns


def _one_clock(streams: Mapping[str, Stream]) -> str:
    clocks = {stream.clock for stream in streams.values()}
    if not clocks:
        raise BadInput("there are no streams to align")
    if len(clocks) > 1:
        raise ClockMismatch(f"the streams are on different clocks ({', '.join(sorted(clocks))}); map them onto one first")
    return clocks.pop()


def _at(stream: Stream, t_ns: int, near_ns: int | None) -> Sample:
    sample = stream.at(t_ns)
    if near_ns is None or abs(sample.age_ns) <= near_ns:
        return sample
    newest_ns, oldest_ns = stream.newest_ns, stream.oldest_ns
    sentence = (
        f"the nearest of {stream.name!r} lies {abs(sample.age_ns) / 1e6:.3f} ms away, and may lie {near_ns / 1e6:.3f} ms away"
    )
    if newest_ns is None or newest_ns < t_ns:
        raise NotYet(f"{sentence}; wait")
    if oldest_ns is not None and t_ns < oldest_ns:
        raise Forgotten(f"{sentence}; ask sooner, or keep more than {stream.capacity}")
    raise Gap(f"{sentence}: one was lost")
