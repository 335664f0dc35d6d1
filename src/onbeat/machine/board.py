"""Boards that have ways of their own: Raspberry Pi and Jetson."""

from onbeat.machine.machine import Machine, MachineCheck

__all__ = ("board_checks",)

_THROTTLED = "sys/devices/platform/soc/soc:firmware/get_throttled"
_UNDER_VOLTAGE, _UNDER_VOLTAGE_BEFORE, _CAPPED = 0x1, 0x10000, 0x2 | 0x4 | 0x8


def board_checks(machine: Machine) -> list[MachineCheck]:
    """Judge what is particular to the board; on others these checks say that it is another board."""
    return [_board(machine), _voltage(machine), _power_mode(machine), _nvpps(machine), _vendor_kernel(machine)]


def _model(machine: Machine) -> str:
    return machine.text("proc/device-tree/model") or machine.text("sys/class/dmi/id/product_name") or ""


def _is_jetson(machine: Machine) -> bool:
    compatible = machine.text("proc/device-tree/compatible") or ""
    return machine.exists("etc/nv_tegra_release") or "Jetson" in _model(machine) or "nvidia,tegra" in compatible


def _board(machine: Machine) -> MachineCheck:
    source = "/proc/device-tree/model, /sys/class/dmi/id/product_name"
    return MachineCheck("board", _model(machine) or "not named", source, "good")


def _voltage(machine: Machine) -> MachineCheck:
    source = f"/{_THROTTLED}, or in0_lcrit_alarm of rpi_volt"
    if "Raspberry Pi" not in _model(machine):
        return MachineCheck("pi_voltage", "not a Raspberry Pi", source, "good")
    fix = "take the maker's own power supply and a short cable: the processor slows down when the voltage sinks"
    try:
        bits: int | None = int(machine.text(_THROTTLED) or "", 16)
    except ValueError:
        bits = None
    if bits is None:
        chips = [path for path in machine.glob("sys/class/hwmon/*/name") if machine.text(path) == "rpi_volt"]
        alarm = machine.number(chips[0].replace("/name", "/in0_lcrit_alarm")) if chips else None
        if alarm is None:
            return MachineCheck("pi_voltage", None, source, "unknown", "ask the firmware: vcgencmd get_throttled (0x0 is good)")
        return MachineCheck(
            "pi_voltage", "too low" if alarm else "enough", source, "bad" if alarm else "good", fix if alarm else ""
        )
    if bits & (_UNDER_VOLTAGE | _CAPPED):
        return MachineCheck("pi_voltage", f"throttled now ({bits:#x})", source, "bad", fix)
    if bits & _UNDER_VOLTAGE_BEFORE:
        return MachineCheck("pi_voltage", f"was too low since it booted ({bits:#x})", source, "warn", fix)
    hot = bits != 0
    return MachineCheck(
        "pi_voltage",
        f"enough ({bits:#x})",
        source,
        "warn" if hot else "good",
        "cool it: it has slowed down from heat since it booted" if hot else "",
    )


def _power_mode(machine: Machine) -> MachineCheck:
    source = "/var/lib/nvpmodel/status, /etc/nvpmodel.conf"
    if not _is_jetson(machine):
        return MachineCheck("jetson_power_mode", "not a Jetson", source, "good")
    status = machine.text("var/lib/nvpmodel/status") or ""
    mode = status.partition(":")[2].strip()
    if not mode.isdigit():
        return MachineCheck("jetson_power_mode", None, source, "unknown", "ask: sudo nvpmodel -q")
    names = {}
    for line in (machine.text("etc/nvpmodel.conf") or "").splitlines():
        if line.startswith("< POWER_MODEL"):
            fields = dict(word.split("=", 1) for word in line.strip("<> ").split() if "=" in word)
            names[fields.get("ID")] = fields.get("NAME", "")
    name = names.get(str(int(mode)), "")
    best = "MAXN" in name or (not name and int(mode) == 0)
    fix = "" if best else "sudo nvpmodel -m 0, then sudo jetson_clocks: this mode switches cores off and lowers their clock"
    return MachineCheck("jetson_power_mode", f"{int(mode)} {name}".strip(), source, "good" if best else "warn", fix)


def _nvpps(machine: Machine) -> MachineCheck:
    """The counter of all clocks may be locked to an Ethernet clock, which bends its rate by +-140 ppm about every 110 s."""
    source = "nvpps of /proc/device-tree: status, ptp_tsc_sync_dis"
    if not _is_jetson(machine):
        return MachineCheck("jetson_nvpps", "not a Jetson", source, "good")
    nodes = [*machine.glob("proc/device-tree/nvpps*"), *machine.glob("proc/device-tree/bus@0/nvpps*")]
    live = [node for node in nodes if machine.text(f"{node}/status") in (None, "okay", "ok")]
    if not live:
        return MachineCheck("jetson_nvpps", "off" if nodes else "not in the device tree", source, "good")
    if machine.exists(f"{live[0]}/ptp_tsc_sync_dis"):
        return MachineCheck("jetson_nvpps", "on, its lock of the counter is off", source, "good")
    fix = "add the property ptp_tsc_sync_dis to the nvpps node of the device tree: it bends every clock by up to 140 ppm"
    return MachineCheck("jetson_nvpps", "locks the counter to an Ethernet clock", source, "bad", fix)


def _vendor_kernel(machine: Machine) -> MachineCheck:
    source = "/proc/sys/kernel/osrelease"
    if not _is_jetson(machine):
        return MachineCheck("jetson_kernel", "not a Jetson", source, "good")
    release = machine.text(source[1:]) or "?"
    real = "-rt" in release
    fix = (
        ""
        if real
        else "install the vendor's real-time packages (nvidia-l4t-rt-kernel); an update over the air puts the plain one back"
    )
    return MachineCheck("jetson_kernel", release, source, "good" if real else "warn", fix)
