"""What was true in the simulated world: for reports and tests, never for what measures, decides or plans."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from onbeat.device.scene import Cup
from onbeat.motion.kinematics import forward

__all__ = ("CameraTruth", "Ledger", "ServoTruth")


class ServoTruth(Protocol):
    """What a simulated servo module knows of itself; may be asked from any thread."""

    @property
    def max_speed(self) -> float:
        """The speed limit, unit/s."""
        ...

    def state_at_many(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the true state, shape (n, width); raises NotYet where commands to come could still change it."""
        ...

    def action_latency_s(self) -> float:
        """Give the shift of a slow motion from sending, as it was."""
        ...

    def receive_latency_s(self) -> float:
        """Give the mean time from sample to stamp of the fresh readings, as it was; nominal before there are any."""
        ...


class CameraTruth(Protocol):
    """What a simulated camera knows of itself; may be asked from any thread."""

    def frames_ns(self) -> NDArray[np.int64]:
        """Give sequence number, middle of exposure and stamp of each frame that was read, shape (n, 3)."""
        ...

    def nominal_latency_s(self) -> float:
        """Give the time from the middle of an exposure to its stamp by design."""
        ...


class Ledger:
    """The truth of a World: numbers for a report and for tests. Instants are on the world's clock.

    Args:
        arm, gripper, camera: The modules' own knowledge.
        cup: That the camera sees.
    """

    def __init__(self, arm: ServoTruth, gripper: ServoTruth, camera: CameraTruth, cup: Cup) -> None:
        self._arm = arm
        self._gripper = gripper
        self._camera = camera
        self._cup = cup

    def truth(self) -> dict[str, dict[str, float]]:
        """Give the delays in s and speed limits in rad/s and m/s by module, as docs/notation defines them.

        `action_latency` is the shift of a slow motion: the mean age of the command in force at the bus (queue hop, wait
        for the tick, half of the hold) as it was, plus dead time, plus lag, the mean over joints. `receive_latency` is
        the mean time from the sample (camera: the middle of the exposure) to its stamp over the readings made so far.
        Nominal values before there are commands and readings.
        """

        def servo(module: ServoTruth) -> dict[str, float]:
            return {
                "action_latency": module.action_latency_s(),
                "receive_latency": module.receive_latency_s(),
                "max_speed": module.max_speed,
            }

        frames = self._camera.frames_ns()
        camera_s = float((frames[:, 2] - frames[:, 1]).mean()) * 1e-9 if len(frames) else self._camera.nominal_latency_s()
        return {"arm": servo(self._arm), "gripper": servo(self._gripper), "camera": {"receive_latency": camera_s}}

    def arm_at_many(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the true joints in rad, shape (n, 6); raises NotYet for instants beyond now."""
        return self._arm.state_at_many(np.asarray(t_ns, dtype=np.int64))

    def gripper_at_many(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the true opening in m, shape (n, 1); raises NotYet for instants beyond now."""
        return self._gripper.state_at_many(np.asarray(t_ns, dtype=np.int64))

    def tool_at_many(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the true position of the tool in the base frame in m, shape (n, 3); raises NotYet for instants beyond now."""
        return forward(self.arm_at_many(t_ns))[0]

    def cup_at_many(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        """Give the true position of the cup in the base frame in m, shape (n, 3)."""
        return self._cup.at_many(np.asarray(t_ns, dtype=np.int64))

    def frames_ns(self) -> NDArray[np.int64]:
        """Give sequence number, middle of exposure and stamp of each frame that was read, shape (n, 3)."""
        return self._camera.frames_ns()
