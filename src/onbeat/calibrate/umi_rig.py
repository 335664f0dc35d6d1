"""Write what a UMI config says as a rig's files: rig.yaml, modules/*.yaml, policy.yaml."""

import json
from pathlib import Path
from typing import Any

from onbeat.calibrate.files import write_copied
from onbeat.calibrate.umi import UmiConfig, UmiModule
from onbeat.device.config import load_rig_config

__all__ = ("placeholder", "write_umi_rig")

_CLASSES = {"arm": "MyArm", "gripper": "MyGripper", "camera": "MyCamera"}


def placeholder(module: UmiModule) -> str:
    """Give what stands under `device` until the user writes the name of the driver there."""
    return f"replace_me.my_{module.kind}:{_CLASSES[module.kind]}"


def write_umi_rig(config: UmiConfig, folder: str | Path) -> Path:
    """Write the rig's files into an empty folder. Each figure says from which key of which file it was copied.

    Returns:
        The path of rig.yaml.

    Raises:
        BadInput: a figure is not physical.
    """
    folder = Path(folder)
    (folder / "modules").mkdir()
    source = "".join(letter if letter.isprintable() else "?" for letter in str(config.path))
    for module in config.modules:
        path = folder / "modules" / f"{module.name}.yaml"
        path.write_text(_module_text(module, source), encoding="utf-8")
        for figure in module.figures:
            write_copied(path, figure.key, figure.value, f"{figure.origin} in {source}")
    rig = folder / "rig.yaml"
    rig.write_text(
        f"# Made from {source}. Figures marked 'copied' were not measured on this rig; measure them.\nmodules:\n"
        + "".join(f"  {module.name}: modules/{module.name}.yaml\n" for module in config.modules),
        encoding="utf-8",
    )
    (folder / "policy.yaml").write_text(_policy_text(config, source), encoding="utf-8")
    load_rig_config(rig)
    return rig


def _module_text(module: UmiModule, source: str) -> str:
    lines = [
        f"# Made from {source}. Figures marked 'copied' were not measured on this {module.kind}; measure them.",
        f"device: {placeholder(module)}  # replace it: your driver's 'package.module:Class', or its entry point",
    ]
    lines += [f"# {theirs} is not in {source}, so {ours} is 0 until it is measured." for ours, theirs in module.unstated]
    if module.params:
        lines += ["params:", *(f"  {key}: {_flow(value)}" for key, value in module.params.items())]
    return "\n".join(lines) + "\n"


def _policy_text(config: UmiConfig, source: str) -> str:
    lines = [f"# Made from {source}: what describes the task, not the hardware."]
    if "policy_dt" not in config.task:
        lines.append(f"# policy_dt, the seconds between the steps of a chunk, is not in {source}: add it, e.g. policy_dt: 0.1")
    lines += [f"{key}: {_flow(value)}" for key, value in config.task.items()]
    lines.append("first_step: 0  # UMI's programs count the rows of a chunk from the observation's own instant")
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    """Write a value as JSON, which is YAML in one line."""
    return json.dumps(value, ensure_ascii=False)
