import json

from onbeat.health import Figure, Verdict
from onbeat.health.baseline import Change, Comparison
from onbeat.report import plain_json
from onbeat.report.check import CheckReport, comparison_data
from tests.report.made_check import examined, finding


def test_silence_is_said_with_what_stays_open() -> None:
    assert CheckReport(examined()).verdict() == "no timing fault found in 1 stream"
    open_ = Verdict("offset", ("imu",), "unjudged", "no motion")
    report = CheckReport(examined(open_, streams=("imu", "camera")))
    assert report.verdict() == "no timing fault found in 2 streams; 1 question could not be judged"


def test_one_finding_is_the_verdict_and_of_several_the_worst() -> None:
    assert CheckReport(examined(finding())).verdict() == "imu runs 46 ppm fast against the log"
    report = CheckReport(examined(finding(), finding("gap", "camera")))
    assert report.verdict() == "2 findings in 1 stream, the worst: imu runs 46 ppm fast against the log"


def test_a_file_read_in_part_says_so_first() -> None:
    assert CheckReport(examined(damage="ends early")).verdict().startswith("read only in part; no timing fault")


def test_findings_of_one_fault_stand_together_behind_the_heaviest() -> None:
    report = CheckReport(examined(finding("skew", "a"), finding("gap", "a"), finding("skew", "b")))
    assert [[(one.fault, one.streams[0]) for one in group] for group in report.groups] == [
        [("skew", "a"), ("skew", "b")],
        [("gap", "a")],
    ]


def test_the_document_is_strict_json_with_every_part() -> None:
    note = Verdict("delay", ("imu",), "note", "late", {"delay": Figure(0.138, "s", 0.134, 0.142)})
    open_ = Verdict("offset", ("imu",), "unjudged", "no motion")
    report = CheckReport(examined(finding(), open_, note, damage="ends early", notes=["no index"]), ("skew",), ("imu",))
    document = json.loads(plain_json(report.document({"date": "today"})), parse_constant=lambda word: 1 / 0)
    assert list(document) == ["schema", "verdict", "recording", "settings", "findings", "notes", "unjudged", "run"]
    assert document["recording"]["streams"][0]["rate_hz"] == 100
    assert document["recording"]["damage"] == "ends early"
    assert document["settings"] == {"only": ["skew"], "streams": ["imu"]}
    (found,) = document["findings"]
    assert found["figures"]["skew"] == {"value": 46.0, "unit": "ppm", "low": 45.2, "high": 46.9}
    assert found["figures"]["gained"] == {"value": 0.0028, "unit": "s", "low": None, "high": None}
    assert (found["confirm"], found["fix"], found["weight"]) == (
        "log a pulse of one clock on the other",
        "discipline the clock",
        1.0,
    )
    assert document["notes"][0]["figures"]["delay"]["value"] == 0.138
    assert document["unjudged"] == [{"fault": "offset", "streams": ["imu"], "sentence": "no motion", "figures": {}}]


def test_a_comparison_is_data() -> None:
    change = Change("skew", ("imu",), "skew", Figure(1.0, "ppm"), None)
    data = comparison_data(Comparison((change,), ()))
    assert data["worse"] == [
        {
            "what": "skew",
            "streams": ["imu"],
            "figure": "skew",
            "before": {"value": 1.0, "unit": "ppm", "low": None, "high": None},
            "after": None,
        }
    ]
