import numpy as np
import pytest
from numpy.typing import NDArray

from onbeat.device.ledger import Ledger
from onbeat.device.scene import RestingCup
from onbeat.motion.kinematics import inverse

PLACE = (0.28, 0.05, 0.11)


class Servo:
    max_speed = 2.5

    def __init__(self, state: NDArray[np.float64]) -> None:
        self._state = state

    def state_at_many(self, t_ns: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.tile(self._state, (len(t_ns), 1))

    def action_latency_s(self) -> float:
        return 0.1

    def receive_latency_s(self) -> float:
        return 0.003


class Camera:
    def __init__(self, frames: list[tuple[int, int, int]]) -> None:
        self._frames = np.array(frames, dtype=np.int64).reshape(-1, 3)

    def frames_ns(self) -> NDArray[np.int64]:
        return self._frames

    def nominal_latency_s(self) -> float:
        return 0.08


def ledger(frames: list[tuple[int, int, int]]) -> Ledger:
    return Ledger(Servo(inverse(PLACE)), Servo(np.array([0.03])), Camera(frames), RestingCup())


def test_truth_has_the_names_of_the_result() -> None:
    servo = {"action_latency": 0.1, "receive_latency": 0.003, "max_speed": 2.5}
    assert ledger([]).truth() == {"arm": servo, "gripper": servo, "camera": {"receive_latency": 0.08}}


def test_camera_latency_is_the_mean_of_what_was_delivered() -> None:
    made = ledger([(4, 1_000_000_000, 1_060_000_000), (5, 2_000_000_000, 2_070_000_000)])
    assert made.truth()["camera"]["receive_latency"] == pytest.approx(0.065)
    assert made.frames_ns().tolist()[1] == [5, 2_000_000_000, 2_070_000_000]


def test_tool_follows_from_the_joints() -> None:
    made = ledger([])
    t_ns = np.array([1, 2])
    assert made.tool_at_many(t_ns) == pytest.approx(np.tile(PLACE, (2, 1)), abs=1e-9)
    assert made.arm_at_many(t_ns).shape == (2, 6)
    assert made.gripper_at_many(t_ns).tolist() == [[0.03], [0.03]]
    assert made.cup_at_many(t_ns)[0] == pytest.approx(RestingCup().position)
