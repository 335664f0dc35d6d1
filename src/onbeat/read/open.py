"""Open a recording of any program, told by its content; and find the recordings in a folder."""

from collections.abc import Iterator
from pathlib import Path

from onbeat.errors import BadInput
from onbeat.read.lerobot import open_lerobot_streams
from onbeat.read.mcap import is_mcap, open_mcap
from onbeat.read.rosbag import is_rosbag, open_rosbag
from onbeat.read.streams import StreamRecording
from onbeat.read.text import TABLE_SUFFIXES, is_text, open_text
from onbeat.read.text_folder import open_text_folder, tables_of_one_recording
from onbeat.read.umi_zarr import is_umi_zarr, open_umi_zarr
from onbeat.record.lerobot import find_lerobot

__all__ = ("READS", "find_recordings", "open_streams")

READS = "MCAP, ROS 1 and ROS 2 bags, LeRobot data sets, UMI's zarr, CSV, TUM and EuRoC text, npz, and videos (mp4, mkv, mov, avi)"
_RUN = "recording.mcap"  # what a run of onbeat writes into its folder
_PARTS = ("data", "meta", "videos")  # of a LeRobot data set
_DEPTH = 6
_LISTED = 6


def open_streams(path: Path) -> StreamRecording:
    """Open a recording, whatever wrote it.

    Args:
        path: A file, or a folder: a LeRobot data set, a ROS 2 bag, UMI's zarr, a run of onbeat, tables of one recording, or
            one recording of any kind.

    Raises:
        FileNotFoundError: there is nothing at that path.
        BadInput: nothing that onbeat reads, or broken; says what was found.
        MissingExtra: what reads it is not installed.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(2, "no such file or folder", str(path))
    _check_readable_again(path)
    kind = _folder_kind(path) if path.is_dir() else _file_kind(path)
    if kind == "folder":
        return _open_folder(path)
    return _open(path, kind)


def _check_readable_again(path: Path) -> None:
    """Refuse what is neither a file nor a folder: it would wait for a writer, or never end.

    Raises:
        BadInput: it is a pipe, a socket or a device.
    """
    if not (path.is_file() or path.is_dir()):
        what = "a pipe" if path.is_fifo() else "a socket" if path.is_socket() else "a device"
        raise BadInput(f"{path} is {what}, and onbeat reads a recording more than once; write it to a file and name that")


def find_recordings(path: Path) -> list[Path]:
    """Find what `open_streams` opens: the path itself where it is one recording, else all that lie in the folder, sorted.

    Raises:
        FileNotFoundError: there is nothing at that path.
        BadInput: a folder in which there is none.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(2, "no such file or folder", str(path))
    if not path.is_dir():
        return [path]
    found = sorted(_found(path, _DEPTH))
    if not found:
        raise BadInput(f"{path} {_lacks(path)}; onbeat reads {READS}")
    return found


def _open(path: Path, kind: str) -> StreamRecording:
    if kind == "bag":
        return open_rosbag(path)
    if kind == "run":
        return open_mcap(path / _RUN)
    if kind == "mcap":
        return open_mcap(path)
    if kind == "lerobot":
        return open_lerobot_streams(path)
    if kind == "umi":
        return open_umi_zarr(path)
    if kind == "npz":
        from onbeat.read.arrays import open_array_streams

        return open_array_streams(path)
    if kind == "video":
        from onbeat.read.video import open_video

        return open_video(path)
    if kind == "text":
        return open_text(path)
    raise BadInput(f"{path} {_begins(path)}; onbeat reads {READS}")


def _open_folder(path: Path) -> StreamRecording:
    together, _, notes = tables_of_one_recording(path)
    if together:
        return open_text_folder(path, together, notes)
    found = find_recordings(path)
    if len(found) == 1:
        return open_streams(found[0])
    names = ", ".join(str(one.relative_to(path)) for one in found[:_LISTED])
    more = f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    raise BadInput(f"{path} holds {len(found)} recordings ({names}{more}), not one; name the one to open")


def _folder_kind(path: Path) -> str:
    if is_rosbag(path):
        return "bag"
    root = find_lerobot(path)
    if root is not None and (root == path or path.absolute().relative_to(root.absolute()).parts[0] in _PARTS):
        return "lerobot"
    if is_umi_zarr(path):
        return "umi"
    return "run" if (path / _RUN).is_file() else "folder"


def _file_kind(path: Path) -> str:
    """Tell what a file is by its first bytes; "" where nothing reads it."""
    from onbeat.read.video import is_video

    with path.open("rb") as file:
        head = file.read(16)
    suffix = path.suffix.lower()
    if is_mcap(path):
        return "mcap"
    if is_rosbag(path):
        return "bag"
    if suffix in (".parquet", ".json", ".jsonl") and find_lerobot(path) is not None:
        return "lerobot"
    if head[:4] in (b"PK\x03\x04", b"PK\x05\x06") or suffix == ".npz":
        if is_umi_zarr(path):
            return "umi"
        return "npz" if suffix != ".zip" else ""
    if is_video(path):
        return "video"
    return "text" if suffix in TABLE_SUFFIXES or is_text(path) else ""


def _found(folder: Path, depth: int) -> Iterator[Path]:
    if _folder_kind(folder) != "folder":
        yield folder
        return
    together, alone, _ = tables_of_one_recording(folder)
    others = [
        one for one in sorted(folder.iterdir()) if not one.name.startswith(".") and one.suffix.lower() not in TABLE_SUFFIXES
    ]
    files = [one for one in others if one.is_file() and _file_kind(one) not in ("", "text", "lerobot")]
    if together and not files:
        yield folder
    else:
        yield from [*together, *alone]
    yield from files
    if depth:
        for one in others:
            if one.is_dir() and not one.is_symlink():
                yield from _found(one, depth - 1)


def _lacks(folder: Path) -> str:
    """Say why a folder has no recording, by what its first file is."""
    inside = sorted(one for one in folder.iterdir() if not one.name.startswith("."))
    files = [one for one in inside if one.is_file()]
    if not inside:
        return "is an empty folder"
    if not files:
        return f"holds nothing that onbeat reads, nor do its folders ({_DEPTH} deep)"
    one = files[0].name if len(files) == 1 else f"the first of {len(files)} files, {files[0].name},"
    return f"holds nothing that onbeat reads; {one} {_begins(files[0])}"


def _begins(path: Path) -> str:
    """Say what a file begins with, for people."""
    with path.open("rb") as file:
        head = file.read(256)
    if not head:
        return "is empty"
    if not any(head):
        return "begins with zeros, so nothing was written there"
    for mark, name in (
        (b"PAR1", "is a parquet file outside a LeRobot data set"),
        (b"\x89HDF", "is an HDF5 file"),
        (b"PK", "is a zip archive (unpack it first)"),
        (b"\x1f\x8b", "is compressed by gzip (unpack it first)"),
        (b"\x28\xb5\x2f\xfd", "is compressed by zstd (unpack it first)"),
        (b"\x93NUMPY", "is one array of NumPy (save it with its times by numpy.savez)"),
        (b"\x89PNG", "is a picture"),
        (b"\xff\xd8\xff", "is a picture"),
    ):
        if head.startswith(mark):
            return name
    words = head[:24].decode("ascii", "replace").split("\n")[0].strip()
    if words.isascii() and words.isprintable() and len(words) > 3:
        return f"begins with the text {words!r}"
    return f"begins with the bytes {head[:8].hex(' ')}"
