"""Arrays of a zarr store of format 2, a folder or a zip, read in rows: no zarr, no threads, only its codecs."""

import json
import zipfile
import zlib
from collections.abc import Iterator
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput, Damaged, MissingExtra

__all__ = ("ZarrArray", "ZarrStore")

_MOST_CHUNK_BYTES = 1 << 28


class ZarrStore:
    """A zarr folder or zip.

    Args:
        path: Of the folder, or of the zip.

    Raises:
        Damaged: it is a zip that is not whole.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._zip: zipfile.ZipFile | None = None
        if path.is_file():
            try:
                self._zip = zipfile.ZipFile(path)
            except (zipfile.BadZipFile, OSError, ValueError) as error:
                size = path.stat().st_size
                raise Damaged(f"{path} ({size} bytes) is not a whole zip ({error}); download it again") from error
        self._names = frozenset(self._zip.namelist()) if self._zip else frozenset()

    def close(self) -> None:
        """Close the zip."""
        if self._zip:
            self._zip.close()

    def read(self, key: str) -> bytes | None:
        """Give what a key holds; None where there is no such key.

        Raises:
            Damaged: the zip is broken there.
        """
        try:
            if self._zip is None:
                file = self.path / key
                return file.read_bytes() if file.is_file() else None
            if key not in self._names:
                return None
            if (size := self._zip.getinfo(key).file_size) > _MOST_CHUNK_BYTES:
                raise Damaged(f"{self.path}: {key} claims {size} bytes, more than any chunk has; make the buffer anew")
            return self._zip.read(key)
        except (zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError, zlib.error) as error:
            raise Damaged(f"{self.path} is broken in {key} ({error}); download it again") from error

    def arrays(self, group: str) -> dict[str, "ZarrArray"]:
        """Give the arrays of a group by name, sorted.

        Raises:
            BadInput: an array is described in a way that format 2 does not know.
        """
        end = "/.zarray"
        if self._zip is None:
            names = {file.parent.name for file in (self.path / group).glob(f"*{end}")}
        else:
            names = {n[len(group) + 1 : -len(end)] for n in self._names if n.startswith(f"{group}/") and n.endswith(end)}
        return {name: ZarrArray(self, f"{group}/{name}") for name in sorted(names) if "/" not in name}


class ZarrArray:
    """One array: its shape at once, its rows when asked.

    Args:
        store: Where it lies.
        key: Its path there.

    Raises:
        BadInput: it is described in a way that format 2 does not know.
    """

    def __init__(self, store: ZarrStore, key: str) -> None:
        self._store, self.key = store, key
        where = f"{store.path}: {key}"
        try:
            about = json.loads(store.read(f"{key}/.zarray") or b"")
            self.shape = tuple(int(n) for n in about["shape"])
            self.chunks = tuple(int(n) for n in about["chunks"])
            self.dtype = np.dtype(str(about["dtype"]))
            self._order = str(about.get("order") or "C")
            self._between = str(about.get("dimension_separator") or ".")
            self._codecs = [*reversed(about.get("filters") or []), *([about["compressor"]] if about.get("compressor") else [])]
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise BadInput(
                f"{where}/.zarray does not describe an array of zarr format 2 ({error}); make the buffer anew"
            ) from error
        sane = len(self.shape) == len(self.chunks) > 0 and min(self.chunks) > 0 and min(self.shape) >= 0
        if not sane or self.dtype.hasobject or prod(self.chunks) * self.dtype.itemsize > _MOST_CHUNK_BYTES:
            raise BadInput(f"{where} has the shape {self.shape} in chunks {self.chunks} of {self.dtype}, which cannot be read")

    def __len__(self) -> int:
        return self.shape[0]

    def chunk_bytes(self, first: int) -> bytes | None:
        """Give the compressed bytes of the row at `first` where each row is a chunk of its own; else None."""
        if self.chunks[0] != 1 or any(c < n for c, n in zip(self.chunks[1:], self.shape[1:], strict=True)):
            return None
        return self._store.read(f"{self.key}/{self._between.join([str(first), *['0'] * (len(self.shape) - 1)])}")

    def blocks(self, most: int) -> Iterator[tuple[int, NDArray[Any]]]:
        """Give all rows in order, whole chunks of them up to about so many rows at a time: number of the first, and the rows.

        Raises:
            Damaged: a chunk is missing or broken.
            MissingExtra: its codec is not installed.
        """
        step = max(most // self.chunks[0], 1) * self.chunks[0]
        for first in range(0, len(self), step):
            yield first, self.rows(first, min(first + step, len(self)))

    def rows(self, first: int, last: int) -> NDArray[Any]:
        """Give rows first to last (not included).

        Raises:
            Damaged: a chunk is missing or broken.
            MissingExtra: its codec is not installed.
        """
        begin = first // self.chunks[0]
        end = -(-last // self.chunks[0])
        out = np.empty(((end - begin) * self.chunks[0], *self.shape[1:]), dtype=self.dtype)
        others = [range(-(-n // c)) for n, c in zip(self.shape[1:], self.chunks[1:], strict=True)]
        for index in product(range(begin, end), *others):
            chunk = self._chunk(index)
            at = tuple(slice(k * c, (k + 1) * c) for k, c in zip(index[1:], self.chunks[1:], strict=True))
            top = (index[0] - begin) * self.chunks[0]
            place = (slice(top, top + self.chunks[0]), *at)
            target = out[place]
            target[...] = chunk[tuple(slice(0, n) for n in target.shape)]
        return out[first - begin * self.chunks[0] : last - begin * self.chunks[0]]

    def _chunk(self, index: tuple[int, ...]) -> NDArray[Any]:
        key = f"{self.key}/{self._between.join(map(str, index))}"
        raw: Any = self._store.read(key)
        if raw is None:
            raise Damaged(f"{self._store.path} has no chunk {key}; download it again")
        for about in reversed(self._codecs):
            raw = self._decode(about, raw, key)
        content = raw.tobytes() if isinstance(raw, np.ndarray) else raw
        if len(content) != (size := prod(self.chunks) * self.dtype.itemsize):
            raise Damaged(f"{self._store.path}: chunk {key} holds {len(content)} bytes, not {size}; download it again")
        return np.frombuffer(content, dtype=self.dtype).reshape(self.chunks, order="F" if self._order == "F" else "C")

    def _decode(self, about: Any, raw: Any, key: str) -> Any:
        try:
            from numcodecs import get_codec
        except ImportError as error:
            raise MissingExtra("numcodecs, which unpacks zarr's chunks,", "umi") from error
        name = about.get("id") if isinstance(about, dict) else None
        if not isinstance(name, str) or not name:
            raise Damaged(f"{self._store.path}: {self.key}/.zarray names no codec but {about!r}; download it again")
        try:
            codec = get_codec(dict(about))
        except (ValueError, TypeError, KeyError) as error:
            raise MissingExtra(f"the codec {name!r} of {self.key} in {self._store.path}", "umi") from error
        try:
            return codec.decode(raw)
        except (RuntimeError, SystemError, ValueError, OSError, EOFError, TypeError, MemoryError, zlib.error) as error:
            raise Damaged(f"{self._store.path}: chunk {key} cannot be unpacked ({error}); download it again") from error
