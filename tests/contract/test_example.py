"""The device of the example that shows a robot of your own keeps the contract."""

import importlib.util
from pathlib import Path

from onbeat.clock import Clock
from onbeat.device import Device, ModuleConfig
from onbeat.testing import DeviceContract

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "10_own_robot.py"


class TestRail(DeviceContract):
    def make_device(self, clock: Clock) -> Device:
        spec = importlib.util.spec_from_file_location("own_robot", EXAMPLE)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        device: Device = module.Rail(ModuleConfig("rail", "own_robot:Rail"), clock)
        return device
