import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import onbeat.health.judge as judge
import onbeat.read.open as files
from onbeat.cli.main import main
from tests.cli import fake_checks


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with recordings that are made up."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(judge, "checks_for", judge.checks_for)  # what `install` replaces comes back
    for name in ("open_streams", "find_recordings"):
        monkeypatch.setattr(files, name, getattr(files, name))
    fake_checks.install()
    for name in ("good.rec", "46ppm.rec", "46ppm.broken.rec", "good.broken.rec"):
        (tmp_path / name).write_text("imu")
    (tmp_path / "lone.none.rec").write_text("")
    return tmp_path


def left(tmp_path: Path) -> list[str]:
    return [path.name for path in tmp_path.iterdir() if "onbeat" in path.name or "partial" in path.name or path.name == "out"]


def result(tmp_path: Path, name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((tmp_path / name / "result.json").read_text())
    return document


def test_a_good_recording_is_0_and_leaves_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "good.rec"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "No timing fault found in 1 stream; 1 question could not be judged." in out
    assert "The arm follows by 138 ms." in out.splitlines()[1]
    assert "offset (imu): No motion in it." in out
    assert out.rstrip().endswith(f"{tmp_path}/onbeat-check-good/report.html")
    assert sorted(path.name for path in (tmp_path / "onbeat-check-good").iterdir()) == ["report.html", "result.json"]


def test_a_finding_is_1_with_its_confirmation_and_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "46ppm.rec", "--out", "out"]) == 1
    out = capsys.readouterr().out
    for text in ("1. skew: imu", "imu runs 46 ppm fast.", "confirm: Log a pulse.", "fix: Discipline it."):
        assert text in out
    assert (tmp_path / "out" / "01-skew.svg").is_file()


def test_json_is_the_document_of_the_folder_alone_on_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "46ppm.rec", "--out", "out", "--json"]) == 1
    document = json.loads(capsys.readouterr().out)
    assert document == result(tmp_path, "out")
    assert document["findings"][0]["figures"]["skew"]["value"] == 46
    assert document["run"]["recording"] == str(tmp_path / "46ppm.rec")


