"""The swim lanes of one control cycle: who did what when, counted from the middle of the exposure."""

from collections.abc import Sequence
from math import ceil, floor
from typing import Any

from onbeat.report.cycle import ControlCycle, CycleRow
from onbeat.report.drawing import GRID, INK, MUTED, PAPER, WASH, Sheet, sheet
from onbeat.report.picture import COLOURS, HEADINGS

__all__ = ("draw_lanes",)

_WIDTH = 900
_LEFT, _RIGHT = 30, 870
_FROM, _TO = 146, 652  # of the time axis
_WORDS = 668
_KEY, _BETWEEN, _AXIS = 44, 30, 40
_CAMERA, _POLICY, _ROWS = 61, 104, 145  # middles of the lanes, from the top of a panel
_ROW, _LOOP, _ARM, _END = 20, 33, 69, 97  # a row; the others from the last row down
_DASHES = (0, (3, 2.2))


def draw_lanes(cycles: Sequence[ControlCycle]) -> str:
    """Draw each cycle as five lanes over one axis of time: camera, policy, scheduler, send loop, arm.

    Args:
        cycles: One or more, one panel each.

    Returns:
        The text of an SVG file, 900 px wide; the same for the same cycles.
    """
    heights = [_ROWS + _ROW * (len(cycle.rows) - 1) + _END for cycle in cycles]
    height = _KEY + sum(heights) + _BETWEEN * (len(cycles) - 1) + _AXIS
    with sheet(_WIDTH, height) as paper:
        canvas = paper.canvas()
        scale = _Scale(cycles)
        _key(paper, canvas)
        top = _KEY
        for cycle, tall in zip(cycles, heights, strict=True):
            _Panel(paper, canvas, scale, cycle, top, top + tall).draw()
            top += tall + _BETWEEN
        for tick in scale.ticks_ms:
            paper.text(
                scale.x(tick * 1e6), height - _AXIS + 16, f"{tick}".replace("-", "\N{MINUS SIGN}"), ha="center", color=MUTED
            )
        paper.text(_WORDS, height - _AXIS + 16, "ms from the middle of the exposure", color=MUTED, fontsize=11)
        return paper.svg("Swim lanes of one control cycle")


class _Scale:
    """From nanoseconds to pixels, wide enough for all that is drawn of some cycles."""

    def __init__(self, cycles: Sequence[ControlCycle]) -> None:
        marks = [t for c in cycles for t in (-c.exposure_ns / 2, c.stamp_ns, c.arrived_ns, c.ready_ns, *_instants(c.rows))]
        low, high = min(marks), max(marks)
        margin = 0.03 * (high - low)
        self.low, self.high = low - margin, high + margin
        step = 100 if self.high - self.low < 1.2e9 else 200
        self.ticks_ms = range(ceil(self.low / (step * 1e6)) * step, floor(self.high / (step * 1e6)) * step + 1, step)

    def x(self, t_ns: float) -> float:
        return _FROM + (t_ns - self.low) / (self.high - self.low) * (_TO - _FROM)


def _instants(rows: Sequence[CycleRow]) -> list[int]:
    return [t for row in rows for t in (row.sending_ns, row.due_ns, row.wanted_ns, row.there_ns) if t is not None]


