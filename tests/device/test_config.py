import subprocess
import sys
from pathlib import Path

import pytest

from onbeat.device.config import (
    ModuleConfig,
    Provenance,
    copied_figures,
    load_module_config,
    load_policy_config,
    load_rig_config,
)
from onbeat.errors import BadInput

ARM = """\
# an arm
device: my_package.arm:Arm
rate_hz: 250
poll_hz: 1e2
receive_latency: 0.0021
action_latency: 0.1026
max_speed: 1.8
lower: -3.1
upper: [3.1, 2.0]
params: {port: /dev/ttyACM0, ids: [1, 2]}
provenance:
  receive_latency: {source: copied, value: 0.0021, method: data sheet}
  action_latency:
    source: measured
    value: 0.1026
    ci95: 0.0004
    n: 1200
    method: chirp
    date: 2026-11-30
    host: rig1
"""


def write(folder: Path, text: str, name: str = "arm.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


def refusal(folder: Path, text: str) -> str:
    path = write(folder, text)
    with pytest.raises(BadInput) as caught:
        load_module_config(path)
    return str(caught.value).replace(str(path), "FILE")


def test_every_key_of_a_module(tmp_path: Path) -> None:
    config = load_module_config(write(tmp_path, ARM))
    assert config.name == "arm"
    assert config.device == "my_package.arm:Arm"
    assert (config.rate_hz, config.poll_hz) == (250.0, 100.0)
    assert (config.receive_latency, config.action_latency, config.max_speed) == (0.0021, 0.1026, 1.8)
    assert (config.lower, config.upper) == (-3.1, (3.1, 2.0))
    assert config.params == {"port": "/dev/ttyACM0", "ids": [1, 2]}
    assert config.path == tmp_path / "arm.yaml"
    assert not config.inline


def test_provenance_of_each_figure(tmp_path: Path) -> None:
    config = load_module_config(write(tmp_path, ARM))
    measured = Provenance("measured", 0.1026, 0.0004, 1200, "chirp", "2026-11-30", "rig1")
    assert config.provenance_of("action_latency") == measured
    assert config.provenance_of("receive_latency").source == "copied"
    assert config.provenance_of("max_speed") == Provenance("unstated")


def test_figure_edited_after_it_was_measured(tmp_path: Path) -> None:
    config = load_module_config(write(tmp_path, ARM.replace("action_latency: 0.1026", "action_latency: 0.1")))
    assert config.action_latency == 0.1
    assert config.provenance_of("action_latency").source == "edited"
    assert config.provenance_of("action_latency").value == 0.1026


def test_figures_that_are_not_there(tmp_path: Path) -> None:
    config = load_module_config(write(tmp_path, "device: a:B\nmax_speed:\n"), name="elbow")
    assert config.name == "elbow"
    assert (config.receive_latency, config.action_latency, config.max_speed) == (0.0, 0.0, None)
    assert config.provenance_of("max_speed") == Provenance("absent")


def test_provenance_of_another_key() -> None:
    with pytest.raises(BadInput, match="'rate_hz' is not a measured figure"):
        ModuleConfig("arm", "a:B").provenance_of("rate_hz")


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("recieve_latency: 0.1", "unknown key 'recieve_latency' in FILE line 3; did you mean 'receive_latency'?"),
        ("speed_of_light: 3e8", "unknown key 'speed_of_light' in FILE line 3; the keys are device, rate_hz, poll_hz,"),
        ("centre: true", "centre in FILE line 3 must be keys with values, not True"),
        ("centre: {margins: 0.001}", "unknown key 'margins' in FILE line 3; did you mean 'margin'?"),
        ("centre: {beat: 0.001}", "unknown key 'beat' in FILE line 3; the keys are margin"),
        ("centre: {margin: -1}", "centre/margin in FILE line 3 must be > 0 s, not -1 s"),
        ("7: 8", "key 7 in FILE line 3 must be text; write it in quotes if it is meant"),
        ("receive_latency: 12 ms", "receive_latency in FILE line 3 must be a number of seconds, not '12 ms'"),
        ("receive_latency: '0.1'", "receive_latency in FILE line 3 must be a number of seconds, not '0.1'"),
        ("receive_latency: true", "receive_latency in FILE line 3 must be a number of seconds, not True"),
        ("receive_latency: .nan", "receive_latency in FILE line 3 must be a finite number of seconds, not nan"),
        ("action_latency: .inf", "action_latency in FILE line 3 must be a finite number of seconds, not inf"),
        (
            "action_latency: -0.1",
            "action_latency in FILE line 3 must be >= 0 s, not -0.1 s; a negative latency is not a measurement",
        ),
        ("action_latency: 102", "action_latency in FILE line 3 is 102 s; it is written in seconds, so 102 ms is 0.102"),
        ("max_speed: 0", "max_speed in FILE line 3 must be > 0, not 0"),
        ("rate_hz: 0", "rate_hz in FILE line 3 must be > 0, not 0"),
        ("params: 3", "params in FILE line 3 must be keys with values, not 3"),
        ("lower: low", "lower in FILE line 3 must be a number or a list of numbers, not 'low'"),
        ("lower: [1, low]", "lower/1 in FILE line 3 must be a number, not 'low'"),
        ("lower: [-1, 2]\nupper: 1", "lower 2.0 in FILE line 3 is not below upper 1.0 of joint 1; exchange or widen them"),
        ("lower: [-1, 2]\nupper: [1, 3, 4]", "lower in FILE line 3 has 2 numbers and upper 3; write one for all joints or one a"),
        (
            "provenance:\n  action_latncy: {source: measured, value: 1}",
            "unknown key 'action_latncy' in FILE line 4; did you mean",
        ),
        ("provenance: {max_speed: {source: measured, valu: 1}}", "unknown key 'valu' in FILE line 3; did you mean 'value'?"),
        (
            "provenance:\n  max_speed:\n    source: measured",
            "provenance/max_speed in FILE line 4 has no 'value'; add it: the figure",
        ),
        (
            "provenance: {max_speed: {source: guess, value: 1}}",
            "provenance/max_speed/source in FILE line 3 must be one of 'measured',",
        ),
        ("policy_dt: 0.1", "'policy_dt' in FILE line 3 describes the task, not the hardware; move it into the policy's YAML"),
        ("execution_speed_scale: 2", "'execution_speed_scale' in FILE line 3 describes the task"),
        ("height_threshold: 0.02", "'height_threshold' in FILE line 3 describes the task"),
        ("collision_sphere: 0.1", "'collision_sphere' in FILE line 3 describes the task"),
    ],
)
def test_refusal_names_file_line_and_fix(tmp_path: Path, line: str, sentence: str) -> None:
    said = refusal(tmp_path, f"# an arm\ndevice: a:B\n{line}\n")
    assert said.startswith(sentence)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rate_hz: 3\n", "FILE has no 'device'; add it: 'package.module:Class'"),
        ("devise: a:B\n", "unknown key 'devise' in FILE line 1; did you mean 'device'?"),
        ("device:\n", "device in FILE line 1 has no value; it needs 'package.module:Class'"),
        ("device: 3\n", "device in FILE line 1 must be text, not 3"),
        ("device: ''\n", "device in FILE line 1 must be text that is not empty, not ''"),
    ],
)
def test_refusal_of_a_whole_file(tmp_path: Path, text: str, sentence: str) -> None:
    assert refusal(tmp_path, text).startswith(sentence)


