"""A machine as its files describe it (/proc, /sys, /etc), and what a check says of one property of it."""

import gzip
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from onbeat.errors import BadInput

__all__ = ("Level", "Machine", "MachineCheck", "Value", "cgroup_folders", "cpu_list", "cpu_text", "pressure")

Level = Literal["good", "warn", "bad", "unknown"]
Value = str | int | float | bool | tuple[int, ...] | None

_MOST_BYTES = 4_000_000
_PRESSURE = 10.0


@dataclass(frozen=True, slots=True)
class MachineCheck:
    """One property of a machine that decides about its timing.

    Args:
        name: Stable; programs look it up.
        value: What was found.
        source: Where it was read, or which call was tried.
        verdict: "good"; "warn" costs time or is a risk; "bad" breaks a loop; "unknown" could not be told.
        fix: One line that would make it good; "" only where it is good.

    Raises:
        BadInput: it is not good and has no fix, or the fix is more than a line.
    """

    name: str
    value: Value
    source: str
    verdict: Level
    fix: str = ""

    def __post_init__(self) -> None:
        if (self.verdict != "good" and not self.fix) or "\n" in self.fix:
            raise BadInput(f"check {self.name!r} is {self.verdict} and needs a fix of one line, not {self.fix!r}")

    @property
    def words(self) -> str:
        """The value as people read it."""
        if isinstance(self.value, tuple):
            return cpu_text(self.value) or "none"
        if isinstance(self.value, bool):
            return "yes" if self.value else "no"
        if isinstance(self.value, float):
            return f"{self.value:.4g}"
        return "not known" if self.value is None else str(self.value)


class Machine:
    """Files of a machine, below a root; nothing is ever written.

    Args:
        root: "/" for this machine; a folder that holds proc, sys and etc for another one (tests, a copy from a robot).
    """

    def __init__(self, root: str | Path = "/") -> None:
        self.root = Path(root)

    def text(self, path: str) -> str | None:
        """Read a small file (unpacked if it ends in .gz), without spaces and zeros at its ends; None where it cannot be read."""
        try:
            full = self.root / path
            if not stat.S_ISREG(full.stat().st_mode):  # a pipe or a device could block
                return None
            with gzip.open(full) if path.endswith(".gz") else full.open("rb") as file:
                data = file.read(_MOST_BYTES)
        except (OSError, EOFError):
            return None
        return data.decode(errors="replace").strip(" \t\r\n\0")

    def number(self, path: str) -> int | None:
        """Read a file that holds one whole number; None where it does not."""
        try:
            return int(self.text(path) or "")
        except ValueError:
            return None

    def glob(self, pattern: str) -> list[str]:
        """List paths that match, sorted, relative to the root."""
        try:
            return sorted(str(found.relative_to(self.root)) for found in self.root.glob(pattern))
        except OSError:
            return []

    def exists(self, path: str) -> bool:
        """Say whether there is such a path."""
        try:
            return (self.root / path).exists()
        except OSError:
            return False

    def target(self, path: str) -> str:
        """Give where a link leads, followed to its end; "" where there is none."""
        try:
            return os.path.realpath(self.root / path) if self.exists(path) else ""
        except OSError:
            return ""

    def option(self, name: str) -> str | None:
        """Give a boot option of the kernel: its value, "" when it stands alone, None when it was not given."""
        for word in (self.text("proc/cmdline") or "").split():
            key, _, value = word.partition("=")
            if key == name:
                return value
        return None

    def configured(self, name: str) -> str | None:
        """Give how the kernel was built: the value of CONFIG_name, "" when it is not set, None when no configuration is found."""
        release = self.text("proc/sys/kernel/osrelease") or ""
        config = self.text("proc/config.gz") or self.text(f"boot/config-{release}")
        if config is None:
            return None
        for line in config.splitlines():
            if line.startswith(f"CONFIG_{name}="):
                return line.partition("=")[2].strip('"')
        return ""

    def status(self, name: str, pid: str = "self") -> str | None:
        """Give a line of /proc/PID/status."""
        for line in (self.text(f"proc/{pid}/status") or "").splitlines():
            key, _, value = line.partition(":")
            if key == name:
                return value.strip()
        return None


def cpu_list(text: str | None) -> tuple[int, ...]:
    """Read the kernel's list of CPUs, "0-2,5"; what is no list is empty."""
    found: list[int] = []
    try:
        for part in filter(None, (text or "").split(",")):
            first, _, last = part.partition("-")
            found += range(int(first), int(last or first) + 1)
    except ValueError:
        return ()
    return tuple(found)


def cpu_text(cpus: tuple[int, ...]) -> str:
    """Write a list of CPUs as the kernel does."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][1] + 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)


def cgroup_folders(machine: Machine, controller: str) -> tuple[str, ...]:
    """Give the control groups that this process is in, its own first, the topmost last; of version 1 where the controller is.

    In a container the paths of /proc/self/cgroup may lie outside what is mounted: those are left out.
    """
    unified = None
    for line in (machine.text("proc/self/cgroup") or "").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controller in controllers.split(","):
            for mount in (controllers, controller):
                if machine.exists(f"sys/fs/cgroup/{mount}"):
                    return _upward(machine, f"sys/fs/cgroup/{mount}", path)
        if controllers == "":
            unified = path
    if unified is None:
        return ()
    top = "sys/fs/cgroup/unified" if machine.exists("sys/fs/cgroup/unified") else "sys/fs/cgroup"
    return _upward(machine, top, unified)


def _upward(machine: Machine, top: str, path: str) -> tuple[str, ...]:
    parts = [part for part in path.split("/") if part not in ("", "..")]
    folders = ["/".join([top, *parts[:k]]) for k in range(len(parts), -1, -1)]
    return tuple(folder for folder in folders if machine.exists(folder))


def pressure(machine: Machine, what: str, fix: str) -> MachineCheck:
    """Judge for how much of the last 10 s some task waited for `what`: "cpu", "memory" or "io"."""
    source = f"/proc/pressure/{what}"
    words = (machine.text(source[1:]) or "").split()
    value = next((word.partition("=")[2] for word in words if word.startswith("avg10=")), None)
    if value is None:
        return MachineCheck(f"{what}_pressure", None, source, "unknown", "boot with psi=1 to see how long tasks wait")
    high = float(value) > _PRESSURE
    return MachineCheck(f"{what}_pressure", f"{value} % of 10 s", source, "warn" if high else "good", fix if high else "")
