"""Plant a named fault in any recording, as the faulty system would have recorded it: the counterpart of `onbeat check`.

It shares nothing with what looks for faults but their names. The truth is given beside the recording, never in it.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from onbeat.errors import BadInput
from onbeat.health.faults import FAULTS
from onbeat.read.streams import Batch, StreamInfo, StreamRecording
from onbeat.testing.clock_faults import CLOCK_FAULTS
from onbeat.testing.planting import Change, survey
from onbeat.testing.sample_faults import SAMPLE_FAULTS
from onbeat.testing.stamp_faults import STAMP_FAULTS

__all__ = ("PLANTABLE", "Planted", "plant")

PLANTABLE = MappingProxyType({**CLOCK_FAULTS, **STAMP_FAULTS, **SAMPLE_FAULTS})


@dataclass(frozen=True, slots=True)
class Planted:
    """What was planted: the truth.

    Args:
        fault: One of `PLANTABLE`.
        stream: Where.
        parameters: By name with the unit in it: SI, and ppm. Times are since the stream's first row.
    """

    fault: str
    stream: str
    parameters: Mapping[str, float]


def plant(
    recording: StreamRecording, fault: str, rng: np.random.Generator, stream: str | None = None, **parameters: float
) -> tuple[StreamRecording, Planted]:
    """Plant one fault in one stream of a recording.

    The recording is gone through once beforehand, and then again whenever the new one is read: rows change as they pass, and no
    more than a few are held.

    Args:
        recording: Opened; any.
        fault: One of `PLANTABLE`.
        rng: What is drawn from: the stream where none is named, and the parameters that are not given.
        stream: Where to plant it.
        parameters: Figures to use instead of drawn ones, with the names of `Planted.parameters`.

    Returns:
        The recording with the fault, and the truth.

    Raises:
        BadInput: the fault, the stream or a parameter is unknown, or the stream cannot have the fault, and why.
    """
    if fault not in PLANTABLE:
        known = f"{fault!r} is named but cannot be planted" if fault in FAULTS else f"no fault is called {fault!r}"
        raise BadInput(f"{known}; choose one of {', '.join(PLANTABLE)}")
    form = PLANTABLE[fault]
    streams = survey(recording)
    if stream is not None and stream not in streams:
        raise BadInput(f"{recording.path} has no stream {stream!r} with rows; it has {', '.join(streams) or 'none'}")
    reasons = {name: form.missing(seen) for name, seen in streams.items() if stream in (None, name)}
    able = [name for name, reason in reasons.items() if not reason and (stream is not None or streams[name].steady)]
    best = [name for name in able if streams[name].info.kind in form.best]
    if not able:
        why = "; ".join(f"{name}: {reason or 'it comes now and then, not at a rate'}" for name, reason in reasons.items())
        raise BadInput(f"{fault!r} cannot be planted in {recording.path} ({why or 'it has no rows'})")
    chosen = streams[str(rng.choice(best or able))]
    given = form.draw(chosen, rng)
    unknown = sorted(set(parameters) - set(given))
    if unknown:
        raise BadInput(f"{fault!r} has the parameters {', '.join(given)}, not {', '.join(unknown)}")
    given.update(parameters)
    truth = MappingProxyType({**given, **form.told(chosen, given, deepcopy(rng))})
    info = form.declare(chosen.info, given)
    own = deepcopy(rng)

    def read() -> Iterator[Batch]:
        yield from _changed(recording, info, form.begin(chosen, given, deepcopy(own)))

    # Pictures and joints would come from the file as it is, without the fault.
    made = replace(recording, read=read, frames=None, joints=None, onbeat=False, notes=())
    return made, Planted(fault, chosen.info.name, truth)


def _changed(recording: StreamRecording, info: StreamInfo, change: Change) -> Iterator[Batch]:
    first = 0
    for batch in recording.read():
        if batch.info.name != info.name:
            yield batch
            continue
        rows = change(batch.rows, first)
        first += len(batch.rows)
        yield Batch(info, rows)
