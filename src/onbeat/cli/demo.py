"""`onbeat demo`: measure the delays of a simulated rig, then land a grasp with and without them."""

import platform
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer

from onbeat.cli.main import GOOD
from onbeat.cli.run_log import kept_log, open_page
from onbeat.cli.terminal import Terminal
from onbeat.errors import BadInput

__all__ = ("EXAMPLE", "run")

EXAMPLE = "onbeat demo --seed 7 --motion my_hand.csv"

_STEPS = 8


def run(
    seed: Annotated[int, typer.Option("--seed", help="Which rig to simulate; 0 is a typical one.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", help="Folder to write (default: onbeat-demo here, numbered if taken).", show_default=False),
    ] = None,
    motion: Annotated[
        Path | None, typer.Option("--motion", help="Move the cup along this recorded motion (CSV or npz).", show_default=False)
    ] = None,
    fps: Annotated[
        float | None, typer.Option("--fps", help="Motion: frames a second, where the file has no time.", show_default=False)
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            "--columns", help="Motion: columns of x, y, z (px,py,pz), or an npz's array (body_pos_w[7]).", show_default=False
        ),
    ] = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="On a manual clock, without threads: the same bits for the same seed.")
    ] = False,
    headless: Annotated[bool, typer.Option("--headless", help="Show no progress and open no browser.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON document.")] = False,
    cover_code: Annotated[
        bool, typer.Option("--cover-code", help="Paint over the code that the camera films; the run then ends there.")
    ] = False,
) -> int:
    """Measure every delay of a simulated arm, gripper and camera, then land a grasp at a moving cup with and without them.

    The rig's delays are known to the simulator only. They are measured, printed beside the truth with their 95 %
    intervals, and written to a copy of the rig's YAML. Then the same grasp runs three times: without compensation, with
    numbers copied from another rig, and with the measured ones. Takes under a minute; a few seconds with --fast.
    """
    if seed < 0:
        raise BadInput(f"--seed is {seed}; it must be a whole number >= 0")
    from onbeat.clock import SystemClock
    from onbeat.record import read_motion
    from onbeat.report import run_folder
    from onbeat.report.demo import DemoOptions, run_demo
    from onbeat.report.demo_page import demo_page, draw_story
    from onbeat.report.document import plain_json

    terminal = Terminal(json=json)
    path = motion
    recorded = None if path is None else read_motion(path, fps=fps, columns=columns.split(",") if columns else None)
    options = DemoOptions(seed, fast, recorded, cover_code)
    began = datetime.now(timezone.utc).isoformat(timespec="seconds")
    clock = SystemClock()
    start_ns = clock.now_ns()
    with (
        run_folder("onbeat-demo", out) as folder,
        kept_log(folder.path("demo.log")),
        terminal.steps(_STEPS, quiet=headless) as tell,
    ):
        story = run_demo(options, folder.path("."), began, platform.node(), tell)
        run_facts = {
            **story.run,
            "wall_s": (clock.now_ns() - start_ns) / 1e9,
            "motion_file": None if path is None else str(path.resolve()),
            "folder": str(folder.final),
            "rig": str(folder.final / "rig" / "rig.yaml"),
        }
        document = {**story.result(), "run": run_facts}
        tell("drawing")
        folder.write("result.json", plain_json(document))
        folder.write("story.svg", draw_story(story))
        folder.write("report.html", demo_page(story))
    if not json:
        from onbeat.cli.demo_table import print_story

        print_story(terminal, story, folder.final)
    terminal.document(document)
    if not headless and not json:
        open_page(folder.final / "report.html")
    return GOOD