@pytest.mark.parametrize("name", ["good.broken.rec", "46ppm.broken.rec"])
def test_a_file_read_in_part_is_2_and_judged_all_the_same(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", name, "--out", "out"]) == 2
    out, err = capsys.readouterr()
    assert err == f"onbeat: {name} ends early at byte 17; 50 rows could be read\n"
    assert "ead only in part" in out
    assert "ends early at byte 17" in (tmp_path / "out" / "report.html").read_text()
    assert result(tmp_path, "out")["recording"]["damage"]
    assert len(result(tmp_path, "out")["findings"]) == name.startswith("46")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nowhere.rec"], "there is no nowhere.rec; check the path"),
        (["lone.none.rec"], "lone.none.rec is no recording"),
        (["good.rec", "--only", "skw"], "no check names a fault 'skw'; did you mean 'skew'?"),
        (["good.rec", "--stream", "camera"], "has no stream 'camera'; it has imu"),
        (["good.rec", "--jobs", "0"], "--jobs is 0; it must be 1 or more"),
        (["good.rec", "--out", "missing/out"], "there is no folder"),
        (["good.rec", "--baseline", "none.json"], "there is no none.json; check the path"),
        (["good.rec", "--baseline", "good.rec"], "the baseline good.rec is no JSON document"),
        (["good.rec", "--baseline", "list.json"], "holds no object"),
        (["good.rec", "--baseline", "empty.json"], "the baseline is no result.json of this onbeat check"),
        (["good.rec", "46ppm.rec", "--baseline", "empty.json"], "--baseline is of one recording, and these are 2"),
        (["good.rec", "--steam", "imu"], "no option '--steam'; did you mean '--stream'?"),
        ([], "missing argument"),
    ],
)
def test_what_cannot_run_is_one_sentence_and_leaves_nothing(
    arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "empty.json").write_text("{}")
    assert main(["check", *arguments]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith("onbeat: ")
    assert says in err
    assert left(tmp_path) == []


def test_two_hundred_streams(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "5ppm.rec").write_text("\t".join(f"/camera/{k}/image" for k in range(200)))
    assert main(["check", "5ppm.rec", "--out", "out"]) == 1
    out = capsys.readouterr().out
    assert "200 findings in 200 streams" in out
    assert "also on: /camera/1/image, /camera/2/image, /camera/3/image, /camera/4/image and 195 more" in out
    assert len(out.splitlines()) < 30
    assert len(result(tmp_path, "out")["findings"]) == 200


@pytest.mark.parametrize("name", ["/left/<b>x</b>[red]/摄像头", "z" * 100_000, "\x1b[31mred\x1b[0m"])
def test_names_of_any_kind(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "5ppm.rec").write_text(name)
    assert main(["check", "5ppm.rec", "--out", "out"]) == 1
    out = capsys.readouterr().out
    assert len(out) < 3_000
    assert "\x1b" not in out
    assert result(tmp_path, "out")["findings"][0]["streams"] == [name]


def test_streams_and_faults_that_were_asked_for(tmp_path: Path) -> None:
    (tmp_path / "5ppm.rec").write_text("imu\tcamera")
    assert main(["check", "5ppm.rec", "--out", "out", "--stream", "cam", "--only", "skew"]) == 1
    document = result(tmp_path, "out")
    assert [one["name"] for one in document["recording"]["streams"]] == ["camera"]
    assert document["settings"] == {"only": ["skew"], "streams": ["cam"]}


def test_a_finding_that_was_there_before_does_not_fail_and_one_that_grew_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for ppm in (46, 47, 90, 10):
        (tmp_path / f"{ppm}ppm.rec").write_text("imu")
    main(["check", "46ppm.rec", "--out", "out"])
    baseline = ["--baseline", "out/result.json"]
    assert main(["check", "47ppm.rec", *baseline]) == 0
    assert "Nothing got worse than the baseline." in capsys.readouterr().out
    assert main(["check", "90ppm.rec", *baseline]) == 1
    text = "skew of imu: 46 ppm (95 %: 45 ppm to 47 ppm) before, 90 ppm (95 %: 89 ppm to 91 ppm) now"
    assert text in capsys.readouterr().out
    assert main(["check", "10ppm.rec", *baseline]) == 0
    assert "better:" in capsys.readouterr().out
    assert main(["check", "good.rec", *baseline]) == 0
    assert "gone: skew of imu, it was 46 ppm" in capsys.readouterr().out
    main(["check", "good.rec", "--out", "well"])
    assert main(["check", "46ppm.rec", "--baseline", "well/result.json", "--json"]) == 1
    out = capsys.readouterr().out
    assert json.loads(out[out.rindex('{\n  "schema"') :])["baseline"]["worse"][0]["what"] == "skew"


def test_a_baseline_of_another_recording_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.rec").write_text("odom")
    main(["check", "good.rec", "--out", "out"])
    capsys.readouterr()
    assert main(["check", "other.rec", "--baseline", "out/result.json", "--out", "new"]) == 2
    assert "the baseline is of another recording" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def shell(tmp_path: Path, *arguments: str) -> tuple[int, str, str]:
    """Run it as a user does, with our own readers and checks."""
    command = [sys.executable, "-c", "from onbeat.cli.main import main; raise SystemExit(main())", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    return done.returncode, done.stdout, done.stderr


def test_a_real_table_is_checked_from_the_shell(tmp_path: Path) -> None:
    t_s = np.arange(3_000) / 100 + np.random.default_rng(0).normal(0, 2e-4, 3_000)
    late_s = np.where(np.arange(3_000) < 1_500, t_s, t_s + 2.0)
    for name, times_s in (("clean", t_s), ("silent", late_s)):
        lines = [f"{t:.6f},{np.sin(t):.6f}" for t in times_s]
        (tmp_path / f"{name}.csv").write_text("\n".join(["t_s,wrist", *lines, ""]))
    code, out, err = shell(tmp_path, "check", "clean.csv", "--json")
    assert (code, err) == (0, ""), out
    assert json.loads(out)["findings"] == []
    code, out, err = shell(tmp_path, "check", "silent.csv", "--json")
    assert (code, err) == (1, ""), out
    assert [one["fault"] for one in json.loads(out)["findings"]] == ["gap"]
    code, out, _ = shell(tmp_path, "info", "silent.csv")
    assert code == 0
    assert "2.01" in out


def test_a_real_file_that_ends_early_is_2_and_judged(tmp_path: Path) -> None:
    from onbeat.testing.recordings import arm_rig
    from onbeat.testing.write_mcap import write_mcap

    write_mcap(arm_rig(np.random.default_rng(0), 20.0, ("/imu/data",)), tmp_path / "whole.mcap")
    content = (tmp_path / "whole.mcap").read_bytes()
    (tmp_path / "cut.mcap").write_bytes(content[: len(content) * 2 // 3])
    code, out, err = shell(tmp_path, "check", "cut.mcap")
    assert code == 2, out
    assert err.count("\n") == 1
    assert err.startswith("onbeat: ")
    assert "Read only in part" in out
    assert (tmp_path / "onbeat-check-cut" / "report.html").is_file()


def test_help_names_every_option_and_ends_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--help"]) == 0
    out = capsys.readouterr().out
    assert "Example: onbeat check" in out.rstrip().splitlines()[-1]
    for option in ("--out", "--json", "--baseline", "--only", "--jobs", "--stream"):
        assert option in out
