"""What does a device make of its commands? Dead time, lag and gain from sines, a multisine or a chirp, with an interval.

The samples are compared where they were taken: no stream is set on the other's grid. What the record cannot tell is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.calibrate.held import FloatArray, hold_command
from onbeat.calibrate.plant_beyond import SEEN, Beyond, look_beyond
from onbeat.calibrate.plant_checks import (
    LEAST_TONES,
    check_clipped,
    check_echo,
    check_rates,
    check_tones,
    first_delay,
    stale_share,
)
from onbeat.calibrate.plant_fit import Choice, chi2_limit, chi2_of, choose_fit, second_pole
from onbeat.calibrate.plant_model import Tone, fit_tones
from onbeat.calibrate.result import CalibrationResult
from onbeat.calibrate.shift import Polyline
from onbeat.calibrate.signals import RefusedError, Signals, milliseconds, read_signals
from onbeat.errors import BadInput

__all__ = ("PlantResult", "identify_plant")

METHOD = "least squares of a held command behind dead time and lag, on the samples' own stamps"

Stamps = Literal["sample", "receipt", "unstated"]
STAMPS = ("sample", "receipt", "unstated")
MIN_SAMPLES = 50
MIN_R2 = 0.9
MIN_CI95_S = 2e-8
MAX_CI95_S = 0.001
MAX_PART_CI95_S = 0.001
# Of one tone's response: 20 dB between it and its noise.
MAX_TONE_STD = 0.1
# Response off the model at a tone, rms: above this it is no dead time and lag, whatever the noise.
MAX_MISFIT = 0.1
# Repeats of the sample before, although the motion went on: above this the stamps are those of polls.
MAX_STALE = 0.2


@dataclass(frozen=True, slots=True)
class PlantResult:
    """What a device makes of its commands.

    Args:
        l_eff: From sending to motion, s: half of the hold, dead time and lag ("l_eff"). It is what a lead makes up for.
        dead_time: Without the hold; refused unless both parts are known to 1 ms.
        lag: Time constant; likewise.
        gain: Motion over command; NaN when refused.
        gain_ci95: Half-width of its 95 % interval.
        chi2_dof: Squared distance of the tones from the model, in standard deviations, over the degrees of freedom: about 1
            when a dead time and a lag are all there is.
        tones: The response at each tone.
        half_hold_s: Half of the mean time that a command is held.
        verdict: "accepted" or "refused", that of l_eff.
        reason: One sentence when refused, else "".
        remarks: What the figure rests on: sentences.
    """

    l_eff: CalibrationResult
    dead_time: CalibrationResult
    lag: CalibrationResult
    gain: float
    gain_ci95: float
    chi2_dof: float
    tones: tuple[Tone, ...]
    half_hold_s: float
    verdict: str
    reason: str
    remarks: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether l_eff may be used and written."""
        return self.l_eff.accepted


