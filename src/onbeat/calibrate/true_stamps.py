"""When was each reading of a module true, and how sure is that? By the device's stamps, by a latency taken off, or not at all."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate.readout import read_latency
from onbeat.clock import ClockMap, OneWayEstimator
from onbeat.device import ModuleConfig
from onbeat.errors import BadInput
from onbeat.policy import Reading
from onbeat.units import to_ns

__all__ = ("STAMP_KINDS", "StampKind", "TrueStamps", "true_stamps")

StampKind = Literal["sample", "mapped", "one-way", "corrected", "receipt"]
STAMP_KINDS: tuple[StampKind, ...] = get_args(StampKind)

# No wire answers faster: a read that does was answered from the driver's memory.
FASTEST_READ_S = 5e-5
MOST_CACHED = 0.2


@dataclass(frozen=True, slots=True, eq=False)
class TrueStamps:
    """Readings with the instants at which they were true, as well as that is known.

    Args:
        t_ns: On the rig's clock, increasing. Shape (n,).
        values: Shape (n, width).
        kind: "sample": the device says so on the rig's clock; "mapped": on a clock of its own, which was mapped; "one-way": the
            same, but what the fastest message took is not known; "corrected": a receive_latency was taken off the receipt;
            "receipt": nothing was.
        ci95_s: Half-width of the 95 % interval of what all stamps are off by together, s; 0 where it is not known.
        remark: What the stamps rest on, one sentence without its full stop.
    """

    t_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    kind: StampKind
    ci95_s: float
    remark: str

    @property
    def biased(self) -> bool:
        """Whether the stamps are late by something that is not known: a delay that is measured with them is too large."""
        return self.kind in ("one-way", "receipt")


def true_stamps(readings: Sequence[Reading], config: ModuleConfig, cached_share: float = 0.0) -> TrueStamps:
    """Find the best instants that a module's readings allow.

    A receive_latency of the module's YAML counts where it was measured. Where it was not, half of the reads' own duration is
    taken off, unless the driver answers from its memory: then nothing is known of the way from the sample to there.

    Args:
        readings: Of one module, in order of arrival, each new.
        config: The module's; its receive_latency says nothing about samples that the device stamps.
        cached_share: Share of polls that brought no new reading.

    Raises:
        BadInput: there are none, or a device that stamps some of them and not others or changes its clock.
    """
    if len(readings) < 2:
        raise BadInput(f"module {config.name!r} gave {len(readings)} readings; wait longer, or see why it does not report")
    values = np.array([reading.value for reading in readings], dtype=np.float64)
    begin_ns, receive_ns = (
        np.array([getattr(reading.state, name) for reading in readings], dtype=np.int64) for name in ("begin_ns", "receive_ns")
    )
    stamped = [reading.state.sample_ns for reading in readings]
    if all(sample_ns is None for sample_ns in stamped):
        latency_s, ci95_s, origin = _latency(config, begin_ns, receive_ns, cached_share)
        if latency_s is None:
            return TrueStamps(receive_ns, values, "receipt", 0.0, origin)
        return TrueStamps(receive_ns - to_ns(latency_s), values, "corrected", ci95_s, origin)
    if any(sample_ns is None for sample_ns in stamped):
        raise BadInput(f"module {config.name!r} stamps {len(stamped) - stamped.count(None)} of {len(stamped)} samples; stamp all")
    sample_ns = np.array(stamped, dtype=np.int64)
    clocks = {reading.state.sample_clock for reading in readings}
    if len(clocks) > 1:
        raise BadInput(f"module {config.name!r} stamps its samples on several clocks: {', '.join(sorted(map(repr, clocks)))}")
    (clock,) = clocks
    # A late packet says nothing that an earlier one did not.
    newer = np.concatenate([[True], sample_ns[1:] > np.maximum.accumulate(sample_ns)[:-1]])
    sample_ns, receive_ns, values = sample_ns[newer], receive_ns[newer], values[newer]
    if not clock:
        return TrueStamps(sample_ns, values, "sample", 0.0, "the device stamps its samples on the rig's clock")
    mapped = _map(clock, readings[0].stamp.clock, sample_ns, receive_ns)
    t_ns = np.asarray(mapped.to_target_ns(sample_ns), dtype=np.int64)
    above_s = float((receive_ns - t_ns).mean()) * 1e-9
    told = (
        f"the device stamps its samples on its own clock {clock!r}, which was mapped by {len(t_ns)} messages "
        f"(skew {mapped.skew_ppb * 1e-3:+.1f} ppm)"
    )
    measured = _measured(config)
    if measured is None or measured[0] < above_s:
        why = "what the fastest of them took cannot be seen from one side, and l_eff is too large by it; measure receive_latency"
        if measured is not None:
            why = (
                f"receive_latency {measured[0] * 1e3:.2f} ms is less than they vary by ({above_s * 1e3:.2f} ms); measure it anew"
            )
        return TrueStamps(t_ns, values, "one-way", 0.0, f"{told}; {why}")
    latency_s, ci95_s, origin = measured
    floor_ns = to_ns(latency_s - above_s)
    remark = f"{told}; the fastest took {floor_ns * 1e-6:.2f} ms, by {origin}"
    return TrueStamps(t_ns - floor_ns, values, "mapped", ci95_s, remark)


def _measured(config: ModuleConfig) -> tuple[float, float, str] | None:
    """Give the receive_latency that was measured, its interval, and what it is called; None where there is none."""
    provenance = config.provenance_of("receive_latency")
    if provenance.source != "measured":
        return None
    latency_s, ci95_s = config.receive_latency, provenance.ci95 or 0.0
    known = f" +- {ci95_s * 1e3:.2f} ms" if ci95_s else " ms, of unknown interval"
    return latency_s, ci95_s, f"receive_latency {latency_s * 1e3:.2f}{known}, measured before"


def _latency(
    config: ModuleConfig, begin_ns: NDArray[np.int64], receive_ns: NDArray[np.int64], cached_share: float
) -> tuple[float | None, float, str]:
    """Give the mean time from sample to receipt with its interval, or None, and where it comes from."""
    if (measured := _measured(config)) is not None:
        return measured[0], measured[1], f"{measured[2]}, was taken off the receipt"
    unknown = "the time from sample to receipt is not known"
    if cached_share > MOST_CACHED:
        return None, 0.0, f"{unknown}, because {cached_share:.0%} of the polls brought no new reading; measure receive_latency"
    durations_s = (receive_ns - begin_ns) * 1e-9
    median_s = float(np.median(durations_s))
    if median_s < FASTEST_READ_S:
        why = f"a read takes {median_s * 1e6:.0f} us: the driver answers from its memory"
        return None, 0.0, f"{unknown}, because {why}; let it give sample_ns, or measure receive_latency"
    read = read_latency(begin_ns, receive_ns)
    if read.value is None or read.ci95 is None:
        return None, 0.0, f"{unknown}: {read.reason}"
    told = f"half of the reads' duration, {read.value * 1e3:.2f} +- {read.ci95 * 1e3:.2f} ms, was taken off the receipt"
    return read.value, read.ci95, f"{told}; where inside a read the device samples is not known, which widens the interval"


def _map(source: str, target: str, sample_ns: NDArray[np.int64], receive_ns: NDArray[np.int64]) -> ClockMap:
    """Map a device's clock by its messages."""
    window_s = float(sample_ns[-1] - sample_ns[0]) * 1e-9 + 1.0
    estimator = OneWayEstimator(source, target, window_s=window_s)
    for stamp_ns, arrival_ns in zip(sample_ns.tolist(), receive_ns.tolist(), strict=True):
        estimator.add(stamp_ns, arrival_ns)
    return estimator.map_at(int(receive_ns[-1]))
