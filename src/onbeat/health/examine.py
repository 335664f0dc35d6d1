"""One recording from its rows to its verdicts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from onbeat.errors import BadInput
from onbeat.evidence.companions import with_exposures
from onbeat.evidence.timeline import timeline
from onbeat.health.check import Check, Evidence, Verdict
from onbeat.health.facts import StreamFacts, stream_facts
from onbeat.health.judge import CHECKS, judge
from onbeat.read.spool import gather
from onbeat.read.streams import StreamRecording

__all__ = ("Examined", "Progress", "examine")


@dataclass(frozen=True, slots=True)
class Examined:
    """What is known of one recording.

    Args:
        recording: Where it came from.
        facts: Its streams, in the order of the file.
        verdicts: What the checks said, worst first.
        damage: What could not be read, one sentence; "" for a whole file.
        shared: What the checks kept for others, by name.
    """

    recording: StreamRecording
    facts: tuple[StreamFacts, ...]
    verdicts: tuple[Verdict, ...]
    damage: str
    shared: Mapping[str, Any]


# Given what is being done and in how many steps (None: not known), shows it while the block lasts, and is told of steps done.
Progress = Callable[[str, int | None], AbstractContextManager[Callable[[int], None]]]


@contextmanager
def _silent(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    yield lambda steps: None


def examine(
    recording: StreamRecording,
    checks: Sequence[Check] = CHECKS,
    streams: Sequence[str] = (),
    progress: Progress = _silent,
) -> Examined:
    """Read a recording once, and ask the checks.

    Args:
        recording: Opened.
        checks: What to ask; nothing for the facts alone.
        streams: Look at these only: a name, or a word that only the names of these streams hold. All where it is empty.
        progress: Shows the reading and the checking.

    Raises:
        BadInput: it has no rows, or no such stream.
        Damaged: nothing at all could be read.
    """
    with ExitStack() as stack:
        with progress("reading", None) as advance:
            gathered = stack.enter_context(gather(recording, advance))
            if not gathered.series:
                raise BadInput(f"{recording.path} has no rows with times; record at least a few messages")
            names = _chosen(tuple(gathered.series), streams, recording)
            timelines = {name: timeline(gathered.series[name]) for name in names}
            facts = tuple(stream_facts(line) for line in timelines.values())
            exposures = {
                name: timeline(series)
                for name, series in gathered.series.items()
                if name not in timelines and "exposure_ns" in (series.dtype.names or ())
            }
        evidence = Evidence(recording, MappingProxyType(with_exposures(timelines, exposures)))
        with progress("checking", len(checks)) as advance:
            verdicts = judge(evidence, checks, advance)
        return Examined(recording, facts, verdicts, gathered.damage, MappingProxyType(evidence.shared))


def _chosen(names: tuple[str, ...], words: Sequence[str], recording: StreamRecording) -> tuple[str, ...]:
    wanted: set[str] = set()
    for word in words:
        hits = [name for name in names if name == word] or [name for name in names if word.lower() in name.lower()]
        if not hits:
            near = get_close_matches(word, names, n=1, cutoff=0.4)
            more = f" and {len(names) - 8} more" if len(names) > 8 else ""
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names[:8])}{more}"
            raise BadInput(f"{recording.path} has no stream {word!r}; {hint}")
        wanted.update(hits)
    return tuple(name for name in names if not words or name in wanted)