def identify_plant(
    command_t_ns: ArrayLike,
    command: ArrayLike,
    measured_t_ns: ArrayLike,
    measured: ArrayLike,
    tones_hz: ArrayLike,
    hold_s: float | None = None,
    *,
    max_delay_s: float = 0.5,
    stamps: Stamps = "unstated",
) -> PlantResult:
    """Identify one joint's plant, H(jw) = g exp(-jwL) / (1 + jw tau), from a motion at known frequencies.

    The command, held as it was, is filtered by the model and compared with the measured samples at their own stamps; gain,
    offset and drift are free. Then each tone is compared alone. `docs/identify.md` has the picture.

    Args:
        command_t_ns: Instants of sending, strictly increasing. Shape (n,), int64.
        command: What was sent. Shape (n,) or (n, 1).
        measured_t_ns: When each sample was true, on the same clock. Shape (m,).
        measured: Measured positions. Shape (m,) or (m, 1).
        tones_hz: Frequencies of the sines or the multisine; of a chirp, some that it runs through. Two or more.
        hold_s: None: each command is held until the next one, as a send loop does. Else the command is the path that is sampled
            and held every hold_s; 0: a path that the device follows itself.
        max_delay_s: Longest delay looked for, s.
        stamps: What `measured_t_ns` are: "sample" when a reading was true, "receipt" when it arrived. The record itself does not
            show the difference: receipt stamps make the result too large by the report's own delay, which is then remarked.

    Returns:
        The result. Refused, with the reason, when the record is clipped, an echo of the commands, too noisy, reported too
        seldom, aliased, inverted or ambiguous; when the command does not move at the tones; when no dead time and lag fit.

    Raises:
        BadInput: shapes do not fit, or a setting is out of range.
    """
    tones = np.unique(np.asarray(tones_hz, dtype=np.float64))
    if tones.ndim != 1 or len(tones) < LEAST_TONES or not np.isfinite(tones).all() or tones[0] <= 0:
        raise BadInput(f"tones_hz must be {LEAST_TONES} or more different frequencies above 0 Hz, not {tones_hz!r}")
    if hold_s is not None and not (isfinite(hold_s) and hold_s >= 0):
        raise BadInput(f"hold_s must be a time >= 0 s, not {hold_s}")
    if not isfinite(max_delay_s) or max_delay_s <= 0:
        raise BadInput(f"max_delay_s must be a positive number of seconds, not {max_delay_s}")
    if stamps not in STAMPS:
        raise BadInput(f"stamps must be one of {STAMPS}, not {stamps!r}")
    conditions: dict[str, Any] = {"stamps": stamps, "tones_hz": tuple(tones.tolist())}
    try:
        signals = read_signals(command_t_ns, command, measured_t_ns, measured)
    except RefusedError as refused:
        return _refused(refused, 0, conditions)
    if signals.command.shape[1] != 1:
        raise BadInput(f"one joint at a time: command and measured have {signals.command.shape[1]} columns")
    try:
        return _identify(signals, tones, hold_s, max_delay_s, stamps, conditions)
    except RefusedError as refused:
        return _refused(refused, len(signals.measured), conditions)


