"""Read ROS bags: .bag of ROS 1, and the folders of ROS 2 with their .db3 or .mcap files, or one such .db3 alone."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from onbeat.errors import BadInput, Damaged
from onbeat.read.decode import Description
from onbeat.read.mcap import mcap_messages
from onbeat.read.rosbag1 import MAGIC, bag_messages
from onbeat.read.stored import Stored, batches, pictures
from onbeat.read.streams import StreamRecording

__all__ = ("is_rosbag", "open_rosbag")

_METADATA = "metadata.yaml"
_SQLITE = b"SQLite format 3\0"
_LANGUAGES = ("ros2msg", "ros2idl")
_MOST = 1 << 28  # bytes of one message that was packed alone


def is_rosbag(path: Path) -> bool:
    """Say whether it is a bag: by a file's name or first bytes, by what lies in a folder."""
    if path.is_dir():
        return any(file.is_file() for file in path.glob("*.db3")) or (
            (path / _METADATA).is_file() and (any(path.glob("*.mcap")) or _head(path / _METADATA, 7) == b"rosbag2")
        )
    return path.is_file() and (path.suffix.lower() in (".bag", ".db3") or _head(path, 8) == b"#ROSBAG ")


def open_rosbag(path: Path) -> StreamRecording:
    """Open a bag of ROS 1 or ROS 2.

    Raises:
        BadInput: it is empty, no bag, or packed as a whole. A damaged one is opened; reading it gives what is whole first.
    """
    if path.is_dir():
        return _folder(path)
    head = _head(path, len(_SQLITE))
    if not head:
        raise BadInput(f"{path} is empty; nothing of the recording reached the disk")
    if path.suffix.lower() == ".db3" or head == _SQLITE:
        if head != _SQLITE:
            raise BadInput(f"{path} is not an SQLite file: it begins with {head!r}, not {_SQLITE!r}")
        return _recording(path, "rosbag2, SQLite", partial(_db3_messages, path, False), "ROS 2")
    if not head.startswith(MAGIC):
        raise BadInput(f"{path} is not a bag of ROS 1, version 2.0: it begins with {head!r}, not {MAGIC!r}")
    return _recording(path, "rosbag", partial(_bag_messages, path), "ROS 1")


def _recording(path: Path, kind: str, messages: Callable[[], Iterator[Stored]], of: str) -> StreamRecording:
    return StreamRecording(path, f"{kind}, {of}", lambda: batches(messages()), partial(pictures, messages))


def _head(path: Path, size: int) -> bytes:
    if not path.is_file():
        return b""
    try:
        with path.open("rb") as stream:
            return stream.read(size)
    except OSError as error:
        raise BadInput(f"{path} cannot be read ({error.strerror}); check the path") from None


def _bag_messages(path: Path) -> Iterator[Stored]:
    with path.open("rb") as stream:
        yield from bag_messages(path, stream, os.fstat(stream.fileno()).st_size)


# Folders of ROS 2


def _folder(path: Path) -> StreamRecording:
    about = _metadata(path)
    listed = about.get("relative_file_paths")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    files = [path / Path(name).name for name in names] or sorted([*path.glob("*.db3"), *path.glob("*.mcap")])
    packed = [file.name for file in files if file.suffix in (".zstd", ".zst", ".lz4")]
    if packed:
        raise BadInput(f"{path} holds {packed[0]}, which is packed as a whole; unpack it (zstd -d {packed[0]}) and open the file")
    if not files:
        raise BadInput(f"{path} holds neither .db3 nor .mcap files; give the folder that ros2 bag record wrote")
    mode = about.get("compression_mode")
    alone = isinstance(mode, str) and mode.lower() == "message"
    kind = "MCAP" if files[0].suffix == ".mcap" else "SQLite"
    return _recording(path, f"rosbag2, {kind}", partial(_folder_messages, path, files, alone), "ROS 2")


