"""The rows of a LeRobot data set's parquet files, a few thousand at a time, and what each column says of time."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import Damaged, MissingExtra

__all__ = (
    "KEYS",
    "Table",
    "TimeColumn",
    "age_unit_s",
    "columns_of",
    "counted_ns",
    "data_files",
    "file_rows",
    "listed_rows",
    "says_age",
    "says_time",
    "table_rows",
    "time_columns",
)

KEYS = ("episode_index", "frame_index", "timestamp")
_BATCH_ROWS = 4096
_PICTURE_ROWS = 256  # of a table that holds pictures: some 25 MB
_END_NS = 1 << 63
_FAR_NS = 1 << 62
_TIME_WORDS = frozenset(
    ("time", "stamp", "timestamp", "ns", "us", "ms", "monotonic", "unix", "utc", "datetime", "timestamps", "times", "clock")
)
# Words of durations: a column of ages or latencies is no time line.
_DURATION_WORDS = frozenset(
    ("age", "ages", "delay", "latency", "duration", "elapsed", "dt", "delta", "period", "interval", "remaining", "since", "step")
)
_UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Some rows of one file, of one episode.

    Args:
        path: The file.
        episode: Number of the episode.
        columns: Arrays by name: (n,) for numbers, (n, width) for lists of them, object arrays of bytes for pictures.
    """

    path: Path
    episode: int
    columns: Mapping[str, NDArray[Any]]

    def __len__(self) -> int:
        return len(self.columns["frame_index"])


