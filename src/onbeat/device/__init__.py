"""The thing on the wire: what a driver owes, and the files that describe it."""

from onbeat.device.config import (
    ModuleConfig,
    Provenance,
    RigConfig,
    copied_figures,
    load_module_config,
    load_policy_config,
    load_rig_config,
)
from onbeat.device.device import Command, Device, DeviceInfo, DeviceState, SinkDevice
from onbeat.device.load import copy_rig, open_device, simulated_rig_path

__all__ = (
    "Command",
    "Device",
    "DeviceInfo",
    "DeviceState",
    "ModuleConfig",
    "Provenance",
    "RigConfig",
    "SinkDevice",
    "copied_figures",
    "copy_rig",
    "load_module_config",
    "load_policy_config",
    "load_rig_config",
    "open_device",
    "simulated_rig_path",
)
