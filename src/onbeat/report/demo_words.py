"""The demo's numbers in words: one way to print them, shared by the picture, the page and the terminal."""

from math import floor, log10

from onbeat.report.grasp import Grasp
from onbeat.report.story import Measurement

__all__ = (
    "GRASP_HEADER",
    "MEASURED_HEADER",
    "grasp_row",
    "in_words",
    "inside",
    "latencies",
    "measured_row",
    "quantity",
    "scale",
    "truth",
)

MEASURED_HEADER = ("quantity", "measured", "95 % interval", "truth", "inside?")
GRASP_HEADER = ("delays", "distance to the cup", "height", "closing", "same-instant error", "late waypoints")

_SCALES = {"s": (1e3, "ms"), "m/s": (1e3, "mm/s")}


def scale(measurement: Measurement) -> tuple[float, str]:
    """Give the factor from the SI unit to the unit that is printed, and that unit."""
    return _SCALES.get(measurement.unit, (1.0, measurement.unit))


def quantity(measurement: Measurement) -> str:
    """Name what was measured: "arm action latency"."""
    return f"{measurement.module} {measurement.key.replace('_', ' ')}"


def in_words(measurement: Measurement) -> str:
    """Print the value with its half-interval and unit, or "refused"."""
    value, ci95 = measurement.result.value, measurement.result.ci95
    if value is None or ci95 is None:
        return "refused"
    factor, unit = scale(measurement)
    digits = _digits(ci95 * factor)
    return f"{value * factor:.{digits}f} ± {ci95 * factor:.{digits}f} {unit}"


def truth(measurement: Measurement) -> str:
    """Print the truth with as many digits as the measurement has."""
    factor, unit = scale(measurement)
    digits = 1 if measurement.result.ci95 is None else _digits(measurement.result.ci95 * factor)
    return f"{measurement.truth * factor:.{digits}f} {unit}"


def inside(measurement: Measurement) -> str:
    """Say whether the interval holds the truth."""
    return {True: "inside", False: "outside", None: "-"}[measurement.covered]


def latencies(grasp: Grasp) -> str:
    """Say which delays a run believed in; the two readouts, which matter least, are left to the page."""
    if not any(grasp.latencies_s.values()):
        return "all delays taken as 0"
    shown = ("camera.receive_latency", "arm.action_latency", "gripper.action_latency")
    parts = [f"{key.split('.')[0]} {grasp.latencies_s[key] * 1e3:.0f}" for key in shown if key in grasp.latencies_s]
    return f"{' · '.join(parts)} ms"


def measured_row(measurement: Measurement) -> tuple[str, ...]:
    """Give the cells under MEASURED_HEADER."""
    value, ci95 = measurement.result.value, measurement.result.ci95
    if value is None or ci95 is None:
        return (quantity(measurement), "refused", "-", truth(measurement), inside(measurement))
    factor, unit = scale(measurement)
    digits = _digits(ci95 * factor)
    low, high = (value - ci95) * factor, (value + ci95) * factor
    interval = f"{low:.{digits}f} to {high:.{digits}f}"
    return (quantity(measurement), f"{value * factor:.{digits}f} {unit}", interval, truth(measurement), inside(measurement))


def grasp_row(grasp: Grasp) -> tuple[str, ...]:
    """Give the cells under GRASP_HEADER."""
    return (
        grasp.name,
        "never closed" if grasp.distance_m is None else f"{grasp.distance_m * 1e3:.1f} mm",
        _apart(grasp.height_error_m, "mm", "too high", "too low"),
        _apart(grasp.closing_error_s, "ms", "late", "early"),
        f"{grasp.same_instant_m * 1e3:.1f} mm",
        f"{grasp.late_waypoints} of {grasp.waypoints}",
    )


def _apart(value: float | None, unit: str, more: str, less: str) -> str:
    if value is None:
        return "-"
    number = round(abs(value) * 1e3, 1)
    return f"0.0 {unit}" if number == 0 else f"{number:.1f} {unit} {more if value > 0 else less}"


def _digits(ci95: float) -> int:
    """Give the decimals that show two figures of an interval's half-width, three at most."""
    return 3 if ci95 <= 0 else min(max(1 - floor(log10(ci95)), 0), 3)
