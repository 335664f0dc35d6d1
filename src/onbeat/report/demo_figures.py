"""The pictures of the demo's page beside the first: the grasp from the side, its course over time, the send loops' lateness."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.report.drawing import BLUE, GRID, INK, MUTED, Sheet, sheet
from onbeat.report.grasp import Grasp
from onbeat.report.picture import COLOURS, HEADINGS
from onbeat.report.side_view import TABLE_MM, bare, closing_index, draw_cup, velocity_of_cup
from onbeat.report.story import LoopSummary, Story

__all__ = ("ahead_of_cup", "draw_course", "draw_lateness", "draw_paths")

_WIDTH = 900
_BEFORE_S = 1.0
_FLOOR_NS = 1_000  # a histogram on a log scale has to begin somewhere; what was less late stands in its first bin


def ahead_of_cup(grasp: Grasp) -> NDArray[np.float64]:
    """Give how far the tool was ahead of the cup along the cup's way over the table, in metres, shape (n,)."""
    velocity = velocity_of_cup(grasp)
    speed = np.hypot(velocity[:, 0], velocity[:, 1])
    way = velocity / np.where(speed > 1e-9, speed, 1.0)[:, None]
    ahead: NDArray[np.float64] = ((grasp.tool - grasp.cup)[:, :2] * way).sum(axis=1)
    return ahead


def draw_paths(story: Story) -> str:
    """Draw the way of the tool as the cup saw it, from the side: the cup stands still, the three hands come down beside it."""
    height = 420
    with sheet(_WIDTH, height) as paper:
        _key(paper, story, 26)
        axes = paper.axes(30, 44, _WIDTH - 60, height - 60)
        paths = [_path(grasp) for grasp in story.grasps]
        wide = np.concatenate([ahead for ahead, _ in paths] + [np.array([-0.06, 0.06])]) * 1e3
        high = max(float(np.max(above)) for _, above in paths) * 1e3 + 12
        low = TABLE_MM - 24
        scale = min((_WIDTH - 60) / (float(np.ptp(wide)) + 60), (height - 60) / (high - low))
        middle, half = float(wide.max() + wide.min()) / 2, (_WIDTH - 60) / scale / 2
        axes.set(xlim=(middle - half, middle + half), ylim=(low, low + (height - 60) / scale))
        bare(axes)
        draw_cup(axes, min(float(grasp.wanted_opening.min()) for grasp in story.grasps) * 1e3)
        top = float(np.max((story.grasps[0].wanted - story.grasps[0].cup)[:, 2])) * 1e3
        axes.plot([0, 0], [0, top], color=MUTED, linewidth=1.4, linestyle=(0, (3, 2.2)), zorder=3)
        for grasp, (ahead, above) in zip(story.grasps, paths, strict=True):
            _trace(axes, grasp, ahead * 1e3, above * 1e3)
        left = middle - half
        axes.plot([left + 8, left + 58], [low + 10, low + 10], color=INK, linewidth=1.2, marker="|", markersize=7)
        axes.text(left + 58 + 8 / scale, low + 10, "50 mm", va="center", color=MUTED)
        arrow = {"arrowstyle": "-|>", "color": MUTED, "linewidth": 1.1, "shrinkA": 0, "shrinkB": 0}
        axes.annotate("", (20, TABLE_MM - 10), (-20, TABLE_MM - 10), arrowprops=arrow)
        axes.text(20 + 8 / scale, TABLE_MM - 10, "the cup moves this way", va="center", color=MUTED)
        return paper.svg("Paths of the tool beside the cup, from the side")


