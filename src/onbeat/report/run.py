"""What a run of a policy on a rig has to tell: what became of its waypoints, what was late, and how the loops kept their beat."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onbeat.policy import Decision
from onbeat.report.demo_figures import draw_lateness
from onbeat.report.html import Figure, Paragraph, Section, Table, page
from onbeat.report.story import LoopSummary

__all__ = ("OUTCOMES", "RunSummary", "outcome_rows", "run_page", "tally")

OUTCOMES = ("kept", "stretched", "late", "dropped", "rejected")

_VERDICTS = {
    "anchor_old": "turns on an observation that was too old",
    "inference_slow": "turns in which the policy took longer than its step",
    "frame_missing": "frames passed over, because an image of their history was lost",
    "starved": "times without an observation for longer than one may be old",
}
_MEANINGS = (
    ("kept", "Scheduled as asked."),
    ("stretched", "Asked for more than max_speed, and takes longer."),
    ("late", "Its instant of sending had passed, and it was moved to the next one."),
    ("dropped", "Its instant of sending had passed. The first rows of a chunk often are; the next rows take their place."),
    ("rejected", "Out of the module's range."),
)
_LATENESS = "Wake minus deadline. Both scales are logarithmic; cycles less than 1 µs late, or early, stand at 1 µs."


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run of a policy.

    Args:
        turns: How often the policy answered and was scheduled.
        rows: What became of its rows: module -> outcome -> count.
        verdicts: How often what was late, by kind, as `Runner.counts` gives it.
        loops: Of the modules that take commands.
        run: Facts of this run: date, host, files, how it ended.
        error: Why it ended before its time, in one sentence; "" when it ended as it was asked to.
    """

    turns: int
    rows: Mapping[str, Mapping[str, int]]
    verdicts: Mapping[str, int]
    loops: tuple[LoopSummary, ...]
    run: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""

    @property
    def findings(self) -> list[str]:
        """Say what was found, in words with counts; empty when all was in time."""
        missed = sum(loop.missed for loop in self.loops)
        rejected = sum(counts.get("rejected", 0) for counts in self.rows.values())
        found = [] if self.turns else ["the policy had no turn"]
        found += [f"{count} {_VERDICTS.get(kind, kind)}" for kind, count in self.verdicts.items() if count]
        found += [f"{missed} deadlines of the send loops missed"] if missed else []
        found += [f"{rejected} rows rejected"] if rejected else []
        return found

    def verdict(self) -> str:
        """Say in one sentence how it went."""
        if self.error:
            return f"The run stopped after {_turns(self.turns)}: {self.error}"
        cycles = sum(loop.cycles for loop in self.loops)
        if self.findings:
            return f"{_turns(self.turns)}, {cycles} sends; found: {', '.join(self.findings)}"
        return f"{_turns(self.turns)} and {cycles} sends in time: nothing missed, nothing rejected"

    def result(self) -> dict[str, Any]:
        """Give the machine-readable result."""
        return {
            "turns": self.turns,
            "rows": {module: dict(counts) for module, counts in self.rows.items()},
            "verdicts": dict(self.verdicts),
            "loops": {loop.module: loop.result() for loop in self.loops},
            "findings": self.findings,
            "error": self.error,
            "run": dict(self.run),
        }


def tally(decisions: Sequence[Decision]) -> dict[str, dict[str, int]]:
    """Count what became of the rows of a run: module -> outcome -> count, with every outcome, also those that never came."""
    rows: dict[str, dict[str, int]] = {}
    for decision in decisions:
        for module, outcomes in decision.outcomes.items():
            counts = rows.setdefault(module, dict.fromkeys(OUTCOMES, 0))
            for kind in OUTCOMES:
                counts[kind] += outcomes.count_of(kind)
    return rows


def outcome_rows(summary: RunSummary) -> list[tuple[str, ...]]:
    """Give the cells of the table of outcomes, one row a module: its name, then the counts in the order of OUTCOMES."""
    return [(module, *(str(counts.get(kind, 0)) for kind in OUTCOMES)) for module, counts in summary.rows.items()]


def run_page(summary: RunSummary) -> str:
    """Write the page of one run.

    Returns:
        One self-contained HTML document.
    """
    late = [(words, str(summary.verdicts.get(kind, 0))) for kind, words in _VERDICTS.items()]
    loops = [Figure(draw_lateness(summary.loops), _LATENESS)] if summary.loops else [Paragraph("No module takes commands.")]
    rows = outcome_rows(summary)
    outcomes = Table(("module", *OUTCOMES), rows) if rows else Paragraph("The policy answered nothing.")
    tone = "bad" if summary.error else "finding" if summary.findings else "good"
    return page(
        "A policy on a rig",
        f"{summary.verdict()}.",
        [
            Section("What became of the policy's rows", [outcomes]),
            Section("What was late", [Table(("what", "count"), late)]),
            Section("How the send loops kept their beat", loops),
            Section("What each word means", [Table(("outcome", "meaning"), _MEANINGS, left=2)]),
        ],
        tone=tone,
        subtitle="onbeat run",
        footer=" · ".join(f"{key}: {value}" for key, value in summary.run.items() if isinstance(value, (str, int, float))),
    )


def _turns(turns: int) -> str:
    return f"{turns} turn" if turns == 1 else f"{turns} turns"
