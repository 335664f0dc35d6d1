from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import MappingProxyType

import pytest

import onbeat.health
from onbeat.errors import BadInput, MissingExtra
from onbeat.health import Check, Evidence, Figure, Verdict
from onbeat.health.faults import FAULTS
from onbeat.health.judge import CHECKS, checks_for, judge
from onbeat.read import StreamRecording

EVIDENCE = Evidence(StreamRecording(Path("x"), "test", lambda: iter(())), MappingProxyType({}))


def finding(fault: str, *streams: str, weight: float = 1.0, explains: Iterable[str] = (), sentence: str = "") -> Verdict:
    figures = {"size": Figure(weight, "s")}
    return Verdict(
        fault,
        streams,
        "finding",
        sentence or f"{fault} here",
        figures,
        "look",
        "mend it",
        explains=frozenset(explains),
        weight=weight,
    )


def said(*verdicts: Verdict) -> Check:
    return Check("test", ("skew", "step"), lambda evidence: verdicts)


def faults(*verdicts: Verdict) -> list[str]:
    return [one.fault for one in judge(EVIDENCE, [said(*verdicts)])]


def test_findings_come_first_and_the_heaviest_of_them_first() -> None:
    note, open_ = Verdict("delay", ("a",), "note", "late", weight=9), Verdict("offset", ("a",), "unjudged", "no motion", weight=5)
    assert faults(note, open_, finding("gap", "a", weight=0.1), finding("step", "b", weight=3)) == [
        "step",
        "gap",
        "offset",
        "delay",
    ]


def test_a_consequence_is_not_said_again_on_the_same_stream_only() -> None:
    cause = finding("dropped_samples", "a", explains=["gap", "rate_not_held"])
    assert faults(finding("gap", "a", weight=9), cause, finding("rate_not_held", "a")) == ["dropped_samples"]
    assert faults(finding("gap", "b", weight=9), cause) == ["gap", "dropped_samples"]


def test_a_chain_of_consequences_leaves_the_first_cause() -> None:
    assert faults(finding("gap", "a"), finding("wrap", "a", explains=["step"]), finding("step", "a", explains=["gap"])) == [
        "wrap"
    ]


def test_of_two_that_explain_each_other_the_heavier_one_stays() -> None:
    light, heavy = finding("skew", "a", explains=["drift"]), finding("drift", "a", weight=2, explains=["skew"])
    assert faults(light, heavy) == ["drift"]
    assert faults(heavy, light) == ["drift"]


def test_what_is_unjudged_explains_nothing() -> None:
    open_ = Verdict("skew", ("a",), "unjudged", "too short", explains=frozenset(("drift",)))
    assert faults(open_, finding("drift", "a")) == ["drift", "skew"]


def test_what_was_said_twice_is_said_once() -> None:
    assert faults(finding("skew", "a", "b"), finding("skew", "b", "a", weight=3)) == ["skew"]
    assert faults(finding("skew", "a"), Verdict("skew", ("a",), "unjudged", "too short")) == ["skew"]
    assert faults(finding("skew", "a"), finding("skew", "b")) == ["skew", "skew"]
    notes = [Verdict("delay", ("a",), "note", words) for words in ("pan 1 ms", "lift 2 ms", "pan 1 ms")]
    assert faults(*notes) == ["delay", "delay"]


def test_a_check_that_stops_is_unjudged_with_its_sentence_and_the_others_go_on() -> None:
    def stops(evidence: Evidence) -> Iterable[Verdict]:
        yield finding("step", "a")
        raise MissingExtra("OpenCV", "vision")

    done: list[int] = []
    checks = [Check("motion", ("offset",), stops), said(finding("skew", "b"))]
    verdicts = judge(EVIDENCE, checks, done.append)
    assert [(one.fault, one.level) for one in verdicts] == [("step", "finding"), ("skew", "finding"), ("offset", "unjudged")]
    assert "the check of motion stopped: OpenCV is not installed" in verdicts[-1].sentence
    assert done == [1, 1]


def test_checks_are_chosen_by_fault() -> None:
    checks = [Check("clocks", ("skew", "step"), lambda evidence: ()), Check("stamps", ("gap",), lambda evidence: ())]
    assert [check.name for check in checks_for(["gap"], checks)] == ["stamps"]
    assert [check.name for check in checks_for([], checks)] == ["clocks", "stamps"]
    with pytest.raises(BadInput, match=r"no check names a fault 'skw'; did you mean 'skew'\?"):
        checks_for(["skw"], checks)


def test_every_check_of_the_room_is_asked() -> None:
    offered = {
        value
        for module in iter_modules(onbeat.health.__path__)
        for value in vars(import_module(f"onbeat.health.{module.name}")).values()
        if isinstance(value, Check)
    }
    assert {check.name for check in offered - set(CHECKS)} == set(), "add it to CHECKS of health/judge.py"


def test_every_check_names_known_faults_and_has_a_name_of_its_own() -> None:
    assert len({check.name for check in CHECKS}) == len(CHECKS)
    assert {fault for check in CHECKS for fault in check.faults} <= set(FAULTS)
    assert all(check.faults for check in CHECKS)
