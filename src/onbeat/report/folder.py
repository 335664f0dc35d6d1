"""The folder that a run leaves: it appears whole, under its name, or not at all."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onbeat.errors import BadInput

__all__ = ("RunFolder", "run_folder")


class RunFolder:
    """A folder in the making.

    Attributes:
        final: Where it will be when the run ends well.
    """

    def __init__(self, final: Path, partial: Path) -> None:
        self.final = final
        self._partial = partial

    def write(self, name: str, text: str) -> None:
        """Write one text file of the run."""
        (self._partial / name).write_text(text, encoding="utf-8")

    def path(self, name: str) -> Path:
        """Give the path to write one file of the run at, while the run lasts."""
        return self._partial / name


@contextmanager
def run_folder(name: str, out: Path | None = None) -> Iterator[RunFolder]:
    """Make the folder of a run: files go to a hidden sibling that is renamed when the block ends, and removed when it raises.

    Args:
        name: Default name in the working directory. Where that exists, a number is appended (name-2, name-3, ...): no run
            overwrites another.
        out: The folder that the user asked for. It may exist only when it is empty.

    Raises:
        BadInput: `out` exists and holds something, or its parent is missing or may not be written.
    """
    final = _free(Path.cwd() / name) if out is None else _wanted(out)
    partial = final.parent / f".{final.name}.{os.getpid()}.partial"
    try:
        partial.mkdir()
    except OSError as error:
        raise BadInput(
            f"no folder can be made in {final.parent} ({(error.strerror or str(error)).lower()}); choose another with --out"
        ) from error
    try:
        yield RunFolder(final, partial)
        partial.rename(final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _wanted(out: Path) -> Path:
    out = Path(os.path.abspath(out))
    if out.is_dir() and not any(out.iterdir()):
        return out
    if out.exists() or out.is_symlink():
        what = "exists and is not empty" if out.is_dir() else "exists and is not a folder"
        raise BadInput(f"{out} {what}; nothing is overwritten, so choose another --out or remove it")
    if not out.parent.is_dir():
        raise BadInput(f"there is no folder {out.parent} to make {out.name} in; make it or choose another --out")
    return out


def _free(path: Path) -> Path:
    number, free = 1, path
    while free.exists() or free.is_symlink():
        number += 1
        free = path.with_name(f"{path.name}-{number}")
    return free
