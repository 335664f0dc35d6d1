import json
from pathlib import Path

import pytest

from onbeat.cli.main import main


def test_fast_demo_leaves_a_folder_and_one_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert main(["demo", "--fast", "--json", "--seed", "5", "--out", str(out)]) == 0
    captured = capsys.readouterr()
    printed = json.loads(captured.out)
    assert captured.err == ""
    assert json.loads((out / "result.json").read_text()) == printed
    assert {path.name for path in out.iterdir()} == {
        "result.json",
        "story.svg",
        "report.html",
        "recording.mcap",
        "demo.log",
        "rig",
    }
    assert printed["run"]["folder"] == str(out)
    assert (out / "story.svg").read_text().startswith("<?xml")
    assert "gripper: Scheduled 16 waypoints (15 in the future)" in (out / "demo.log").read_text()


def test_covered_code_is_one_sentence_and_leaves_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--fast", "--headless", "--cover-code", "--out", str(tmp_path / "out")]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("onbeat: camera receive_latency was not measured: no code in view")
    assert captured.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--seed", "-1"], "--seed is -1; it must be a whole number >= 0"),
        (["--seed", "x"], "invalid value for '--seed'"),
        (["--motion", "nowhere.csv"], "nowhere.csv"),
        (["--fastt"], "did you mean '--fast'?"),
    ],
)
def test_bad_options_are_one_sentence(
    arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--fast", *arguments]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.real_data
def test_the_cup_follows_a_real_motion(data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = data_dir / "sim2real" / "push_box_motion.npz"
    out = tmp_path / "out"
    options = ["--motion", str(path), "--fps", "50", "--columns", "body_pos_w[28]"]
    assert main(["demo", "--fast", "--json", "--out", str(out), *options]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["run"]["motion_file"] == str(path.resolve())
    assert set(document["grasp"]) == {"uncompensated", "copied", "measured"}
