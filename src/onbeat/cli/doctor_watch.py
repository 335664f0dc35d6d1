"""`onbeat doctor --watch RUN`: the cycles of a loop that runs in another process, from the recording that it writes."""

import json as lines
from pathlib import Path
from typing import Any

from onbeat.cli.main import FINDING, GOOD
from onbeat.cli.terminal import Terminal
from onbeat.errors import BadInput

__all__ = ("find_recording", "follow")

_LOOK_NS = 1_000_000_000
_QUIET_LOOKS = 10
_GOOD = 0.1  # of a period, as in the self test


def find_recording(path: Path) -> Path:
    """Find the recording of a run, also while it is being written: its file, its folder, or the name that the folder will have.

    Raises:
        BadInput: there is none.
    """
    for folder in (path, path.with_name(f".{path.name}.partial"), path / ".onbeat.partial"):
        for place in (folder / "recording.mcap", folder / "recording.mcap.partial"):
            if place.is_file():
                return place
    for place in (path, path.with_name(f"{path.name}.partial")):
        if place.is_file():
            return place
    raise BadInput(f"no recording at {path}; give the folder that a running `onbeat run --out` names, or an MCAP file")


def follow(path: Path, terminal: Terminal, *, quiet_looks: int = _QUIET_LOOKS) -> int:
    """Say once a second how late each module's cycles were since the last look; ends when nothing new has come for 10 s.

    The loop is not touched: its own records are read back from the file. Each look reads what was appended since the last one.

    Returns:
        GOOD, or FINDING when a deadline was missed or a module's p99.9 is above a tenth of its period.

    Raises:
        BadInput: there is no recording, or no cycle in it.
    """
    from onbeat.clock import SystemClock
    from onbeat.record.growing import GrowingCycles

    clock, quiet = SystemClock(), 0
    totals: dict[str, _Total] = {}
    growing = GrowingCycles(find_recording(path))
    try:
        while quiet < quiet_looks:
            fresh = growing.read()
            quiet = 0 if fresh else quiet + 1
            for module, records in fresh.items():
                totals.setdefault(module, _Total()).add(records)
                _say(terminal, module, records)
            if quiet < quiet_looks:
                clock.sleep_until_ns(clock.now_ns() + _LOOK_NS)
    finally:
        growing.close()
    if not totals:
        raise BadInput(f"{growing.path} holds no cycle of a loop; a run with a device that takes commands records them")
    return FINDING if any(total.late for total in totals.values()) else GOOD


class _Total:
    """What is kept of a module's cycles: 8 bytes each, 7 MB an hour at 250 Hz."""

    def __init__(self) -> None:
        self._lateness_ns: list[Any] = []
        self._period_ns: float | None = None
        self._missed = 0

    def add(self, records: Any) -> None:
        import numpy as np

        self._lateness_ns.append(records["wake_ns"] - records["deadline_ns"])
        self._missed += int(records["skipped"].sum())
        if self._period_ns is None and len(records) > 1:
            self._period_ns = float(np.median(np.diff(records["deadline_ns"])))

    @property
    def late(self) -> bool:
        """Whether a deadline was missed, or p99.9 is above a tenth of the period."""
        import numpy as np

        if self._missed or self._period_ns is None:
            return self._missed > 0
        return bool(np.percentile(np.concatenate(self._lateness_ns), 99.9) > _GOOD * self._period_ns)


def _figures(records: Any) -> dict[str, float]:
    import numpy as np

    late_us = (records["wake_ns"] - records["deadline_ns"]) * 1e-3
    p50, p99, worst = np.percentile(late_us, [50, 99, 100])
    return {
        "cycles": len(records),
        "p50_us": float(p50),
        "p99_us": float(p99),
        "max_us": float(worst),
        "missed": int(records["skipped"].sum()),
    }


def _say(terminal: Terminal, module: str, records: Any) -> None:
    from onbeat.report.words import printable

    found = _figures(records)
    if terminal.json:
        print(lines.dumps({"module": module, **found}), flush=True)
        return
    terminal.say(
        f"{printable(module)}: {found['cycles']} cycles, late p50 {found['p50_us']:.0f}, p99 {found['p99_us']:.0f}, "
        f"max {found['max_us']:.0f} us, missed {found['missed']}",
        style="yellow" if found["missed"] else None,
    )
