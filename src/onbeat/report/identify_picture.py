"""The picture of `onbeat identify`: how far each joint is behind, and the proof for the one that is known best."""

from collections.abc import Sequence
from math import pi
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate.identify import JointPlant
from onbeat.device.agreement import LeadAgreement
from onbeat.report.drawing import BLUE, INK, MUTED, ORANGE, PAPER, WASH, sheet

__all__ = ("draw_plant",)

_WIDTH = 900
_EDGE, _TITLE, _AXIS = 20, 68, 60  # px; what the heading and an axis below need
_ROW = 27
_BETWEEN, _TONES, _OVERLAY, _BOTTOM = 66, 220, 260, 56
_LEFT = 84
_SHOWN_S = 5.0
_TITLE_STYLE: Any = {"fontsize": 15, "fontweight": "bold"}
_WORDS = "What each joint makes of its commands"


def draw_plant(joints: Sequence[JointPlant], unit: str, agreement: LeadAgreement | None) -> str:
    """Draw l_eff of all joints and, where one was identified, its tones beside the model and some of the motion.

    Args:
        joints: One or more.
        unit: Of positions.
        agreement: With action_latency, which is drawn where it was measured.

    Returns:
        The text of an SVG file; the same for the same result.
    """
    told = [joint for joint in joints if joint.plant.accepted]
    best = min(told, key=lambda joint: joint.plant.l_eff.ci95 or 0.0, default=None)
    shown = best or joints[0]
    forest = _ROW * max(len(told), 1) + 20 if told else 0
    tones = _TITLE + forest + _AXIS + _BETWEEN if told else _TITLE
    overlay = tones + _TONES + _AXIS + _BETWEEN if told else _TITLE
    with sheet(_WIDTH, overlay + _OVERLAY + _BOTTOM) as paper:
        paper.figure.patch.set(alpha=1.0, facecolor=PAPER)
        if best is not None:
            paper.text(_EDGE, 36, "How far each joint is behind what was sent", **_TITLE_STYLE)
            _draw_forest(paper.axes(_LEFT, _TITLE, _WIDTH - _LEFT - 170, forest), told, agreement)
            paper.text(_EDGE, tones - 30, f"Joint {best.joint}, tone by tone", **_TITLE_STYLE)
            half = (_WIDTH - 3 * _LEFT) // 2 + 20
            _draw_delays(paper.axes(_LEFT, tones, half, _TONES), best)
            _draw_gains(paper.axes(2 * _LEFT + half, tones, half, _TONES), best)
        paper.text(_EDGE, overlay - 30, f"Joint {shown.joint}, its motion", **_TITLE_STYLE)
        _draw_motion(paper.axes(_LEFT, overlay, _WIDTH - _LEFT - 28, _OVERLAY), shown, unit)
        return paper.svg(_WORDS)


def _draw_forest(axes: Any, joints: Sequence[JointPlant], agreement: LeadAgreement | None) -> None:
    values = np.array([joint.plant.l_eff.value or 0.0 for joint in joints]) * 1e3
    halves = np.array([joint.plant.l_eff.ci95 or 0.0 for joint in joints]) * 1e3
    ends = [float((values - halves).min()), float((values + halves).max())]
    if agreement is not None and agreement.action_latency_ci95_s is not None:
        lead, half = agreement.action_latency_s * 1e3, agreement.action_latency_ci95_s * 1e3
        axes.axvspan(lead - half, lead + half, color=WASH, zorder=0, linewidth=0)
        axes.axvline(lead, color=MUTED, linewidth=1.2, zorder=1)
        axes.annotate("action_latency", (lead, 1.0), (4, 2), xycoords=("data", "axes fraction"), textcoords="offset points")
        ends = [min(ends[0], lead - half), max(ends[1], lead + half)]
    margin = max(0.08 * (ends[1] - ends[0]), 0.05)
    axes.set(
        xlim=(max(ends[0] - margin, 0.0), ends[1] + margin),
        ylim=(len(joints) - 0.4, -0.6),
        yticks=range(len(joints)),
        yticklabels=[f"joint {joint.joint}" for joint in joints],
    )
    axes.tick_params(axis="y", pad=8, colors=INK)
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("l_eff, from sending to motion, ms", loc="left")
    right = {"transform": axes.get_yaxis_transform(), "va": "center", "clip_on": False}
    for row, (value, half) in enumerate(zip(values, halves, strict=True)):
        axes.plot([value - half, value + half], [row, row], color=BLUE, linewidth=2.2, solid_capstyle="round", zorder=3)
        axes.plot([value], [row], **_dot(BLUE))
        axes.text(1.02, row, f"{value:.2f} ± {half:.2f} ms", **right)


