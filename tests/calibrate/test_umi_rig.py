from pathlib import Path

from onbeat.calibrate.umi import read_umi
from onbeat.calibrate.umi_rig import placeholder, write_umi_rig
from onbeat.device import Provenance, copied_figures, load_policy_config, load_rig_config
from tests.calibrate.umi_configs import BIMANUAL, FLAT


def written(tmp_path: Path, text: str, name: str = "eval.yaml") -> Path:
    config = tmp_path / name
    config.write_text(text)
    folder = tmp_path / "rig"
    folder.mkdir()
    return write_umi_rig(read_umi(config), folder)


def test_each_figure_says_where_it_was_copied_from(tmp_path: Path) -> None:
    rig = load_rig_config(written(tmp_path, BIMANUAL))
    assert list(rig.modules) == ["arm_0", "arm_1", "gripper_0", "gripper_1", "camera"]
    arm = rig.modules["arm_1"]
    assert (arm.receive_latency, arm.action_latency) == (0.004, 0.13)
    method = f"robots[1].robot_action_latency in {tmp_path / 'eval.yaml'}"
    assert arm.provenance_of("action_latency") == Provenance("copied", 0.13, method=method)
    assert arm.params == {"robot_type": "franka", "robot_ip": "10.0.0.22"}


def test_a_figure_that_is_not_stated_is_not_written(tmp_path: Path) -> None:
    rig = load_rig_config(written(tmp_path, BIMANUAL))
    assert rig.modules["gripper_1"].provenance_of("action_latency").source == "absent"
    text = (tmp_path / "rig" / "modules" / "gripper_1.yaml").read_text()
    assert "so action_latency is 0 until it is measured" in text


def test_the_device_is_a_placeholder(tmp_path: Path) -> None:
    rig = load_rig_config(written(tmp_path, FLAT))
    assert [module.device for module in rig.modules.values()] == ["replace_me.my_arm:MyArm", "replace_me.my_gripper:MyGripper"]
    assert [placeholder(module) for module in read_umi(tmp_path / "eval.yaml").modules] == [
        module.device for module in rig.modules.values()
    ]


def test_the_task_goes_to_the_policy(tmp_path: Path) -> None:
    policy = load_policy_config(written(tmp_path, BIMANUAL).parent / "policy.yaml")
    assert (policy.policy_dt, policy.first_step) == (0.05, 0)
    assert policy.collision_sphere == {"center": [0.0, -0.05, -0.2], "radius": 0.12}
    assert policy.params == {"height_threshold": {"arm_0": -0.02, "arm_1": 0.01}}


def test_a_step_that_is_not_stated_is_asked_for(tmp_path: Path) -> None:
    text = (written(tmp_path, "robot_ip: a\n").parent / "policy.yaml").read_text()
    assert "policy_dt, the seconds between the steps of a chunk, is not in" in text
    assert "\npolicy_dt:" not in text


def test_every_copied_figure_is_warned_of(tmp_path: Path) -> None:
    sentences = copied_figures(load_rig_config(written(tmp_path, BIMANUAL)))
    assert len(sentences) == 8
    source = tmp_path / "eval.yaml"
    assert sentences[1] == (
        f"arm_0: action_latency 0.11 s was copied from robots[0].robot_action_latency in {source}, not measured; measure it"
    )


def test_a_file_with_an_odd_name(tmp_path: Path) -> None:
    rig = load_rig_config(written(tmp_path, FLAT, 'my "odd"\n#: name.yaml'))
    method = rig.modules["arm"].provenance_of("action_latency").method
    assert method is not None
    assert method.endswith('my "odd"?#: name.yaml')
