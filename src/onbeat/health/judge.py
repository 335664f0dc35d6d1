"""What all checks say of one recording, each fault said once: what is a consequence, or was said already, is left out."""

from collections.abc import Callable, Sequence

from onbeat.errors import BadInput, OnbeatError
from onbeat.health.answers import ANSWERS
from onbeat.health.check import LEVELS, Check, Evidence, Verdict
from onbeat.health.clocks import CLOCKS
from onbeat.health.dataset import DATASET
from onbeat.health.delays import DELAYS
from onbeat.health.exposure import EXPOSURE
from onbeat.health.faults import FAULTS
from onbeat.health.motion import MOTION
from onbeat.health.own import OWN
from onbeat.health.pace import PACE
from onbeat.health.repeats import REPEATS
from onbeat.health.samples import SAMPLES
from onbeat.health.stamps import STAMPS

__all__ = ("CHECKS", "checks_for", "judge")

CHECKS: tuple[Check, ...] = (CLOCKS, STAMPS, REPEATS, SAMPLES, PACE, EXPOSURE, DATASET, DELAYS, MOTION, ANSWERS, OWN)


def checks_for(faults: Sequence[str], checks: Sequence[Check] = CHECKS) -> tuple[Check, ...]:
    """Choose the checks that can name some faults; all checks where no fault is named.

    Raises:
        BadInput: a fault is unknown, or no check names it.
    """
    known = {fault for check in checks for fault in check.faults}
    for fault in faults:
        if fault not in known:
            raise BadInput(f"no check names a fault {fault!r}; {_hint(fault, sorted(known))}")
    return tuple(check for check in checks if not faults or set(faults) & set(check.faults))


def judge(
    evidence: Evidence, checks: Sequence[Check] = CHECKS, advance: Callable[[int], None] = lambda checks: None
) -> tuple[Verdict, ...]:
    """Ask all checks, and say each fault once.

    Args:
        evidence: What the checks are given.
        checks: Asked in this order, as a later one may use what an earlier one kept in `evidence.shared`.
        advance: Told after each check that one more is done.

    Returns:
        Findings, then what could not be judged, then notes; each kind by falling weight. What a finding on one of the same
        streams explains is left out; of two findings that explain each other, the heavier one stays.
    """
    said: list[Verdict] = []
    for check in checks:
        said.extend(_ask(check, evidence))
        advance(1)
    said.sort(key=lambda one: (LEVELS.index(one.level), -one.weight))  # stable: equals stay in the order of the checks
    kept: list[Verdict] = []
    for one in said:
        if not _explained(one, said) and not any(_repeats(one, other) for other in kept):
            kept.append(one)
    return tuple(kept)


def _ask(check: Check, evidence: Evidence) -> list[Verdict]:
    said: list[Verdict] = []
    try:
        said.extend(check.judge(evidence))
    except OnbeatError as error:
        said.append(Verdict(check.faults[0], (), "unjudged", f"the check of {check.name} stopped: {error}"))
    return said


def _explained(one: Verdict, said: Sequence[Verdict]) -> bool:
    """Say whether a finding that stands explains this verdict; they are in order, so the first of a pair is the heavier one."""
    for other in said:
        if (
            other is one
            or other.level != "finding"
            or one.fault not in other.explains
            or not set(one.streams) & set(other.streams)
        ):
            continue
        mutual = one.level == "finding" and other.fault in one.explains
        if not mutual or said.index(other) < said.index(one):
            return True
    return False


def _repeats(one: Verdict, other: Verdict) -> bool:
    """Say whether a verdict is one that stands already: the same fault of the same streams; notes repeat only word for word."""
    if (one.fault, frozenset(one.streams)) != (other.fault, frozenset(other.streams)):
        return False
    return one.level != "note" or (other.level == "note" and one.sentence == other.sentence)


def _hint(word: str, known: Sequence[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    return f"it can be {', '.join(known)}" if known else f"faults are {', '.join(FAULTS)}"
