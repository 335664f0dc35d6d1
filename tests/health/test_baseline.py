import json
from typing import Any

import pytest

from onbeat.errors import BadInput
from onbeat.health.baseline import compare

Interval = tuple[float, float | None, float | None]


def said(fault: str, stream: str, value: Interval, unit: str = "s") -> dict[str, Any]:
    figure = {"value": value[0], "unit": unit, "low": value[1], "high": value[2]}
    when = {"value": 17.0, "unit": "s", "low": None, "high": None}
    return {"fault": fault, "streams": [stream], "sentence": "", "figures": {"size": figure, "at": when}}


def document(
    findings: Any = (), notes: Any = (), unjudged: Any = (), rate_hz: float = 30.0, name: str = "camera"
) -> dict[str, Any]:
    streams = [{"name": name, "rate_hz": rate_hz}, {"name": "imu", "rate_hz": 100.0}]
    return {
        "schema": "onbeat check 1",
        "recording": {"name": "drive.mcap", "kind": "MCAP", "streams": streams},
        "settings": {"only": [], "streams": []},
        "findings": list(findings),
        "notes": list(notes),
        "unjudged": list(unjudged),
    }


OFFSET = said("offset", "camera", (0.110, 0.104, 0.116))


def changes(before: dict[str, Any], after: dict[str, Any]) -> tuple[list[str], list[str]]:
    comparison = compare(json.loads(json.dumps(before)), after)
    return [one.what for one in comparison.worse], [one.what for one in comparison.better]


def test_the_same_findings_are_neither_worse_nor_better() -> None:
    assert changes(document([OFFSET]), document([OFFSET])) == ([], [])


def test_a_new_finding_is_worse_and_one_that_is_gone_is_better() -> None:
    assert changes(document(), document([OFFSET])) == (["offset"], [])
    assert changes(document([OFFSET]), document()) == ([], ["offset"])


def test_a_finding_that_can_no_longer_be_judged_is_neither() -> None:
    assert changes(document([OFFSET]), document(unjudged=[{**OFFSET, "figures": {}}])) == ([], [])


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ((0.120, 0.112, 0.128), ([], [])),  # the intervals touch
        ((0.130, 0.120, 0.140), (["offset"], [])),
        ((-0.130, -0.140, -0.120), (["offset"], [])),  # size counts, not sign
        ((0.050, 0.040, 0.060), ([], ["offset"])),
        ((0.0, -0.09, 0.09), ([], ["offset"])),
    ],
)
def test_a_figure_is_worse_when_its_size_grew_beyond_both_intervals(now: Interval, expected: tuple[list[str], list[str]]) -> None:
    assert changes(document([OFFSET]), document([said("offset", "camera", now)])) == expected


@pytest.mark.parametrize(("now", "worse"), [(105.0, []), (115.0, ["dropped_samples"])])
def test_a_count_without_an_interval_is_worse_above_a_tenth(now: float, worse: list[str]) -> None:
    before, after = (said("dropped_samples", "camera", (count, None, None), "1") for count in (100.0, now))
    assert changes(document([before]), document([after]))[0] == worse


def test_a_rate_among_the_figures_is_worse_when_it_fell() -> None:
    before, after = (said("rate_not_held", "camera", (rate, rate - 0.1, rate + 0.1), "Hz") for rate in (24.5, 20.0))
    assert changes(document([before]), document([after])) == (["rate_not_held"], [])
    assert changes(document([after]), document([before])) == ([], ["rate_not_held"])


def test_notes_such_as_delays_and_rates_of_streams_are_compared() -> None:
    before, after = (said("delay", "arm", (late, late - 0.004, late + 0.004)) for late in (0.138, 0.200))
    assert changes(document(notes=[before]), document(notes=[after])) == (["delay"], [])
    assert changes(document(rate_hz=30), document(rate_hz=24.5)) == (["rate"], [])
    assert changes(document(rate_hz=24.5), document(rate_hz=30)) == ([], ["rate"])
    assert changes(document(rate_hz=30), document(rate_hz=29.8)) == ([], [])


def test_a_stream_that_is_gone_is_worse_and_its_finding_no_better() -> None:
    assert changes(document([OFFSET]), document(name="wrist")) == (["stream"], [])


def test_only_the_first_figure_counts() -> None:
    later = json.loads(json.dumps(OFFSET))
    later["figures"]["at"]["value"] = 900.0
    assert changes(document([OFFSET]), document([later])) == ([], [])


def broken(**parts: Any) -> dict[str, Any]:
    return {**document([OFFSET]), **parts}


@pytest.mark.parametrize(
    ("before", "says"),
    [
        ({}, "no result.json of this onbeat check"),
        (broken(schema="onbeat check of many 1"), "no result.json of this onbeat check"),
        (broken(findings=[{"fault": "skew"}]), "the baseline's findings are not as onbeat check writes them"),
        (broken(findings=None), "the baseline's findings are not"),
        (broken(notes=[said("delay", "x", (float("nan"), None, None))]), "the baseline's notes are not"),
        (broken(recording=[]), "the baseline's streams are not"),
        (broken(settings={"only": ["skew"], "streams": []}), "other --only and --stream"),
        (
            {**broken(), "recording": {"name": "other.bag", "streams": [{"name": "odom", "rate_hz": None}]}},
            "the baseline is of another recording: 'other.bag' has no stream in common with 'drive.mcap'",
        ),
    ],
)
def test_what_is_no_baseline_is_refused_in_one_sentence(before: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput) as refused:
        compare(before, document([OFFSET]))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def of(fault: str, *streams: str, size: float = 0.01) -> dict[str, Any]:
    return {**said(fault, "", (size, size * 0.9, size * 1.1)), "streams": list(streams)}


def test_streams_of_one_finding_may_come_in_any_order() -> None:
    assert changes(document([of("skew", "camera", "imu")]), document([of("skew", "imu", "camera")])) == ([], [])


def test_finding_that_fewer_streams_share_is_better_and_never_worse() -> None:
    comparison = compare(document([of("gap", "camera", "imu")]), document([of("gap", "imu")]))
    assert comparison.worse == ()
    assert [(one.what, one.streams) for one in comparison.better] == [("gap", ("camera",))]


def test_finding_that_one_more_stream_shares_is_worse_for_that_one() -> None:
    comparison = compare(document([of("gap", "imu")]), document([of("gap", "camera", "imu")]))
    assert [(one.what, one.streams) for one in comparison.worse] == [("gap", ("camera",))]
    assert comparison.better == ()


def test_finding_that_falls_into_two_is_the_same() -> None:
    both, each = [of("skew", "camera", "imu")], [of("skew", "camera"), of("skew", "imu")]
    assert changes(document(both), document(each)) == ([], [])
    assert changes(document(each), document(both)) == ([], [])
    assert changes(document(each), document([of("skew", "imu", "camera", size=0.05)])) == (["skew"], [])
