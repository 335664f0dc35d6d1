"""The clock keepers of this machine, asked what they say of themselves: read, never steered."""

import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from onbeat.clock.daemon_reports import DaemonReport, chrony_frequency_ppm, read_chrony, read_kernel, read_phc2sys, read_ptp4l
from onbeat.clock.system import read_steering

__all__ = ("ask_daemons", "steered_ppm")

_PATIENCE_S = 3.0
_PMC_QUESTIONS = ("GET TIME_STATUS_NP", "GET PORT_DATA_SET", "GET PARENT_DATA_SET", "GET CURRENT_DATA_SET")


def ask_daemons(
    *, chronyc: Sequence[str] = ("chronyc", "-c", "tracking"), pmc: Sequence[str] = ("pmc", "-u", "-b", "0"), look_s: float = 1.0
) -> tuple[DaemonReport, ...]:
    """Ask every clock keeper that runs here; takes about `look_s`. Who does not run is not in the answer.

    Args:
        chronyc: The command that prints chrony's tracking report.
        pmc: The command that asks ptp4l, without its questions.
        look_s: How long the kernel's two clocks are compared, s.
    """
    running = _processes()
    reports: list[DaemonReport] = []
    chrony_ppm = None
    if "chronyd" in running:
        said = _run(chronyc)
        reports.append(read_chrony(said or "", time.time()))
        chrony_ppm = chrony_frequency_ppm(said or "")
    ptp4l = None
    if "ptp4l" in running:
        ptp4l = read_ptp4l(_run((*pmc, *_PMC_QUESTIONS)) or "")
        reports.append(ptp4l)
    software = _stamps_in_software(running["ptp4l"]) if "ptp4l" in running else None
    if (phc2sys := read_phc2sys("phc2sys" in running, ptp4l, software=software)) is not None:
        reports.append(phc2sys)
    reports.append(read_kernel(steered_ppm(look_s), chrony_ppm))
    return tuple(reports)


def steered_ppm(look_s: float = 1.0) -> float:
    """Measure how fast CLOCK_MONOTONIC runs against the raw crystal, ppm; good to 0.1 ppm in a second."""
    first = read_steering(20)
    time.sleep(look_s)
    last = read_steering(20)
    moved_ns = last.steered_ns - first.steered_ns
    return moved_ns / (last.t_ns - first.t_ns - moved_ns) * 1e6


def _processes() -> dict[str, list[str]]:
    """Give the command line of one process of each name."""
    found: dict[str, list[str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            name = (folder / "comm").read_text(errors="replace").strip()  # a process may call itself anything
            if name in ("chronyd", "ptp4l", "phc2sys"):
                found[name] = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
    return found


def _stamps_in_software(arguments: list[str]) -> bool | None:
    """Tell from ptp4l's command line or its configuration how it stamps; None where neither says."""
    if "-S" in arguments:
        return True
    if "-H" in arguments:
        return False
    with suppress(ValueError, IndexError, OSError):
        for line in Path(arguments[arguments.index("-f") + 1]).read_text().splitlines():
            words = line.split()
            if words[:1] == ["time_stamping"]:
                return words[1] == "software"
    return False if arguments else None


def _run(command: Sequence[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE_S, check=False, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace")