def _identify(
    signals: Signals,
    tones: NDArray[np.float64],
    hold_s: float | None,
    max_delay_s: float,
    stamps: Stamps,
    conditions: dict[str, Any],
) -> PlantResult:
    command_s, command = signals.command_s, signals.command[:, 0]
    inside = (signals.measured_s >= 0) & (signals.measured_s <= command_s[-1])
    t_s, measured = signals.measured_s[inside], signals.measured[inside, 0]
    if len(t_s) < MIN_SAMPLES:
        raise RefusedError(
            f"{len(t_s)} measured samples lie inside the command's {command_s[-1]:.1f} s, and {MIN_SAMPLES} are needed; "
            "record longer"
        )
    if len(command_s) < MIN_SAMPLES:
        raise RefusedError(f"the command has {len(command_s)} samples, and {MIN_SAMPLES} are needed; record what was sent")
    for what, values in (("command", command), ("measured motion", measured)):
        if np.ptp(values) <= 1e-9 * max(float(np.abs(values).max()), 1e-300):
            raise RefusedError(f"the {what} is constant; sweep the joint, and record what it measures")
    held = hold_command(command_s, command, float(t_s[-1]), hold_s)
    check_rates(tones, held, t_s, 0.0)
    check_tones(held, tones)
    start_s = first_delay(held, t_s, measured, max_delay_s)
    # What was commanded before the record began is not known; it still shows for a while after.
    settled = t_s >= 2 * max(start_s, 0.0) + held.spacing_s
    t_s, measured = t_s[settled], measured[settled]
    choice = choose_fit(held, command_s, command, t_s, measured, start_s, hold_s is None)
    fit, spacing_s = choice.fit, hold_s or held.spacing_s
    l_s = fit.total_s + held.half_hold_s
    conditions |= {
        "gain": fit.gain,
        "offset": fit.offset,
        "residual": sqrt(float(np.mean(fit.residual**2))),
        "r2": fit.r2,
        "window_s": float(t_s[-1] - t_s[0]),
        "half_hold_s": held.half_hold_s,
        "staircase": choice.shown,
    }
    check_echo(command, command_s, t_s, measured, l_s)
    check_clipped(Polyline(command_s, signals.command, spacing_s), fit, t_s, measured, l_s)
    if fit.gain <= 0 or fit.r2 < MIN_R2:
        raise RefusedError(
            f"the motion does not follow its command, or is lost in noise: a dead time and a lag explain {max(fit.r2, 0):.0%} of "
            f"it, wanted {MIN_R2:.0%}; sweep larger, or read with less noise"
        )
    stale = stale_share(fit.predicted, measured)
    check_rates(tones, held, t_s, min(stale, 0.99))
    found = fit_tones(choice.held, fit, t_s, tones)
    _check_tones(found)
    chi2, degrees = chi2_of(found, 3)
    _check_model(found, chi2)
    beyond = look_beyond(choice.held, fit, t_s)
    if abs(beyond.pole.deviations) > SEEN and len(tones) > LEAST_TONES:
        choice = second_pole(choice, t_s, tones)
        beyond = look_beyond(choice.held, choice.fit, t_s)
    remarks, wider = _remarks(stamps, stale, choice, beyond, t_s)
    half = choice.half_s * (sqrt(chi2) if chi2 > chi2_limit(degrees) and not choice.second else 1.0) + wider
    l_s = choice.fit.total_s + held.half_hold_s
    half = max(half, MIN_CI95_S)
    conditions |= {"chi2_dof": chi2, "stale": stale, "second_pole": choice.second}
    if l_s < -half:
        raise RefusedError(
            f"the motion comes {milliseconds(-l_s)} before its command: the stamps are not on one clock, or were corrected twice"
        )
    if half > MAX_CI95_S:
        raise RefusedError(
            f"the delay is known only to {l_s * 1e3:.2f} +- {half * 1e3:.2f} ms, wanted +- {MAX_CI95_S * 1e3:g} ms; "
            + (remarks[-1] if wider or choice.unclear_s else "sweep longer, larger, or with less noise")
        )
    n = len(t_s)
    l_eff = CalibrationResult("l_eff", max(l_s, 0.0), half, n, METHOD, conditions)
    dead, lag = _parts(choice, half, n, conditions)
    return PlantResult(
        l_eff, dead, lag, fit.gain, fit.halves[0], chi2, found, held.half_hold_s, l_eff.verdict, "", tuple(remarks)
    )


def _check_tones(tones: tuple[Tone, ...]) -> None:
    for tone in tones:
        relative = max(tone.gain_std / max(tone.gain, 1e-12), tone.phase_std_rad)
        if relative > MAX_TONE_STD:
            raise RefusedError(
                f"the response at {tone.frequency_hz:.3g} Hz is lost in noise: known to {relative:.0%}, wanted "
                f"{MAX_TONE_STD:.0%}; sweep larger or longer there, or leave that tone out"
            )


def _check_model(tones: tuple[Tone, ...], chi2: float) -> None:
    off = [
        sqrt((g * tone.gain_std / max(tone.gain, 1e-12)) ** 2 + (p * tone.phase_std_rad) ** 2)
        for tone in tones
        for g, p in (tone.misfit,)
    ]
    rms = sqrt(sum(x * x for x in off) / len(off))
    if rms > MAX_MISFIT and chi2 > 5:
        worst = max(range(len(off)), key=off.__getitem__)
        raise RefusedError(
            f"no dead time and lag fit: the tones lie {rms:.0%} off the best of them (chi2 {chi2:.3g} a degree of freedom), most "
            f"at {tones[worst].frequency_hz:.3g} Hz by {off[worst]:.0%}; a limit, a resonance or a loose joint is in the way"
        )


