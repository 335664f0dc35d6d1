"""The folder that a run leaves: it appears whole, under its name, or not at all."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from onbeat.errors import BadInput, OnbeatError

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
        """Write one text file of the run; what UTF-8 cannot hold (half of a file's name) becomes a question mark."""
        (self._partial / name).write_text(text, encoding="utf-8", errors="replace")

    def inner(self, name: str) -> "RunFolder":
        """Make a folder in this one; it may be handed to another process."""
        self.path(name).mkdir()
        return RunFolder(self.final / name, self.path(name))

    def remove(self, name: str) -> None:
        """Take a folder in this one away again."""
        shutil.rmtree(self.path(name))

    def path(self, name: str) -> Path:
        """Give the path to write one file of the run at, while the run lasts."""
        return self._partial / name


@contextmanager
def run_folder(name: str, out: Path | None = None) -> Iterator[RunFolder]:
    """Make the folder of a run: files go to a hidden place that takes its name when the block ends, and goes when it raises.

    The hidden place is `.NAME.partial` beside the folder, or `.onbeat.partial` in a folder that is there already and empty (which
    may be a mount or a link). While the run lasts it is locked, so that two runs never take one name; what a run that was killed
    has left there is cleared away by the next of that name.

    Args:
        name: Default name in the working directory. Where that is taken, a number is appended (name-2, name-3, ...): no run
            overwrites another.
        out: The folder that the user asked for. It may exist only when it is empty.

    Raises:
        BadInput: `out` exists and holds something, another run writes it, or its parent is missing or may not be written.
        OnbeatError: somebody made the folder while the run lasted; the run is then kept beside it.
    """
    final, partial, lock = _claim_free(_working_folder() / name) if out is None else _claim_wanted(out)
    try:
        yield RunFolder(final, partial)
        _publish(partial, final)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        os.close(lock)


def _working_folder() -> Path:
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise BadInput("the working directory was removed; change to another one, or name a whole path with --out") from None


def _claim_free(path: Path) -> tuple[Path, Path, int]:
    """Claim the first of NAME, NAME-2, NAME-3, ... that neither exists nor is being made."""
    number, final = 1, path
    while True:
        if not _exists(final):
            partial = final.with_name(f".{final.name}.partial")
            lock = _claim(partial)
            if lock is not None:
                if not _exists(final):
                    return final, partial, lock
                _give_up(partial, lock)  # another run ended in between
        number += 1
        final = path.with_name(f"{path.name}-{number}")


def _claim_wanted(out: Path) -> tuple[Path, Path, int]:
    out = (out if out.is_absolute() else _working_folder() / out).parent.resolve() / out.name if out.name else out.resolve()
    partial = out / ".onbeat.partial" if out.is_dir() else out.with_name(f".{out.name}.partial")
    if out.is_dir():
        if set(os.listdir(out)) - {partial.name}:
            raise BadInput(f"{out} exists and is not empty; nothing is overwritten, so choose another --out or remove it")
    elif _exists(out):
        raise BadInput(f"{out} exists and is not a folder; nothing is overwritten, so choose another --out or remove it")
    elif not out.parent.is_dir():
        raise BadInput(f"there is no folder {out.parent} to make {out.name} in; make it or choose another --out")
    lock = _claim(partial)
    if lock is None:
        raise BadInput(f"another run writes {out} now; wait for it, or choose another --out")
    return out, partial, lock


def _claim(partial: Path) -> int | None:
    """Make a partial folder and lock it, clearing away what a dead run left; None when a living run holds it."""
    parent = partial.parent
    try:
        with _locked(parent):
            with suppress(FileExistsError):
                partial.mkdir()
            lock = os.open(partial, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                return None
            for left in partial.iterdir():
                shutil.rmtree(left) if left.is_dir() and not left.is_symlink() else left.unlink()
            return lock
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise BadInput(f"no folder can be made in {parent} ({why}); choose another with --out") from error


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold a folder while the names in it are looked at and taken."""
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _give_up(partial: Path, lock: int) -> None:
    shutil.rmtree(partial, ignore_errors=True)
    os.close(lock)


def _publish(partial: Path, final: Path) -> None:
    """Give a finished run its name."""
    if partial.parent == final:
        for entry in partial.iterdir():
            entry.rename(final / entry.name)
        return
    if not _exists(final):  # a rename replaces an empty folder
        with suppress(OSError):
            partial.rename(final)
            return
    number = 2
    while _exists(kept := final.with_name(f"{final.name}-{number}")):
        number += 1
    partial.rename(kept)
    raise OnbeatError(f"somebody made {final} while the run lasted; the run is kept in {kept}")


def _exists(path: Path) -> bool:
    return path.exists() or path.is_symlink()
