import numpy as np
import pytest

from onbeat.device.seeded import Seeded, child_rng, seed_of
from onbeat.errors import BadInput


def test_seed_is_zero_when_not_given() -> None:
    assert seed_of(Seeded()) == 0
    assert seed_of(Seeded({"seed": 12})) == 12


def test_modules_draw_from_different_children() -> None:
    drawn = {child_rng(3, module).random() for module in ("arm", "gripper", "camera", "screen")}
    assert len(drawn) == 4
    assert child_rng(3, "arm").random() == child_rng(3, "arm").random()


def test_children_are_not_shifted_copies() -> None:
    one, two = child_rng(0, "arm").random(1000), child_rng(1, "arm").random(1000)
    assert abs(np.corrcoef(one, two)[0, 1]) < 0.1


@pytest.mark.parametrize("seed", [-1, 0.5, "0", None, True])
def test_what_is_no_seed_is_refused(seed: object) -> None:
    with pytest.raises(BadInput, match="whole number >= 0"):
        seed_of(Seeded({"seed": seed}))


def test_unknown_key_is_refused() -> None:
    with pytest.raises(BadInput, match="no parameter 'speed'"):
        seed_of(Seeded({"speed": 1}))
