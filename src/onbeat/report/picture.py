"""One picture that tells the demo's story at a glance: the same grasp, the same scheduler, three sets of delays."""

from textwrap import wrap
from typing import Any

import numpy as np

from onbeat.report.demo_words import in_words, latencies, scale, truth
from onbeat.report.drawing import BLUE, GRID, INK, MUTED, ORANGE, PAPER, RED, Sheet, sheet
from onbeat.report.grasp import Grasp
from onbeat.report.side_view import HAND_TOP_MM, TABLE_MM, SideView, bare, closing_index, draw_cup, draw_hand, side_view
from onbeat.report.story import Measurement, Story

__all__ = ("COLOURS", "HEADINGS", "compose", "draw_story")

# One colour a run, in all pictures; it does not depend on how the run went.
COLOURS = {"uncompensated": RED, "copied": ORANGE, "measured": BLUE}
HEADINGS = {"uncompensated": "Not compensated", "copied": "Copied from another rig", "measured": "Measured on this rig"}

_WIDTH, _HEIGHT = 900, 850
_LEFT, _PANEL, _GAP = 30, 266, 21
_SCENE = (196, 206)  # top and height of the drawings
_LANES = ((476, 74), (572, 62))  # of the height, of the opening
_STRIP = 690


def draw_story(story: Story) -> str:
    """Draw the three grasps side by side, and under them the measured numbers beside the truth.

    Returns:
        The text of an SVG file, 900 px wide, on a light card of its own; the same for the same story.
    """
    with sheet(_WIDTH, _HEIGHT) as paper:
        compose(paper, story)
        return paper.svg(story.verdict())


def compose(paper: Sheet, story: Story) -> None:
    """Lay the picture out on a sheet of its size."""
    canvas = paper.canvas()
    _card(canvas)
    _title(paper, story)
    views = [side_view(grasp) for grasp in story.grasps]
    frame = _frame(views)
    closings = [grasp.closing_error_s for grasp in story.grasps if grasp.closing_error_s is not None]
    shown_s = min([-0.8, *(at - 0.3 for at in closings)]), max([0.5, *(at + 0.1 for at in closings)])
    heights = _range_mm(
        *((grasp.tool - grasp.cup)[:, 2] for grasp in story.grasps), *((g.wanted - g.cup)[:, 2] for g in story.grasps)
    )
    openings = _range_mm(*(grasp.opening for grasp in story.grasps), *(grasp.wanted_opening for grasp in story.grasps))
    for number, (grasp, view) in enumerate(zip(story.grasps, views, strict=True)):
        x = _LEFT + number * (_PANEL + _GAP)
        _headline(paper, x, grasp)
        _scene(paper, x, view, frame, COLOURS.get(grasp.name, INK))
        _lanes(paper, x, grasp, shown_s, heights, openings)
    _legend(paper, canvas, frame)
    _strip(paper, canvas, story.measurements)


def _card(canvas: Any) -> None:
    from matplotlib.patches import FancyBboxPatch

    style = "round,pad=0,rounding_size=10"
    canvas.add_patch(FancyBboxPatch((1, 1), _WIDTH - 2, _HEIGHT - 2, boxstyle=style, facecolor=PAPER, edgecolor=GRID, zorder=0))


def _title(paper: Sheet, story: Story) -> None:
    sentence = story.verdict()
    lines = wrap(sentence[:1].upper() + sentence[1:], 82)[:2]
    for number, line in enumerate(lines):
        paper.text(_LEFT, 38 + 22 * number, line, fontsize=16, fontweight="bold")
    how = "manual clock" if story.fast else "real time"
    words = (
        f"the same grasp at a moving cup, the same scheduler, three sets of delays  ·  simulated rig, seed {story.seed}, {how}"
    )
    paper.text(_LEFT, 42 + 22 * len(lines), words, fontsize=12, color=MUTED)