def _draw_delays(axes: Any, joint: JointPlant) -> None:
    plant, hold_s = joint.plant, joint.plant.half_hold_s
    frequency = np.array([tone.frequency_hz for tone in plant.tones])
    delay_ms = np.array([tone.delay_s + hold_s for tone in plant.tones]) * 1e3
    bars_ms = np.array([1.96 * tone.phase_std_rad / (2 * pi * tone.frequency_hz) for tone in plant.tones]) * 1e3
    grid, lag_s, dead_s = _model(joint, frequency)
    if lag_s is not None:
        omega = 2 * pi * grid
        model = dead_s + (np.arctan(omega * lag_s) / omega if lag_s > 0 else 0 * omega)
        axes.plot(grid, model * 1e3, color=ORANGE, linewidth=1.5, label="dead time and lag")
    axes.errorbar(frequency, delay_ms, yerr=bars_ms, fmt="none", ecolor=BLUE, elinewidth=2.2, zorder=3)
    axes.plot(frequency, delay_ms, linestyle="none", label="each tone alone", **_dot(BLUE))
    axes.set_xlabel("frequency, Hz", loc="left")
    axes.set_ylabel("delay of the sine, ms")
    _legend(axes)


def _draw_gains(axes: Any, joint: JointPlant) -> None:
    plant = joint.plant
    frequency = np.array([tone.frequency_hz for tone in plant.tones])
    gain = np.array([tone.gain for tone in plant.tones])
    grid, lag_s, _ = _model(joint, frequency)
    if lag_s is not None:
        axes.plot(grid, plant.gain / np.sqrt(1 + (2 * pi * grid * lag_s) ** 2), color=ORANGE, linewidth=1.5)
    bars = [1.96 * tone.gain_std for tone in plant.tones]
    axes.errorbar(frequency, gain, yerr=bars, fmt="none", ecolor=BLUE, elinewidth=2.2, zorder=3)
    axes.plot(frequency, gain, linestyle="none", **_dot(BLUE))
    axes.set_ylim(0.0, max(1.1, 1.1 * float(gain.max())))
    axes.set_xlabel("frequency, Hz", loc="left")
    axes.set_ylabel("gain")


def _model(joint: JointPlant, frequency: NDArray[np.float64]) -> tuple[NDArray[np.float64], float | None, float]:
    """Give frequencies to draw the model at, its lag (None where it is not known) and what is left of l_eff."""
    grid = np.linspace(0.7 * float(frequency[0]), 1.05 * float(frequency[-1]), 120)
    lag_s = joint.plant.lag.value
    return grid, lag_s, (joint.plant.l_eff.value or 0.0) - (lag_s or 0.0)


def _draw_motion(axes: Any, joint: JointPlant, unit: str) -> None:
    begin_ns = int(joint.moved.sent_ns[0]) if len(joint.moved.sent_ns) else 0
    sent_s, read_s = (joint.moved.sent_ns - begin_ns) / 1e9, (joint.moved.samples.t_ns - begin_ns) / 1e9
    first = _liveliest(sent_s, joint.moved.command)
    sent = (sent_s >= first) & (sent_s <= first + _SHOWN_S)
    read = (read_s >= first) & (read_s <= first + _SHOWN_S)
    axes.plot(read_s[read], joint.moved.measured[read], color=MUTED, linewidth=1.2, linestyle=(0, (4, 2.5)), label="read")
    axes.plot(
        sent_s[sent], joint.moved.command[sent], color=BLUE, linewidth=3.6, alpha=0.45, label="sent", solid_capstyle="round"
    )
    l_eff = joint.plant.l_eff.value
    if l_eff is not None:
        moved = (read_s - l_eff >= first) & (read_s - l_eff <= first + _SHOWN_S)
        label = f"read, moved back {l_eff * 1e3:.1f} ms"
        axes.plot(read_s[moved] - l_eff, joint.moved.measured[moved], color=ORANGE, linewidth=1.5, label=label)
    axes.set_xlim(first, first + _SHOWN_S)
    axes.margins(y=0.08)
    axes.set_xlabel(f"time, s; position in {unit}", loc="left")
    _legend(axes)


def _liveliest(t_s: NDArray[np.float64], values: NDArray[np.float64]) -> float:
    """Find where the command travels farthest within what is shown."""
    if len(t_s) == 0 or t_s[-1] <= _SHOWN_S:
        return 0.0
    path = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(values)))])
    starts = t_s[t_s <= t_s[-1] - _SHOWN_S]
    return float(starts[int(np.argmax(np.interp(starts + _SHOWN_S, t_s, path) - np.interp(starts, t_s, path)))])


def _legend(axes: Any) -> None:
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=3,
        frameon=False,
        borderaxespad=0.1,
        handlelength=1.6,
        columnspacing=1.4,
    )


def _dot(colour: str) -> dict[str, Any]:
    return {
        "marker": "o",
        "markersize": 6.5,
        "markerfacecolor": PAPER,
        "markeredgecolor": colour,
        "markeredgewidth": 2,
        "zorder": 4,
    }
