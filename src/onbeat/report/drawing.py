"""A sheet to draw on, measured in pixels from its top left corner, and the SVG text that comes of it.

Nothing global is touched for longer than a drawing lasts, and the same drawing gives the same bytes. Text stays text: it is laid
out with the width of DejaVu Sans, than which the reader's own sans-serif is hardly ever wider.
"""

import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from onbeat.report.html import PALETTE

__all__ = ("BLUE", "GRID", "INK", "MUTED", "ORANGE", "PAPER", "RED", "WASH", "Sheet", "sheet")

PAPER, INK, MUTED, GRID, BLUE, ORANGE, RED, WASH = (
    PALETTE[name][0] for name in ("paper", "ink", "muted", "grid", "blue", "orange", "red", "wash")
)

_FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"

_STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "onbeat",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 11.5,
    "text.parse_math": False,  # a name may hold a dollar sign
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 11.5,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.grid": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.major.size": 0.0,
    "ytick.major.size": 0.0,
    "xtick.minor.size": 0.0,
    "ytick.minor.size": 0.0,
    "lines.solid_capstyle": "round",
}


class Sheet:
    """A figure of matplotlib, addressed in pixels, y downwards.

    Attributes:
        figure: The figure itself.
        width, height: Its size in px.
    """

    def __init__(self, figure: Any, width: int, height: int) -> None:
        self.figure = figure
        self.width = width
        self.height = height

    def text(self, x: float, y: float, words: str, **style: Any) -> None:
        """Write a line whose baseline is at y and which begins at x (or where `ha` says)."""
        self.figure.text(x / self.width, 1 - y / self.height, words, **{"va": "baseline", **style})

    def axes(self, x: float, y: float, width: float, height: float) -> Any:
        """Lay axes on the sheet; (x, y) is their top left corner."""
        box = (x / self.width, 1 - (y + height) / self.height, width / self.width, height / self.height)
        return self.figure.add_axes(box)

    def canvas(self) -> Any:
        """Give axes that cover the whole sheet in its own pixels, to draw lines and patches between the others."""
        axes = self.axes(0, 0, self.width, self.height)
        axes.set(xlim=(0, self.width), ylim=(self.height, 0))
        axes.set_axis_off()
        return axes

    def svg(self, title: str) -> str:
        """Give the text of the SVG file, with a title for those who cannot see it."""
        text = io.StringIO()
        self.figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None})
        svg = re.sub(r"(?:'[^']*', )*'DejaVu Sans'(?:, '[^']*')*, sans-serif", _FONTS, text.getvalue())
        svg = re.sub(r'(<svg [^>]*?)width="[^"]*"', rf'\1width="{self.width}"', svg, count=1)
        svg = re.sub(r'(<svg [^>]*?)height="[^"]*"', rf'\1height="{self.height}"', svg, count=1)
        head, rest = svg.split("<svg ", 1)
        attributes, rest = rest.split(">", 1)
        return f"{head}<svg {attributes}>\n <title>{escape(title)}</title>{rest}"


@contextmanager
def sheet(width: int, height: int) -> Iterator[Sheet]:
    """Open a sheet of width x height px; our style holds inside the block, and `Sheet.svg` is to be called there."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with mpl.rc_context(_STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the reader's own font draws it
        figure = Figure(figsize=(width / 72, height / 72), dpi=72)  # one point is one pixel
        figure.patch.set_alpha(0.0)
        FigureCanvasSVG(figure)
        yield Sheet(figure, width, height)
