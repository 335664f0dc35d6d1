import json

import numpy as np

from onbeat.report.doctor import EDGES_US, histogram, self_test_words
from onbeat.report.document import plain_json
from tests.report.doctor_runs import BAD, GOOD, WARN, report, run, trips


def test_verdict_says_whether_the_rate_is_kept_and_what_is_bad() -> None:
    assert report(GOOD, tests=(run(),)).verdict() == "this machine keeps 250 Hz; of 1 checks, none is bad"
    said = report(GOOD, WARN, BAD, tests=(run(late_us=3000.0),)).verdict()
    assert said == "this machine does not keep 250 Hz; of 3 checks, 1 bad check (sched_fifo) and 1 warning"


def test_level_is_the_worst_of_checks_and_runs() -> None:
    assert report(GOOD, tests=(run(),)).level == "good"
    assert report(WARN, tests=(run(),)).level == "warn"
    assert report(GOOD, tests=(run(late_us=3000.0),)).level == "bad"
    assert report(GOOD, tests=(run(others=1.0),)).level == "unknown"


def test_document_has_the_promised_keys() -> None:
    document = json.loads(
        plain_json(report(GOOD, WARN, tests=(run(), run("load")), device=("arm", trips())).document({"date": "x"}))
    )
    assert document["checks"][1] == {
        "name": "swap",
        "value": "/dev/<x>",
        "source": "/proc/swaps",
        "verdict": "warn",
        "fix": "swapoff -a",
    }
    test = document["selftest"]
    assert {"rate_hz", "verdict", "valid", "p50_us", "p99_us", "p999_us", "max_us", "missed", "cycles", "runs"} <= set(test)
    assert [one["kind"] for one in test["runs"]] == ["baseline", "load"]
    assert test["max_us"] < 1000 < test["with_stolen"]["max_us"]
    assert document["device"]["report_interval"]["n"] == 800
    assert len(test["runs"][0]["histogram"]["counts"]) == len(test["runs"][0]["histogram"]["edges_us"])


def test_histogram_loses_no_cycle() -> None:
    values = np.array([0, 1, 999, 1000, 10**9, 10**12])
    assert histogram(values).sum() == 6
    assert EDGES_US[0] == 0


def test_runs_are_named_by_what_ran_beside_them() -> None:
    assert self_test_words(run("load")) == "under load (cpu, gil)"
