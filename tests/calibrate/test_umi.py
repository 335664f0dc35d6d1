from pathlib import Path

import pytest

from onbeat.calibrate.umi import UmiConfig, UmiFigure, read_umi
from onbeat.errors import BadInput
from tests.calibrate.umi_configs import BIMANUAL, FLAT


def read(tmp_path: Path, text: str) -> UmiConfig:
    path = tmp_path / "eval.yaml"
    path.write_text(text)
    return read_umi(path)


def figures(config: UmiConfig) -> dict[str, dict[str, float]]:
    return {module.name: {figure.key: figure.value for figure in module.figures} for module in config.modules}


def test_two_arms_two_grippers_one_camera(tmp_path: Path) -> None:
    config = read(tmp_path, BIMANUAL)
    assert figures(config) == {
        "arm_0": {"receive_latency": 0.0002, "action_latency": 0.11},
        "arm_1": {"receive_latency": 0.004, "action_latency": 0.13},
        "gripper_0": {"receive_latency": 0.02, "action_latency": 0.12},
        "gripper_1": {"receive_latency": 0.02},
        "camera": {"receive_latency": 0.15},
    }
    assert config.modules[1].figures[1] == UmiFigure("action_latency", 0.13, "robots[1].robot_action_latency")
    assert config.modules[3].unstated == (("action_latency", "gripper_action_latency"),)
    assert dict(config.modules[0].params) == {"robot_type": "ur5e", "robot_ip": "10.0.0.21"}


def test_what_belongs_to_the_task(tmp_path: Path) -> None:
    assert dict(read(tmp_path, BIMANUAL).task) == {
        "policy_dt": 0.05,
        "collision_sphere": {"center": [0.0, -0.05, -0.2], "radius": 0.12},
        "params": {"height_threshold": {"arm_0": -0.02, "arm_1": 0.01}},
    }
    assert dict(read(tmp_path, FLAT).task) == {"policy_dt": 0.05, "n_obs": 2, "height_threshold": -0.01}


def test_what_is_not_taken_over_is_listed_with_its_line(tmp_path: Path) -> None:
    assert read(tmp_path, BIMANUAL).left_out == (
        "robots[0].robot_action_latencey (line 10; did you mean 'robot_action_latency'?)",
        "tx_left_right (line 22)",
    )


def test_keys_at_the_top_make_one_rig(tmp_path: Path) -> None:
    config = read(tmp_path, FLAT)
    assert figures(config) == {"arm": {"receive_latency": 1e-4, "action_latency": 0.1}, "gripper": {"action_latency": 0.3}}
    assert config.left_out == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("robots: [{robot_ip: a}, {robot_action_latency: 0.2}]\nrobot_action_latency: 0.1", {"arm_0": 0.1, "arm_1": 0.2}),
        ("robot_action_latency: [0.1, 0.2]", {"arm_0": 0.1, "arm_1": 0.2}),
        ("robots: [{}, {}]\nrobot_action_latency: [0.1, 0.2]", {"arm_0": 0.1, "arm_1": 0.2}),
        ("robots: [{robot_action_latency: 0.1}]", {"arm": 0.1}),
        ("robots: {robot_action_latency: 0.1}", {"arm": 0.1}),
        ("robot: {robot_action_latency: 0.1}", {"arm": 0.1}),
        (
            "robots: {left: {robot_action_latency: 0.1}, right: {robot_action_latency: 0.2}}",
            {"left_arm": 0.1, "right_arm": 0.2},
        ),
    ],
)
def test_forms_of_the_same(text: str, expected: dict[str, float], tmp_path: Path) -> None:
    config = read(tmp_path, text)
    assert {name: found["action_latency"] for name, found in figures(config).items()} == expected
    assert config.left_out == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: 1", "holds no key of a UMI config"),
        ("robots: []", "holds no key of a UMI config"),
        ("", "is empty"),
        ("robots: [", "not valid YAML"),
        ("robots: 3", "robots in .* line 1 must list devices"),
        ("robots: [1, 2]", "must list devices"),
        ("robots: {1: {a: 1}, b: {a: 1}}", "must list devices"),
        ("robots: &x [*x]", "must list devices"),
        ("a: 1\nrobot_action_latency: 100", "line 2 is 100 s; it is written in seconds, so 100 ms is 0.1"),
        ("robot_action_latency: -0.1", "a negative latency is not a measurement"),
        ("robots: [{robot_obs_latency: fast}]", r"robots\[0\].robot_obs_latency in .* is 'fast'; it must be a number of seconds"),
        ("robot_action_latency: true", "is True; it must be a number"),
        ("robot_action_latency: .nan", "is nan; it must be a number"),
        (f"robot_action_latency: {'9' * 400}", "it must be a number"),
        ("robots: [{}, {}]\nrobot_action_latency: [0.1]", "has 1 values for 2 devices; write one, or one for each"),
        ("robot_ip: a\nfrequency: 0", "frequency in .* line 2 is 0; it must be a number above 0.1"),
        ("robot_ip: a\npolicy_dt: 100", "it must be a number above 0 and at most 10"),
        ("robot_ip: a\nn_obs_steps: 1.5", "n_obs_steps in .* is 1.5; it must be a whole number"),
        ("robot_ip: a\nheight_threshold: low", "height_threshold in .* is 'low'; it must be a number"),
    ],
)
def test_what_cannot_be_taken_over_at_all(text: str, says: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=says) as error:
        read(tmp_path, text)
    assert "eval.yaml" in str(error.value)
    assert "\n" not in str(error.value)


def test_settings_that_cannot_be_written_are_left_out(tmp_path: Path) -> None:
    config = read(tmp_path, 'robot_ip: 2026-11-30\nrobot_type: "a\\nb"\nrobot_port: 5\ncollision_sphere: &x [*x]\n')
    assert dict(config.modules[0].params) == {"robot_port": 5}
    assert config.left_out == ("robot_ip (line 1)", "robot_type (line 2)", "collision_sphere (line 4)")
