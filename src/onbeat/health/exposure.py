"""Where in the exposure a camera's stamps are taken, from how stamps and arrivals move when the exposure changes."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from onbeat.evidence.frame_moves import frame_moves
from onbeat.evidence.timeline import Timeline
from onbeat.health.check import Check, Curve, Evidence, Figure, Plot, Verdict
from onbeat.health.intervals import rhythms

__all__ = ("EXPOSURE", "exposure_slope", "judge_exposure", "told_by_stamps")

_FEWEST = 60
_FRAMES = 900  # of a straight piece of wander: 30 s of a usual camera
_SURE = 0.15  # half-width of a slope, beyond which it says nothing
_MOVED = (-1.0, 0.0, 1.0)  # of what an exposure moved the stamps by, as arrivals move less stamps
_NEAR, _APART = 0.2, 0.5  # a slope is one of these, and its interval holds no other one
_VARIES_NS = 200_000  # of the exposure (std): less cannot be seen beside a transport


def judge_exposure(evidence: Evidence) -> Iterator[Verdict]:
    """Regress the delay from stamp to arrival on the exposure.

    A frame is sent once its exposure ended. So the delay grows by all of the exposure for stamps at its start, by half of it for
    stamps in its middle, as they should be, and not at all for stamps at its end. Stamps in the middle move by half an exposure
    against an even frame clock, which tells a half that is right from one that is not.
    """
    for name in rhythms(evidence):
        line = evidence.timelines[name]
        if line.has("stamp_ns", "log_ns", "exposure_ns") and len(line.rows) >= _FEWEST:
            verdict = _judge(line, rhythms(evidence)[name].period_ns if rhythms(evidence)[name].periodic else 0.0)
            if verdict is not None:
                yield verdict


def _judge(line: Timeline, period_ns: float) -> Verdict | None:
    exposure = line.column("exposure_ns").astype(np.float64)
    if exposure.std() < _VARIES_NS:
        return None
    delay = (line.column("log_ns") - line.column("stamp_ns")).astype(np.float64)
    slope, half = exposure_slope(delay, exposure, _FRAMES)
    shorter, unsure = exposure_slope(delay, exposure, _FRAMES // 4)
    # A clock that is slewed while the light changes looks like a slope, but another one beside pieces of another length.
    if half > _SURE or unsure > 2 * _SURE or abs(shorter - slope) > 0.1 + half + unsure:
        return None
    moves: float | None = None
    if period_ns:
        phase = _phase(line, period_ns)
        moved, unsure = exposure_slope(phase, exposure, _FRAMES)
        moves = moved if unsure < _SURE else None
    where = _where(slope, half, moves)
    if where is None:
        return None
    what, share = where
    swing = float(np.quantile(exposure, 0.95) - np.quantile(exposure, 0.05))
    return Verdict(
        "exposure_shift",
        (line.name,),
        "finding",
        f"the delay from stamp to arrival moves by {slope:+.2f} of the exposure: {what}; while the exposure varies by "
        f"{swing / 1e6:.3g} ms, stamps move by {abs(share) * swing / 1e6:.3g} ms against mid-exposure",
        {
            "slope": Figure(slope, "1", slope - half, slope + half),
            "shift": Figure(abs(share) * swing / 1e9, "s"),
            "exposure varies": Figure(swing / 1e9, "s"),
        },
        "fix the exposure at two values, one short and one long, and measure the offset to a gyro at both: it must not move",
        "add half the exposure of each frame to stamps of its start, or take half off stamps of its end (V4L2 says which "
        "by its SOE "
        "and EOF flags; exposure comes with ChunkModeActive or the frame's metadata); or fix the exposure",
        _plot(exposure, delay, slope),
        frozenset({"jitter", "drift", "step", "slew"}),
        abs(share) * swing / 1e9,
    )


def _where(slope: float, half: float, moves: float | None) -> tuple[str, float] | None:
    """Name where stamps are, and by which share of the exposure they move against its middle; None where they are right."""
    near = max(2 * half, 0.12)
    if abs(slope - 1) < near:
        return "stamps are taken at the start of the exposure", 0.5
    if abs(slope - 0.5) < near:
        # In the middle, a stamp moves by half against a frame clock that is even at the start (+) or at the readout (-).
        right = moves is None or abs(abs(moves) - 0.5) < 0.2
        return None if right else ("and yet stamps stand still, so they are not taken at its middle", 0.5)
    if abs(slope) < near:
        return "stamps are taken at the end of the exposure, or later", -0.5
    if abs(slope + 0.5) < near or abs(slope + 1) < near:
        return "stamps are the later the longer it is: they are taken after its middle", slope
    return None  # no place in the exposure does that; something else moved with the light


def _phase(line: Timeline, period_ns: float) -> NDArray[np.float64]:
    """Give how far each stamp is from an even grid that is begun anew at every break."""
    steps = np.diff(line.t_ns)
    grid = np.concatenate([[0.0], np.cumsum(steps - period_ns * np.rint(steps / period_ns))])
    return grid.astype(np.float64)


def exposure_slope(y: NDArray[np.float64], exposure: NDArray[np.float64], frames: int) -> tuple[float, float]:
    """Fit a slope against the exposure beside a wander of straight pieces of so many frames; with its 95 % half-width.

    Late arrivals weigh nothing (Tukey). The interval comes from leaving out a tenth of the recording at a time.

    Args:
        y: What may move with the exposure, ns. Shape (n,).
        exposure: Of each frame, not all equal, ns. Shape (n,).
        frames: Of a piece.
    """
    size = len(y)
    pieces = int(np.clip(size / frames, 1, 48))
    place = np.linspace(0, pieces, size)
    wander = np.maximum(1 - np.abs(place[:, None] - np.arange(pieces + 1)), 0)
    design = np.column_stack([(exposure - exposure.mean()) / exposure.std(), wander])
    weight = np.ones(size)
    fit: NDArray[np.float64] = np.zeros(design.shape[1])
    for _ in range(10):
        weighted = design * (weight**2)[:, None]
        # By the normal equations: the design is short and well scaled, and a long recording has many frames.
        fit = np.asarray(np.linalg.lstsq(weighted.T @ design, weighted.T @ y, rcond=None)[0], dtype=np.float64)
        rest = y - design @ fit
        scale = 4.685 * max(1.4826 * float(np.median(np.abs(rest))), 1.0)
        weight = np.clip(1 - (rest / scale) ** 2, 0, None)
    parts = list(zip(np.array_split(design, 10), np.array_split(weight**2, 10), np.array_split(y, 10), strict=True))
    normal = np.stack([(d * w[:, None]).T @ d for d, w, _ in parts])
    right = np.stack([(d * w[:, None]).T @ v for d, w, v in parts])
    without = [np.linalg.lstsq(normal.sum(0) - n, right.sum(0) - v, rcond=None)[0][0] for n, v in zip(normal, right, strict=True)]
    spread = float(np.sqrt(0.9 * np.sum((np.array(without) - np.mean(without)) ** 2)))
    return float(fit[0]) / float(exposure.std()), 2.3 * spread / float(exposure.std())


def told_by_stamps(d: NDArray[np.float64], stamp_ns: NDArray[np.int64]) -> NDArray[np.float64] | None:
    """Give the part of a camera's offset that follows an exposure which its stamps alone tell.

    Stamps at mid-exposure move by half of it, against a frame clock that is even at its start or at its end; arrivals by all of
    it or not at all. So the offset moves by as much as the stamps, one way or the other; for stamps at its end, by nothing.

    Args:
        d: Log time minus stamp, less any constant, s. Shape (n,).
        stamp_ns: Shape (n,).

    Returns:
        The part, s, shape (n,); None where stamps do not tell, or it is no share of what they tell that an exposure can have.
    """
    moves = frame_moves(stamp_ns)
    if moves is None:
        return None
    # What the clock did to the stamps is taken off first: it must not be taken for what the exposure did to the arrivals.
    slope, half = exposure_slope(d * 1e9 + moves.clock_ns, moves.shift_ns, _FRAMES)
    share = min(_MOVED, key=lambda one: abs(one - slope))
    apart = abs(share - slope)
    return share * moves.shift_ns / 1e9 if apart < _NEAR and apart + half < _APART else None


def _plot(exposure: NDArray[np.float64], delay: NDArray[np.float64], slope: float) -> Plot:
    keep = np.arange(0, len(delay), len(delay) // 2000 + 1)
    x, y = exposure[keep] / 1e6, (delay[keep] - np.median(delay)) / 1e6
    ends = np.array([x.min(), x.max()])
    line = Curve("fit", ends, slope * (ends - np.median(x)) + np.median(y), "line")
    return Plot(
        "Delay against exposure",
        "exposure (ms)",
        "log time minus stamp, less its median (ms)",
        (Curve("frames", x, y, "dots"), line),
    )


EXPOSURE = Check("exposure", ("exposure_shift",), judge_exposure)