def _path(grasp: Grasp) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the last second before the closing: ahead of the cup and above it, in metres."""
    closing = closing_index(grasp)
    end = int(np.argmin(np.abs(grasp.times_s))) if closing is None else closing
    shown = (grasp.times_s >= grasp.times_s[end] - _BEFORE_S) & (grasp.times_s <= grasp.times_s[end])
    return ahead_of_cup(grasp)[shown], (grasp.tool - grasp.cup)[shown, 2]


def _trace(axes: Any, grasp: Grasp, ahead: NDArray[np.float64], above: NDArray[np.float64]) -> None:
    colour = COLOURS.get(grasp.name, INK)
    axes.plot(ahead, above, color=colour, linewidth=1.8, zorder=4)
    every = ahead[::-100], above[::-100]
    axes.plot(*every, linestyle="none", marker="o", markersize=3.5, color=colour, zorder=5)
    closing = closing_index(grasp)
    if closing is None:
        axes.plot(ahead[-1:], above[-1:], marker="x", markersize=9, markeredgewidth=2, color=colour, zorder=6)
        return
    half = float(grasp.opening[closing]) * 1e3 / 2
    for side in (-half, half):
        axes.plot([ahead[-1] + side] * 2, [above[-1] - 8, above[-1] + 12], color=colour, linewidth=4, zorder=6)


def draw_course(story: Story) -> str:
    """Draw over time how far the hand was ahead of the cup and above it, and how far the jaws were open."""
    height = 520
    with sheet(_WIDTH, height) as paper:
        _key(paper, story, 26)
        closings = [grasp.closing_error_s for grasp in story.grasps if grasp.closing_error_s is not None]
        shown = min([-1.0, *(at - 0.3 for at in closings)]), max([0.6, *(at + 0.1 for at in closings)])
        for number, name in enumerate(("ahead of the cup, mm", "above the cup, mm", "opening of the jaws, mm")):
            top = 66 + 146 * number
            paper.text(30, top - 8, name, color=MUTED)
            axes = paper.axes(66, top, _WIDTH - 96, 108)
            axes.set_xlim(*shown)
            axes.axvline(0, color=MUTED, linewidth=0.9)
            axes.tick_params(labelbottom=number == 2, pad=4)
            for last, grasp in enumerate(story.grasps, 1 - len(story.grasps)):
                done, wanted = _course(grasp, number)
                colour, inside = COLOURS.get(grasp.name, INK), (grasp.times_s >= shown[0]) & (grasp.times_s <= shown[1])
                axes.plot(grasp.times_s[inside], done[inside] * 1e3, color=colour, linewidth=1.9, zorder=4)
                if last == 0:
                    dashes = {"color": MUTED, "linewidth": 1.4, "linestyle": (0, (3, 2.2)), "zorder": 5}
                    axes.plot(grasp.times_s[inside], wanted[inside] * 1e3, **dashes)
                closing = closing_index(grasp)
                if closing is not None:
                    axes.plot([grasp.times_s[closing]], [done[closing] * 1e3], marker="o", markersize=6, color=colour, zorder=6)
            axes.locator_params(axis="y", nbins=4)
        paper.text(66, height - 8, "time to the demonstrated closing, s; the dots are the closings that happened", color=MUTED)
        return paper.svg("The three grasps over time")


def _course(grasp: Grasp, number: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if number == 0:
        return ahead_of_cup(grasp), np.zeros_like(grasp.times_s)
    if number == 1:
        return (grasp.tool - grasp.cup)[:, 2], (grasp.wanted - grasp.cup)[:, 2]
    return grasp.opening, grasp.wanted_opening


def _key(paper: Sheet, story: Story, y: float) -> None:
    canvas, x = paper.canvas(), 30
    for grasp in story.grasps:
        canvas.plot([x, x + 24], [y - 4, y - 4], color=COLOURS.get(grasp.name, INK), linewidth=2.4)
        paper.text(x + 32, y, HEADINGS.get(grasp.name, grasp.name), color=MUTED)
        x += 216
    canvas.plot([x, x + 24], [y - 4, y - 4], color=MUTED, linewidth=1.4, linestyle=(0, (3, 2.2)))
    paper.text(x + 32, y, "Demonstrated", color=MUTED)


def draw_lateness(loops: tuple[LoopSummary, ...]) -> str:
    """Draw how late each send loop woke: a histogram on two log scales, with p50, p99 and the maximum."""
    row = 222
    with sheet(_WIDTH, row * max(len(loops), 1) + 10) as paper:
        ends = [max(float(loop.lateness_ns.max()), 1.0) for loop in loops if len(loop.lateness_ns)]
        high = max([1e6, *(10 ** np.ceil(np.log10(end) + 0.05) for end in ends)])
        for number, loop in enumerate(loops):
            _histogram(paper, 10 + row * number, loop, float(high))
        return paper.svg("Lateness of the send loops")


def _histogram(paper: Sheet, top: float, loop: LoopSummary, high_ns: float) -> None:
    paper.text(30, top + 14, loop.module, fontsize=14, fontweight="bold")
    words = f"{'soft, ' if loop.soft else ''}{loop.cycles} cycles at {loop.rate_hz:g} Hz, {loop.missed} missed"
    if not len(loop.lateness_ns):
        paper.text(130, top + 14, f"{words}; no cycle was recorded", color=MUTED)
        return
    p50, p99, most = (loop.lateness_ms(percent) for percent in (50, 99, 100))
    paper.text(130, top + 14, f"{words}; late by p50 {p50:.3g} ms, p99 {p99:.3g} ms, max {most:.3g} ms", color=MUTED)
    axes = paper.axes(80, top + 70, _WIDTH - 110, 92)
    edges = np.geomspace(_FLOOR_NS, high_ns, 8 * round(np.log10(high_ns / _FLOOR_NS)) + 1)
    counts, _ = np.histogram(np.clip(loop.lateness_ns, _FLOOR_NS, high_ns), edges)
    shown = np.flatnonzero(counts)
    axes.set(xscale="log", yscale="log", xlim=(_FLOOR_NS * 0.9, high_ns), ylim=(0.7, max(float(counts.max()) * 1.5, 10)))
    axes.bar(
        edges[shown], counts[shown] - 0.7, np.diff(edges)[shown], bottom=0.7, align="edge", color=BLUE, alpha=0.55, linewidth=0
    )
    for step, (name, value) in enumerate((("p50", p50), ("p99", p99), ("max", most))):
        at = min(max(value * 1e6, _FLOOR_NS), high_ns)
        axes.axvline(at, ymax=1.12 + 0.17 * (2 - step), color=INK, linewidth=1.1, clip_on=False)
        place = {"xycoords": axes.get_xaxis_transform(), "textcoords": "offset points", "va": "top", "color": INK}
        left = at < 3 * _FLOOR_NS  # no room for the name before the line
        axes.annotate(
            name,
            (at, 1.13 + 0.17 * (2 - step)),
            (4 if left else -4, 0),
            ha="left" if left else "right",
            fontsize=11,
            annotation_clip=False,
            **place,
        )
    decades = [10.0**power for power in range(3, round(np.log10(high_ns)) + 1)]
    axes.set_xticks(decades, [_duration(each) for each in decades])
    axes.set_xticks([], minor=True)
    axes.set_yticks([1.0, *(10.0**k for k in range(1, 7) if 10**k <= counts.max() * 1.5)])
    axes.set_yticks([], minor=True)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0f}")
    axes.grid(visible=True, color=GRID)
    paper.text(30, top + 60, "cycles", color=MUTED)
    paper.text(80, top + 199, f"the machine granted: {loop.realtime}", color=MUTED)


def _duration(nanoseconds: float) -> str:
    for size, unit in ((1e9, "s"), (1e6, "ms")):
        if nanoseconds >= size:
            return f"{nanoseconds / size:g} {unit}"
    return f"{nanoseconds / 1e3:g} µs"
