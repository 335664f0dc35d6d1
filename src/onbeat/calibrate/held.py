"""A command as the device has it: each value held until the next, or a path; and what a filter makes of it, at any instant.

A held command is a staircase. Its average over cells of a millisecond is exact, so its spectrum is exact below a few hundred
hertz, whatever the jitter of sending; no sample of it is interpolated.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ("Held", "hold_command")

FloatArray = NDArray[np.float64]
ComplexArray = NDArray[np.complex128]

CELL_S = 1e-3
# The record is set between stretches of rest this long: what a filter smears must not come round to the other end.
REST_S = 2.0
# A gap this many times the usual spacing is a pause of the sender, not a hold.
PAUSE = 10.0
# Images of the staircase begin at the rate of sending less the motion's own frequency; between these shares of it they fade out.
SMOOTH_BAND = (0.3, 0.5)
# No joint moves faster; lines above are left out.
FASTEST_HZ = 125.0


@dataclass(frozen=True, slots=True)
class Held:
    """The command's spectrum, and where its record lies.

    Args:
        times_s: Middle of each cell, s after the command's first sample. Shape (n,).
        omega: Angular frequency of each line that motion can have, rad/s. Shape (lines,).
        spectrum: Of the staircase or the path. Same shape as omega.
        smooth: Share of each line that is motion and not an image of the staircase. Same shape.
        half_hold_s: Half of the mean time that a value is held; 0 for a path without hold. With values that are planned on a grid
            it is their mean age after their instants on the grid, however sending jitters.
        spacing_s: Usual time between commands.
        offset: What was taken away before the transform: level, and slope a second.
    """

    times_s: FloatArray
    omega: FloatArray
    spectrum: ComplexArray
    smooth: FloatArray
    half_hold_s: float
    spacing_s: float
    offset: tuple[float, float]

    def drawn(self) -> "Held":
        """Give the same command with lines drawn between its values instead of steps, which is as late on average."""
        return replace(self, spectrum=self.spectrum * np.sinc(self.omega / (2 * np.pi) * self.spacing_s))

    def through(self, response: ComplexArray | FloatArray, t_s: FloatArray) -> FloatArray:
        """Give what a filter makes of the command, at instants inside the record.

        Args:
            response: Of the filter, at `omega`.
            t_s: Shape (m,).
        """
        return np.interp(t_s, self.times_s, np.fft.irfft(self.spectrum * response, len(self.times_s)))


def hold_command(command_s: FloatArray, command: FloatArray, last_s: float, hold_s: float | None) -> Held:
    """Set a command on a grid, with rest before and after it.

    Args:
        command_s: Increasing, the first at 0. Shape (n,), n >= 2.
        command: Shape (n,).
        last_s: Where the record ends; the last command holds until then.
        hold_s: None: each value is held until the next one. Else the command is a path of straight lines, sampled and held every
            hold_s; 0: the path itself.
    """
    spacing_s = float(np.median(np.diff(command_s)))
    end_s = max(float(command_s[-1]), last_s) + REST_S
    size = _fast_size(int(np.ceil((end_s + REST_S) / CELL_S)))
    edges = (np.arange(size + 1) * CELL_S) - REST_S
    middles: FloatArray = (edges[:-1] + CELL_S / 2).astype(np.float64)
    high_hz = min(SMOOTH_BAND[1] / (hold_s or spacing_s), FASTEST_HZ)
    low_hz = high_hz * SMOOTH_BAND[0] / SMOOTH_BAND[1]
    frequency = np.fft.rfftfreq(size, CELL_S)
    frequency = frequency[frequency < high_hz]
    omega: FloatArray = (2 * np.pi * frequency).astype(np.float64)
    # A period that begins and ends at one level; the ramp that is taken away is the same behind any filter, but for a constant.
    slope = float(command[-1] - command[0]) / (size * CELL_S)
    level = float(command[0])
    if hold_s is None:
        gaps = np.diff(command_s)
        half_hold_s = float(gaps[gaps < PAUSE * spacing_s].mean()) / 2
        stamps = np.concatenate([[edges[0]], command_s, [edges[-1] + 1.0]])
        values = np.concatenate([[command[0]], command])
        areas = np.concatenate([[0.0], np.cumsum(values * np.diff(stamps))])
        cells = np.diff(np.interp(edges, stamps, areas)) / CELL_S
        averaged = np.sinc(frequency * CELL_S)
    else:
        half_hold_s = hold_s / 2
        cells = np.interp(middles, command_s, command)
        averaged = np.ones_like(omega)
    # Lines drawn between cells attenuate too, by sinc^2 on average.
    averaged = averaged * np.sinc(frequency * CELL_S) ** 2
    spectrum = np.fft.rfft(cells - level - slope * (middles - edges[0]))[: len(omega)] / averaged
    if hold_s:
        spectrum = spectrum * np.sinc(frequency * hold_s) * np.exp(-0.5j * omega * hold_s)
    fade = np.clip((frequency - low_hz) / (high_hz - low_hz), 0.0, 1.0)
    return Held(middles, omega, spectrum, 0.5 * (1 + np.cos(np.pi * fade)), half_hold_s, spacing_s, (level, slope))


def _fast_size(least: int) -> int:
    """Give a size of a transform that is even and has only small factors."""
    sizes: list[int] = [2**a * 3**b * 5**c for a in range(1, 24) for b in range(4) for c in range(3)]
    return min(size for size in sizes if size >= least)