def test_rig_with_files_and_modules_in_place(tmp_path: Path) -> None:
    write(tmp_path, ARM, "modules/arm.yaml")
    path = write(
        tmp_path,
        "name: bench\nmodules:\n  wrist: {device: a:B, rate_hz: 50, max_speed: 2.0}\n  arm: modules/arm.yaml\n",
        "rig.yaml",
    )
    rig = load_rig_config(path)
    assert rig.name == "bench"
    assert list(rig.modules) == ["wrist", "arm"]
    assert rig.modules["wrist"].inline
    assert rig.modules["wrist"].path == path
    assert rig.modules["arm"].path == tmp_path / "modules/arm.yaml"
    assert rig.modules["arm"].action_latency == 0.1026


def test_rig_without_a_name_is_called_like_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "bench"
    folder.mkdir()
    assert load_rig_config(write(folder, "modules: {arm: {device: a:B}}", "rig.yaml")).name == "bench"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("modules:\n  arm: arm.yaml\n", "module 'arm' in FILE line 2 names arm.yaml, and there is no file"),
        ("modules:\n  arm: {device: a:B, rat_hz: 1}\n", "unknown key 'rat_hz' in FILE line 2; did you mean 'rate_hz'?"),
        ("modules:\n  arm:\n    rate_hz: 1\n", "modules/arm in FILE line 2 has no 'device'; add it:"),
        ("modules:\n  arm:\n    device: a:B\n    policy_dt: 1\n", "'policy_dt' in FILE line 4 describes the task"),
        ("modules:\n  arm: 3\n", "modules/arm in FILE line 2 must be a path or a module's keys, not 3"),
        ("modules:\n  3: {device: a:B}\n", "key 3 in FILE line 2 must be text"),
        ("modules: {}\n", "modules in FILE line 1 must be at least one entry, not {}"),
        ("modules:\n", "modules in FILE line 1 has no value; it needs name: path of the module's YAML"),
        ("module: {arm: a.yaml}\n", "unknown key 'module' in FILE line 1; did you mean 'modules'?"),
        ("device: a:B\n", "FILE is a module's file, not a rig's; name it in a rig.yaml: modules: {rig: FILE}"),
    ],
)
def test_refusal_of_a_rig(tmp_path: Path, text: str, sentence: str) -> None:
    path = write(tmp_path, text, "rig.yaml")
    with pytest.raises(BadInput) as caught:
        load_rig_config(path)
    assert str(caught.value).replace(str(path), "FILE").startswith(sentence)


