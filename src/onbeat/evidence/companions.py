"""What is said of frames beside them: exposures that a driver sends on a topic of their own, put back to the pictures."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.timeline import Timeline

__all__ = ("with_exposures",)

_SHARED = 0.95  # of the pictures' stamps that the messages beside them must have too


def with_exposures(lines: Mapping[str, Timeline], beside: Mapping[str, Timeline] | None = None) -> dict[str, Timeline]:
    """Give each picture the exposure that a message of the same stamp says, and leave out the streams of such messages.

    They are about the same frames, so whatever is wrong with their times is said once, of the pictures. Where several streams
    share the pictures' stamps, as of two cameras under one trigger, the one whose name begins most alike is taken. A picture
    without a message has the exposure of the one before it, for few of them only.

    Args:
        lines: The streams, by name.
        beside: Further ones in which to look for exposures.
    """
    sayers = [
        one for one in {**(beside or {}), **lines}.values() if one.info.kind != "image" and one.has("stamp_ns", "exposure_ns")
    ]
    joined, used = dict(lines), set()
    for name, line in lines.items():
        if line.info.kind != "image" or not line.has("stamp_ns") or line.has("exposure_ns"):
            continue
        for sayer in sorted(sayers, key=partial(_unlike, name)):
            exposure = _of(line, sayer)
            if exposure is not None:
                joined[name] = _exposed(line, exposure)
                used.add(sayer.name)
                break
    return {name: line for name, line in joined.items() if name not in used}


def _unlike(name: str, sayer: Timeline) -> int:
    """Count down the letters with which both names begin."""
    return -next((k for k, (a, b) in enumerate(zip(name, sayer.name, strict=False)) if a != b), min(len(name), len(sayer.name)))


def _of(line: Timeline, sayer: Timeline) -> NDArray[np.int64] | None:
    """Give the exposures that a stream says for the rows of another one, None where they are not of the same stamps."""
    order = np.argsort(sayer.column("stamp_ns"), kind="stable")
    stamps, told = sayer.column("stamp_ns")[order], sayer.column("exposure_ns")[order]
    at = np.minimum(np.searchsorted(stamps, line.column("stamp_ns")), len(stamps) - 1)
    same = stamps[at] == line.column("stamp_ns")
    if not len(same) or same.mean() < _SHARED:
        return None
    first = int(np.argmax(same))
    known = np.maximum.accumulate(np.where(same, np.arange(len(same)), first))
    exposure: NDArray[np.int64] = told[at[known]]
    return exposure


def _exposed(line: Timeline, exposure: NDArray[np.int64]) -> Timeline:
    names = line.rows.dtype.names or ()
    rows = np.empty(len(line.rows), np.dtype([*((name, line.rows.dtype[name].str) for name in names), ("exposure_ns", "<i8")]))
    for name in names:
        rows[name] = line.rows[name]
    rows["exposure_ns"] = exposure
    return replace(line, rows=rows)
