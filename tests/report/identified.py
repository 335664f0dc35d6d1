"""Joints that were really identified: on a manual clock, on a device whose delays are known by design."""

from functools import cache

from onbeat.calibrate.identify import JointPlant, Request, excitation_of, identify_joint, move_joint
from onbeat.clock import ManualClock
from onbeat.device import ModuleConfig
from tests.calibrate.lagged_axis import axis_rig

CONFIG = ModuleConfig("axis", "tests.calibrate.lagged_axis:LaggedAxis", rate_hz=250.0)


@cache
def joint(
    stamps: str = "ours", read_s: float = 0.002, poll_hz: float = 173.0, number: int = 0, lag_s: float = 0.03
) -> JointPlant:
    params = {"stamps": stamps, "read_s": read_s, "width": 2, "share": 0.5 if read_s > 1e-4 else -200.0, "lag_s": lag_s}
    rig = axis_rig(ManualClock(1_000_000), params, poll_hz=poll_hz)
    module = rig["axis"]
    with rig:
        excitation = excitation_of(module.config, module.info, number, Request(seconds=30.0))
        return identify_joint(move_joint(rig, "axis", number, excitation))


@cache
def refused_joint() -> JointPlant:
    """Read so seldom that the fastest tone cannot be told: the rate says so only once it has moved."""
    params = {"stamps": "ours", "read_s": 0.15}
    rig = axis_rig(ManualClock(1_000_000), params, poll_hz=None)
    module = rig["axis"]
    with rig:
        excitation = excitation_of(module.config, module.info, 0, Request(seconds=30.0))
        return identify_joint(move_joint(rig, "axis", 0, excitation))