class _Panel:
    """One cycle, between two heights of the sheet."""

    def __init__(self, paper: Sheet, canvas: Any, scale: _Scale, cycle: ControlCycle, top: float, bottom: float) -> None:
        self._paper = paper
        self._canvas = canvas
        self._x = scale.x
        self._scale = scale
        self._cycle = cycle
        self._colour = COLOURS.get(cycle.name, INK)
        self._top, self._bottom = top, bottom
        self._last = top + _ROWS + _ROW * (len(cycle.rows) - 1)

    def draw(self) -> None:
        paper, name = self._paper, self._cycle.name
        sent = next(row for row in self._cycle.rows if row.fate == "sent")
        end = "never came to the pose" if sent.late_ns is None else f"was at the pose {_off(sent.late_ns)}"
        paper.text(_LEFT, self._top + 17, HEADINGS.get(name, name), fontsize=14, fontweight="bold", color=self._colour)
        paper.text(_FROM + 96, self._top + 17, f"the arm {end}", fontsize=14, color=INK)
        self._frame()
        self._camera(self._top + _CAMERA)
        self._policy(self._top + _POLICY)
        for number, row in enumerate(self._cycle.rows):
            self._row(self._top + _ROWS + _ROW * number, row)
        self._loop(self._last + _LOOP)
        self._arm(self._last + _ARM, sent)

    def _frame(self) -> None:
        first = self._top + 30
        rules = (first, self._top + 82, self._top + _ROWS - 18)
        for y in (*rules, self._last + 16, self._last + _LOOP + 16, self._bottom):
            self._line([_LEFT, _RIGHT], [y, y], color=GRID, linewidth=0.8)
        for tick in self._scale.ticks_ms:
            at = self._x(tick * 1e6)
            if tick:
                self._line([at, at], [first, self._bottom], color=GRID, linewidth=0.8)
        zero = self._x(0)
        self._line([zero, zero], [first, self._bottom], color=MUTED, linewidth=0.9, zorder=2)
        now = self._x(self._cycle.ready_ns)
        self._line([now, now], [self._top + _POLICY, self._last + 8], color=INK, linewidth=1.0, zorder=3)

    def _camera(self, y: float) -> None:
        cycle = self._cycle
        opened, closed, arrived = (self._x(t) for t in (-cycle.exposure_ns / 2, cycle.exposure_ns / 2, cycle.arrived_ns))
        self._name("camera", y)
        self._bar(closed, arrived, y, WASH, edge=self._colour)
        self._bar(opened, closed, y, self._colour, edge=self._colour)
        self._note(opened - 5, y + 4, "exposure", ha="right")
        self._note(arrived + 6, y + 4, "readout, transfer, driver")
        stamp = self._x(cycle.stamp_ns)
        self._canvas.plot([stamp], [y - 16], marker="v", markersize=7, color=INK, zorder=6)
        # Beside the line at 0, not over it.
        early = cycle.stamp_ns < -cycle.exposure_ns
        self._note(stamp - 8 if early else stamp + 8, y - 12, "stamp", ha="right" if early else "left", color=INK)
        self._words(y - 8, f"stamp {_off(cycle.stamp_ns)}", INK)
        self._words(y + 8, f"frame there after {_ms(cycle.arrived_ns)}")

    def _policy(self, y: float) -> None:
        arrived, asked, ready = (self._x(t) for t in (self._cycle.arrived_ns, self._cycle.asked_ns, self._cycle.ready_ns))
        self._name("policy", y)
        self._line([arrived, asked], [y, y], color=self._colour, linewidth=1.2, zorder=4)
        self._bar(asked, ready, y, WASH, edge=self._colour)
        self._canvas.plot([asked], [y], marker="o", markersize=6, color=self._colour, zorder=6)
        self._note(ready + 6, y + 4, "now", color=INK)
        self._words(y - 4, f"observed after {_ms(self._cycle.asked_ns)}")
        self._words(y + 12, f"inference {_ms(self._cycle.ready_ns - self._cycle.asked_ns)}")

    def _row(self, y: float, row: CycleRow) -> None:
        if row is self._cycle.rows[0]:
            self._name("scheduler", y)
        sent, dropped = row.fate == "sent", row.fate == "dropped"
        colour = self._colour if sent else MUTED
        sending, due, wanted = (self._x(t) for t in (row.sending_ns, row.due_ns, row.wanted_ns))
        self._note(_FROM - 8, y + 4, f"row {row.number}", ha="right", color=INK if sent else MUTED)
        arm = self._last + _ARM
        self._line([wanted, wanted], [y, arm], color=MUTED, linewidth=1.3, linestyle=_DASHES, zorder=3)
        self._arrow(sending, due, y, colour, 1.8 if sent else 1.0)
        if dropped:
            self._canvas.plot([sending], [y], marker="x", markersize=6.5, markeredgewidth=1.8, color=MUTED, zorder=6)
            late_ns = self._cycle.ready_ns - row.sending_ns
            self._words(y + 4, f"{_ms(late_ns)} too late, dropped" if late_ns >= 0 else "dropped, as the gripper's was late")
            return
        style = {"color": colour} if sent else {"color": PAPER, "markeredgecolor": MUTED, "markeredgewidth": 1.3}
        self._canvas.plot([sending], [y], marker="o", markersize=6, zorder=6, **style)
        if sent:
            self._line([sending, sending], [y, self._last + _LOOP + 9], color=colour, linewidth=1.2, zorder=4)
            self._words(y + 4, f"sent {_ms(row.due_ns - row.sending_ns)} before it is due", INK)
        else:
            self._words(y + 4, "a newer image takes its place")

    def _loop(self, y: float) -> None:
        cycle = self._cycle
        self._name("send loop", y)
        end = self._scale.high if cycle.next_ns is None else cycle.next_ns
        shown = [t for t in cycle.sends_ns.tolist() if self._scale.low <= t <= self._scale.high]
        for ours, colour, width in ((False, MUTED, 0.8), (True, self._colour, 1.4)):
            ticks = [self._x(t) for t in shown if (cycle.ready_ns <= t < end) == ours]
            if ticks:
                half = 7 if ours else 5
                self._canvas.vlines(ticks, y - half, y + half, color=colour, linewidth=width, zorder=3)
        self._words(y + 4, f"{cycle.rate_hz:g} Hz; in colour: this plan")

    def _arm(self, y: float, sent: CycleRow) -> None:
        self._name("arm", y)
        self._line([_FROM, _TO], [y, y], color=GRID, linewidth=1.2)
        for row in self._cycle.rows:
            if row.there_ns is None:
                continue
            ours = row.fate == "sent"
            there, wanted = self._x(row.there_ns), self._x(row.wanted_ns)
            if row is sent:
                self._line([there, wanted], [y, y], color=self._colour, linewidth=2.2, zorder=5)
                self._line([wanted, wanted], [y - 6, y + 6], color=self._colour, linewidth=2.2, zorder=5)
            colour = self._colour if ours else MUTED
            face = self._colour if ours else PAPER
            self._canvas.plot(
                [there], [y], marker="D", markersize=7, color=face, markeredgecolor=colour, markeredgewidth=1.4, zorder=7
            )
            self._note(there, y + 20, f"{row.number}", ha="center", color=INK if ours else MUTED)
        words = "not reached" if sent.late_ns is None else _off(sent.late_ns)
        self._words(y + 4, f"at row {sent.number}'s pose {words}", INK)

    def _name(self, name: str, y: float) -> None:
        self._paper.text(_LEFT, y + 4, name, fontsize=12, fontweight="bold")

    def _note(self, x: float, y: float, words: str, **style: Any) -> None:
        self._paper.text(x, y, words, **{"fontsize": 11, "color": MUTED, **style})

    def _words(self, y: float, words: str, colour: str = MUTED) -> None:
        self._paper.text(_WORDS, y, words, fontsize=11, color=colour)

    def _line(self, x: Sequence[float], y: Sequence[float], **style: Any) -> None:
        self._canvas.plot(x, y, **style)

    def _bar(self, left: float, right: float, y: float, colour: str, edge: str) -> None:
        self._canvas.fill(
            [left, right, right, left], [y - 6, y - 6, y + 6, y + 6], facecolor=colour, edgecolor=edge, linewidth=1.2, zorder=4
        )

    def _arrow(self, start: float, end: float, y: float, colour: str, width: float) -> None:
        _draw_arrow(self._canvas, start, end, y, colour, width)


