"""Do actions come before the observations that they answer? A robot that moves before it is told to has the rows of another."""

from collections.abc import Iterator

from onbeat.evidence.timeline import Timeline
from onbeat.health.check import Check, Evidence, Figure, Verdict
from onbeat.health.lateness import Late, lateness, lateness_plot, moving

__all__ = ("ANSWERS",)


def _judge(evidence: Evidence) -> Iterator[Verdict]:
    for action, joints in _answers(evidence):
        late = lateness(moving(joints), moving(action))
        # Joints follow their action later. What cannot be told is said where their delay is.
        if isinstance(late, Late) and -late.value_s - late.half_s > late.limit_s:
            yield _verdict(late, action.period_ns / 1e9)


def _answers(evidence: Evidence) -> Iterator[tuple[Timeline, Timeline]]:
    """Pair each action with the joints that it moves: those of the same names, else of the same number."""
    stamped = [one for one in evidence.timelines.values() if one.has("stamp_ns") and one.period_ns > 0]
    joints = [one for one in stamped if one.info.kind == "joints"]
    for action in (one for one in stamped if one.info.kind == "action"):
        alike = [one for one in joints if one.info.columns == action.info.columns] or [
            one for one in joints if len(one.info.columns) == len(action.info.columns)
        ]
        if alike:
            yield action, alike[0]


def _verdict(late: Late, period_s: float) -> Verdict:
    lead_s = -late.value_s
    low, high = lead_s - late.half_s, lead_s + late.half_s
    joints, action = late.stream, late.reference
    rows = round(lead_s / period_s)
    shifted = abs(lead_s - rows * period_s) < max(late.half_s, 0.15 * period_s) and rows > 0
    said = f", which is {rows} row{'s' if rows > 1 else ''} of {action}: a shift of rows" if shifted else ""
    by = f"{rows} row{'s' if rows > 1 else ''}" if shifted else f"{lead_s * 1e3:.1f} ms and what the joints lag"
    return Verdict(
        "action_before_observation",
        (action, joints),
        "finding",
        f"{joints} moves {lead_s * 1e3:.1f} ms before its {action} tells it to "
        f"(95 %: {low * 1e3:.1f} to {high * 1e3:.1f} ms){said}",
        {"lead": Figure(lead_s, "s", low, high), "r2": Figure(float(late.agreement.result.conditions["r2"]), "1")},
        "look at a sudden move: a robot that follows shows it in the action first and in the joints after it",
        f"pair each observation with the action that was sent after it: move {action} earlier by {by}",
        lateness_plot(late),
        frozenset({"delay"}),
        lead_s,
    )


ANSWERS = Check("answers", ("action_before_observation",), _judge)
