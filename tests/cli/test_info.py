import json
from pathlib import Path

import pytest

import onbeat.read.open as files
from onbeat.cli.main import main
from tests.cli.fake_checks import fake_open


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(files, "open_streams", fake_open)
    (tmp_path / "my drive.rec").write_text("imu\tcamera")
    (tmp_path / "cut.broken.rec").write_text("imu")


def test_one_screen_says_what_it_holds_and_what_to_do_next(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "my drive.rec"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert lines[0] == "my drive.rec: made up, 2 streams, 100 rows, 490 ms"
    assert lines[1] == "Stamps are no dates but count from a start: 0 s to 490 ms."
    assert lines[3].split() == ["stream", "type", "rows", "rate", "declared", "longest", "gap", "stamps"]
    assert lines[4].split() == ["imu", "other", "50", "100", "Hz", "100", "Hz", "10", "ms", "own"]
    assert lines[-1] == "Next: onbeat check 'my drive.rec'"


def test_json_is_one_document_also_for_several_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "my drive.rec", "my drive.rec", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["name"] for one in document["recordings"]] == ["my drive.rec", "my drive.rec"]
    assert document["recordings"][0]["streams"][1]["rate_hz"] == pytest.approx(100)
    assert document["errors"] == []


def test_what_cannot_be_read_is_2_and_the_others_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "nowhere", "cut.broken.rec", "my drive.rec"]) == 2
    out, err = capsys.readouterr()
    assert "cut.broken.rec: made up, 1 stream" in out
    assert "my drive.rec: made up, 2 streams" in out
    assert err.splitlines() == [
        "onbeat: there is no nowhere; check the path",
        "onbeat: cut.broken.rec ends early at byte 17; 50 rows could be read",
    ]


def test_many_streams_and_strange_names_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.rec").write_text("\t".join(["z" * 100_000, "\x1b[31m", "[red]", *map(str, range(200))]))
    assert main(["info", "x.rec"]) == 0
    out = capsys.readouterr().out
    assert "and 143 more; --json has them all" in out
    assert "\x1b" not in out
    assert "[red]" in out
    assert len(out) < 12_000


def test_help_ends_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["info", "--help"]) == 0
    assert capsys.readouterr().out.rstrip().endswith("Example: onbeat info drive.mcap")