def _draw_arrow(canvas: Any, start: float, end: float, y: float, colour: str, width: float) -> None:
    style = {"arrowstyle": "-|>,head_length=0.5,head_width=0.24", "color": colour, "linewidth": width, "shrinkA": 0, "shrinkB": 0}
    canvas.annotate("", (end, y), (start, y), arrowprops=style, zorder=5)


def _key(paper: Sheet, canvas: Any) -> None:
    y, x = 22, _LEFT
    canvas.plot([x + 4], [y - 4], marker="o", markersize=6, color=INK)
    _draw_arrow(canvas, x + 4, x + 34, y - 4, INK, 1.8)
    paper.text(x + 42, y, "from sending to due: the lead", color=MUTED)
    x += 240
    canvas.plot([x + 4], [y - 4], marker="x", markersize=6.5, markeredgewidth=1.8, color=MUTED)
    paper.text(x + 16, y, "its sending instant had passed", color=MUTED)
    x += 236
    canvas.plot([x, x + 24], [y - 4, y - 4], color=MUTED, linewidth=1.3, linestyle=_DASHES)
    paper.text(x + 32, y, "pose is wanted", color=MUTED)
    x += 146
    canvas.plot([x + 4], [y - 4], marker="D", markersize=7, color=INK)
    paper.text(x + 16, y, "arm is truly at the pose", color=MUTED)


def _ms(nanoseconds: float) -> str:
    value = nanoseconds / 1e6
    return f"{value:.{1 if abs(value) < 99.95 else 0}f} ms"


def _off(nanoseconds: int) -> str:
    """Say how late an instant is: "1.4 ms late", "135 ms early", "on time"."""
    if round(nanoseconds / 1e5) == 0:
        return "on time"
    return f"{_ms(abs(nanoseconds))} {'late' if nanoseconds > 0 else 'early'}"
