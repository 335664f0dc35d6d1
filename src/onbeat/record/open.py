"""Open a recording of joints, whatever wrote it."""

from collections.abc import Sequence
from pathlib import Path

from onbeat.errors import BadInput
from onbeat.record.joint_tables import open_joint_table
from onbeat.record.joints import JointRecording
from onbeat.record.lerobot import find_lerobot, open_lerobot

__all__ = ("open_joints",)

_TABLES = (".csv", ".tsv", ".txt")


def open_joints(
    path: Path, *, time: str | None = None, command: Sequence[str] = (), measured: Sequence[str] = (), unit: str | None = None
) -> JointRecording:
    """Open a LeRobot data set (its folder or anything in it) or a CSV file of any robot.

    Args:
        path: What to open.
        time: CSV only: the column of instants.
        command: CSV only: the columns of commands.
        measured: CSV only: the columns of measurements.
        unit: CSV only: the unit of the instants.

    Raises:
        BadInput: it is neither, or broken; says what was found and the fix.
        FileNotFoundError: there is nothing at that path.
        MissingExtra: a LeRobot data set, and pyarrow is not installed.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(2, "no such file or folder", str(path))
    if path.is_file() and path.suffix.lower() in _TABLES:
        return open_joint_table(path, time=time, command=command, measured=measured, unit=unit)
    if find_lerobot(path) is None:
        what = (
            "a folder without meta/info.json"
            if path.is_dir()
            else f"a {path.suffix or 'nameless kind of'} file outside a LeRobot data set"
        )
        raise BadInput(f"{path} is {what}; onbeat delay reads LeRobot data sets (their folder) and CSV files (.csv, .tsv, .txt)")
    if time or command or measured or unit:
        raise BadInput(
            f"{path} is a LeRobot data set, whose columns are known; leave out --time, --time-unit, --command and --measured"
        )
    return open_lerobot(path)