def _remarks(stamps: Stamps, stale: float, choice: Choice, beyond: Beyond, t_s: FloatArray) -> tuple[list[str], float]:
    """Say what the figure rests on, and by how much its interval is wider for it."""
    remarks, wider = [], 0.0
    if stamps == "receipt":
        remarks.append(
            "the samples carry stamps of receipt: l_eff contains the time from sample to receipt, which the record cannot show; "
            "take stamps of the device, mapped by a clock, or take receive_latency off"
        )
    elif stamps == "unstated":
        remarks.append(
            "the stamps are taken as the instants at which the samples were true; if they are instants of receipt, l_eff is too "
            "large by the report's own delay, and the record cannot show it"
        )
    if choice.second:
        remarks.append("a second pole shows beside the lag: l_eff is that of slow motion, and fast motion comes at another delay")
    if choice.unclear_s:
        remarks.append(
            "samples keep their place between commands, and do not show whether the device rounds off the steps: half of the "
            f"hold is known only to {milliseconds(choice.unclear_s)}; report at a rate that is no multiple of sending"
        )
    if abs(beyond.play.deviations) > SEEN:
        wider += abs(beyond.play.moves_s)
        remarks.append(
            f"the motion stays behind by {abs(beyond.play.size):.2g} (in its own unit) in either direction, as play or friction "
            f"does; the delay with it and without it differ by {beyond.play.moves_s * 1e3:.3f} ms"
        )
    if abs(beyond.drift.deviations) > SEEN:
        ends_s = abs(beyond.drift.size) * float(t_s[-1] - t_s[0]) / 2
        wider += ends_s
        remarks.append(
            f"the delay changes by {beyond.drift.size * 1e6:.2g} us a second: the two clocks run apart by that many ppm, and the "
            f"ends of the record by {ends_s * 1e3:.2g} ms from its middle; map the device's clock (onbeat.clock)"
        )
    if stale > MAX_STALE:
        period_s = float(np.median(np.diff(t_s)))
        wider += period_s / max(1 - stale, 0.01)
        remarks.append(
            f"{stale:.0%} of the samples repeat the one before while the joint moves: stamps are those of polls every "
            f"{period_s * 1e3:.1f} ms, and l_eff is too large by up to a report's period; keep the first poll of each report"
        )
    return remarks, wider


def _parts(
    choice: Choice, total_half: float, n: int, conditions: Mapping[str, Any]
) -> tuple[CalibrationResult, CalibrationResult]:
    """Give dead time and lag, or why only their sum is known."""
    fit = choice.fit
    lag_s, spread = fit.lag_s, fit.halves[2]
    # The interval of a root: from that of the square.
    lag_half = sqrt(fit.lag2_s2 + spread) - sqrt(max(fit.lag2_s2 - spread, 0.0))
    lag_half = max(lag_half / 2 if fit.lag2_s2 > spread else lag_half, MIN_CI95_S)
    dead_s, dead_half = fit.total_s - lag_s, total_half + lag_half
    if not choice.second and max(lag_half, dead_half) < MAX_PART_CI95_S and dead_s > -dead_half:
        return (
            CalibrationResult("dead_time", max(dead_s, 0.0), dead_half, n, METHOD, conditions),
            CalibrationResult("lag", lag_s, lag_half, n, METHOD, conditions),
        )
    reason = (
        f"only the sum is known, {fit.total_s * 1e3:.2f} ms: dead time {dead_s * 1e3:.2f} +- {dead_half * 1e3:.2f} ms, lag "
        f"{lag_s * 1e3:.2f} +- {lag_half * 1e3:.2f} ms; "
        + ("a second pole shows" if choice.second else "sweep faster, longer, or with less noise")
    )
    first, second = (CalibrationResult.refuse(name, reason, n=n, method=METHOD, **conditions) for name in ("dead_time", "lag"))
    return first, second


def _refused(refused: RefusedError, n: int, conditions: Mapping[str, Any]) -> PlantResult:
    l_eff, dead, lag = (
        CalibrationResult.refuse(name, refused.reason, n=n, method=METHOD, alternatives=refused.alternatives, **conditions)
        for name in ("l_eff", "dead_time", "lag")
    )
    nan = float("nan")
    return PlantResult(l_eff, dead, lag, nan, nan, nan, (), 0.0, "refused", refused.reason, ())
