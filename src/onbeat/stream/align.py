"""What was everything at one instant: an observation from several streams, with a reason for what is missing."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from onbeat.errors import BadInput, ClockMismatch, Forgotten, Gap, NotYet
from onbeat.stream.stream import Sample, Stream

__all__ = ("Observation", "align")


@dataclass(frozen=True, slots=True)
class Observation:
    """Several streams at one instant.

    Args:
        t_ns: The instant, on `clock`; a policy's chunk is anchored to it.
        samples: By stream name, what could be answered.
        missing: By stream name, why the others could not: "not yet", "forgotten" or "gap", with the numbers.
        clock: Id of the clock.
    """

    t_ns: int
    samples: Mapping[str, Sample]
    missing: Mapping[str, str]
    clock: str

    @property
    def complete(self) -> bool:
        """Whether every stream could answer."""
        return not self.missing


def align(streams: Mapping[str, Stream], t_ns: int) -> Observation:
    """Ask every stream for one instant; nothing is clamped, what cannot be answered is missing with its reason.

    Args:
        streams: By name, all on one clock.
        t_ns: The instant, on that clock.

    Raises:
        ClockMismatch: the streams are on different clocks.
        BadInput: there are no streams.
    """
    clocks = {stream.clock for stream in streams.values()}
    if not clocks:
        raise BadInput("there are no streams to align")
    if len(clocks) > 1:
        raise ClockMismatch(f"the streams are on different clocks ({', '.join(sorted(clocks))}); map them onto one first")
    samples: dict[str, Sample] = {}
    missing: dict[str, str] = {}
    for name, stream in streams.items():
        try:
            samples[name] = stream.at(t_ns)
        except NotYet as error:
            missing[name] = f"not yet: {error}"
        except Forgotten as error:
            missing[name] = f"forgotten: {error}"
        except Gap as error:
            missing[name] = f"gap: {error}"
    return Observation(t_ns, MappingProxyType(samples), MappingProxyType(missing), clocks.pop())
