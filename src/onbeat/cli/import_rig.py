"""`onbeat import`: make a rig's files from the config of another program."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onbeat.cli.main import GOOD
from onbeat.cli.terminal import Terminal
from onbeat.errors import BadInput

if TYPE_CHECKING:
    from onbeat.calibrate.umi import UmiConfig

__all__ = ("EXAMPLE", "app", "umi")

EXAMPLE = "onbeat import umi eval_robots.yaml --out conf"

_SETTINGS = {"help_option_names": ["--help", "-h"], "max_content_width": 110}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, context_settings=_SETTINGS)


@app.callback(invoke_without_command=True, epilog=f"Example: {EXAMPLE}")
def _need_a_kind(context: typer.Context) -> None:
    """Make a rig's files from the config of another program. Figures that come along are marked as copied, not measured."""
    if context.invoked_subcommand is None:
        raise BadInput("say what to import: onbeat import umi FILE")


@app.command(epilog=f"Example: {EXAMPLE}", context_settings=_SETTINGS)
def umi(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The YAML that a UMI evaluation runs with.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FOLDER", help="Folder to write (default: onbeat-rig here, numbered).", show_default=False),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")] = False,
) -> int:
    """Make rig.yaml, modules/*.yaml and policy.yaml from a UMI evaluation config.

    Latencies go to their modules, each marked as copied from its key and not measured; keys of the task go to policy.yaml; keys
    that have no place are listed. The device key of each module is a placeholder that you replace with your driver's name.
    """
    from onbeat.calibrate.umi import read_umi
    from onbeat.calibrate.umi_rig import write_umi_rig
    from onbeat.report import run_folder

    terminal = Terminal(json=json)
    config = read_umi(file)
    with run_folder("onbeat-rig", out) as folder:
        write_umi_rig(config, folder.path("."))
    document = _document(config, folder.final)
    _tell(terminal, config, document)
    terminal.document(document)
    return GOOD


def _document(config: "UmiConfig", folder: Path) -> dict[str, Any]:
    from onbeat.calibrate.umi_rig import placeholder

    return {
        "file": str(config.path),
        "folder": str(folder),
        "modules": {
            module.name: {
                "device": placeholder(module),
                "figures": {figure.key: {"value": figure.value, "copied_from": figure.origin} for figure in module.figures},
                "unstated": [theirs for _, theirs in module.unstated],
                "params": dict(module.params),
            }
            for module in config.modules
        },
        "policy": dict(config.task),
        "not_taken_over": list(config.left_out),
    }


def _tell(terminal: Terminal, config: "UmiConfig", document: dict[str, Any]) -> None:
    rows = [
        (module.name, figure.key, f"{figure.value:g} s", figure.origin) for module in config.modules for figure in module.figures
    ]
    if rows:
        terminal.table(("module", "figure", "copied, not measured", "from"), rows, left=2)
        terminal.say()
    for module in config.modules:
        for ours, theirs in module.unstated:
            terminal.say(f"{module.name}: {config.path} has no {theirs}, so {ours} is 0 until it is measured.")
    for kind in ("arm", "gripper", "camera"):
        if all(module.kind != kind for module in config.modules):
            terminal.say(f"{config.path} says nothing about {kind}s; if your rig has one, add its module to rig.yaml.")
    if config.left_out:
        terminal.say(f"Not taken over: {', '.join(config.left_out)}.")
    if "policy_dt" not in config.task:
        terminal.say(f"{config.path} does not say how far the steps of a chunk are apart; add policy_dt (s) to policy.yaml.")
    devices = ", ".join(f"modules/{module.name}.yaml" for module in config.modules)
    terminal.say(f"The device in {devices} is a placeholder: replace it with your driver's 'package.module:Class'.")
    terminal.say(
        f"{document['folder']}/rig.yaml is your rig; it warns of each copied figure when it starts, until you measure it."
    )
