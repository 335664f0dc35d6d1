"""From a frame's arrival to the middle of its exposure."""

from onbeat.errors import BadInput

__all__ = ("camera_capture_ns",)


def camera_capture_ns(
    receive_ns: int,
    exposure_ns: int,
    readout_ns: int,
    transfer_ns: int,
    driver_ns: int,
    row: int | None = None,
    rows: int | None = None,
) -> int:
    """Give the middle of the exposure of a frame, or of one row of a rolling shutter.

    The whole frame (and row 0) is `receive - driver - transfer - readout - exposure / 2`; row r of H ends its
    exposure `readout * r / H` later. What remains of a motion with acceleration a is `a * exposure^2 / 24`.

    Args:
        receive_ns: When the frame arrived, on the caller's clock.
        exposure_ns, readout_ns, transfer_ns, driver_ns: Durations of the stages, >= 0.
        row, rows: Row of interest and number of rows, both or neither.

    Returns:
        The instant on the caller's clock, rounded down to a nanosecond.

    Raises:
        BadInput: a negative duration, or a row outside [0, rows).
    """
    stages = {"exposure_ns": exposure_ns, "readout_ns": readout_ns, "transfer_ns": transfer_ns, "driver_ns": driver_ns}
    for name, value in stages.items():
        if value < 0:
            raise BadInput(f"{name} must be >= 0, not {value}")
    if (row is None) != (rows is None):
        raise BadInput("row and rows are given together or not at all")
    if row is None or rows is None:
        row, rows = 0, 1
    if not 0 <= row < rows:
        raise BadInput(f"row must lie in [0, {rows}), not {row}")
    # Whole nanoseconds times 2 * rows, so that one exact division rounds once; int() because numpy's integers would wrap.
    scale = 2 * int(rows)
    row_0_ends_ns = int(receive_ns) - int(driver_ns) - int(transfer_ns) - int(readout_ns)
    return (row_0_ends_ns * scale + 2 * int(readout_ns) * int(row) - int(exposure_ns) * int(rows)) // scale
