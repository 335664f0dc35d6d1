"""Every check of a machine, in the order in which people look: rights, kernel, processors, memory, clocks, buses, box, board."""

from collections.abc import Sequence

from onbeat.machine.board import board_checks
from onbeat.machine.bus import network_checks, serial_checks
from onbeat.machine.clock import clock_checks
from onbeat.machine.container import container_checks
from onbeat.machine.cpu import cpu_checks, traffic_checks
from onbeat.machine.kernel import kernel_checks, scheduler_checks
from onbeat.machine.machine import Level, Machine, MachineCheck
from onbeat.machine.memory import fault_check, memory_checks
from onbeat.machine.tries import Snapshot, Tried

__all__ = ("check_machine", "worst")

_ORDER: tuple[Level, ...] = ("good", "unknown", "warn", "bad")


def check_machine(
    machine: Machine, tried: Tried, before: Snapshot, after: Snapshot, *, rate_hz: float = 250.0, cpu: int | None = None
) -> tuple[MachineCheck, ...]:
    """Judge a machine; the same names in the same order on every one.

    Args:
        machine: Its files.
        tried: What this process was granted there.
        before: What counted on, at one instant.
        after: The same later.
        rate_hz: Of the loop that is to run.
        cpu: The CPU that the loop is to stand on, by id; None leaves the choice to us.
    """
    return (
        *scheduler_checks(machine, tried, rate_hz),
        *kernel_checks(machine, tried),
        *cpu_checks(machine, tried, cpu),
        *traffic_checks(machine, tried, before, after, cpu),
        *memory_checks(machine, tried),
        fault_check(before, after),
        *clock_checks(machine, tried, after),
        *network_checks(machine, tried),
        *serial_checks(machine, tried),
        *container_checks(machine, tried),
        *board_checks(machine),
    )


def worst(levels: Sequence[Level]) -> Level:
    """Give the worst of some verdicts; what is not known is worse than good and better than a warning."""
    return max(levels, key=_ORDER.index, default="good")
