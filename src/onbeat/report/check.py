"""What `onbeat check` says of one recording: the verdict, the findings in groups, the numbers for result.json."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onbeat.health.baseline import RULE, Change, Comparison
from onbeat.health.check import Figure, Verdict
from onbeat.health.examine import Examined
from onbeat.health.faults import FAULTS
from onbeat.report.streams_table import stream_data
from onbeat.report.words import counted, named

__all__ = ("SCHEMA", "CheckReport", "comparison_data")

SCHEMA = "onbeat check 1"


@dataclass(frozen=True, slots=True)
class CheckReport:
    """One run of `onbeat check` on one recording.

    Args:
        examined: What is known of it.
        only, streams: The faults and the streams that were asked for; all where it is empty.
    """

    examined: Examined
    only: tuple[str, ...] = ()
    streams: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The recording's name: its file's or folder's."""
        path = self.examined.recording.path
        return path.name or path.resolve().name

    @property
    def stream_names(self) -> tuple[str, ...]:
        """Its streams, in the order of the file."""
        return tuple(one.name for one in self.examined.facts)

    @property
    def findings(self) -> tuple[Verdict, ...]:
        """The faults, worst first."""
        return self._level("finding")

    @property
    def unjudged(self) -> tuple[Verdict, ...]:
        """What could not be told."""
        return self._level("unjudged")

    @property
    def notes(self) -> tuple[Verdict, ...]:
        """What is worth knowing."""
        return self._level("note")

    @property
    def delays(self) -> tuple[Verdict, ...]:
        """Of the notes, how late the joints follow: what the owner of a robot cannot know otherwise, and is told first."""
        return tuple(note for note in self.notes if note.fault == "delay")

    @property
    def remarks(self) -> tuple[Verdict, ...]:
        """The other notes."""
        return tuple(note for note in self.notes if note.fault != "delay")

    @property
    def groups(self) -> list[list[Verdict]]:
        """The findings of one fault side by side, the heaviest first in each, the group of the heaviest first."""
        by_fault: dict[str, list[Verdict]] = {}
        for finding in self.findings:
            by_fault.setdefault(finding.fault, []).append(finding)
        return list(by_fault.values())

    def _level(self, level: str) -> tuple[Verdict, ...]:
        return tuple(one for one in self.examined.verdicts if one.level == level)

    def verdict(self) -> str:
        """Say in one sentence how it stands."""
        findings, streams = self.findings, counted(len(self.examined.facts), "stream")
        broken = "read only in part; " if self.examined.damage else ""
        open_ = f"; {counted(len(self.unjudged), 'question')} could not be judged" if self.unjudged else ""
        if not findings:
            return f"{broken}no timing fault found in {streams}{open_}"
        worst = named(findings[0])
        if len(findings) == 1:
            return f"{broken}{worst}"
        return f"{broken}{counted(len(findings), 'finding')} in {streams}, the worst: {worst}"

    def document(self, run: Mapping[str, Any]) -> dict[str, Any]:
        """Give result.json: SI units, ppm for rates of clocks; `run` holds what differs from run to run."""
        recording = self.examined.recording
        return {
            "schema": SCHEMA,
            "verdict": self.verdict(),
            "recording": {
                "name": self.name,
                "kind": recording.kind,
                "streams": [stream_data(one) for one in self.examined.facts],
                "notes": list(recording.notes),
                "damage": self.examined.damage,
            },
            "settings": {"only": list(self.only), "streams": list(self.streams)},
            "findings": [
                {**_said(one), "confirm": one.confirm, "fix": one.fix, "meaning": FAULTS.get(one.fault, ""), "weight": one.weight}
                for one in self.findings
            ],
            "notes": [_said(one) for one in self.notes],
            "unjudged": [_said(one) for one in self.unjudged],
            "run": dict(run),
        }


def comparison_data(comparison: Comparison) -> dict[str, Any]:
    """Give what changed against a baseline, for result.json."""
    return {
        "rule": RULE,
        "worse": [_change(one) for one in comparison.worse],
        "better": [_change(one) for one in comparison.better],
    }


def _change(one: Change) -> dict[str, Any]:
    before, after = (None if figure is None else _figure(figure) for figure in (one.before, one.after))
    return {"what": one.what, "streams": list(one.streams), "figure": one.name, "before": before, "after": after}


def _figure(figure: Figure) -> dict[str, Any]:
    return {"value": figure.value, "unit": figure.unit, "low": figure.low, "high": figure.high}


def _said(one: Verdict) -> dict[str, Any]:
    figures = {name: _figure(figure) for name, figure in one.figures.items()}
    return {"fault": one.fault, "streams": list(one.streams), "sentence": one.sentence, "figures": figures}
