"""A folder of tables as one recording: a file for each sensor, as data sets and loggers write them."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from onbeat.errors import BadInput, Damaged
from onbeat.read.streams import Batch, StreamRecording
from onbeat.read.text import TABLE_SUFFIXES, open_text, table_span_ns

__all__ = ("open_text_folder", "tables_of_one_recording")

_PROSE = (".txt",)  # may be tables and may be anything else


def tables_of_one_recording(folder: Path) -> tuple[list[Path], list[Path], list[str]]:
    """Find the tables that lie in a folder.

    Returns:
        Those that are of one recording because their times overlap, two at least, else none; those that stand alone; and what
        was left out and why.
    """
    spans: list[tuple[int, int, Path]] = []
    alone: list[Path] = []
    notes: list[str] = []
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.suffix.lower() in TABLE_SUFFIXES and not path.name.startswith("."):
            try:
                spans.append((*table_span_ns(path), path))
            except BadInput as error:
                if path.suffix.lower() not in _PROSE:
                    alone.append(path)
                    notes.append(f"left out: {error}")
    spans.sort()
    latest = spans[0][1] if spans else 0
    for first, last, _ in spans[1:]:
        if first >= latest:
            return [], sorted([*(path for *_, path in spans), *alone]), notes
        latest = max(latest, last)
    paths = sorted(path for *_, path in spans)
    return (paths, alone, notes) if len(paths) > 1 else ([], sorted([*paths, *alone]), notes)


def open_text_folder(folder: Path, tables: Sequence[Path], notes: Sequence[str] = ()) -> StreamRecording:
    """Open tables of one recording: all their streams, named after their files.

    Args:
        folder: Where they lie.
        tables: The tables.
        notes: What was left out.

    Raises:
        BadInput: none of them can be read.
    """
    opened = [open_text(path) for path in tables]
    moving = [one.joints for one in opened if one.joints is not None]
    return StreamRecording(
        path=folder,
        kind=f"{len(opened)} tables",
        read=lambda: _read(opened),
        joints=moving[0] if len(moving) == 1 else None,
        notes=(*(note for one in opened for note in one.notes), *notes),
    )


def _read(opened: Sequence[StreamRecording]) -> Iterator[Batch]:
    damage: list[str] = []
    for one in opened:
        stem = one.path.stem
        infos = {}
        try:
            for batch in one.read():
                name = batch.info.name
                if name not in infos:
                    infos[name] = batch.info if name == stem else replace(batch.info, name=f"{stem}/{name}")
                yield Batch(infos[name], batch.rows)
        except Damaged as error:
            damage.append(str(error))
    if damage:
        more = f"; and {len(damage) - 2} more files are broken" if len(damage) > 2 else ""
        raise Damaged("; ".join(damage[:2]) + more)