@dataclass(frozen=True, slots=True)
class TimeColumn:
    """A column that holds true times, and its unit in nanoseconds."""

    name: str
    unit_ns: int

    def instants(self, values: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Give the instants of the rows that have one, in ns, and which rows those are; 2^62 ns are 146 years, and no instant."""
        if values.dtype.kind in "iu":
            there = (values < _FAR_NS // self.unit_ns) & (values > -_FAR_NS // self.unit_ns)
            return values[there].astype(np.int64) * self.unit_ns, there
        there = np.abs(values) < _FAR_NS / self.unit_ns  # nan is not
        held = values[there]
        whole = np.floor(held)  # the whole part is exact, so that a float64 of seconds since 1970 keeps what it has
        return whole.astype(np.int64) * self.unit_ns + np.round((held - whole) * self.unit_ns).astype(np.int64), there


def data_files(root: Path) -> list[Path]:
    """Give the parquet files that hold the rows, in the order of the episodes."""
    return sorted((root / "data").glob("chunk-*/*.parquet"))


def columns_of(path: Path) -> dict[str, Any]:
    """Give the columns of a parquet file and their arrow types.

    Raises:
        Damaged: it is not a whole parquet file.
        MissingExtra: pyarrow is not installed.
    """
    with _opened(path) as file:
        return {field.name: field.type for field in file.schema_arrow}


def table_rows(files: Sequence[Path], names: Sequence[str]) -> Iterator[Table]:
    """Read columns of all files, cut where the episode changes; a file that is not whole is left out until the end.

    Args:
        files: Parquet files, in order.
        names: Columns to read beside `KEYS`; those that a file lacks are left out of its rows.

    Raises:
        Damaged: after all that could be read was given: which files were not whole, and how many episodes came.
        MissingExtra: pyarrow is not installed.
    """
    broken: list[str] = []
    episodes: set[int] = set()
    for path in files:
        try:
            for table in file_rows(path, names):
                episodes.add(table.episode)
                yield table
        except Damaged as error:
            broken.append(str(error))
    if broken:
        more = f" and {len(broken) - 1} more" if len(broken) > 1 else ""
        raise Damaged(f"{broken[0]}{more}; {len(episodes)} episode(s) could be read from the other rows")


def file_rows(path: Path, names: Sequence[str], only: int | None = None) -> Iterator[Table]:
    """Read columns of one file, cut where the episode changes.

    Args:
        path: A parquet file.
        names: Columns to read beside `KEYS`; those that it lacks are left out.
        only: The one episode to read, None for all. Groups of rows that cannot hold it are passed over.

    Raises:
        Damaged: it is not whole, after the rows that could be read.
        MissingExtra: pyarrow is not installed.
    """
    with _opened(path) as file:
        import pyarrow as pa

        have = file.schema_arrow.names
        missing = [name for name in KEYS if name not in have]
        if missing:
            raise Damaged(f"{path} has no column {missing[0]!r}; it is not a data file of a LeRobot data set")
        wanted = [*KEYS, *(name for name in names if name in have and name not in KEYS)]
        pictures = any(pa.types.is_struct(file.schema_arrow.field(name).type) for name in wanted)
        size = _PICTURE_ROWS if pictures else _BATCH_ROWS
        rows = 0
        try:
            groups = [k for k in range(file.num_row_groups) if only is None or _may_hold(file, k, only)]
            for batch in file.iter_batches(batch_size=size, row_groups=groups, columns=wanted):
                columns = {name: _array(path, name, batch.column(k)) for k, name in enumerate(batch.schema.names)}
                episode = columns["episode_index"]
                edges = [0, *(np.flatnonzero(np.diff(episode)) + 1).tolist(), len(episode)]
                for a, b in pairwise(edges):
                    if b > a and only in (None, int(episode[a])):
                        yield Table(path, int(episode[a]), {name: column[a:b] for name, column in columns.items()})
                rows += len(episode)
        except (pa.ArrowException, OSError) as error:
            first = (str(error).splitlines() or [""])[0][:120]
            raise Damaged(f"{path} is broken after row {rows} ({first}); download or record it again") from error


def listed_rows(path: Path) -> list[dict[str, Any]]:
    """Read a small table of a data set's meta folder as dictionaries, without the columns of statistics.

    Raises:
        Damaged: it is not a whole parquet file.
        MissingExtra: pyarrow is not installed.
    """
    with _opened(path) as file:
        import pyarrow as pa

        names = [name for name in file.schema_arrow.names if not name.startswith("stats/") and name != "tasks"]
        try:
            rows: list[dict[str, Any]] = file.read(columns=names).to_pylist()
        except (pa.ArrowException, OSError) as error:
            raise _not_whole(path, error) from error
        return rows


def counted_ns(frame: NDArray[np.int64], fps: Fraction) -> NDArray[np.int64]:
    """Give frame_index / fps in whole nanoseconds, rounded down from exact arithmetic: ticks of `onbeat.units.TimeGrid`."""
    period = Fraction(1_000_000_000) / fps
    if len(frame) and max(int(frame.max()), -int(frame.min())) * period.numerator >= 1 << 63:
        ticks = (int(k) * period.numerator // period.denominator for k in frame)
        return np.array([min(max(tick, -_END_NS), _END_NS - 1) for tick in ticks], dtype=np.int64)
    return np.asarray(frame * period.numerator // period.denominator, dtype=np.int64)


def time_columns(names: Sequence[str], first: Mapping[str, NDArray[Any]], fps: float) -> tuple[TimeColumn, ...]:
    """Find the columns that hold true times: their name says so, and their numbers advance like the rows.

    Args:
        names: Columns to look at.
        first: First rows of an episode, by column.
        fps: Declared rate, which tells a unit that the name does not state.
    """
    found = []
    for name in names:
        values = first.get(name)
        if name in KEYS or values is None or values.ndim != 1 or values.dtype.kind not in "iuf" or not says_time(name):
            continue
        unit_ns = _unit(name, values, fps)
        if unit_ns:
            found.append(TimeColumn(name, unit_ns))
    return tuple(found)


def says_time(name: str) -> bool:
    """Tell whether a column's name says that it holds instants: t_ns, stamp, capture_time, log_time, ..."""
    words = set(_words(name))
    return bool(words & _TIME_WORDS) and not words & _DURATION_WORDS


def says_age(name: str) -> bool:
    """Tell whether a column's name says that it holds ages: how old an observation was."""
    return bool(set(_words(name)) & {"age", "ages"})


def age_unit_s(name: str) -> float:
    """Give the unit of a column of ages in seconds, by its name: age_ns, age_ms; seconds where it says nothing."""
    return next((unit / 1e9 for word in reversed(_words(name)) for known, unit in _UNITS_NS.items() if word == known), 1.0)


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()) if word]


def _unit(name: str, values: NDArray[Any], fps: float) -> int:
    """Give the unit in ns: the one that the name states, else the one in which the rows advance at about fps; 0 for no time."""
    steps = np.diff(values[np.isfinite(values)].astype(np.float64))
    forward = steps[steps > 0]
    if len(forward) < 1 or np.mean(steps < 0) > 0.1:
        return 0
    stated = _UNITS_NS.get(_words(name)[-1])
    if stated:
        return stated
    usual_ns = 1e9 / fps
    advance = float(np.median(forward))
    unit = min(_UNITS_NS.values(), key=lambda u: abs(np.log(advance * u / usual_ns)))
    return unit if 0.02 < advance * unit / usual_ns < 50 else 0


