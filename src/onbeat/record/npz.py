"""Arrays by name in one file of NumPy (.npz), read without running what a file may hold: objects are refused."""

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as numpy_format
from numpy.typing import NDArray

from onbeat.errors import BadInput

__all__ = ("ArrayFile", "ArrayHead", "is_npz", "open_arrays")

_LISTED = 12
_LONGEST_HEAD = 1 << 16  # bytes; NumPy's own limit is 10 000 characters
_AT_ONCE = 1 << 28  # bytes that must be held at once: a row, or an array in the order of Fortran
# Some versions of NumPy have types for these functions, others none.
_npy: Any = numpy_format


@dataclass(frozen=True, slots=True)
class ArrayHead:
    """What one array of a file is, before its values are read.

    Args:
        name: Its name in the file.
        shape: Its shape.
        kind: One letter, as `numpy.dtype.kind`: "f" floats, "i" and "u" whole numbers, "U" text, "O" objects, "V" records.
    """

    name: str
    shape: tuple[int, ...]
    kind: str

    @property
    def numeric(self) -> bool:
        """Whether it holds real numbers."""
        return self.kind in "fiu"

    def __str__(self) -> str:
        what = "" if self.numeric else {"U": " of text", "O": " of objects", "b": " of yes/no"}.get(self.kind, " of no numbers")
        return f"{self.name} {'x'.join(map(str, self.shape)) or 'one value'}{what}"


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """A file whose heads have been read: its arrays are known, their values still on disk.

    Args:
        path: The file.
        heads: Its arrays, in the order of the file.
    """

    path: Path
    heads: tuple[ArrayHead, ...]

    def __contains__(self, name: str) -> bool:
        return any(head.name == name for head in self.heads)

    def head(self, name: str) -> ArrayHead:
        """Find an array by its name.

        Raises:
            BadInput: there is none; the sentence lists what there is.
        """
        for head in self.heads:
            if head.name == name:
                return head
        raise BadInput(f"{self.path} has no array {name!r}; {self.listing()}")

    def array(self, name: str) -> NDArray[Any]:
        """Read the values of an array.

        Raises:
            BadInput: there is none, it holds objects, or the file is damaged there.
        """
        head = self.head(name)
        if head.kind == "O":
            raise BadInput(f"{self.path}: {name!r} holds Python objects, which onbeat does not load; save it as plain numbers")
        with _refusing(self.path), zipfile.ZipFile(self.path) as archive, archive.open(f"{name}.npy") as member:
            values: NDArray[Any] = _npy.read_array(member, allow_pickle=False)
        return values

    def opened(self) -> zipfile.ZipFile:
        """Open the file for `blocks` of many arrays: its list of arrays is then read once and not for each.

        Raises:
            BadInput: it is damaged, or is no longer there.
        """
        with _refusing(self.path):
            return zipfile.ZipFile(self.path)

    def blocks(self, name: str, rows: int, archive: zipfile.ZipFile | None = None) -> Iterator[NDArray[Any]]:
        """Read an array some rows at a time: memory stays that of a block, unless it was saved in the order of Fortran.

        Args:
            name: The array; it has at least one axis.
            rows: So many entries of the first axis at a time, >= 1.
            archive: The file as `opened` gives it; None to open it for this array alone.

        Raises:
            BadInput: there is none, it holds objects, or the file is damaged there.
        """
        head = self.head(name)
        if head.kind == "O" or not head.shape:
            raise BadInput(f"{self.path}: {head} cannot be read row by row; save it as plain numbers, a row for each sample")
        with ExitStack() as stack:
            stack.enter_context(_refusing(self.path))
            archive = archive or stack.enter_context(zipfile.ZipFile(self.path))
            member = stack.enter_context(archive.open(f"{name}.npy"))
            shape, dtype, ordered = _read_head(member)
            size = prod(shape[1:]) * dtype.itemsize
            if (needed := size if ordered else size * shape[0]) > _AT_ONCE:
                what = "a row" if ordered else "the array, saved in the order of Fortran,"
                raise BadInput(f"{self.path}: {name!r}: {what} has {needed} bytes; save at most {_AT_ONCE} in one piece")
            if not ordered:
                values = self.array(name)
                yield from (values[k : k + rows] for k in range(0, len(values), rows))
                return
            for first in range(0, shape[0], rows):
                count = min(rows, shape[0] - first)
                data = member.read(count * size)
                if len(data) < count * size:
                    raise BadInput(
                        f"{self.path}: {name!r} ends in row {first + len(data) // max(size, 1)} of {shape[0]}; save it again"
                    )
                yield np.frombuffer(data, dtype=dtype, count=count * prod(shape[1:])).reshape(count, *shape[1:])

    def listing(self) -> str:
        """Say what the file holds, as a part of a sentence."""
        more = f" and {len(self.heads) - _LISTED} more" if len(self.heads) > _LISTED else ""
        return "it holds " + ", ".join(map(str, self.heads[:_LISTED])) + more


def is_npz(path: Path) -> bool:
    """Say whether a file is called .npz or begins like one."""
    with path.open("rb") as raw:
        return path.suffix.lower() == ".npz" or raw.read(4) in (b"PK\x03\x04", b"PK\x05\x06")


def open_arrays(path: Path) -> ArrayFile:
    """Read the heads of an npz file.

    Raises:
        BadInput: the file is damaged or cut off, is no npz file, or holds no arrays.
    """
    with _refusing(path), zipfile.ZipFile(path) as archive:
        members = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        heads = tuple(_head(archive, info, path) for info in members)
    if not heads:
        raise BadInput(f"{path} holds no arrays; save them with numpy.savez")
    return ArrayFile(path, heads)


def _head(archive: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path) -> ArrayHead:
    name = info.filename.removesuffix(".npy")
    with archive.open(info) as member:
        shape, dtype, _ = _read_head(member)
        # What the head promises is compared with what is there, before anything of that size is asked of the machine.
        there, promised = info.file_size - member.tell(), prod(shape) * dtype.itemsize
    if not dtype.hasobject and there != promised:
        raise BadInput(f"{path}: {name!r} should have {promised} bytes and has {there}; save the file again")
    return ArrayHead(name, shape, "O" if dtype.hasobject else dtype.kind)


def _read_head(member: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    version = _npy.read_magic(member)
    begin, wide = member.tell(), 2 if version == (1, 0) else 4
    length = int.from_bytes(member.read(wide), "little")
    if length > _LONGEST_HEAD:
        raise ValueError(f"a head of {length} bytes")
    member.seek(begin)
    read = _npy.read_array_header_1_0 if version == (1, 0) else _npy.read_array_header_2_0
    shape, fortran, dtype = read(member)
    return tuple(shape), np.dtype(dtype), not fortran


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Turn what zip and NumPy say of a damaged file into one sentence."""
    try:
        yield
    except BadInput:
        raise
    except (FileNotFoundError, PermissionError):
        raise
    # OSError: a place before the file's beginning, from a number that was changed
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, KeyError, OSError, struct.error) as error:
        said = " ".join(str(error).split())[:80].rstrip(".").lower() or type(error).__name__
        raise BadInput(f"{path} is no npz file, or is damaged or cut off ({said}); copy or save it again") from error
