from pathlib import Path

import numpy as np
import pytest

from onbeat.calibrate.identify import identify_joint
from onbeat.calibrate.kept_motion import MOTION_FILE, keep_motion, open_motion, read_joint
from onbeat.errors import BadInput
from tests.report.identified import CONFIG, joint


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    keep_motion(
        tmp_path / MOTION_FILE, CONFIG, "rad", Path("conf/rig.yaml"), [joint().moved, joint("none", 0.002, number=1).moved]
    )
    return tmp_path


def test_what_is_kept_gives_the_same_plant_bit_for_bit(kept: Path) -> None:
    opened = open_motion(kept)
    assert (opened.module.name, opened.module.device, opened.module.rate_hz) == ("axis", CONFIG.device, 250.0)
    assert (opened.unit, opened.rig, opened.joints) == ("rad", Path("conf/rig.yaml"), (0, 1))
    for number, before in ((0, joint()), (1, joint("none", 0.002, number=1))):
        after = identify_joint(read_joint(opened, number))
        assert after.plant == before.plant
        assert after.remarks == before.remarks
        assert (after.stamps, after.biased) == (before.stamps, before.biased)
        assert after.excitation.peak_speed == before.excitation.peak_speed


def test_why_nothing_is_known_is_kept(tmp_path: Path) -> None:
    from dataclasses import replace

    moved = replace(joint().moved, unsent="3 records of what was sent were lost")
    keep_motion(tmp_path / "one.npz", CONFIG, "rad", Path("rig.yaml"), [moved])
    found = identify_joint(read_joint(open_motion(tmp_path / "one.npz"), 0))
    assert found.plant.reason == "3 records of what was sent were lost"


def test_joint_that_did_not_move(kept: Path) -> None:
    with pytest.raises(BadInput, match=r"motion.npz has no joint 4; it has 0, 1"):
        read_joint(open_motion(kept), 4)


def test_files_that_are_something_else(kept: Path) -> None:
    np.savez(kept / "other.npz", positions=np.zeros(3))
    with pytest.raises(BadInput, match=r"other\.npz has no array 'module'; it holds positions 3"):
        open_motion(kept / "other.npz")
    np.savez(kept / "near.npz", module=np.array(["arm"]))
    with pytest.raises(BadInput, match="should be 4 words; it is no motion that onbeat identify kept"):
        open_motion(kept / "near.npz")
    (kept / MOTION_FILE).write_bytes((kept / MOTION_FILE).read_bytes()[:5000])
    with pytest.raises(BadInput, match="is no npz file, or is damaged or cut off"):
        open_motion(kept)


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("0_command", np.zeros(3), "joint 0 has stamps without values"),
        ("0_words", np.array(["wobble", "sample", "", ""]), "joint 0 was moved by 'wobble' with stamps 'sample'"),
        ("0_sent_ns", np.array(["x"]), "should be a row of numbers"),
    ],
)
def test_arrays_that_do_not_belong(kept: Path, name: str, value: np.ndarray, says: str) -> None:
    with np.load(kept / MOTION_FILE) as file:
        arrays = dict(file)
    np.savez(kept / "odd.npz", **{**arrays, name: value})
    with pytest.raises(BadInput, match=says):
        read_joint(open_motion(kept / "odd.npz"), 0)
