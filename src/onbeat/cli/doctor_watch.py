"""`onbeat doctor --watch RUN`: the cycles of a loop that runs in another process, from the recording that it writes."""

import json as lines
import os
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

    The loop is not touched: its own records are read back from the file, as far as it has been written.

    Returns:
        GOOD, or FINDING when a deadline was missed or a module's p99.9 is above a tenth of its period.

    Raises:
        BadInput: there is no recording, or no cycle in it.
    """
    from onbeat.clock import SystemClock

    clock, quiet = SystemClock(), 0
    seen: dict[str, int] = {}
    totals: dict[str, list[Any]] = {}
    place = find_recording(path)
    size = -1
    while quiet < quiet_looks:
        place = place if place.is_file() else find_recording(path)  # a run that ended took its name
        now = os.stat(place).st_size
        fresh = _fresh(place, seen) if now != size else {}
        size = now
        quiet = 0 if fresh else quiet + 1
        for module, records in fresh.items():
            totals.setdefault(module, []).append(records)
            _say(terminal, module, records)
        if quiet < quiet_looks:
            clock.sleep_until_ns(clock.now_ns() + _LOOK_NS)
    if not totals:
        raise BadInput(f"{place} holds no cycle of a loop; a run with a device that takes commands records them")
    return FINDING if any(_is_late(parts) for parts in totals.values()) else GOOD


def _fresh(place: Path, seen: dict[str, int]) -> dict[str, Any]:
    """Read what has come since the last look."""
    from onbeat.record.recording import read_recording

    found = {}
    for module, records in read_recording(place, partial=True).cycles.items():
        new = records[seen.get(module, 0) :]
        if len(new):
            found[module], seen[module] = new, len(records)
    return found


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


def _is_late(parts: list[Any]) -> bool:
    import numpy as np

    records = np.concatenate(parts)
    if records["skipped"].sum() or len(records) < 2:
        return bool(records["skipped"].sum())
    period_ns = float(np.median(np.diff(records["deadline_ns"])))
    late_ns = records["wake_ns"] - records["deadline_ns"]
    return bool(np.percentile(late_ns, 99.9) > _GOOD * period_ns)