def _metadata(path: Path) -> dict[str, Any]:
    """Read what the folder says of itself; nothing where that is missing or broken: the files say the same."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    if not (path / _METADATA).is_file():
        return {}
    try:
        with (path / _METADATA).open(encoding="utf-8") as stream:
            about = YAML(typ="safe").load(stream)
    except (OSError, ValueError, YAMLError, RecursionError):
        return {}
    about = about.get("rosbag2_bagfile_information") if isinstance(about, dict) else None
    return about if isinstance(about, dict) else {}


def _folder_messages(path: Path, files: list[Path], alone: bool) -> Iterator[Stored]:
    """Give the messages of all files; one that is damaged or missing is named after the others were read."""
    damage: list[str] = []
    topics: dict[tuple[str, str, str], Description] = {}
    for file in files:
        if not file.is_file():
            damage.append(f"{path} lists {file.name}, which is not there; copy it beside {_METADATA}")
            continue
        try:
            for one in mcap_messages(file) if file.suffix == ".mcap" else _db3_messages(file, alone):
                what = topics.setdefault((one.what.topic, one.what.encoding, one.what.type_name), one.what)
                yield one if what is one.what else one._replace(what=what)
        except Damaged as error:
            damage.append(str(error))
    if damage:
        raise Damaged("; ".join(damage))


def _db3_messages(path: Path, alone: bool) -> Iterator[Stored]:
    """Give the messages of an SQLite file in the order in which they were written."""
    count, newest_ns, last = 0, 0, 0
    size = path.stat().st_size
    # With a journal beside it the file alone is not the whole truth; without one nothing may be written beside it.
    journal = path.with_name(f"{path.name}-wal").exists()
    try:
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro{'' if journal else '&immutable=1'}", uri=True)) as base:
            base.text_factory = lambda text: text.decode(errors="replace")
            topics = _topics(base)
            for last, number, log_ns, data in base.execute("SELECT id, topic_id, timestamp, data FROM messages ORDER BY id"):
                if number not in topics or not isinstance(log_ns, int) or not isinstance(data, bytes):
                    raise sqlite3.DatabaseError(f"row {last} is no message of a known topic")
                count, newest_ns = count + 1, max(newest_ns, log_ns)
                yield Stored(topics[number], 0, log_ns, _unpacked(data) if alone else data)
    except (sqlite3.Error, OverflowError) as error:
        read = f"{count} messages up to log time {newest_ns / 1e9:.3f} s could be read" if count else "nothing could be read"
        where = f"after row {last} " if count else ""
        raise Damaged(
            f"{path} ({size} bytes) is damaged {where}({error}); {read}; sqlite3 {path.name} .recover writes what is whole"
        ) from None


def _topics(base: sqlite3.Connection) -> dict[Any, Description]:
    # A view may run a query that never ends.
    tables = {row[0] for row in base.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if missing := {"messages", "topics"} - tables:
        raise sqlite3.DatabaseError(f"it has no table of {' and '.join(sorted(missing))}")
    columns = (
        {row[1] for row in base.execute("PRAGMA table_info(message_definitions)")} if "message_definitions" in tables else set()
    )
    texts: dict[str, tuple[str, bytes]] = {}
    if {"topic_type", "encoding", "encoded_message_definition"} <= columns:
        for name, language, text in base.execute(
            "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
        ):
            texts[str(name)] = (
                str(language),
                text.encode() if isinstance(text, str) else text if isinstance(text, bytes) else b"",
            )
    found: dict[Any, Description] = {}
    for number, topic, kind, encoding in base.execute("SELECT id, name, type, serialization_format FROM topics"):
        language, text = texts.get(str(kind), ("", b""))
        schema = text if language in _LANGUAGES else b""
        found[number] = Description(str(topic), str(encoding), str(kind), language or "ros2msg", schema)
    return found


def _unpacked(data: bytes) -> bytes:
    import zstandard

    try:
        if not 0 <= zstandard.frame_content_size(data) <= _MOST:
            raise sqlite3.DatabaseError(f"a message claims more than {_MOST} bytes")
        return zstandard.ZstdDecompressor().decompress(data)
    except zstandard.ZstdError as error:
        raise sqlite3.DatabaseError(f"zstd cannot unpack a message: {error}") from None