def _opened(path: Path) -> Any:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtra("pyarrow, which reads LeRobot's parquet files,", "lerobot") from error
    if not path.is_file():  # a pipe would wait for a writer
        raise Damaged(f"{path} is no file; copy the data set again")
    try:
        return pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise _not_whole(path, error) from error


def _not_whole(path: Path, error: BaseException) -> Damaged:
    size = path.stat().st_size
    if size >= 8:
        with path.open("rb") as file:
            head = file.read(4)
            file.seek(-4, 2)
            tail = file.read()
        if head == b"PAR1" and tail != b"PAR1":
            return Damaged(
                f"{path} has no footer after {size} bytes: its writer was killed, and parquet cannot be read without the footer"
            )
    first = (str(error).splitlines() or [""])[0][:120]
    return Damaged(f"{path} ({size} bytes) is not a whole parquet file ({first}); download or record it again")


def _may_hold(file: Any, group: int, episode: int) -> bool:
    """Say from the statistics of a row group whether the episode may be in it; without statistics it may."""
    described = file.metadata.row_group(group)
    for k in range(described.num_columns):
        column = described.column(k)
        if column.path_in_schema == "episode_index":
            stats = column.statistics
            return stats is None or not stats.has_min_max or stats.min <= episode <= stats.max
    return True


def _array(path: Path, name: str, column: Any) -> NDArray[Any]:
    """Turn a column into an array; cells that are empty become nan, or None where they are no numbers."""
    import pyarrow as pa

    kind = column.type
    if name in KEYS:
        if column.null_count or not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
            raise Damaged(f"{path}: column {name!r} holds {kind} with {column.null_count} empty cell(s), not numbers in all rows")
        keys = column.to_numpy(zero_copy_only=False)
        if name == "timestamp":
            return np.asarray(keys, dtype=np.float64)
        return _fitting(path, name, keys)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _matrix(path, name, column)
    if pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind):
        values = column.to_numpy(zero_copy_only=False)
        return _fitting(path, name, values) if values.dtype.kind in "iu" else np.asarray(values, dtype=np.float64)
    if pa.types.is_timestamp(kind):
        return np.asarray(column.cast(pa.timestamp("ns")).cast(pa.int64()).to_numpy(zero_copy_only=False))
    cells = np.empty(len(column), dtype=object)
    cells[:] = column.to_pylist()
    return cells


def _fitting(path: Path, name: str, values: NDArray[Any]) -> NDArray[np.int64]:
    """Give numbers as int64.

    Raises:
        Damaged: one of them is none.
    """
    fits = np.ones(len(values), dtype=bool)
    if values.dtype.kind == "f":
        fits = np.abs(values) < _END_NS
    elif values.dtype.kind == "u":
        fits = values < np.uint64(_END_NS)
    if not np.all(fits):
        raise Damaged(f"{path}: column {name!r} has {values[~fits][0]} in it, which is no whole number below 2^63")
    return np.asarray(values, dtype=np.int64)


def _matrix(path: Path, name: str, column: Any) -> NDArray[Any]:
    """Turn lists of one width into a matrix; whole numbers alone, as true times may be, into an array."""
    import pyarrow as pa

    if column.null_count:
        raise Damaged(f"{path}: column {name!r} has {column.null_count} empty cell(s); remove those rows")
    lengths = np.asarray(column.value_lengths()) if not pa.types.is_fixed_size_list(column.type) else None
    width = int(column.type.list_size) if lengths is None else int(lengths[0]) if len(lengths) else 0
    if lengths is not None and len(lengths) and not np.all(lengths == width):
        raise Damaged(f"{path}: the rows of {name!r} have {lengths.min()} to {lengths.max()} values; all need the same number")
    flat = column.flatten()
    if not (pa.types.is_floating(flat.type) or pa.types.is_integer(flat.type)):
        raise Damaged(f"{path}: column {name!r} holds {column.type}, not lists of numbers")
    kind = np.int64 if pa.types.is_integer(flat.type) and not flat.null_count else np.float64
    values = flat.to_numpy(zero_copy_only=False)
    values = _fitting(path, name, values) if kind is np.int64 else np.asarray(values, dtype=np.float64)
    return values if width == 1 and kind is np.int64 else values.reshape(len(column), width)
