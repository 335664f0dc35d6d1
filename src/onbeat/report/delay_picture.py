"""The picture of `onbeat delay`: how late each joint is, and the proof for the one that is known best."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate.follow import FollowResult, JointDelay
from onbeat.calibrate.signals import LEAST_HALF_S
from onbeat.record.joints import JointRecording
from onbeat.report.drawing import BLUE, INK, MUTED, ORANGE, PAPER, WASH, sheet

__all__ = ("draw_delay",)

_WIDTH = 900
_EDGE, _TITLE, _AXIS, _LINE = 20, 68, 60, 20  # px; what a row of text or an axis below needs
_ROW = 27
_BETWEEN, _OVERLAY, _BOTTOM = 84, 320, 56
_OVERLAY_S = 5.0


def draw_delay(recording: JointRecording, result: FollowResult, max_delay_s: float) -> str:
    """Draw a forest plot of all joints and, where one was accepted, its command and measurement laid over each other.

    Args:
        recording: Read once more for the one episode that is shown.
        result: What the recording says.
        max_delay_s: Scale of the forest plot when nothing was accepted.

    Returns:
        The text of an SVG file; the same for the same result.
    """
    best = _best(result)
    arms = [joint for joint in result.accepted if not joint.gripper]
    grippers = [joint for joint in result.accepted if joint.gripper]
    rows: list[tuple[str, JointDelay | None]] = [(joint.name, joint) for joint in arms]
    if len(arms) > 1:
        rows.append(("arm", None))
    rows.extend((joint.name, joint) for joint in grippers)
    refused = _refusals(result)
    forest = _ROW * max(len(rows), 1) + 20
    left = min(max(8 * max((len(name) for name, _ in rows), default=0) + 36, 100), 360)
    below = _TITLE + forest
    overlay = below + _AXIS + _LINE * len(refused) + _BETWEEN
    height = overlay + _OVERLAY + _BOTTOM if best else overlay - _BETWEEN
    with sheet(_WIDTH, height) as paper:
        paper.figure.patch.set(alpha=1.0, facecolor=PAPER)
        title: Any = {"fontsize": 15, "fontweight": "bold"}
        paper.text(_EDGE, 36, "How late each joint follows its command", **title)
        _draw_forest(paper.axes(left, _TITLE, _WIDTH - left - 150, forest), rows, result, max_delay_s)
        for k, line in enumerate(refused):
            paper.text(_EDGE, below + _AXIS + _LINE * k + 10, line, color=MUTED, fontsize=11)
        if best:
            paper.text(_EDGE, overlay - 30, best[0].name, **title)
            _draw_overlay(paper.axes(72, overlay, _WIDTH - 100, _OVERLAY), recording, best)
        return paper.svg("How late each joint follows its command")


def _draw_forest(axes: Any, rows: Sequence[tuple[str, JointDelay | None]], result: FollowResult, max_delay_s: float) -> None:
    arm = result.arm
    low, high = _range_ms(result, max_delay_s)
    axes.set(
        xlim=(low, high), ylim=(max(len(rows), 1) - 0.4, -0.6), yticks=range(len(rows)), yticklabels=[name for name, _ in rows]
    )
    axes.tick_params(axis="y", pad=8, colors=INK)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("delay of the measured motion behind its command, ms", loc="left")
    right = {"transform": axes.get_yaxis_transform(), "va": "center", "clip_on": False}
    if arm.value is not None and arm.ci95 is not None and len(rows) > 1:
        axes.axvspan((arm.value - arm.ci95) * 1e3, (arm.value + arm.ci95) * 1e3, color=WASH, zorder=0, linewidth=0)
    for row, (_, joint) in enumerate(rows):
        if joint is None:
            axes.get_yticklabels()[row].set_fontweight("bold")
            _interval(axes, row, arm, INK, 3.4, low, high)
            axes.text(1.02, row, _label(arm), fontweight="bold", **right)
            continue
        colour = ORANGE if joint.gripper else BLUE
        values = np.array([e.result.value for e in joint.episodes if e.result.accepted]) * 1e3
        if len(joint.episodes) > 1:
            axes.scatter(values, np.full(len(values), row + 0.26), s=11, color=colour, alpha=0.55, linewidth=0, zorder=2)
        _interval(axes, row, joint.result, colour, 2.2, low, high)
        axes.text(1.02, row, _label(joint.result), **right)


def _refusals(result: FollowResult) -> list[str]:
    """List the refused joints by the kind of their refusal, wrapped."""
    paragraphs = [f"refused ({kind}): {', '.join(names)}" for kind, names in result.refusals.items()]
    return [line for paragraph in paragraphs for line in wrap(paragraph, 120)]


def _interval(axes: Any, row: int, result: Any, colour: str, width: float, low: float, high: float) -> None:
    value, half = result.value * 1e3, result.ci95 * 1e3
    axes.plot(
        [max(value - half, low), min(value + half, high)],
        [row, row],
        color=colour,
        linewidth=width,
        solid_capstyle="round",
        zorder=3,
    )
    axes.plot(
        [value], [row], marker="o", markersize=6.5, markerfacecolor=PAPER, markeredgecolor=colour, markeredgewidth=2, zorder=4
    )
    for edge, beyond, mark in ((low, value - half < low, "<"), (high, value + half > high, ">")):
        if beyond:  # the interval goes on outside the picture
            axes.plot([edge], [row], marker=mark, markersize=5, color=colour, linestyle="none", clip_on=False, zorder=4)


def _range_ms(result: FollowResult, max_delay_s: float) -> tuple[float, float]:
    """Choose the scale: all values and episodes, and intervals as far as they do not dwarf the rest."""
    points = [e.result.value * 1e3 for j in result.accepted for e in j.episodes if e.result.value is not None]
    if not points:
        return 0.0, max_delay_s * 1e3
    ends: list[float] = []
    for joint in result.accepted:
        assert joint.result.value is not None
        assert joint.result.ci95 is not None
        half = min(joint.result.ci95, 0.03)
        ends.extend(((joint.result.value - half) * 1e3, (joint.result.value + half) * 1e3))
    low, high = min(points + ends), max(points + ends)
    margin = max(0.06 * (high - low), 2.0)
    return max(low - margin, 0.0), high + margin


def _draw_overlay(axes: Any, recording: JointRecording, best: tuple[JointDelay, int]) -> None:
    joint, number = best
    result = joint.episodes[number].result
    assert joint.result.value is not None
    episode = next(recording.episodes(joint.episodes[number].episode))
    column = recording.joints.index(joint.name)
    t_s = (episode.t_ns - episode.t_ns[0]) / 1e9
    measured = episode.measured[:, column]
    command = float(result.conditions["gain"]) * episode.command[:, column] + float(result.conditions["offset"])
    first, last = _liveliest(t_s, command)
    shown = (t_s >= first) & (t_s <= last)
    past = (t_s - joint.result.value >= first) & (t_s - joint.result.value <= last)
    axes.plot(t_s[shown], measured[shown], color=MUTED, linewidth=1.2, linestyle=(0, (4, 2.5)), label="measured, as logged")
    axes.plot(t_s[shown], command[shown], color=BLUE, linewidth=3.6, alpha=0.45, label="command", solid_capstyle="round")
    axes.plot(
        t_s[past] - joint.result.value,
        measured[past],
        color=ORANGE,
        linewidth=1.5,
        label=f"measured, moved back {joint.result.value * 1e3:.0f} ms",
    )
    axes.set_xlim(first, last)
    axes.margins(y=0.08)
    axes.set_xlabel(f"time in episode {episode.index}, s; position in the recording's own unit", loc="left")
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=3,
        frameon=False,
        borderaxespad=0.1,
        handlelength=1.6,
        columnspacing=1.4,
    )


def _best(result: FollowResult) -> tuple[JointDelay, int] | None:
    """Choose the joint known best (an arm joint where there is one), and its episode with the most explained motion."""
    told = [j for j in result.accepted if not j.gripper] or list(result.accepted)
    if not told:
        return None
    joint = min(told, key=lambda j: j.result.ci95 or 0.0)
    accepted = [k for k, e in enumerate(joint.episodes) if e.result.accepted]
    return joint, min(accepted, key=lambda k: joint.episodes[k].result.ci95 or 0.0)


def _liveliest(t_s: NDArray[np.float64], values: NDArray[np.float64]) -> tuple[float, float]:
    """Find the stretch of some seconds in which the command travels furthest."""
    if t_s[-1] <= _OVERLAY_S:
        return float(t_s[0]), float(t_s[-1])
    path = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(values)))])
    starts = t_s[t_s <= t_s[-1] - _OVERLAY_S]
    travelled = np.interp(starts + _OVERLAY_S, t_s, path) - np.interp(starts, t_s, path)
    first = float(starts[int(np.argmax(travelled))])
    return first, first + _OVERLAY_S


def _label(result: Any) -> str:
    if result.ci95 < LEAST_HALF_S:
        return f"{result.value * 1e3:.1f} ms"
    return f"{result.value * 1e3:.1f} ± {result.ci95 * 1e3:.1f} ms"
