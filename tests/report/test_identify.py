import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from onbeat.calibrate.identify import JointPlant, known_plant
from onbeat.device.agreement import lead_agreement
from onbeat.report import run_folder
from onbeat.report.identify import IdentifyReport
from tests.report.identified import CONFIG, joint, refused_joint

RUN = {"date": "2026-12-01T00:00:00Z"}


def report(*joints: JointPlant, written: Path | None = Path("arm.yaml")) -> IdentifyReport:
    told = {each.joint: known_plant(each, "", "") for each in joints if each.plant.accepted}
    agreement = lead_agreement(CONFIG, told)
    return IdentifyReport(CONFIG, "rad", joints, agreement, Path("rig.yaml"), written if told else None)


def test_one_joint_is_told_with_its_interval() -> None:
    made = report(joint())
    assert made.verdict().startswith("joint 0 of axis is 52.0")
    assert "behind what is sent (95 %: " in made.verdict()
    table = made.table()
    assert table is not None
    (row,) = table.rows
    assert row[0] == "axis 0"
    assert row[1].startswith("52.0")
    assert row[3].startswith("20.0")
    assert row[4].startswith("30.0") or row[4].startswith("29.9")
    assert made.refusals() is None
    assert "the plant of joint 0 stands in arm.yaml now" in made.remarks()
    assert made.next_command() == "onbeat run POLICY.yaml --rig rig.yaml"


def test_agreement_is_said_and_nothing_led_by_it() -> None:
    first = report(joint()).sentences()[1]
    assert first.startswith("The plant's l_eff is 52.0")
    assert "action_latency, the lead that is applied, is 0.00 ms and unstated, not measured" in first


def test_two_joints_share_their_remarks() -> None:
    made = report(joint("none", 0.002), joint("none", 0.002, number=1))
    assert made.verdict().startswith("2 joints of axis were identified; they are 52.")
    about = [line for line in made.remarks() if "reads' duration" in line]
    assert len(about) == 1
    assert about[0].endswith("(joint 0; 1 alike)")
    refusals = made.refusals()
    assert refusals is None or all("dead time" in row[0] for row in refusals.rows)


def test_dead_time_and_lag_that_lack_for_one_reason_are_one_row() -> None:
    made = joint()
    unknown = replace(made.plant.dead_time, verdict="refused", value=None, ci95=None, reason="only the sum is known")
    plant = replace(made.plant, dead_time=unknown, lag=replace(unknown, quantity="lag"))
    refusals = report(replace(made, plant=plant)).refusals()
    assert refusals is not None
    assert list(refusals.rows) == [("joint 0, dead time and lag", "only the sum is known")]


def test_bias_is_in_the_verdict() -> None:
    made = report(joint("none", 2e-5))
    assert made.verdict().startswith("joint 0 of axis is at most 5")
    assert made.verdict().endswith(" ms behind what is sent: the stamps add a delay that is not known")
    assert any("the driver answers from its memory" in line for line in made.remarks())


def test_refusal_is_a_sentence_and_the_next_command_tries_again() -> None:
    made = report(refused_joint())
    assert made.table() is None
    assert made.verdict().startswith("joint 0 of axis could not be identified: reports come every")
    refusals = made.refusals()
    assert refusals is not None
    assert "sweep below" in refusals.rows[0][1]
    assert made.next_command() == "onbeat identify rig.yaml --module axis --joint 0 --seconds 60"
    assert report(joint(number=1), refused_joint()).verdict().startswith("1 of 2 joints of axis were identified")
    assert report(refused_joint(), refused_joint()).verdict().startswith("none of 2 joints of axis could be identified: joint 0:")


def test_not_written_is_said() -> None:
    made = report(joint(), written=None)
    assert "nothing was written" in made.remarks()
    assert made.next_command() == "onbeat identify rig.yaml --module axis --write"


def test_folder_holds_numbers_picture_and_page(tmp_path: Path) -> None:
    made = report(joint(), refused_joint())
    with run_folder("x", tmp_path / "out") as folder:
        made.write(folder, made.document(RUN))
    document: dict[str, Any] = json.loads((tmp_path / "out" / "result.json").read_text())
    assert [each["verdict"] for each in document["joints"]] == ["accepted", "refused"]
    assert document["joints"][0]["l_eff"]["value"] == joint().plant.l_eff.value
    assert [tone["frequency_hz"] for tone in document["joints"][0]["tones"]]
    assert document["agreement"]["agrees"] is None
    assert document["run"] == RUN
    page = (tmp_path / "out" / "report.html").read_text()
    assert "What does axis make of its commands?" in page
    assert "sines, 0.3 to 2.5 Hz" in page
    assert "reports come every" in page
    assert (tmp_path / "out" / "identify.svg").read_text().startswith("<?xml")