def _headline(paper: Sheet, x: float, grasp: Grasp) -> None:
    colour = COLOURS.get(grasp.name, INK)
    paper.text(x, 121, HEADINGS.get(grasp.name, grasp.name), fontsize=14, fontweight="bold", color=colour)
    paper.text(x, 138, latencies(grasp), fontsize=11.5, color=MUTED)
    if grasp.distance_m is None or grasp.height_error_m is None or grasp.closing_error_s is None:
        paper.text(x, 172, "never closed", fontsize=27, fontweight="bold", color=colour)
        paper.text(x, 190, "drawn at the demonstrated instant", fontsize=11.5, color=MUTED)
        return
    millimetres = grasp.distance_m * 1e3
    paper.text(x, 172, f"{millimetres:.{0 if millimetres >= 99.5 else 1}f} mm off", fontsize=27, fontweight="bold", color=colour)
    high, late = grasp.height_error_m * 1e3, grasp.closing_error_s * 1e3
    where = f"{abs(high):.0f} mm {'too high' if high > 0 else 'too low'}" if round(high) else "at the right height"
    when = f"jaws {abs(late):.0f} ms {'late' if late > 0 else 'early'}" if round(late) else "jaws on time"
    paper.text(x, 190, f"{where}, {when}", fontsize=11.5, color=MUTED)


def _frame(views: list[SideView]) -> tuple[float, float, float]:
    """Choose one frame for all drawings: left edge and lower edge in mm, and px per mm."""
    left = min(-48.0, *(view.ahead_mm - 44 for view in views))
    right = max(48.0, *(view.ahead_mm + 44 for view in views))
    low = min(TABLE_MM, *(view.above_mm - 12 for view in views))
    high = max(0.0, *(view.above_mm for view in views)) + HAND_TOP_MM + 4
    room = _SCENE[1] - 32  # below the table there is a line of text
    scale_px = min(_PANEL / (right - left), room / (high - low), 1.4)
    return (left + right) / 2 - _PANEL / scale_px / 2, low - 32 / scale_px, scale_px


