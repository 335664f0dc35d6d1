import json
from pathlib import Path

import pytest

from onbeat.cli.main import main
from tests.calibrate.umi_configs import BIMANUAL, FLAT


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "eval.yaml").write_text(BIMANUAL)


def test_a_rig_is_made_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "umi", "eval.yaml", "--out", "conf"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert sorted(path.name for path in (tmp_path / "conf").iterdir()) == ["modules", "policy.yaml", "rig.yaml"]
    assert "robots[1].robot_action_latency" in out
    assert "gripper_1: eval.yaml has no gripper_action_latency, so action_latency is 0 until it is measured." in out
    assert "Not taken over: robots[0].robot_action_latencey (line 10; did you mean 'robot_action_latency'?), tx_left_right" in out
    assert "is a placeholder: replace it with your driver's 'package.module:Class'" in out


def test_what_the_file_does_not_say_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "eval.yaml").write_text(FLAT.replace("policy_dt: 0.05\n", ""))
    assert main(["import", "umi", "eval.yaml"]) == 0
    out = capsys.readouterr().out
    assert "eval.yaml says nothing about cameras; if your rig has one, add its module to rig.yaml." in out
    assert "add policy_dt (s) to policy.yaml" in out
    assert (tmp_path / "onbeat-rig" / "rig.yaml").is_file()


def test_json_is_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", "umi", "eval.yaml", "--out", "conf", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["modules"]["arm_0"]["figures"]["action_latency"] == {
        "value": 0.11,
        "copied_from": "robots[0].robot_action_latency",
    }
    assert document["folder"] == str(tmp_path / "conf")
    assert len(document["not_taken_over"]) == 2


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "say what to import: onbeat import umi FILE"),
        (["lerobot", "eval.yaml"], "no such command 'lerobot'; see: onbeat import --help"),
        (["umi"], "missing argument 'FILE'"),
        (["umi", "none.yaml"], "there is no file none.yaml"),
        (["umi", "broken.yaml"], "is 110 s; it is written in seconds, so 110 ms is 0.11"),
        (["umi", "eval.yaml", "--out", "missing/conf"], "there is no folder"),
        (["umi", "eval.yaml", "--out", "eval.yaml"], "exists and is not a folder"),
        (["umi", "eval.yaml", "--outt", "conf"], "did you mean '--out'?"),
    ],
)
def test_what_cannot_run_leaves_nothing(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.yaml").write_text(BIMANUAL.replace("0.11", "110"))
    assert main(["import", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.yaml", "eval.yaml"]


@pytest.mark.parametrize("arguments", [["--help"], ["umi", "--help"]])
def test_help_ends_with_an_example(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["import", *arguments]) == 0
    assert "Example: onbeat import umi" in capsys.readouterr().out.rstrip().splitlines()[-1]
