"""What a check is given, and what it says: a verdict with numbers, the cause, the measurement that confirms it, and the fix."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.evidence.timeline import Timeline
from onbeat.read.streams import StreamRecording

__all__ = ("LEVELS", "Check", "Curve", "Evidence", "Figure", "Mark", "Plot", "Verdict")

# "finding": a fault. "unjudged": cannot be told from this file, and why. "note": true and worth knowing, no fault.
LEVELS = ("finding", "unjudged", "note")
STYLES = ("line", "dots", "steps", "bars")


@dataclass(frozen=True, slots=True)
class Figure:
    """A number with its 95 % interval.

    Args:
        value: In the unit.
        low, high: The interval; both None for what was counted or stated, not estimated.
        unit: "s", "ppm", "Hz", "1", "rad/s", ...: SI, and ppm for rates of clocks.

    Raises:
        BadInput: it is not finite, or the interval does not hold it.
    """

    value: float
    unit: str
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        bounds = [b for b in (self.low, self.high) if b is not None]
        if not all(isfinite(x) for x in (self.value, *bounds)) or len(bounds) == 1:
            raise BadInput(f"a figure needs finite numbers, not {self.value} in [{self.low}, {self.high}] {self.unit}")
        if self.low is not None and self.high is not None and not self.low <= self.value <= self.high:
            raise BadInput(f"{self.value} {self.unit} does not lie in its interval [{self.low}, {self.high}]")


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """One curve of a plot: at most a few thousand points. Style: line, dots, steps, bars."""

    label: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    style: str = "line"

    def __post_init__(self) -> None:
        if self.style not in STYLES or np.shape(self.x) != np.shape(self.y) or np.ndim(self.x) != 1:
            raise BadInput(f"a curve has a style of {STYLES} and as many x as y, not {self.style!r}, {np.shape(self.x)}")


@dataclass(frozen=True, slots=True)
class Mark:
    """A place on the x axis to point at, or a span of it, and what is there."""

    x: float
    text: str
    until: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Plot:
    """The one picture of a verdict: data only; the report draws it.

    Args:
        title: What is seen, a few words.
        x, y: What the axes are, with unit: "time (s)", "log time minus stamp (ms)".
        curves: The first is the evidence; further ones say what was fitted or expected.
        marks: Where to look.
    """

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """What a check says of one stream, or of two.

    Args:
        fault: Name of the fault, one of `onbeat.health.faults.FAULTS`.
        streams: The streams that it is about; the first is the one to mend.
        level: One of `LEVELS`.
        sentence: What is wrong, in the field's words and with the numbers; begins in lower case, ends without a full stop.
        figures: The numbers by name, the first being the one that the fault is about; `--baseline` compares them.
        confirm: The one measurement that tells this cause from the plausible other one.
        fix: What to do.
        plot: The evidence.
        explains: Faults of the same streams that are only consequences of this one, and are not said again.
        weight: How much it matters, for the order: larger is worse. Seconds of wrong time, roughly.
    """

    fault: str
    streams: tuple[str, ...]
    level: str
    sentence: str
    figures: Mapping[str, Figure] = field(default_factory=dict)
    confirm: str = ""
    fix: str = ""
    plot: Plot | None = None
    explains: frozenset[str] = frozenset()
    weight: float = 0.0

    def __post_init__(self) -> None:
        if self.level not in LEVELS:
            raise BadInput(f"{self.fault}: level must be one of {LEVELS}, not {self.level!r}")
        if self.level == "finding" and not (self.figures and self.confirm and self.fix):
            raise BadInput(f"{self.fault}: a finding needs a number, a measurement that confirms it and a fix")
        object.__setattr__(self, "figures", MappingProxyType(dict(self.figures)))


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that the checks are given of one recording.

    Args:
        recording: The opened file: for pictures, and for joints as `onbeat delay` reads them.
        timelines: By name of stream.
        shared: Where a check keeps what another one may need too, by name.
    """

    recording: StreamRecording
    timelines: Mapping[str, Timeline]
    shared: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Check:
    """One question that is asked of a recording.

    Args:
        name: The question in a word or two: "clocks".
        faults: The faults that it can name.
        judge: Gives its verdicts; silence means that nothing is wrong. It never raises for what a file may hold.
    """

    name: str
    faults: tuple[str, ...]
    judge: Callable[[Evidence], Iterable[Verdict]]
