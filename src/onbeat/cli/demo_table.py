"""What the demo says at its end in a terminal: the measured numbers beside the truth, the three grasps, the verdict."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from onbeat.cli.terminal import Terminal
    from onbeat.report.story import Story

__all__ = ("print_story",)


def print_story(terminal: "Terminal", story: "Story", folder: "Path") -> None:
    """Print how the demo went and where its folder is; with --json the terminal stays silent."""
    from onbeat.report.demo_words import GRASP_HEADER, MEASURED_HEADER, grasp_row, measured_row, quantity

    terminal.say(f"Rig {story.seed}, {story.motion}.")
    terminal.say()
    rows = [measured_row(each) for each in story.measurements]
    styles = [{True: None, False: "red", None: "dim"}[each.covered] for each in story.measurements]
    terminal.table(MEASURED_HEADER, rows, styles=styles)
    for each in story.measurements:
        if not each.result.accepted:
            terminal.say(f"{quantity(each)} was refused: {each.result.reason}", style="yellow")
    terminal.say()
    best = min((grasp.distance_m for grasp in story.grasps if grasp.distance_m is not None), default=None)
    marks = ["red" if g.distance_m is None else "bold" if g.distance_m == best else None for g in story.grasps]
    terminal.table(GRASP_HEADER, [grasp_row(grasp) for grasp in story.grasps], styles=marks)
    terminal.say()
    sentence = story.verdict()
    terminal.say(f"{sentence[:1].upper()}{sentence[1:]}.", style="bold")
    terminal.say(f"{folder / 'report.html'} tells it in pictures; {folder / 'rig'} holds the YAML with the measured delays.")
