"""Read the cycles of a recording while it is being written: each look reads what was appended since the one before."""

import json
import os
import struct
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.record.messages import dtype_of

if TYPE_CHECKING:
    from mcap.records import McapRecord

__all__ = ("GrowingCycles",)

_MAGIC = b"\x89MCAP0\r\n"
_HEAD = struct.Struct("<BQ")  # opcode and length, before each record of an MCAP file
_DATA_END = 0x0F
_CYCLES = "cycles/"


class GrowingCycles:
    """The cycles in an MCAP file, as they come. The file stays open, so it may be given another name meanwhile.

    Args:
        path: The recording, also under the name that it has while it is written.

    Raises:
        BadInput: it cannot be opened, or is no MCAP file.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise BadInput(f"{path} cannot be read ({error.strerror})") from None
        self.path = path
        self._at = 0
        self._ended = False
        self._topics: dict[int, str] = {}
        self._dtypes: dict[str, np.dtype[Any]] = {}

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def read(self) -> dict[str, NDArray[Any]]:
        """Give the cycles that came since the last call, by module: structured arrays as the send loop gave them.

        A record that is not all there yet is left for the next call. Behind damage nothing more is read.

        Raises:
            BadInput: it is no MCAP file.
        """
        from mcap.exceptions import EndOfFile, McapError
        from mcap.stream_reader import StreamReader
        from zstandard import ZstdError

        found: dict[str, list[dict[str, Any]]] = {}
        whole = self._whole_records()
        try:
            for record in StreamReader(BytesIO(whole), skip_magic=True, validate_crcs=True).records:
                self._take(record, found)
        except EndOfFile:  # always: no footer is handed over
            pass
        except (McapError, ZstdError, struct.error, ValueError, KeyError, MemoryError):
            self._ended = True
        return {module: self._table(module, rows) for module, rows in found.items()}

    def _whole_records(self) -> bytes:
        """Read on, up to the end of the last record that is all there."""
        size = os.fstat(self._file.fileno()).st_size
        if self._at == 0:
            if size < len(_MAGIC):
                return b""
            self._file.seek(0)
            if self._file.read(len(_MAGIC)) != _MAGIC:
                raise BadInput(f"{self.path} is not an MCAP file; give the folder that a running `onbeat run --out` names")
            self._at = len(_MAGIC)
        begin = self._at
        while not self._ended and self._at + _HEAD.size <= size:
            self._file.seek(self._at)
            opcode, length = _HEAD.unpack(self._file.read(_HEAD.size))
            if self._at + _HEAD.size + length > size:
                break
            if opcode == _DATA_END:  # an index follows, and nothing new
                self._ended = True
            else:
                self._at += _HEAD.size + length
        self._file.seek(begin)
        return self._file.read(self._at - begin)

    def _take(self, record: "McapRecord", found: dict[str, list[dict[str, Any]]]) -> None:
        from mcap.records import Channel, Message

        if isinstance(record, Channel):
            self._topics[record.id] = record.topic
            if record.topic.startswith(_CYCLES) and "dtype" in record.metadata:
                self._dtypes[record.topic.removeprefix(_CYCLES)] = dtype_of(record.metadata["dtype"])
        elif isinstance(record, Message):
            module = self._topics[record.channel_id].removeprefix(_CYCLES)
            if module in self._dtypes:
                found.setdefault(module, []).append(json.loads(record.data))

    def _table(self, module: str, rows: list[dict[str, Any]]) -> NDArray[Any]:
        dtype = self._dtypes[module]
        return np.array([tuple(row[name] for name in dtype.names or ()) for row in rows], dtype=dtype)
