"""Did the hardware do less than it was told? Stalls against an obstacle, a range that clips, a speed that is capped."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate.shift import Polyline

__all__ = ("Saturation", "Stalls", "find_saturation")

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# Still: the motion stays within this share of its span, or within its noise.
STILL_SHARE = 0.02
STILL_NOISE = 5.0
# Stalled: meanwhile the command goes on by more than this share of the span.
MOVED_SHARE = 0.1
MOVED_STILLS = 3.0
# A joint that runs against an object stops short once or twice.
MAX_STALLS = 2
MAX_STALLED_SHARE = 0.2
MIN_STALLED_SHARE = 0.02
# A capped or clipped model must leave less than this share of what a plain shift leaves unexplained, and less than a lag leaves.
EXPLAINED_SHIFT = 0.5
EXPLAINED_LAG = 0.7
# What the cap explains must matter: at least this share of the signal's power.
MIN_EXPLAINED_POWER = 2e-4
MAX_STEPS = 1500
_EPS = 1e-12


@dataclass(frozen=True, slots=True)
class Stalls:
    """When the hardware stood still although its command moved on.

    Args:
        mask: True where any column stalled. Shape (n,).
        count: Number of separate stalls of the column that stalled most often.
    """

    mask: BoolArray
    count: int

    @classmethod
    def of(cls, measured: FloatArray, predicted: FloatArray) -> "Stalls":
        """Find them, column by column.

        Args:
            measured: Shape (n, width).
            predicted: What the command, shifted and scaled, would have made of it. Shape (n, width).
        """
        found = [_stalls_of_column(measured[:, j], predicted[:, j]) for j in range(measured.shape[1])]
        return cls(np.logical_or.reduce([mask for mask, _ in found]), max(count for _, count in found))

    @property
    def share(self) -> float:
        """Share of all samples."""
        return float(self.mask.mean())

    @property
    def few(self) -> bool:
        """Whether these may be contacts: a range that clips, or a joint that sticks, stops short more often or for longer."""
        return self.count <= MAX_STALLS and self.share <= MAX_STALLED_SHARE


def _stalls_of_column(measured: FloatArray, predicted: FloatArray) -> tuple[BoolArray, int]:
    span = float(np.ptp(predicted))
    still = max(STILL_SHARE * span, STILL_NOISE * _noise_std(measured))
    moved = max(MOVED_SHARE * span, MOVED_STILLS * still)
    mask = np.zeros(len(measured), dtype=np.bool_)
    count = 0
    start = 0
    low = high = float(measured[0])
    for i, value in enumerate([*measured.tolist(), np.inf]):
        low, high = min(low, value), max(high, value)
        if high - low > still:
            if np.ptp(predicted[start:i]) > moved:
                mask[start:i] = True
                count += 1
            start = i
            low = high = value
    return mask, count


def _noise_std(values: FloatArray) -> float:
    """Estimate the noise of a smooth signal from its second differences; robust to corners and to quantisation."""
    if len(values) < 3:
        return 0.0
    return float(1.4826 * np.median(np.abs(np.diff(values, 2))) / np.sqrt(6.0))


@dataclass(frozen=True, slots=True)
class Saturation:
    """A limit that explains a response better than a delay and a lag do.

    Args:
        kind: "speed" or "range".
        limit: The speed (unit of the command a second) or the half range (unit of the command).
        share: Share of samples at the limit.
        unexplained: What a plain shift leaves unexplained, over what the limit leaves (rms).
    """

    kind: str
    limit: float
    share: float
    unexplained: float


def find_saturation(path: Polyline, t_s: FloatArray, measured: FloatArray, column: int, delay_s: float) -> Saturation | None:
    """Compare a plain shift of one column with a lag, with a capped speed and with a clipped range.

    Args:
        path: The command.
        t_s: Instants of the measured samples, increasing. Shape (n,).
        measured: The column's samples. Shape (n,).
        column: Which column of the path.
        delay_s: The shift that fits best.
    """
    if len(t_s) > MAX_STEPS:
        stride = -(-len(t_s) // MAX_STEPS)
        t_s, measured = t_s[::stride], measured[::stride]
    centred = measured - measured.mean()
    power = float(centred @ centred)
    plain = path.at(t_s - delay_s)[:, column]
    shift_sse = float(_unexplained(plain[:, None], centred)[0])
    if shift_sse < MIN_EXPLAINED_POWER * power:
        return None

    def verdict(kind: str, sse: float, limit: float, share: float) -> Saturation | None:
        enough = shift_sse - sse > MIN_EXPLAINED_POWER * power and sse < EXPLAINED_SHIFT * shift_sse and share > 0.02
        return Saturation(kind, limit, share, float(np.sqrt(shift_sse / max(sse, _EPS * power)))) if enough else None

    # A range: clip the command at quantiles of its own, at either end or at both.
    levels = np.quantile(plain, np.linspace(0, 0.45, 16))
    tops = np.quantile(plain, np.linspace(1, 0.55, 16))
    low, high = (grid.ravel() for grid in np.meshgrid(levels, tops))
    clipped = _unexplained(np.clip(plain[:, None], low, high), centred)
    best = int(np.argmin(clipped))
    share = float(((plain < low[best]) | (plain > high[best])).mean())
    found = verdict("range", float(clipped[best]), float(high[best] - low[best]) / 2, share)
    if found:
        return found

    # A speed: follow the command, earlier by up to the whole delay, at no more than a share of its own peak speed.
    delays = delay_s - np.linspace(0, 1, 11) * min(max(delay_s, 0.0), 0.3)
    commands = np.stack([path.at(t_s - d)[:, column] for d in delays], axis=1)
    steps = np.diff(t_s)
    speeds = np.abs(np.diff(plain)) / np.maximum(steps, 1e-6)
    caps = float(np.quantile(speeds, 0.98)) * np.linspace(0.2, 0.98, 14)
    lags = np.array([0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.27, 0.4])
    capped, at_cap = _follow_capped(commands, steps, caps)
    lag_sse = float(_unexplained(_follow_lagged(commands, steps, lags), centred).min())
    capped_sse = _unexplained(capped, centred)
    best = int(np.argmin(capped_sse))
    sse = float(capped_sse[best])
    if sse > EXPLAINED_LAG * lag_sse:
        return None
    return verdict("speed", sse, float(caps[best % len(caps)]), float(at_cap[best]))


def _unexplained(models: FloatArray, centred: FloatArray) -> FloatArray:
    """Give the squared residual of each model (columns), after the best positive gain and offset."""
    models = models - models.mean(axis=0)
    power = (models**2).sum(axis=0)
    product = centred @ models
    gain = np.divide(product, power, out=np.zeros_like(power), where=power > 0)
    result: FloatArray = centred @ centred - np.where(gain > 0, gain * product, 0.0)
    return np.maximum(result, 0.0)


def _follow_capped(commands: FloatArray, steps: FloatArray, caps: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Follow each command (columns) at no more than each speed; shape (n, commands * caps), and the share of time at the cap."""
    state = np.repeat(commands[0][:, None], len(caps), axis=1)
    out = np.empty((len(commands), *state.shape))
    out[0] = state
    capped = np.zeros(state.shape)
    for i, step in enumerate(steps.tolist(), 1):
        reach = caps * step
        gap = commands[i][:, None] - state
        state = state + np.clip(gap, -reach, reach)
        capped += np.abs(gap) > reach
        out[i] = state
    return out.reshape(len(commands), -1), (capped / len(commands)).ravel()


def _follow_lagged(commands: FloatArray, steps: FloatArray, lags: FloatArray) -> FloatArray:
    """Follow each command (columns) with each first-order lag; shape (n, commands * lags)."""
    state = np.repeat(commands[0][:, None], len(lags), axis=1)
    out = np.empty((len(commands), *state.shape))
    out[0] = state
    for i, step in enumerate(steps.tolist(), 1):
        state = state + (commands[i][:, None] - state) * -np.expm1(-step / lags)
        out[i] = state
    return out.reshape(len(commands), -1)
