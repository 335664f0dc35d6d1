import json
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.cli.main import main


def write(path: Path, delay_s: float | None = 0.1, seconds: float = 14.0, **names: str) -> Path:
    """A CSV of two joints at 50 Hz; the second is a gripper that is 40 ms later. None: they do as they like."""
    t_s = np.arange(int(seconds * 50)) / 50

    def motion(at_s: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
        rng = np.random.default_rng(seed)
        out = np.zeros_like(at_s)
        for _ in range(6):
            out += rng.uniform(0.3, 1) * np.sin(2 * np.pi * rng.uniform(0.1, 1.2) * at_s + rng.uniform(0, 6))
        return out

    columns = [t_s]
    for seed, late in ((0, 0.0), (1, 0.04)):
        columns.append(motion(t_s, seed))
        columns.append(motion(t_s - delay_s - late, seed) if delay_s is not None else motion(t_s, seed + 7))
    np.savetxt(
        path, np.array(columns).T, fmt="%.6f", delimiter=",", comments="", header="t,pan_cmd,pan_meas,gripper_cmd,gripper_meas"
    )
    return path


def failed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> str:
    """One sentence on stderr, nothing on stdout, nothing left behind."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("onbeat: ")
    assert [p.name for p in tmp_path.iterdir() if "onbeat" in p.name or "partial" in p.name or p.name == "out"] == []
    return err


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_recording_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["delay", str(write(tmp_path / "arm.csv"))]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "Joint pan follows its command by 1" in out
    assert "action_latency: 0.1" in out
    folder = tmp_path / "onbeat-delay-arm"
    assert out.rstrip().endswith(f"{folder}/report.html")
    assert sorted(p.name for p in folder.iterdir()) == ["delay.svg", "report.html", "result.json"]


def test_json_is_the_document_of_the_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["delay", str(write(tmp_path / "arm.csv")), "--json", "--out", "out"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((tmp_path / "out" / "result.json").read_text())
    pan, gripper = document["joints"]
    assert pan["value"] == pytest.approx(0.1, abs=0.002)
    assert gripper["value"] == pytest.approx(0.14, abs=0.002)
    assert document["run"]["folder"] == str(tmp_path / "out")


def test_one_joint_one_shorter_delay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["delay", str(write(tmp_path / "arm.csv")), "--json", "--joint", "grip", "--max-delay", "0.3"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [j["name"] for j in document["joints"]] == ["gripper"]
    assert document["settings"] == {"max_delay_s": 0.3}


def test_nothing_told_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["delay", str(write(tmp_path / "arm.csv", None))]) == 1
    assert "No joint of this recording can be told" in capsys.readouterr().out
    assert (tmp_path / "onbeat-delay-arm" / "report.html").is_file()


def test_a_second_run_keeps_the_first(tmp_path: Path) -> None:
    path = str(write(tmp_path / "arm.csv"))
    assert [main(["delay", path]), main(["delay", path])] == [0, 0]
    assert (tmp_path / "onbeat-delay-arm-2" / "result.json").is_file()


def test_columns_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "arm.csv")
    path.write_text(path.read_text().replace("t,pan_cmd,pan_meas,gripper_cmd,gripper_meas", "clock,u,y,v,z"))
    options = ["--time", "clock", "--time-unit", "s", "--command", "u,v", "--measured", "y", "--measured", "z"]
    assert main(["delay", str(path), "--json", *options]) == 0
    assert [j["name"] for j in json.loads(capsys.readouterr().out)["joints"]] == ["u", "v"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none"], "there is no none; check the path"),
        (["arm.csv", "--joint", "elbow"], "has no joint 'elbow'; it has pan, gripper"),
        (["arm.csv", "--joint", "pam"], "has no joint 'pam'; did you mean 'pan'?"),
        (["arm.csv", "--episode", "3"], "has no episode 3; it has 0"),
        (["arm.csv", "--max-delay", "0"], "--max-delay is 0 s; it must be above 0"),
        (["arm.csv", "--max-delay", "nan"], "--max-delay is nan s"),
        (["arm.csv", "--out", "missing/out"], "there is no folder"),
        (["arm.csv", "--time", "clock"], "has no column 'clock'"),
        (["arm.csv", "--jiont", "pan"], "no option '--jiont'; did you mean '--joint'?"),
        (["empty.csv"], "empty.csv is empty"),
        (["nan.csv"], "'pan_meas' is nan in row 40"),
        (["."], "a folder without meta/info.json"),
    ],
)
def test_what_cannot_run(arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "arm.csv")
    (tmp_path / "empty.csv").write_text("")
    lines = path.read_text().splitlines()
    cells = lines[40].split(",")
    (tmp_path / "nan.csv").write_text("\n".join([*lines[:40], ",".join([*cells[:2], "nan", *cells[3:]]), *lines[41:]]))
    assert main(["delay", *arguments]) == 2
    assert says in failed(capsys, tmp_path)


def test_help_ends_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["delay", "--help"]) == 0
    out = capsys.readouterr().out
    assert "Example: onbeat delay" in out.rstrip().splitlines()[-1]
    for option in ("--joint", "--max-delay", "--episode", "--out", "--json", "--time-unit"):
        assert option in out


@pytest.mark.real_data
def test_a_real_data_set_from_inside(data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = data_dir / "lerobot" / "so101_v3" / "meta" / "info.json"
    assert main(["delay", str(path), "--json", "--episode", "2"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["recording"]["name"] == "so101_v3"
    assert [e["episode"] for e in document["arm"]["episodes"]] == [2]
    assert (tmp_path / "onbeat-delay-so101_v3").is_dir()
