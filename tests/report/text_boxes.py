"""Where a figure prints its texts, and which of them run over each other."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import pytest

from onbeat.report.drawing import Sheet

__all__ = ("boxes_of_drawing", "crossing", "outside", "texts_of")


def texts_of(figure: Any) -> dict[str, Any]:
    """Give the box of every line that is printed, in px, laid out in the widest font."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    found = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text().strip()]
    boxes = {f"{number} {t.get_text()}": t.get_window_extent(canvas.get_renderer()) for number, t in enumerate(found)}
    # Tick labels beyond the ends of an axis are made, but not printed.
    ticks = {
        id(label)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.majorTicks, *axis.minorTicks)
        for label in (tick.label1, tick.label2)
        if label.get_text() and tick not in axis._update_ticks()
    }
    return {name: box for (name, box), t in zip(boxes.items(), found, strict=True) if id(t) not in ticks}


def crossing(boxes: dict[str, Any]) -> list[tuple[str, str]]:
    def cross(a: Any, b: Any) -> bool:
        return bool(min(a.x1, b.x1) - max(a.x0, b.x0) > 0.5 and min(a.y1, b.y1) - max(a.y0, b.y0) > 0.5)

    return [(m, n) for (m, a), (n, b) in combinations(boxes.items(), 2) if cross(a, b)]


def outside(boxes: dict[str, Any], width: int, height: int) -> dict[str, Any]:
    """Give the texts that come nearer than 4 px to the edge."""
    return {name: box for name, box in boxes.items() if box.x0 < 4 or box.x1 > width - 4 or box.y0 < 4 or box.y1 > height - 4}


def boxes_of_drawing(draw: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], int, int]:
    """Let something be drawn on a sheet, and give the boxes of its texts and the size of the sheet."""
    found: list[tuple[dict[str, Any], int, int]] = []

    def svg(self: Sheet, title: str) -> str:
        found.append((texts_of(self.figure), self.width, self.height))
        return title

    monkeypatch.setattr(Sheet, "svg", svg)
    draw()
    return found[-1]
