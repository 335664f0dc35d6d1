"""What chrony, ptp4l and the kernel say of their clocks, read from their own words; nothing here touches them."""

import re
from dataclasses import dataclass

from onbeat.clock.state import SyncState

__all__ = ("DaemonReport", "chrony_frequency_ppm", "read_chrony", "read_kernel", "read_phc2sys", "read_ptp4l")

_S = 1_000_000_000
_FIRST_OCTETS = ("7F7F", "")  # chrony's own local reference, and none
_CRYSTAL_PPM = 100.0  # what a crystal needs at most; more is a clock on its way to somewhere
_STALE_S = 64.0
_ABSURD = 1e15  # of seconds or nanoseconds
_PTP_STATES = {
    "SLAVE": SyncState.LOCKED,
    "UNCALIBRATED": SyncState.ACQUIRING,
    "LISTENING": SyncState.ACQUIRING,
    "PASSIVE": SyncState.HOLDOVER,
    "FAULTY": SyncState.EXPIRED,
}
# IEEE 1588-2019 table 4: what a grandmaster says of its own source.
_CLOCK_CLASSES = {
    6: (SyncState.LOCKED, "its grandmaster is locked to a primary reference (clockClass 6)"),
    7: (SyncState.HOLDOVER, "its grandmaster has lost its primary reference and coasts (clockClass 7)"),
    13: (SyncState.LOCKED, "its grandmaster is locked to a reference of its own (clockClass 13)"),
    14: (SyncState.HOLDOVER, "its grandmaster has lost its own reference and coasts (clockClass 14)"),
}


@dataclass(frozen=True, slots=True)
class DaemonReport:
    """What one of the machine's clock keepers says of itself.

    Args:
        name: "chrony", "ptp4l", "phc2sys" or "kernel".
        state: What its clock is worth; None where it does not say.
        offset_ns: Its own estimate of how far the clock is off, reference minus clock; None where it does not say.
        bound_ns: Its own bound of that; None where it has none.
        age_s: Time since it last heard of its reference; None where it does not say.
        sentence: All of it for people, and what is wrong where something is.
        finding: Whether something is wrong.
    """

    name: str
    state: SyncState | None
    offset_ns: int | None
    bound_ns: int | None
    age_s: float | None
    sentence: str
    finding: bool = False


def read_chrony(tracking: str, wall_s: float) -> DaemonReport:
    """Read the line of ``chronyc -c tracking``.

    Args:
        tracking: The line.
        wall_s: The wall clock when it was printed, for the age.
    """
    fields = tracking.strip().split(",")
    if len(fields) < 14:
        return _silent("chrony", f"chronyc says {tracking.strip()[:60]!r}, which is no tracking report")
    numbers = [_number(fields[k]) for k in (2, 3, 4, 7, 10, 11, 12)]
    if None in numbers:
        return _silent("chrony", "chronyc printed a tracking report that is not one of numbers")
    stratum, heard_s, system_s, ppm, root_delay_s, dispersion_s, interval_s = (number or 0.0 for number in numbers)
    age_s = max(wall_s - heard_s, 0.0)
    name, leap = fields[1] or fields[0], fields[13]
    if leap == "Not synchronised" or fields[0][:4] in _FIRST_OCTETS:
        what = "serves its own clock as a reference" if fields[0].startswith("7F7F") else "has no source it trusts"
        return DaemonReport("chrony", SyncState.ACQUIRING, None, None, None, f"chrony {what}", finding=fields[0][:4] == "")
    bound_ns = round((root_delay_s / 2 + dispersion_s) * _S)
    # chrony prints by how much the system clock is behind NTP's: what is to be added to it.
    late = age_s > max(8 * interval_s, _STALE_S)
    sentence = (
        f"chrony follows {name} (stratum {stratum:.0f}): system clock off by {system_s * 1e6:.1f} us, "
        f"bound {bound_ns / 1e3:.1f} us, frequency {ppm:+.3f} ppm, heard {age_s:.1f} s ago"
    )
    if late:
        sentence += f", which is long at an interval of {interval_s:g} s: its source is silent and the clock coasts"
    return DaemonReport(
        "chrony", SyncState.HOLDOVER if late else SyncState.LOCKED, round(system_s * _S), bound_ns, age_s, sentence, late
    )