def _scene(paper: Sheet, x: float, view: SideView, frame: tuple[float, float, float], colour: str) -> None:
    left, low, scale_px = frame
    top, height = _SCENE
    axes = paper.axes(x, top, _PANEL, height)
    axes.set(xlim=(left, left + _PANEL / scale_px), ylim=(low, low + height / scale_px))
    bare(axes)
    draw_cup(axes, view.grasped_mm)
    draw_hand(axes, 0, 0, view.wanted_opening_mm, MUTED, ghost=True)
    draw_hand(axes, view.ahead_mm, view.above_mm, view.opening_mm, colour)
    axes.plot([0, view.ahead_mm], [0, view.above_mm], color=INK, linewidth=1.2, zorder=7)
    axes.plot([view.ahead_mm], [view.above_mm], marker="o", markersize=4.5, color=INK, zorder=8)
    if view.speed_mps * view.along > 0.01:
        arrow = {"arrowstyle": "-|>", "color": MUTED, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
        z = TABLE_MM - 9 / scale_px
        axes.annotate("", (17 / scale_px, z), (-17 / scale_px, z), arrowprops=arrow)
    axes.text(0, TABLE_MM - 27 / scale_px, f"cup {view.speed_mps:.2f} m/s", ha="center", fontsize=11.5, color=MUTED)


def _lanes(
    paper: Sheet,
    x: float,
    grasp: Grasp,
    shown_s: tuple[float, float],
    heights: tuple[float, float],
    openings: tuple[float, float],
) -> None:
    colour = COLOURS.get(grasp.name, INK)
    closing = closing_index(grasp)
    lanes = (
        ("height above the cup, mm", (grasp.tool - grasp.cup)[:, 2], (grasp.wanted - grasp.cup)[:, 2], heights),
        ("opening of the jaws, mm", grasp.opening, grasp.wanted_opening, openings),
    )
    for (name, done, wanted, (low, high)), (top, height) in zip(lanes, _LANES, strict=True):
        axes = paper.axes(x + 26, top, _PANEL - 26, height)
        axes.set(xlim=shown_s, ylim=(low, high))
        axes.axvline(0, color=MUTED, linewidth=0.9)
        axes.plot(grasp.times_s, wanted * 1e3, color=MUTED, linewidth=1.4, linestyle=(0, (3, 2.2)), zorder=3)
        axes.plot(grasp.times_s, done * 1e3, color=colour, linewidth=2.0, zorder=4)
        if closing is not None:
            axes.plot([grasp.times_s[closing]], [done[closing] * 1e3], marker="o", markersize=5.5, color=colour, zorder=5)
        axes.locator_params(axis="y", nbins=3, steps=[1, 2, 5, 10])
        axes.set_xticks([-0.5, 0.0, 0.5])
        axes.tick_params(labelbottom=top == _LANES[-1][0], labelsize=11.5, pad=4)
        paper.text(x, top - 7, name, fontsize=11.5, color=MUTED)
    paper.text(x + 26, _LANES[-1][0] + _LANES[-1][1] + 32, "time to the demonstrated closing, s", fontsize=11.5, color=MUTED)


def _range_mm(*series: Any) -> tuple[float, float]:
    values = np.concatenate([np.asarray(each) for each in series]) * 1e3
    low, high = float(values.min()), float(values.max())
    margin = max(0.08 * (high - low), 1.0)
    return low - margin, high + margin


def _legend(paper: Sheet, canvas: Any, frame: tuple[float, float, float]) -> None:
    y = 437
    for number, colour in enumerate(COLOURS.values()):
        canvas.plot([_LEFT + 9 * number, _LEFT + 9 * number + 5], [y - 4, y - 4], color=colour, linewidth=2.4)
    paper.text(_LEFT + 32, y, "the hand when its jaws were half closed", fontsize=11.5, color=MUTED)
    x = _LEFT + 310
    canvas.plot([x, x + 24], [y - 4, y - 4], color=MUTED, linewidth=1.4, linestyle=(0, (3, 2.2)))
    paper.text(x + 32, y, "where it was demonstrated to be", fontsize=11.5, color=MUTED)
    length_mm = 50
    x = _LEFT + 570
    canvas.plot([x, x + length_mm * frame[2]], [y - 4, y - 4], color=INK, linewidth=1.2, marker="|", markersize=7)
    paper.text(x + length_mm * frame[2] + 8, y, f"{length_mm} mm", fontsize=11.5, color=MUTED)
    canvas.plot([_LEFT, _WIDTH - _LEFT], [y + 13, y + 13], color=GRID, linewidth=0.8)


def _strip(paper: Sheet, canvas: Any, measurements: tuple[Measurement, ...]) -> None:
    y = _STRIP
    canvas.plot([_LEFT, _WIDTH - _LEFT], [y - 6, y - 6], color=GRID, linewidth=0.8)
    paper.text(_LEFT, y + 18, "What was measured first", fontsize=14, fontweight="bold", color=BLUE)
    words = "95 % intervals, each on its own scale; the tick is the truth, which only the simulator knows"
    paper.text(_LEFT + 222, y + 18, words, fontsize=11.5, color=MUTED)
    cell = (_WIDTH - 2 * _LEFT) / max(len(measurements), 1)
    module = ""
    for number, each in enumerate(measurements):
        x = _LEFT + number * cell
        if each.module != module:
            module = each.module
            paper.text(x, y + 46, module, fontsize=12.5, fontweight="bold")
        _cell(paper, canvas, x, y + 64, min(cell - 18, 110), each)


def _cell(paper: Sheet, canvas: Any, x: float, y: float, width: float, measurement: Measurement) -> None:
    paper.text(x, y, measurement.key.replace("_", " "), fontsize=11, color=MUTED)
    paper.text(x, y + 17, in_words(measurement), fontsize=11, color=MUTED if measurement.result.value is None else INK)
    middle, line = x + width / 2, y + 36
    canvas.plot([x, x + width], [line, line], color=GRID, linewidth=1.0)
    value, ci95 = measurement.result.value, measurement.result.ci95
    if value is not None and ci95 is not None:
        factor, _ = scale(measurement)
        error, half = (value - measurement.truth) * factor, ci95 * factor
        reach = 1.15 * (abs(error) + half) or 1.0
        at = [middle + (error + sign * half) / reach * width / 2 for sign in (-1, 0, 1)]
        colour = BLUE if measurement.covered else RED
        canvas.plot([at[0], at[2]], [line, line], color=colour, linewidth=3.2, zorder=3)
        canvas.plot([at[1]], [line], marker="o", markersize=7, color=PAPER, markeredgecolor=colour, markeredgewidth=2, zorder=4)
    canvas.plot([middle, middle], [line - 9, line + 9], color=INK, linewidth=1.6, zorder=5)
    paper.text(x, y + 61, f"truth {truth(measurement)}", fontsize=11, color=MUTED)
    if measurement.covered is False:
        paper.text(x, y + 76, "outside the interval", fontsize=11, color=RED)
