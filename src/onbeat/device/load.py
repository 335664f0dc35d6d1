"""From a module's YAML to its driver, and the simulated rig that comes with onbeat."""

import shutil
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from onbeat.clock import Clock
from onbeat.device.config import ModuleConfig, load_rig_config
from onbeat.device.device import Device
from onbeat.device.named import import_named
from onbeat.errors import BadInput, OnbeatError

__all__ = ("ENTRY_POINT_GROUP", "copy_rig", "open_device", "simulated_rig_path")

ENTRY_POINT_GROUP = "onbeat.devices"


def open_device(config: ModuleConfig, clock: Clock) -> Device:
    """Build a module's driver as `Class(config, clock)`; it touches no hardware before `connect`.

    Args:
        config: The module; its `device` names "package.module:Class", or an entry point of the group onbeat.devices.
        clock: The clock of all stamps of the device.

    Raises:
        BadInput: the package, the class or one of a device's methods is missing; the sentence names the module, and what was
            found instead.
        OnbeatError: what the driver itself raises about its settings goes through unchanged.
    """
    maker = _maker(config)
    try:
        device = maker(config, clock)
    except OnbeatError:
        raise
    except TypeError as error:
        raise BadInput(f"{_named(config)} cannot be built as Class(config, clock): {error}") from error
    except (Exception, SystemExit) as error:  # a driver is foreign code: whatever it raises, the module is named
        raise BadInput(f"{_named(config)} cannot be built: {type(error).__name__}: {error}") from error
    missing = sorted(name for name in _owed() if not hasattr(device, name))
    if missing:
        what = type(device).__name__
        raise BadInput(f"{_named(config)} gives a {what} without {', '.join(missing)}; a device has {', '.join(_owed())}")
    checked: Device = device
    return checked


def simulated_rig_path() -> Path:
    """Give the YAML of the simulated rig: an arm, a gripper and a camera that need no hardware. Copy it before writing to it."""
    return Path(__file__).parent / "rigs" / "simulated" / "rig.yaml"


def copy_rig(path: str | Path, folder: str | Path) -> Path:
    """Copy a rig's YAML and those of its modules into a folder, so that a run writes there what it measures.

    Modules below the rig's folder keep their place; a rig whose modules lie elsewhere is refused.

    Args:
        path: The rig's YAML.
        folder: Made if it is not there. Files of the same names are replaced.

    Returns:
        The path of the copied rig's YAML.

    Raises:
        BadInput: the rig is not acceptable, or a module lies outside the rig's folder.
    """
    path, folder = Path(path), Path(folder)
    config = load_rig_config(path)
    files = [path]
    for module in config.modules.values():
        if module.path is None or module.inline:
            continue
        if not module.path.absolute().is_relative_to(path.parent.absolute()) or ".." in module.path.parts:
            raise BadInput(
                f"module {module.name!r} of {path} lies outside the rig's folder, at {module.path}; move it below {path.parent}"
            )
        files.append(module.path)
    for file in dict.fromkeys(files):
        target = folder / file.absolute().relative_to(path.parent.absolute())
        target.parent.mkdir(parents=True, exist_ok=True)
        # The installed files may be read-only; the copies are there to be written to.
        shutil.copyfile(file, target)
    return folder / path.name


def _named(config: ModuleConfig) -> str:
    return f"device {config.device!r} of module {config.name!r}" + (f" ({config.path})" if config.path else "")


def _owed() -> tuple[str, ...]:
    return ("info", "connect", "read", "write", "hold", "close")


def _maker(config: ModuleConfig) -> Any:
    if ":" not in config.device:
        return _entry_point(config)
    return import_named(config.device, _named(config))


def _entry_point(config: ModuleConfig) -> Any:
    found = entry_points(group=ENTRY_POINT_GROUP)
    matches = [point for point in found if point.name == config.device]
    if not matches:
        names = ", ".join(sorted(point.name for point in found)) or "none"
        raise BadInput(
            f"{_named(config)} is neither 'package.module:Class' nor an entry point of {ENTRY_POINT_GROUP} (installed: {names})"
        )
    try:
        return matches[0].load()
    except (ImportError, AttributeError) as error:
        raise BadInput(f"{_named(config)} is the entry point {matches[0].value!r}, which cannot be imported: {error}") from error
