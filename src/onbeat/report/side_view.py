"""A hand and a cup seen from the side, to scale, at the instant at which the jaws closed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.report.drawing import INK, MUTED, WASH
from onbeat.report.grasp import Grasp

__all__ = (
    "HAND_TOP_MM",
    "TABLE_MM",
    "SideView",
    "bare",
    "closing_index",
    "draw_cup",
    "draw_hand",
    "side_view",
    "velocity_of_cup",
)

CUP_RADIUS_MM = 30.0  # what the camera sees from above; the cup stands upside down and is narrow where it is grasped
TABLE_MM = -50.0  # below the point to grasp
_CUP_TOP_MM = 11.0
_FINGER_MM, _TIP_MM = 9.0, 8.0  # thickness, and how far the tips reach below the tool point
_PALM_MM = 46.0  # its lower edge above the tool point
_PALM_HEIGHT_MM, _WRIST_WIDTH_MM, _WRIST_HEIGHT_MM = 15.0, 26.0, 16.0
HAND_TOP_MM = _PALM_MM + _PALM_HEIGHT_MM + _WRIST_HEIGHT_MM


@dataclass(frozen=True, slots=True)
class SideView:
    """One instant of a grasp in the vertical plane through hand and cup, where distances are true. The cup is the origin.

    Args:
        closed: Whether it is the instant of closing; else the jaws never closed and it is the demonstrated one.
        ahead_mm: Horizontally from the cup to the tool, positive on the side to which the cup moves.
        above_mm: From the point to grasp up to the tool.
        opening_mm: Of the jaws.
        wanted_opening_mm: Of the jaws when half closed, as demonstrated.
        grasped_mm: Opening around the cup, as demonstrated: the width of the cup where it is grasped.
        speed_mps: Of the cup over the table.
        along: Share of the cup's motion that lies in this plane, 0 to 1.
    """

    closed: bool
    ahead_mm: float
    above_mm: float
    opening_mm: float
    wanted_opening_mm: float
    grasped_mm: float
    speed_mps: float
    along: float


def closing_index(grasp: Grasp) -> int | None:
    """Give the sample at which the jaws were half closed; None when they never were."""
    return None if grasp.closing_error_s is None else int(np.argmin(np.abs(grasp.times_s - grasp.closing_error_s)))


def velocity_of_cup(grasp: Grasp) -> NDArray[np.float64]:
    """Give the cup's velocity over the table in m/s, shape (n, 2)."""
    velocity: NDArray[np.float64] = np.gradient(grasp.cup[:, :2], grasp.times_s, axis=0)
    return velocity


def side_view(grasp: Grasp) -> SideView:
    """Look at a grasp from the side at the instant of closing."""
    index = closing_index(grasp)
    at = int(np.argmin(np.abs(grasp.times_s))) if index is None else index
    apart = grasp.tool[at] - grasp.cup[at]
    velocity = velocity_of_cup(grasp)[at]
    distance, speed = float(np.hypot(*apart[:2])), float(np.hypot(*velocity))
    along = float(apart[:2] @ velocity) / (distance * speed) if distance * speed > 0 else 1.0
    closed_m, open_m = float(grasp.wanted_opening.min()), float(grasp.wanted_opening.max())
    return SideView(
        closed=index is not None,
        ahead_mm=(distance if along >= 0 else -distance) * 1e3,
        above_mm=float(apart[2]) * 1e3,
        opening_mm=float(grasp.opening[at]) * 1e3,
        wanted_opening_mm=(closed_m + open_m) / 2 * 1e3,
        grasped_mm=closed_m * 1e3,
        speed_mps=speed,
        along=min(abs(along), 1.0),
    )


def draw_cup(axes: Any, grasped_mm: float) -> None:
    """Draw the cup upside down on its table, as wide as the closed jaws at the point to grasp (the origin)."""
    from matplotlib.patches import Polygon

    waist = min(grasped_mm / 2, CUP_RADIUS_MM)
    top = waist - (CUP_RADIUS_MM - waist) * _CUP_TOP_MM / -TABLE_MM
    outline = [(-CUP_RADIUS_MM, TABLE_MM), (-top, _CUP_TOP_MM), (top, _CUP_TOP_MM), (CUP_RADIUS_MM, TABLE_MM)]
    axes.axhline(TABLE_MM, color=MUTED, linewidth=1.0, zorder=1)
    axes.add_patch(Polygon(outline, closed=True, facecolor=WASH, edgecolor=MUTED, linewidth=1.1, joinstyle="round", zorder=2))
    rim = CUP_RADIUS_MM + 1.5
    axes.plot([-rim, rim], [TABLE_MM + 1.5, TABLE_MM + 1.5], color=MUTED, linewidth=2.2, zorder=2)
    axes.plot([0], [0], marker="+", markersize=8, markeredgewidth=1.2, color=INK, zorder=6)


def draw_hand(axes: Any, x_mm: float, z_mm: float, opening_mm: float, colour: str, *, ghost: bool = False) -> None:
    """Draw palm and jaws with the tool point at (x, z) and the jaws that far open; a ghost is a dashed outline."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    inner, outer = opening_mm / 2, opening_mm / 2 + _FINGER_MM
    palm = max(outer, 30.0)
    wrist, tip = _WRIST_WIDTH_MM / 2, -_TIP_MM
    shoulder, top = _PALM_MM + _PALM_HEIGHT_MM, HAND_TOP_MM
    right = [(wrist, top), (wrist, shoulder), (palm - 4, shoulder), (palm, shoulder - 4), (palm, _PALM_MM), (outer, _PALM_MM)]
    right += [(outer, 6), (inner + 4, tip), (inner, tip), (inner, 14), (inner + 2, 16), (inner + 2, _PALM_MM)]
    corners = right + [(-x, z) for x, z in reversed(right)]
    path = Path([(x_mm + x, z_mm + z) for x, z in [*corners, corners[0]]], closed=True)
    if ghost:
        axes.add_patch(PathPatch(path, facecolor="none", edgecolor=colour, linewidth=1.1, linestyle=(0, (3, 2.2)), zorder=3))
        return
    axes.add_patch(PathPatch(path, facecolor=colour, edgecolor="none", alpha=0.22, zorder=4))
    axes.add_patch(PathPatch(path, facecolor="none", edgecolor=colour, linewidth=1.6, joinstyle="round", zorder=5))


def bare(axes: Any) -> None:
    """Take everything off the axes but what is drawn in them."""
    axes.grid(visible=False)
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    axes.set_facecolor("none")
