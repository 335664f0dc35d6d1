"""The picture of a finding: its evidence as points, what was fitted or expected beside it, and a mark where to look."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onbeat.health.check import Curve, Mark, Plot
from onbeat.report.drawing import BLUE, INK, MUTED, ORANGE, PAPER, RED, WASH, Sheet, sheet
from onbeat.report.html import PALETTE
from onbeat.report.words import printable, short

__all__ = ("draw_plot",)

_WIDTH, _PLOT = 900, 260
_EDGE, _TITLE = 20, 36
_LEFT, _RIGHT = 96, 24  # px beside the plot; the ticks of y stand in the first
_SMALL, _LINE = 11.5, 20  # px: of text, and from line to line
_KEY = 24  # px, the sample of a curve before its name
_COLOURS = (BLUE, ORANGE, PALETTE["green"][0], PALETTE["violet"][0], RED, MUTED)
_MOST_POINTS, _MOST_DOTS = 4_000, 1_500
_MOST_MARKS, _MARK_ROWS = 24, 3

_Measure = Callable[[str], float]


def draw_plot(plot: Plot) -> str:
    """Draw the evidence of a verdict.

    Args:
        plot: Points that are not finite are left out; beyond a few thousand, neighbours are thinned so that extremes stay.

    Returns:
        The text of an SVG file; the same for the same plot.
    """
    curves = [thin for curve in plot.curves if len((thin := _thinned(curve)).x)]
    with sheet(_WIDTH, 10) as paper:
        measure = _measure(paper)
        keys = _flow([short(curve.label, 70) for curve in curves], measure, _WIDTH - 2 * _EDGE)
        marks, rows = _placed(plot.marks[:_MOST_MARKS], curves, measure, _WIDTH - _LEFT - _RIGHT)
    top = _TITLE + _LINE * (keys[-1][2] + 1 if keys else 0) + 34 + _LINE * rows
    height = top + _PLOT + 56
    with sheet(_WIDTH, height) as paper:
        paper.figure.patch.set(alpha=1.0, facecolor=PAPER)
        paper.text(_EDGE, _TITLE - 4, short(plot.title, 90), fontsize=15, fontweight="bold")
        canvas = paper.canvas()
        for k, (words, x, line) in enumerate(keys):
            y = _TITLE + 22 + _LINE * line
            _key(canvas, curves[k], _colour(k), _EDGE + x, y - 4)
            paper.text(_EDGE + x + _KEY, y, words, fontsize=_SMALL, color=INK)
        paper.text(_EDGE, top - 10 - _LINE * rows, short(plot.y, 100), fontsize=_SMALL, color=MUTED)
        axes = paper.axes(_LEFT, top, _WIDTH - _LEFT - _RIGHT, _PLOT)
        for k, curve in enumerate(curves):
            _draw(axes, curve, _colour(k), above=k > 0)
        _scale(axes, plot, curves)
        _mark(axes, marks, canvas, paper, top)
        axes.set_xlabel(short(plot.x, 100), loc="left", fontsize=_SMALL)
        return paper.svg(printable(plot.title))


def _colour(k: int) -> str:
    return _COLOURS[min(k, len(_COLOURS) - 1)]


def _measure(paper: Sheet) -> _Measure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.font_manager import FontProperties

    canvas: Any = FigureCanvasAgg(paper.figure)
    renderer, font = canvas.get_renderer(), FontProperties(size=_SMALL)

    def width(words: str) -> float:
        return float(renderer.get_text_width_height_descent(words, font, False)[0])

    return width


def _flow(names: Sequence[str], measure: _Measure, width: float) -> list[tuple[str, float, int]]:
    """Lay the names of the curves in lines: (name, where it begins in px, number of its line)."""
    x, line, laid = 0.0, 0, []
    for name in names:
        needs = _KEY + measure(name) + 24
        if x > 0 and x + needs > width:
            x, line = 0.0, line + 1
        laid.append((name, x, line))
        x += needs
    return laid


def _range(curves: Sequence[Curve], marks: Sequence[Mark] = ()) -> tuple[float, float]:
    """Give the ends of the x axis."""
    ends = [float(end) for curve in curves for end in (curve.x.min(), curve.x.max())]
    if not ends:
        ends = [end for mark in marks for end in (mark.x, mark.x if mark.until is None else mark.until) if np.isfinite(end)]
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    margin = 0.02 * (high - low) or max(abs(low) * 0.02, 0.5)
    return low - margin, high + margin


def _placed(
    marks: Sequence[Mark], curves: Sequence[Curve], measure: _Measure, width: float
) -> tuple[list[tuple[Mark, str, float, int]], int]:
    """Give each mark a row above the plot in which its words are free: (mark, words, where they begin in px, row).

    From right to left, so that the line down from an upper row passes before the words of the lower ones.
    """
    low, high = _range(curves, marks)
    free = [width + 14.0] * _MARK_ROWS  # where the words of each row begin, so far
    placed: list[tuple[Mark, str, float, int]] = []
    for mark in sorted((m for m in marks if np.isfinite(m.x)), key=lambda m: -m.x):
        words = short(mark.text, 56)
        needs = measure(words)
        begin = min((min(max(mark.x, low), high) - low) / (high - low) * width, width - needs)
        row = next((r for r in range(_MARK_ROWS) if begin + needs + 14 <= free[r]), None)
        if row is None or not words:
            placed.append((mark, "", 0.0, -1))  # its line alone
            continue
        free[row] = begin
        placed.append((mark, words, begin, row))
    return placed, max((row for *_, row in placed), default=-1) + 1


def _thinned(curve: Curve) -> Curve:
    """Leave out what is not finite, and of too many points all but the extremes of each stretch."""
    x, y = np.asarray(curve.x, dtype=np.float64), np.asarray(curve.y, dtype=np.float64)
    good = np.isfinite(x) & np.isfinite(y)
    x, y = x[good], y[good]
    most = _MOST_DOTS if curve.style == "dots" else _MOST_POINTS
    if len(x) > most:
        parts = np.array_split(np.arange(len(x)), most // 2)
        index = np.concatenate([np.unique([part[int(np.argmin(y[part]))], part[int(np.argmax(y[part]))]]) for part in parts])
        x, y = x[index], y[index]
    return Curve(curve.label, x, y, curve.style)


def _draw(axes: Any, curve: Curve, colour: str, *, above: bool) -> None:
    order = 3 if above else 2
    if curve.style == "dots":
        size = 5.0 if len(curve.x) < 80 else 3.6 if len(curve.x) < 500 else 2.6
        axes.plot(curve.x, curve.y, linestyle="none", marker="o", markersize=size, color=colour, markeredgewidth=0, zorder=order)
    elif curve.style == "bars":
        apart = np.diff(np.unique(curve.x))
        axes.bar(
            curve.x, curve.y, width=0.86 * float(apart.min()) if len(apart) else 0.8, color=colour, zorder=order, linewidth=0
        )
    elif curve.style == "steps":
        axes.step(curve.x, curve.y, where="post", color=colour, linewidth=1.8, zorder=order)
    elif len(curve.x) == 1:
        axes.plot(curve.x, curve.y, linestyle="none", marker="o", markersize=5, color=colour, markeredgewidth=0, zorder=order)
    else:
        axes.plot(curve.x, curve.y, color=colour, linewidth=2.0 if above else 1.6, zorder=order)


def _key(canvas: Any, curve: Curve, colour: str, x: float, y: float) -> None:
    if curve.style == "dots":
        canvas.plot([x + 8], [y], linestyle="none", marker="o", markersize=6, color=colour, markeredgewidth=0)
    elif curve.style == "bars":
        canvas.plot([x + 8], [y], linestyle="none", marker="s", markersize=9, color=colour, markeredgewidth=0)
    else:
        canvas.plot([x, x + 16], [y, y], color=colour, linewidth=2.4)


def _scale(axes: Any, plot: Plot, curves: Sequence[Curve]) -> None:
    axes.set_xlim(*_range(curves, plot.marks))
    if curves:
        low, high = min(float(c.y.min()) for c in curves), max(float(c.y.max()) for c in curves)
        if any(curve.style == "bars" for curve in curves):
            low, high = min(low, 0.0), max(high, 0.0)
        margin = 0.06 * (high - low) or abs(low) * 0.06 or 1.0
        axes.set_ylim(low if low == 0 and any(c.style == "bars" for c in curves) else low - margin, high + margin)
    else:
        axes.set_ylim(0, 1)
        axes.text(0.5, 0.5, "nothing to draw", transform=axes.transAxes, ha="center", va="center", color=MUTED)
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    counts = bool(curves) and all((curve.x == np.round(curve.x)).all() for curve in curves)  # of episodes, of samples
    for axis, most, whole in ((axes.xaxis, 9, counts), (axes.yaxis, 6, False)):
        axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 5, 10], integer=whole))
        axis.set_major_formatter(FuncFormatter(_tick_words(axis)))


def _tick_words(axis: Any) -> Callable[[float, int | None], str]:
    """Write ticks with as many digits as tell them apart, and at most nine characters."""

    def words(value: float, _: int | None = None) -> str:
        places = axis.get_majorticklocs()
        step = float(abs(places[1] - places[0])) if len(places) > 1 else 1.0
        decimals = int(max(0, np.ceil(-np.log10(step) - 1e-9))) if step > 0 else 0
        plain = f"{value + 0.0 if abs(value) > step * 1e-6 else 0.0:.{min(decimals, 9)}f}"
        return plain if len(plain) <= 9 else f"{value:.3g}"

    return words


def _mark(axes: Any, marks: Sequence[tuple[Mark, str, float, int]], canvas: Any, paper: Sheet, top: float) -> None:
    low, high = axes.get_xlim()
    for mark, words, begin, row in marks:
        at = min(max(mark.x, low), high)
        if mark.until is not None and np.isfinite(mark.until):
            axes.axvspan(at, min(max(mark.until, low), high), color=WASH, linewidth=0, zorder=0)
        axes.axvline(at, color=RED, linewidth=1.1, linestyle=(0, (3, 2.5)), zorder=4)
        if words:
            y = top - 8 - _LINE * row
            foot = _LEFT + (at - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT)
            canvas.plot([foot, foot], [top, y + 4], color=RED, linewidth=1.1, solid_capstyle="butt")
            paper.text(_LEFT + begin, y, words, fontsize=_SMALL, color=RED)
