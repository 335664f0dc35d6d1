import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from onbeat.cli.main import main

DRIVER = """
import numpy as np
from onbeat.device import DeviceInfo, DeviceState

class Axis:
    def __init__(self, config, clock):
        self.params, self.clock, self.seq, self.position = config.params, clock, 0, np.zeros(1)
        self.info = DeviceInfo("joints", 1, "rad", "tiny axis")

    def connect(self):
        if self.params.get("unplugged"):
            raise RuntimeError("no such port")

    def read(self):
        self.seq += 1
        if self.seq > self.params.get("reads", 10**9):
            raise RuntimeError("the bus is gone")
        now_ns = self.clock.now_ns()
        return DeviceState(self.position.copy(), now_ns, now_ns, self.seq)

    def write(self, command):
        self.position = command.target.copy()

    def hold(self): ...

    def close(self):
        if self.params.get("sticky"):
            raise RuntimeError("the port is stuck")

class Eye:
    def __init__(self, config, clock):
        self.clock, self.k = clock, clock.now_ns() // 20_000_000
        self.info = DeviceInfo("camera", 0, "", "tiny eye")

    def connect(self): ...

    def read(self):
        now_ns = self.clock.now_ns()
        self.k = max(self.k + 1, now_ns // 20_000_000 + 1)
        return DeviceState(self.k, now_ns, max(now_ns, self.k * 20_000_000), self.k)

    def write(self, command): ...
    def hold(self): ...
    def close(self): ...
"""
POLICY = """
import signal
import numpy as np

asked = 0

def still(observation, far=0.0):
    return np.full((8, 1), far)

def lost(observation):
    raise KeyError("elbow")

def interrupts(observation):
    global asked
    asked += 1
    if asked == 3:
        signal.raise_signal(signal.SIGINT)
    return np.zeros((8, 1))
"""
FILES = {"recording.mcap", "run.log", "result.json", "report.html"}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a driver, a policy and the files of a rig, as a user has it."""
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    monkeypatch.chdir(tmp_path)
    for name in ("tiny_driver", "tiny_policy"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "tiny_driver.py").write_text(DRIVER)
    (tmp_path / "tiny_policy.py").write_text(POLICY)
    (tmp_path / "conf").mkdir()
    write_rig(tmp_path / "conf" / "rig.yaml")
    write_policy(tmp_path)
    return tmp_path


def write_rig(path: Path, params: str = "{}", copied: bool = False) -> None:
    axis = f"    device: tiny_driver:Axis\n    rate_hz: 50\n    poll_hz: 50\n    lower: -1\n    upper: 1\n    params: {params}\n"
    if copied:
        axis += "    action_latency: 0.01\n    provenance:\n"
        axis += "      action_latency: {source: copied, value: 0.01, method: another rig}\n"
    path.write_text(f"modules:\n  axis:\n{axis}  eye: {{device: 'tiny_driver:Eye', receive_latency: 0.001}}\n")


def write_policy(folder: Path, function: str = "still", params: str = "{}") -> None:
    (folder / "policy.yaml").write_text(f"policy: tiny_policy:{function}\npolicy_dt: 0.1\nparams: {params}\n")


def read_result(folder: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((folder / "result.json").read_text())
    return result


def test_run_leaves_a_folder_and_one_document(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["run", "policy.yaml", "--duration", "0.6", "--json"])
    printed = json.loads(capsys.readouterr().out)
    out = bench / "onbeat-run"
    assert printed == read_result(out)
    assert {path.name for path in out.iterdir()} == FILES
    assert code == (1 if printed["findings"] else 0)  # a busy machine may be late
    assert printed["turns"] > 0
    assert sum(printed["rows"]["axis"].values()) == 8 * printed["turns"]
    assert printed["loops"]["axis"]["rate_hz"] == 50
    assert printed["loops"]["axis"]["cycles"] > 0
    assert printed["run"]["rig"] == str(bench / "conf" / "rig.yaml")
    assert printed["run"]["ended"] == "duration"
    assert printed["run"]["recording"]["dropped"] == 0
    assert "axis: Scheduled 8 waypoints" in (out / "run.log").read_text()


def test_recording_has_readings_decisions_and_cycles(bench: Path) -> None:
    from onbeat.record import read_recording

    main(["run", "policy.yaml", "--duration", "0.5", "--headless", "--out", "out"])
    recording = read_recording(bench / "out" / "recording.mcap")
    result = read_result(bench / "out")
    assert len(recording.decisions) == result["turns"]
    assert len(recording.cycles["axis"]) == result["loops"]["axis"]["cycles"]


def test_rejected_rows_are_a_finding(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_policy(bench, params="{far: 5.0}")
    assert main(["run", "policy.yaml", "--duration", "0.5", "--headless", "--out", "out"]) == 1
    rejected = read_result(bench / "out")["rows"]["axis"]["rejected"]
    assert rejected > 0
    assert f"{rejected} rows rejected" in capsys.readouterr().out


def test_copied_figures_are_said_on_stderr(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rig(bench / "other.yaml", copied=True)
    main(["run", "policy.yaml", "--rig", "other.yaml", "--duration", "0.2", "--json"])
    sentence = "axis: action_latency 0.01 s was copied from another rig, not measured; measure it"
    assert f"onbeat: {sentence}\n" in capsys.readouterr().err
    assert sentence in (bench / "onbeat-run" / "run.log").read_text()


def test_ctrl_c_is_a_normal_end(bench: Path) -> None:
    write_policy(bench, "interrupts")
    # A shell starts what it puts in the background with SIGINT ignored; then nothing would end the run.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["run", "policy.yaml", "--headless", "--out", "out"]) in (0, 1)
    finally:
        signal.signal(signal.SIGINT, before)
    assert {path.name for path in (bench / "out").iterdir()} == FILES
    assert read_result(bench / "out")["run"]["ended"] == "interrupted"


def test_policy_that_raises_ends_the_run_and_the_folder_is_kept(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_policy(bench, "lost")
    assert main(["run", "policy.yaml", "--duration", "2", "--headless", "--out", "out"]) == 2
    assert capsys.readouterr().err == "onbeat: policy stopped: 'elbow' (KeyError); run.log has its lines\n"
    assert read_result(bench / "out")["error"].startswith("policy stopped: 'elbow'")
    assert 'raise KeyError("elbow")' in (bench / "out" / "run.log").read_text()


def test_device_that_raises_ends_the_run_and_the_folder_is_kept(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rig(bench / "conf" / "rig.yaml", "{reads: 10}")
    assert main(["run", "policy.yaml", "--duration", "2", "--headless", "--out", "out"]) == 2
    sentence = "module 'axis' stopped: RuntimeError: the bus is gone; all modules hold"
    assert capsys.readouterr().err == f"onbeat: {sentence}\n"
    assert read_result(bench / "out")["error"] == sentence
    assert {path.name for path in (bench / "out").iterdir()} == FILES


def test_device_that_does_not_close_is_said_and_the_folder_is_kept(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rig(bench / "conf" / "rig.yaml", "{sticky: true}")
    assert main(["run", "policy.yaml", "--duration", "0.3", "--headless", "--out", "out"]) == 2
    assert capsys.readouterr().err == "onbeat: module 'axis' did not close: RuntimeError: the port is stuck\n"
    assert read_result(bench / "out")["loops"]["axis"]["cycles"] > 0


def test_device_that_does_not_open_is_one_sentence_and_leaves_nothing(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_rig(bench / "conf" / "rig.yaml", "{unplugged: true}")
    assert main(["run", "policy.yaml", "--duration", "1", "--headless", "--out", "out"]) == 2
    assert capsys.readouterr().err == "onbeat: module 'axis' did not open: RuntimeError: no such port\n"
    assert not (bench / "out").exists()


def test_simulated_rig_where_there_is_no_other(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (bench / "conf" / "rig.yaml").unlink()
    (bench / "tiny_policy.py").write_text("def still(observation):\n    return {}\n")
    assert main(["run", "policy.yaml", "--duration", "0.5", "--out", "out"]) in (0, 1)
    assert "on the simulated rig (there is no conf/rig.yaml; name one with --rig); Ctrl-C ends it" in capsys.readouterr().err
    assert set(read_result(bench / "out")["loops"]) == {"arm", "gripper"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.yaml"], "nowhere.yaml"),
        (["policy.yaml", "--duration", "0"], "--duration is 0; it must be a number of seconds > 0"),
        (["policy.yaml", "--duration", "nan"], "--duration is nan"),
        (["policy.yaml", "--rig", "none.yaml"], "none.yaml"),
        ([], "missing argument"),
    ],
)
@pytest.mark.usefixtures("bench")
def test_bad_arguments_are_one_sentence(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *arguments]) == 2
    captured = capsys.readouterr()
    assert sentence in captured.err
    assert captured.err.count("\n") == 1
    assert not Path("onbeat-run").exists()
