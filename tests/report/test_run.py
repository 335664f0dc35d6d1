import json
from typing import Any

import numpy as np
import pytest

from onbeat.clock import ManualClock
from onbeat.policy import Runner
from onbeat.report.document import plain_json
from onbeat.report.run import OUTCOMES, RunSummary, outcome_rows, run_page, tally
from onbeat.report.story import LoopSummary
from tests.policy.simple_rig import simple_rig

IN_TIME = dict.fromkeys(("anchor_old", "inference_slow", "frame_missing", "starved"), 0)


def summary(**changes: Any) -> RunSummary:
    loop = LoopSummary("axis", 100.0, 500, changes.pop("missed", 0), np.full(500, 40_000), "real-time priority granted")
    rows = {"axis": {**dict.fromkeys(OUTCOMES, 0), "kept": 70, "dropped": 10, "rejected": changes.pop("rejected", 0)}}
    given: dict[str, Any] = {"turns": 10, "rows": rows, "verdicts": IN_TIME, "loops": (loop,), "run": {"host": "a<b"}}
    return RunSummary(**{**given, **changes})


def test_run_in_time_has_no_findings() -> None:
    good = summary()
    assert good.findings == []
    assert good.verdict() == "10 turns and 500 sends in time: nothing missed, nothing rejected"
    assert "var(--green)" in run_page(good)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"missed": 3}, "3 deadlines of the send loops missed"),
        ({"rejected": 2}, "2 rows rejected"),
        ({"verdicts": {**IN_TIME, "starved": 4}}, "4 times without an observation for longer than one may be old"),
        ({"turns": 0}, "the policy had no turn"),
    ],
)
def test_each_finding_is_said_with_its_count(changes: dict[str, Any], words: str) -> None:
    found = summary(**changes)
    assert found.findings == [words]
    assert words in found.verdict()
    assert words in run_page(found)


def test_error_is_the_verdict() -> None:
    stopped = summary(turns=1, error="module 'axis' stopped: overload; all modules hold")
    assert stopped.verdict() == "The run stopped after 1 turn: module 'axis' stopped: overload; all modules hold"
    assert "var(--red)" in run_page(stopped)


def test_page_has_table_histogram_and_facts() -> None:
    text = run_page(summary())
    assert "<td class=w>axis</td><td>70</td><td>0</td><td>0</td><td>10</td><td>0</td>" in text
    assert "late by p50 0.04 ms" in text
    assert "host: a&lt;b" in text


def test_page_of_a_run_without_commands() -> None:
    text = run_page(summary(rows={}, loops=()))
    assert "The policy answered nothing." in text
    assert "No module takes commands." in text


def test_result_is_json_with_all_that_a_machine_asks_for() -> None:
    result = json.loads(plain_json(summary().result()))
    assert result["rows"]["axis"]["kept"] == 70
    assert result["loops"]["axis"]["lateness_p99_ms"] == 0.04
    assert set(result) == {"turns", "rows", "verdicts", "loops", "findings", "error", "run"}


def test_tally_counts_every_row_once() -> None:
    with simple_rig(ManualClock(10**9), action_latency=0.05) as rig:
        decisions = Runner(rig, lambda observation: np.zeros((4, 1)), 0.03).run(1.0)
    rows = tally(decisions)
    assert set(rows) == {"axis"}
    assert tuple(rows["axis"]) == OUTCOMES
    assert sum(rows["axis"].values()) == 4 * len(decisions) > 0
    assert rows["axis"]["dropped"] > 0
    assert outcome_rows(summary(rows=rows))[0][0] == "axis"
