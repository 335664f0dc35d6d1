"""`onbeat identify` as a user calls it: on the simulated rig, and on a device that is told and read in real time."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from onbeat.cli.main import main
from onbeat.device import copy_rig, load_module_config, load_rig_config, simulated_rig_path
from onbeat.device.plant import draw_arm, draw_gripper
from onbeat.device.seeded import child_rng
from tests.cli.test_delay import failed

QUICK = ["--motion", "multisine", "--seconds", "24"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def identify(*arguments: str) -> int:
    return main(["identify", *arguments])


def truth_s(module: str, joint: int, rate_hz: float) -> float:
    """The shift of a slow motion by design, in rig 0: half of the sender's hold, hop, half of the bus's hold, dead time, lag."""
    draws = child_rng(0, module).spawn(3)[0]
    made = draw_arm(draws, True) if module == "arm" else draw_gripper(draws, True)
    return 0.5 / rate_hz + made.hop_s + made.bus_period_s / 2 + made.dead_s + made.lag_s[joint]


@pytest.mark.parametrize(
    ("module", "joint", "motion"), [("arm", 0, "sines"), ("arm", 3, "multisine"), ("arm", 5, "chirp"), ("gripper", 0, "sines")]
)
def test_true_delay_of_the_simulated_rig_lies_in_the_interval(
    module: str, joint: int, motion: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--module", module, "--joint", str(joint), "--motion", motion]
    assert identify("--fast", "--json", "--out", "out", *options) == 0
    document = json.loads(capsys.readouterr().out)
    (found,) = document["joints"]
    rig = tmp_path / "out" / "rig"
    config = load_module_config(rig / "modules" / f"{module}.yaml")
    true_s = truth_s(module, joint, config.rate_hz)
    assert abs(found["l_eff"]["value"] - true_s) < found["l_eff"]["ci95"]
    assert found["l_eff"]["ci95"] < 0.0035
    kept = config.plant[joint]
    assert kept.l_eff == pytest.approx(found["l_eff"]["value"], rel=1e-5)
    assert (kept.stamps, kept.motion, kept.provenance.source) == ("corrected", motion, "measured")
    assert kept.provenance.date == document["run"]["date"]
    assert config.action_latency == 0.0


def test_a_second_run_shows_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    documents: list[dict[str, Any]] = []
    for _ in range(2):
        assert identify("--fast", "--json", "--joint", "1", *QUICK, "--no-write") == 0
        documents.append(json.loads(capsys.readouterr().out))
    for document in documents:
        del document["run"]
        del document["next"]
    assert documents[0] == documents[1]


def test_folder_terminal_and_yaml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = copy_rig(simulated_rig_path(), tmp_path / "mine")
    assert identify(str(rig), "--fast", "--module", "gripper", *QUICK) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert "Joint 0 of gripper is 6" in out
    assert "action_latency, the lead that is applied, is 0.00 ms and assumed, not measured" in out
    folder = tmp_path / "onbeat-identify"
    assert sorted(path.name for path in folder.iterdir()) == ["identify.svg", "motion.npz", "report.html", "result.json"]
    assert out.rstrip().endswith(f"{folder}/report.html\nnext: onbeat run POLICY.yaml --rig {rig}")
    assert set(load_module_config(tmp_path / "mine" / "modules" / "gripper.yaml").plant) == {0}


def test_a_kept_motion_is_judged_anew(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents: list[dict[str, Any]] = []
    for arguments in (
        ["--fast", "--joint", "0", "--joint", "2", "--out", "first", *QUICK],
        ["first"],
        ["first/motion.npz", "--joint", "2"],
    ):
        assert identify("--json", *arguments) == 0
        documents.append(json.loads(capsys.readouterr().out))
    first, again, one = documents
    assert again["joints"] == first["joints"]
    assert one["joints"] == first["joints"][1:]
    assert again["run"]["motion"] == "first/motion.npz"
    assert again["agreement"] is None
    # A tone that was not sent is refused.
    assert identify("first", "--joint", "0", "--tone", "0.3", "--tone", "0.7") == 1
    out = capsys.readouterr().out
    assert "the command does not move at 0.7 Hz" in out
    # What is proposed goes no farther and no faster than what was kept.
    words = out.split("next: ")[1].split()
    moved = first["joints"][0]["motion"]
    assert float(words[words.index("--amplitude") + 1]) == pytest.approx(max(map(abs, moved["reach"])), rel=1e-5)
    assert float(words[words.index("--speed") + 1]) == pytest.approx(moved["peak_speed"], rel=1e-5)
    assert float(words[words.index("--acceleration") + 1]) == pytest.approx(moved["peak_acceleration"], rel=1e-5)
    assert identify("first", "--fast", "--speed", "1") == 2
    assert "first is a motion that was kept, and nothing moves; leave out --speed, --fast" in capsys.readouterr().err
    assert identify("first", "--joint", "1") == 2
    assert "motion.npz has no joint 1; it has 0, 2" in capsys.readouterr().err


def test_nothing_is_written_where_that_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = copy_rig(simulated_rig_path(), tmp_path / "mine")
    before = (tmp_path / "mine" / "modules" / "gripper.yaml").read_bytes()
    assert identify(str(rig), "--fast", "--module", "gripper", "--no-write", *QUICK) == 0
    assert "Nothing was written." in capsys.readouterr().out
    assert (tmp_path / "mine" / "modules" / "gripper.yaml").read_bytes() == before


def real_rig(tmp_path: Path, **params: Any) -> Path:
    """A rig whose device is none of the simulated ones."""
    given = json.dumps({"stamps": "own", "dead_s": 0.004, "lag_s": 0.02, "read_s": 0.001, **params})
    path = tmp_path / "rig.yaml"
    path.write_text(
        "modules:\n  axis:\n    device: tests.calibrate.lagged_axis:LaggedAxis\n    rate_hz: 250\n    poll_hz: 173\n"
        f"    params: {given}\n"
    )
    return path


REAL = ["--motion", "multisine", "--tone", "2", "--tone", "4", "--seconds", "6"]


def test_device_in_real_time_is_moved_after_a_yes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = real_rig(tmp_path)
    assert identify(str(rig), "--yes", "--json", *REAL) == 0
    out, err = capsys.readouterr()
    assert "axis is going to move, each joint around where it stands" in err
    assert "joint 0: up to 0.0" in err
    (found,) = json.loads(out)["joints"]
    assert (found["stamps"], found["biased"]) == ("one-way", True)
    # A read that a busy machine holds up is late by itself; the map takes the fastest ones.
    assert found["l_eff"]["value"] == pytest.approx(0.002 + 0.004 + 0.02 + 0.0005, abs=0.002)
    assert "axis:" in rig.read_text()
    assert "plant:" in rig.read_text()


def test_box_behind_sockets_with_a_clock_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rig.yaml").write_text(
        "modules:\n  box:\n    device: tests.calibrate.socket_box:SocketAxis\n    rate_hz: 500\n"
        "    params: {dead_s: 0.006, lag_s: 0.02, report_s: 0.0067}\n"
    )
    true_s = 0.001 + 0.006 + 0.02
    before = (tmp_path / "rig.yaml").read_bytes()
    for _ in range(5):  # a machine that is busy for seconds has late messages only: refused, or more than the truth, as is said
        (tmp_path / "rig.yaml").write_bytes(before)
        code = identify("rig.yaml", "--yes", "--json", *REAL)
        (found,) = json.loads(capsys.readouterr().out)["joints"]
        if code != 0:
            assert code == 1
            assert found["l_eff"]["reason"].startswith("the delay is known only to")
            assert (tmp_path / "rig.yaml").read_bytes() == before
            continue
        assert found["l_eff"]["value"] + found["l_eff"]["ci95"] > true_s
        if found["l_eff"]["value"] < true_s + 0.003:
            break
    assert code == 0
    assert found["stamps"] == "one-way"
    assert "on its own clock 'box', which was mapped by" in found["remarks"][0]
    assert found["l_eff"]["value"] == pytest.approx(true_s, abs=0.003)
    assert load_rig_config(tmp_path / "rig.yaml").modules["box"].plant[0].stamps == "one-way"


def test_robot_that_nobody_watches_is_not_moved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = real_rig(tmp_path).read_bytes()
    assert identify("rig.yaml", *REAL) == 2
    err = capsys.readouterr().err
    assert err.endswith("onbeat: axis moves only after a yes; run it in a terminal, or give --yes\n")
    assert (tmp_path / "rig.yaml").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["rig.yaml"]


def test_device_that_fails_ends_the_run_with_its_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real_rig(tmp_path, fails_after=100)
    assert identify("rig.yaml", "--yes", *REAL) == 2
    assert "onbeat: module 'axis' stopped: the cable came off; all modules hold" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["rig.yaml"]


def test_ctrl_c_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from onbeat.policy import Module

    real_rig(tmp_path)
    closed: list[str] = []
    close = Module.close

    def noted(self: Module) -> None:
        close(self)
        closed.extend(self.device.calls)  # type: ignore[attr-defined]

    def interrupted(self: Module, *_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Module, "close", noted)
    monkeypatch.setattr(Module, "schedule_j", interrupted)
    assert identify("rig.yaml", "--yes", *REAL) == 130
    assert "onbeat: axis holds where it is" in capsys.readouterr().err
    assert closed == ["connect", "hold", "close"]
    assert [path.name for path in tmp_path.iterdir()] == ["rig.yaml"]


def test_refused_joint_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = copy_rig(simulated_rig_path(), tmp_path / "mine")
    arm = tmp_path / "mine" / "modules" / "arm.yaml"
    arm.write_text(arm.read_text().replace("poll_hz: 100", "poll_hz: 20"))
    # Three milliradians are two counts of the encoder.
    assert identify(str(rig), "--fast", "--joint", "0", "--amplitude", "0.003", "--seconds", "30") == 1
    out = capsys.readouterr().out
    assert out.startswith("Joint 0 of arm could not be identified: ")
    assert f"next: onbeat identify {rig} --module arm --amplitude 0.003 --joint 0 --seconds 60" in out
    assert "plant" not in arm.read_text().replace("plant_", "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.yaml"], "there is no file none.yaml"),
        (["--module", "leg"], "the rig has no module 'leg'; it has arm, gripper, camera"),
        (["--module", "camera"], "module 'camera' takes no commands"),
        (["--joint", "6"], "module 'arm' has joints 0 to 5, and no joint 6"),
        (["--motion", "wobble"], "--motion is 'wobble'; it must be sines, multisine or chirp"),
        (["--seconds", "5"], "sines from 0.3 to 2.5 Hz need 27 s or more, not 5 s"),
        (["--amplitude", "0"], "--amplitude is 0; it must be a number above 0"),
        (["--amplitude", "4"], "an amplitude of 4 rad needs 8 rad, and joint 0 has 6.2 rad"),
        (["--tone", "30", "--tone", "1"], "arm is read 100 times a second (poll_hz), and a tone of 30 Hz needs 120"),
        (["--tone", "1"], "two or more different frequencies"),
        (["--jiont", "1"], "no option '--jiont'; did you mean '--joint'?"),
        (["--out", "missing/out"], "there is no folder"),
    ],
)
def test_what_cannot_run(arguments: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert identify("--fast", *arguments) == 2
    assert says in failed(capsys, tmp_path)


def test_place_without_room_and_file_that_may_not_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rig = copy_rig(simulated_rig_path(), tmp_path / "mine")
    gripper = tmp_path / "mine" / "modules" / "gripper.yaml"
    text = gripper.read_text()
    gripper.write_text(text.replace("lower: 0.0", "lower: 0.035"))
    assert identify(str(rig), "--fast", "--module", "gripper") == 2
    assert "gripper joint 0 stands at 0.04002 m, 0.00502" in capsys.readouterr().err
    shutil.rmtree(tmp_path / "mine")
    real_rig(tmp_path)
    assert identify("rig.yaml", "--fast") == 2
    assert "--fast is for simulated rigs" in capsys.readouterr().err


def test_help_has_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert identify("--help") == 0
    out = capsys.readouterr().out
    assert "Example: onbeat identify conf/rig.yaml" in out
    assert "--no-write" in out
