from pathlib import Path

import pytest

from onbeat.cli.demo_table import print_story
from onbeat.cli.terminal import Terminal
from tests.report.fake_story import fake_story

FOLDER = Path("onbeat-demo")


def test_terminal_ends_with_numbers_grasps_and_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    print_story(Terminal(), fake_story(), FOLDER)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Rig ")
    lines = lines[2:]
    assert lines[0].split() == ["quantity", "measured", "95", "%", "interval", "truth", "inside?"]
    assert [line.split()[-1] for line in lines[1:8]] == ["inside"] * 4 + ["outside"] + ["inside"] * 2
    assert "72.7 mm" in lines[10]
    assert lines[-1].startswith("onbeat-demo/report.html")
    assert lines[-2].startswith("With measured delays the gripper closed 1.0 mm from the cup")


def test_refusal_is_said_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    print_story(Terminal(), fake_story(refused="action_latency", never="copied"), FOLDER)
    out = capsys.readouterr().out
    assert "arm action latency was refused: no code was in view in any frame; show the screen to the camera" in out
    assert "never closed" in out


def test_nothing_is_said_with_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_story(Terminal(json=True), fake_story(), FOLDER)
    assert capsys.readouterr().out == ""
