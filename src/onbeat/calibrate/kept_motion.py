"""What was sent and read in an identification, kept in one npz file: it can be judged anew without moving anything."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.calibrate.excitation import MOTIONS, Excitation
from onbeat.calibrate.identify import JointMotion
from onbeat.calibrate.true_stamps import STAMP_KINDS, TrueStamps
from onbeat.device import ModuleConfig
from onbeat.errors import BadInput
from onbeat.record.npz import ArrayFile, open_arrays

__all__ = ("MOTION_FILE", "KeptMotion", "keep_motion", "open_motion", "read_joint")

MOTION_FILE = "motion.npz"


@dataclass(frozen=True, slots=True)
class KeptMotion:
    """A motion on disk.

    Args:
        module: Of the module that moved: name, device and rate; nothing of its figures.
        unit: Of its positions.
        rig: The rig's YAML, as it was called.
        joints: Their numbers.
        arrays: The file.
    """

    module: ModuleConfig
    unit: str
    rig: Path
    joints: tuple[int, ...]
    arrays: ArrayFile


def keep_motion(path: Path, module: ModuleConfig, unit: str, rig: Path, joints: Sequence[JointMotion]) -> None:
    """Write what was sent and read of each joint.

    Args:
        path: Of the file, which is replaced if it is there.
        module, unit, rig: As in KeptMotion.
        joints: Their motions.
    """
    held: dict[str, Any] = {
        "joints": np.array([joint.joint for joint in joints], dtype=np.int64),
        "module": np.array([module.name, module.device, unit, str(rig)]),
        "rate_hz": np.array([module.rate_hz]),
    }
    for joint in joints:
        motion, samples = joint.excitation, joint.samples
        held |= {
            f"{joint.joint}_sent_ns": joint.sent_ns,
            f"{joint.joint}_command": joint.command,
            f"{joint.joint}_t_ns": samples.t_ns,
            f"{joint.joint}_measured": joint.measured,
            f"{joint.joint}_offsets": motion.offsets,
            f"{joint.joint}_tones_hz": np.array(motion.tones_hz),
            f"{joint.joint}_step_ns": np.array([motion.step_ns], dtype=np.int64),
            f"{joint.joint}_ci95_s": np.array([samples.ci95_s]),
            f"{joint.joint}_words": np.array([motion.motion, samples.kind, samples.remark, joint.unsent]),
        }
    np.savez_compressed(path, **held)


def open_motion(path: Path) -> KeptMotion:
    """Open what `keep_motion` wrote.

    Args:
        path: The file, or the folder that holds it.

    Raises:
        BadInput: it is no such file, or is damaged.
    """
    arrays = open_arrays(path / MOTION_FILE if path.is_dir() else path)
    name, device, unit, rig = _words(arrays, "module", 4)
    rate_hz = float(_numbers(arrays, "rate_hz")[0])
    joints = tuple(_numbers(arrays, "joints").astype(np.int64).tolist())
    return KeptMotion(ModuleConfig(name, device, rate_hz), unit, Path(rig), joints, arrays)


def read_joint(kept: KeptMotion, joint: int) -> JointMotion:
    """Read what one joint was told and did.

    Args:
        kept: The motion.
        joint: Its number.

    Raises:
        BadInput: there is no such joint in it, or the file is damaged.
    """
    if joint not in kept.joints:
        raise BadInput(f"{kept.arrays.path} has no joint {joint}; it has {', '.join(map(str, kept.joints))}")
    columns = {name: _numbers(kept.arrays, f"{joint}_{name}") for name in ("sent_ns", "command", "t_ns", "measured", "offsets")}
    if len(columns["sent_ns"]) != len(columns["command"]) or len(columns["t_ns"]) != len(columns["measured"]):
        raise BadInput(f"{kept.arrays.path}: joint {joint} has stamps without values; copy the file again")
    motion_word, stamps_word, remark, unsent = _words(kept.arrays, f"{joint}_words", 4)
    motion = next((motion for motion in MOTIONS if motion == motion_word), None)
    stamps = next((kind for kind in STAMP_KINDS if kind == stamps_word), None)
    if motion is None or stamps is None:
        raise BadInput(
            f"{kept.arrays.path}: joint {joint} was moved by {motion_word!r} with stamps {stamps_word!r}; both unknown"
        )
    sent_hz = tuple(_numbers(kept.arrays, f"{joint}_tones_hz").tolist())
    step_ns = int(_numbers(kept.arrays, f"{joint}_step_ns")[0])
    return JointMotion(
        joint,
        Excitation(motion, sent_hz, step_ns, columns["offsets"].astype(np.float64)),
        columns["sent_ns"].astype(np.int64),
        columns["command"].astype(np.float64),
        TrueStamps(
            columns["t_ns"].astype(np.int64),
            columns["measured"].astype(np.float64)[:, None],
            stamps,
            float(_numbers(kept.arrays, f"{joint}_ci95_s")[0]),
            remark,
        ),
        unsent,
    )


def _numbers(arrays: ArrayFile, name: str) -> NDArray[Any]:
    values = arrays.array(name) if arrays.head(name).numeric else np.empty(0)
    if values.ndim != 1 or len(values) == 0:
        raise BadInput(
            f"{arrays.path}: {arrays.head(name)} should be a row of numbers; it is no motion that onbeat identify kept"
        )
    return values


def _words(arrays: ArrayFile, name: str, count: int) -> list[str]:
    values = arrays.array(name) if arrays.head(name).kind == "U" else np.empty(0)
    if values.shape != (count,):
        raise BadInput(f"{arrays.path}: {arrays.head(name)} should be {count} words; it is no motion that onbeat identify kept")
    return [str(word) for word in values]
