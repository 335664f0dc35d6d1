import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from onbeat.calibrate.follow import EpisodeDelay, FollowResult, JointDelay
from onbeat.calibrate.result import CalibrationResult
from onbeat.record import JointEpisode, JointRecording
from onbeat.report import run_folder
from onbeat.report.delay import DelayReport

RUN = {"date": "2026-03-01T12:00:00Z"}
CONDITIONS = {"gain": 1.0, "offset": 0.0, "r2": 0.998, "groups": 2, "between_std_s": 0.0}


def told(value: float, ci95: float = 0.004, **changes: float) -> CalibrationResult:
    return CalibrationResult("delay", value, ci95, 300, "test", {**CONDITIONS, **changes})


REFUSED = CalibrationResult.refuse(
    "delay", "the measured motion does not follow the command: R2 is 0.4, wanted 0.95", n=300, method="test"
)


def joint(name: str, result: CalibrationResult, gripper: bool = False) -> JointDelay:
    return JointDelay(name, gripper, result, (EpisodeDelay(0, result), EpisodeDelay(1, result)))


def following(*joints: JointDelay, arm: CalibrationResult) -> FollowResult:
    return FollowResult(arm, joints, (EpisodeDelay(0, arm), EpisodeDelay(1, arm)), rows=602, duration_s=20.0)


def recording(*names: str) -> JointRecording:
    def read(only: int | None) -> Iterator[JointEpisode]:
        t_ns = np.arange(301, dtype=np.int64) * 33_333_333
        values = np.sin(np.arange(301) / 20)[:, None] * np.ones(len(names))
        for index in (0, 1) if only is None else (only,):
            yield JointEpisode(index, t_ns.copy(), values.copy(), values.copy())

    return JointRecording(Path("my_arm"), "LeRobot v3.0", "so101", names, 30.0, "the stamps are a grid", 2, read, ("a note",))


def report(*joints: JointDelay, arm: CalibrationResult) -> DelayReport:
    return DelayReport(recording(*(j.name for j in joints)), following(*joints, arm=arm), 0.5)


GOOD = report(joint("pan", told(0.136)), joint("lift", told(0.140)), joint("gripper", told(0.123), gripper=True), arm=told(0.138))
MIXED = report(joint("pan", told(0.136)), joint("a<b>", REFUSED), arm=told(0.136))
NONE = report(joint("pan", REFUSED), joint("jaw", REFUSED, gripper=True), arm=REFUSED)
GRIPPER_ONLY = report(joint("pan", REFUSED), joint("jaw", told(0.12), gripper=True), arm=REFUSED)


def test_the_verdict_says_the_number_its_interval_and_of_what() -> None:
    assert GOOD.verdict() == (
        "the arm's joints follow their commands by 138.0 ms (95 %: 134.0 to 142.0; 2 of 2 joints, 2 episodes), "
        "gripper by 123.0 ms (95 %: 119.0 to 127.0)"
    )
    assert MIXED.verdict() == "joint pan follows its command by 136.0 ms (95 %: 132.0 to 140.0; 1 of 2 joints, 2 episodes)"


def test_the_advice_is_a_line_of_yaml() -> None:
    assert any("action_latency: 0.138 (seconds)" in line for line in GOOD.remarks())


def test_what_the_number_contains_is_said_with_the_rate_of_the_log() -> None:
    assert any("half a row of holding each command (17 ms)" in line and "(0 to 33 ms)" in line for line in GOOD.remarks())
    assert "the stamps are a grid." in GOOD.remarks()
    assert "a note." in GOOD.remarks()


def test_nothing_told_is_a_finding_with_a_way_out() -> None:
    assert NONE.verdict().startswith("no joint of this recording can be told: the measured motion does not follow")
    assert any("larger --max-delay" in line for line in NONE.remarks())
    assert not any("action_latency" in line for line in NONE.remarks())


def test_only_a_gripper() -> None:
    assert GRIPPER_ONLY.verdict() == "no joint of the arm can be told, gripper jaw by 120.0 ms (95 %: 116.0 to 124.0)"


def test_unsteady_and_unequal_joints_are_said() -> None:
    unequal = report(
        joint("pan", told(0.12, between_std_s=0.01)),
        joint("lift", told(0.18, between_std_s=0.01)),
        arm=told(0.15, 0.2, between_std_s=0.04),
    )
    text = " ".join(unequal.remarks())
    assert "moves by 10 ms (standard deviation) between episodes" in text
    assert "the joints differ: 120.0 ms at pan, 180.0 ms at lift" in text
    assert "the joints differ" not in " ".join(GOOD.remarks())


def test_refusals_have_a_table_of_their_own() -> None:
    assert GOOD.refusals() is None
    assert NONE.table() is None
    table, refusals = MIXED.table(), MIXED.refusals()
    assert table is not None
    assert refusals is not None
    assert table.rows == [("pan", "136.0 ms", "± 4.0 ms", "0.9980", "1.000", "2 of 2")]
    assert refusals.rows == [("a<b>", REFUSED.reason)]
    assert "refused, 1 of 2 joints (the measured motion does not follow the command): a<b>." in MIXED.remarks()


def test_the_arm_stands_below_its_joints() -> None:
    table = GOOD.table()
    assert table is not None
    assert table.rows[-1] == ("arm", "138.0 ms", "± 4.0 ms", "", "", "")


@pytest.mark.parametrize("one", [GOOD, MIXED, NONE, GRIPPER_ONLY], ids=["good", "mixed", "none", "gripper"])
def test_the_folder(one: DelayReport, tmp_path: Path) -> None:
    document = one.document(RUN)
    with run_folder("run", tmp_path / "run") as folder:
        one.write(folder, document)
    assert sorted(p.name for p in folder.final.iterdir()) == ["delay.svg", "report.html", "result.json"]
    read = json.loads((folder.final / "result.json").read_text())
    assert read["verdict"] == one.verdict()
    assert [j["name"] for j in read["joints"]] == [j.name for j in one.result.joints]
    assert read["arm"]["value"] == one.result.arm.value
    assert read["run"] == RUN
    html = (folder.final / "report.html").read_text()
    assert "<svg" in html
    assert "a<b>" not in html
