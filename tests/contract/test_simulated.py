"""The drivers that come with onbeat keep the contract that they ask of others."""

from onbeat.clock import Clock, ManualClock
from onbeat.device import Device, ModuleConfig
from onbeat.device.simulated import SimulatedArm, SimulatedGripper
from onbeat.device.simulated_camera import SimulatedCamera
from onbeat.testing import DeviceContract


class Simulated(DeviceContract):
    def make_clock(self) -> Clock:
        return ManualClock(1_000_000_000)


class TestSimulatedArm(Simulated):
    def make_device(self, clock: Clock) -> Device:
        return SimulatedArm(ModuleConfig("arm", "simulated:SimulatedArm"), clock)


class TestSimulatedGripper(Simulated):
    def make_device(self, clock: Clock) -> Device:
        return SimulatedGripper(ModuleConfig("gripper", "simulated:SimulatedGripper", params={"seed": 3}), clock)


class TestSimulatedCamera(Simulated):
    def make_device(self, clock: Clock) -> Device:
        return SimulatedCamera(ModuleConfig("camera", "simulated:SimulatedCamera"), clock)