def test_policy(tmp_path: Path) -> None:
    config = load_policy_config(write(tmp_path, "policy_dt: 0.1\nexecution_speed_scale: 1.5\nheight_threshold: 0.02\n"))
    assert (config.policy_dt, config.execution_speed_scale, config.height_threshold) == (0.1, 1.5, 0.02)
    assert (config.n_obs, config.obs_dt, config.first_step) == (1, None, 1)


@pytest.mark.parametrize("key", ["receive_latency", "action_latency", "max_speed"])
def test_figure_of_the_hardware_in_a_policy(tmp_path: Path, key: str) -> None:
    path = write(tmp_path, f"policy_dt: 0.1\n{key}: 0.1\n")
    with pytest.raises(
        BadInput, match=f"'{key}' in .* line 2 describes the hardware, not the policy; move it into the YAML of its"
    ):
        load_policy_config(path)


def test_policy_key_misspelt(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"unknown key 'polcy_dt' in .* line 1; did you mean 'policy_dt'"):
        load_policy_config(write(tmp_path, "polcy_dt: 0.1\n"))


def test_parsers_are_imported_only_when_a_file_is_loaded() -> None:
    code = "import sys, onbeat.device; sys.exit(any(name.split('.')[0] in ('pydantic', 'ruamel') for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_copied_figures_are_named_and_measured_ones_are_not(tmp_path: Path) -> None:
    write(tmp_path, ARM)
    rig = "modules:\n  arm: arm.yaml\n  jaw: {device: x, max_speed: 0.2, provenance: {max_speed: {source: copied, value: 0.2}}}\n"
    config = load_rig_config(write(tmp_path, rig, "rig.yaml"))
    assert copied_figures(config) == [
        "arm: receive_latency 0.0021 s was copied from data sheet, not measured; measure it",
        "jaw: max_speed 0.2 was copied from elsewhere, not measured; measure it",
    ]


def test_a_copied_figure_that_was_edited_since_is_not_called_copied(tmp_path: Path) -> None:
    rig = "modules: {jaw: {device: x, max_speed: 0.3, provenance: {max_speed: {source: copied, value: 0.2}}}}\n"
    assert copied_figures(load_rig_config(write(tmp_path, rig, "rig.yaml"))) == []


def test_a_policy_may_not_hold_a_plant(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    path.write_text("policy_dt: 0.1\nplant: {}\n")
    with pytest.raises(BadInput, match=r"'plant' in .* line 2 describes the hardware, not the policy"):
        load_policy_config(path)
