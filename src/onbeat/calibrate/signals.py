"""Two signals, such as a command and a measured motion, read and checked; what cannot be judged is refused with the reason."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onbeat.errors import BadInput

__all__ = ("LEAST_HALF_S", "RefusedError", "Signals", "half_width", "milliseconds", "read_signals")

FloatArray = NDArray[np.float64]

# Squares of values, summed over a recording, must stay within float64.
LARGEST = 1e100
LONGEST_NS = 2**62
LEAST_HALF_S = 50e-6  # what is narrower would be written as 0.0 ms, which no measurement is


class RefusedError(Exception):
    """Carries the reason of a refusal to the estimator that returns it; it never leaves this room."""

    def __init__(self, reason: str, alternatives: tuple[float, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.alternatives = alternatives


@dataclass(frozen=True, slots=True)
class Signals:
    """Both signals in seconds from the command's first sample, with the columns side by side.

    Args:
        command_s: Shape (n,).
        command: Shape (n, width).
        measured_s: Shape (m,).
        measured: Shape (m, width).
    """

    command_s: FloatArray
    command: FloatArray
    measured_s: FloatArray
    measured: FloatArray


def read_signals(
    command_t_ns: ArrayLike,
    command: ArrayLike,
    measured_t_ns: ArrayLike,
    measured: ArrayLike,
    *,
    names: tuple[str, str] = ("command", "measured"),
    repeats: bool = True,
) -> Signals:
    """Bring stamps and values into one form.

    Args:
        command_t_ns: Instants of the first signal. Shape (n,), int64.
        command: The first signal. Shape (n,) or (n, width).
        measured_t_ns: Instants of the second signal. Shape (m,), int64.
        measured: The second signal. Shape (m,) or (m, width).
        names: What a refusal calls the two.
        repeats: Whether stamps of the second signal may repeat.

    Raises:
        BadInput: shapes do not fit, or stamps are not integers of nanoseconds.
        RefusedError: fewer than two samples, values that are not finite, or stamps that are not sorted.
    """
    first, second = names
    command_ns, command_values = _columns(first, command_t_ns, command)
    measured_ns, measured_values = _columns(second, measured_t_ns, measured)
    if command_values.shape[1] != measured_values.shape[1]:
        raise BadInput(
            f"{first} has {command_values.shape[1]} columns and {second} has {measured_values.shape[1]}; give the same columns"
        )
    for name, values in ((first, command_values), (second, measured_values)):
        if len(values) < 2:
            raise RefusedError(f"{name} has {len(values)} samples; a shift in time needs a recording of a motion")
        bad = int((~np.isfinite(values)).sum())
        if bad:
            raise RefusedError(f"{name} has {bad} values that are not finite, of {values.size}; leave those samples out")
        largest = float(np.abs(values).max())
        if largest > LARGEST:
            raise RefusedError(f"{name} has values up to {largest:.3g}, which no position has; check which columns were read")
    _check_sorted(first, command_ns, strict=True)
    _check_sorted(second, measured_ns, strict=not repeats)
    spans = [int(stamps[-1]) - int(stamps[0]) for stamps in (command_ns, measured_ns)]
    apart_ns = abs(int(measured_ns[0]) - int(command_ns[0]))
    if max(*spans, apart_ns) > LONGEST_NS:
        raise RefusedError(
            f"stamps of {first} begin at {command_ns[0]} ns and of {second} at {measured_ns[0]} ns, and lie up to "
            f"{max(*spans, apart_ns) / 3.156e16:.0f} years apart; take the stamps of one clock"
        )
    start_ns = command_ns[0]
    return Signals((command_ns - start_ns) / 1e9, command_values, (measured_ns - start_ns) / 1e9, measured_values)


def _columns(name: str, t_ns: ArrayLike, values: ArrayLike) -> tuple[NDArray[np.int64], FloatArray]:
    stamps = np.asarray(t_ns)
    table = np.array(values, dtype=np.float64)
    if table.ndim == 1:
        table = table[:, None]
    if stamps.ndim != 1 or table.ndim != 2 or len(stamps) != len(table) or table.shape[1] == 0:
        raise BadInput(
            f"{name} needs one stamp a sample: stamps of shape {stamps.shape} and values of shape {np.shape(values)} do not fit"
        )
    if len(stamps) and not np.issubdtype(stamps.dtype, np.integer):
        raise BadInput(f"stamps of {name} must be integers of nanoseconds, not {stamps.dtype}; convert with to_ns")
    if len(stamps) and int(stamps.max()) >= 2**63:
        raise BadInput(f"stamps of {name} reach {int(stamps.max())} ns, beyond int64; count from a later zero")
    return stamps.astype(np.int64), table


def _check_sorted(name: str, t_ns: NDArray[np.int64], *, strict: bool) -> None:
    # Compared, not subtracted: a difference of two int64 may not fit one.
    back = np.flatnonzero(t_ns[1:] <= t_ns[:-1] if strict else t_ns[1:] < t_ns[:-1])
    if len(back):
        k = int(back[0])
        step_ms = (int(t_ns[k + 1]) - int(t_ns[k])) / 1e6
        more = f", and {len(back) - 1} more" if len(back) > 1 else ""
        raise RefusedError(
            f"stamps of {name} are not sorted: sample {k + 1} comes {abs(step_ms):.3f} ms before sample {k}{more}; sort them and "
            "drop repeats"
        )


def milliseconds(seconds: float) -> str:
    """Write a duration for a sentence."""
    return f"{seconds * 1e3:.1f} ms"


def half_width(ci95_s: float | None) -> str:
    """Write half of an interval, which is never as narrow as nothing; "" where there is none."""
    if ci95_s is None:
        return ""
    return f"± {milliseconds(ci95_s)}" if ci95_s >= LEAST_HALF_S else "under ± 0.1 ms"
