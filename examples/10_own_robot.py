"""A robot of your own: a class for the device, a function for the policy, a YAML that names them. No hardware."""

import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import onbeat
from onbeat.clock import Clock
from onbeat.device import Command, DeviceInfo, DeviceState, ModuleConfig
from onbeat.errors import BadInput, DeviceError
from onbeat.stream import Observation


class Rail:
    """A carriage on a rail that is at once where it is told to be. Yours would talk to a motor where this one keeps a number."""

    info = DeviceInfo("joints", 1, "m", "example rail")

    def __init__(self, config: ModuleConfig, clock: Clock) -> None:
        self.clock, self.connected, self.position, self.seq = clock, False, np.zeros(1), 0

    def connect(self) -> None:
        self.connected = True

    def read(self) -> DeviceState:
        if not self.connected:
            raise DeviceError("the rail is not connected; call connect first")
        self.seq += 1
        now_ns = self.clock.now_ns()
        return DeviceState(self.position.copy(), begin_ns=now_ns, receive_ns=now_ns, seq=self.seq)

    def write(self, command: Command) -> None:
        if not self.connected:
            raise DeviceError("the rail is not connected; call connect first")
        if command.target.shape != (1,) or not np.isfinite(command.target).all():
            raise BadInput(f"a target of the rail is one finite number, not {command.target}")
        self.position = command.target.copy()

    def hold(self) -> None: ...

    def close(self) -> None:
        self.connected = False


def policy(observation: Observation) -> NDArray[np.float64]:
    """Answer with eight rows, 0.1 s apart after the image: 2 cm further each. Yours would look at samples["camera"].value."""
    return np.asarray(observation.samples["rail"].value + 0.02 * np.arange(1, 9)[:, None])


# In a package of yours the device is "my_package.rail:Rail".
RIG = f"""
modules:
  rail: {{device: "{__name__}:Rail", rate_hz: 100, poll_hz: 100, action_latency: 0.02, max_speed: 0.5}}
  camera: {{device: "onbeat.device.simulated:SimulatedCamera", receive_latency: 0.12}}
"""

if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rig.yaml"
        file.write_text(RIG)
        rig = onbeat.load_rig(file)
    with rig:
        decisions = onbeat.Runner(rig, policy, policy_dt_s=0.1).run(duration_s=2)
        loop = rig["rail"].loop
        status = loop.status() if loop else None
    kinds = Counter(outcome.kind for decision in decisions for outcome in decision.outcomes["rail"])
    print(f"{len(decisions)} turns; what became of the waypoints: {dict(kinds)}")
    if status:
        print(f"{'soft' if status.soft else 'native'} loop: {status.cycles} sends, {status.missed} missed")
        print(f"stopped early: {status.error}" if status.error else "; ".join(status.refused))
