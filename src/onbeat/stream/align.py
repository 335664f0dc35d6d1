"""What was everything at one instant: an observation from several streams, with a reason for what is missing."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from onbeat.errors import BadInput, ClockMismatch, Forgotten, Gap, NotYet
from onbeat.stream.stream import Sample, Stream

__all__ = ("Observation", "align")


@dataclass(frozen=True, slots=True)
class Observation:
    """Several streams at one instant, and at instants before it where a policy looks back.

    Args:
        t_ns: The instant, on `clock`; a policy's chunk is anchored to it.
        samples: By stream name, what could be answered.
        missing: By stream name, why the others could not: "not yet", "forgotten" or "gap", with the numbers.
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