def read_ptp4l(answers: str) -> DaemonReport:
    """Read what ``pmc`` prints for TIME_STATUS_NP, PORT_DATA_SET, PARENT_DATA_SET and CURRENT_DATA_SET."""
    said = dict(re.findall(r"^\s+(\S+)\s+(\S.*?)\s*$", answers, re.M))
    if "portState" not in said:
        return _silent("ptp4l", "ptp4l runs and does not answer pmc; ask as its user, or give its uds_address")
    port = said["portState"]
    offset, path, rank = (_number(said.get(name, "")) for name in ("master_offset", "meanPathDelay", "gm.ClockClass"))
    offset_ns = None if offset is None else round(offset)
    clock_class = None if rank is None else round(rank)
    if port in ("MASTER", "GRAND_MASTER", "PRE_MASTER"):
        state, why = _CLOCK_CLASSES.get(clock_class or 0, (None, f"its own clock has no reference (clockClass {clock_class})"))
        return DaemonReport(
            "ptp4l", state, None, None, None, f"ptp4l is the master on its port; {why}", state is SyncState.HOLDOVER
        )
    state = _PTP_STATES.get(port, SyncState.EXPIRED)
    sentence = f"ptp4l is {port}"
    if offset_ns is not None:
        sentence += f", {offset_ns} ns from its master" + ("" if path is None else f", path {path:.0f} ns")
    finding = state is SyncState.EXPIRED
    if state is SyncState.LOCKED and clock_class in _CLOCK_CLASSES:
        state, why = _CLOCK_CLASSES[clock_class]
        sentence, finding = f"{sentence}; {why}", state is SyncState.HOLDOVER
    elif state is SyncState.LOCKED:
        sentence = f"{sentence}; its grandmaster has no outside reference (clockClass {clock_class})"
    return DaemonReport("ptp4l", state, offset_ns, None, None, sentence, finding)


def read_phc2sys(running: bool, ptp4l: DaemonReport | None, *, software: bool | None) -> DaemonReport | None:
    """Judge whether the system clock follows the network card's: that link dies in silence.

    Args:
        running: Whether a phc2sys process is there.
        ptp4l: What ptp4l says; None where it does not run.
        software: Whether ptp4l stamps in software, and so steers the system clock itself; None where that is not known.

    Returns:
        None where there is nothing to say: no ptp4l and no phc2sys.
    """
    if running:
        if ptp4l is None:
            return DaemonReport(
                "phc2sys", None, None, None, None, "phc2sys runs and ptp4l does not: the card's own clock coasts", finding=True
            )
        return DaemonReport("phc2sys", ptp4l.state, None, None, None, "phc2sys runs: the system clock follows the card's")
    if ptp4l is None or ptp4l.state not in (SyncState.LOCKED, SyncState.HOLDOVER) or software:
        return None
    doubt = "" if software is False else " (unless ptp4l stamps in software)"
    return DaemonReport(
        "phc2sys",
        SyncState.EXPIRED,
        None,
        None,
        None,
        f"ptp4l is locked and no phc2sys runs{doubt}: the card's clock is right, the system clock does not follow it and drifts; "
        "start phc2sys -s PORT -w",
        finding=True,
    )


def read_kernel(steered_ppm: float, chrony_ppm: float | None = None) -> DaemonReport:
    """Judge by the rate of CLOCK_MONOTONIC against CLOCK_MONOTONIC_RAW whether this machine's clock is being slewed now.

    Args:
        steered_ppm: That rate.
        chrony_ppm: What chrony corrects the crystal by, where it is known: the rest is a slew.
    """
    expected = chrony_ppm if chrony_ppm is not None else 0.0
    if abs(steered_ppm - expected) > _CRYSTAL_PPM:
        return DaemonReport(
            "kernel",
            None,
            None,
            None,
            None,
            f"this machine's clock is being slewed at {steered_ppm:+.1f} ppm now: intervals are wrong by as much until it ends",
            finding=True,
        )
    return DaemonReport(
        "kernel", None, None, None, None, f"this machine's clock is steered by {steered_ppm:+.2f} ppm, and steadily"
    )


def chrony_frequency_ppm(tracking: str) -> float | None:
    """Give what chrony corrects the crystal by, from the line of ``chronyc -c tracking``; None where it does not say."""
    fields = tracking.split(",")
    return _number(fields[7]) if len(fields) > 7 else None


def _number(text: str) -> float | None:
    """Read a number of the size that a clock keeper can mean; None for anything else that its text may hold."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if abs(value) < _ABSURD else None  # also NaN is not


def _silent(name: str, sentence: str) -> DaemonReport:
    return DaemonReport(name, None, None, None, None, sentence, finding=True)
