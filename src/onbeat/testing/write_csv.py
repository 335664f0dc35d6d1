"""Write any recording as one CSV: a row for each sample of every stream, with the stream's name in front."""

import csv
from pathlib import Path

from onbeat.errors import BadInput
from onbeat.read.streams import StreamRecording
from onbeat.testing.planting import survey

__all__ = ("write_csv",)

# Names that say what a column is; a digest is no measurement, and is left out.
_COLUMNS = {"stamp_ns": "stamp_ns", "log_ns": "log_time_ns", "seq": "seq", "exposure_ns": "exposure_ns", "segment": "episode"}
_KINDS = {"pose": ("x", "y", "z", "qw", "qx", "qy", "qz"), "rotation": ("gyro_x", "gyro_y", "gyro_z")}


def write_csv(recording: StreamRecording, path: str | Path) -> None:
    """Write the streams that have stamps, in the order in which they are given; cells that a stream does not have are empty.

    Args:
        recording: Gone through twice.
        path: The new file; one that is there is replaced.

    Raises:
        BadInput: no stream has stamps.
    """
    streams = {name: seen for name, seen in survey(recording).items() if "stamp_ns" in seen.fields}
    if not streams:
        raise BadInput(f"{recording.path} has no stream with stamps, so there is no time to write")
    times = [field for field in _COLUMNS if any(field in seen.fields for seen in streams.values())]
    names: dict[str, list[str]] = {name: [] for name in streams}
    for batch in recording.read():
        if batch.info.name in streams and "value" in (batch.rows.dtype.names or ()):
            names[batch.info.name] = _names(batch.info.kind, batch.info.columns, batch.rows["value"].shape[1])
    columns = list(dict.fromkeys(column for own in names.values() for column in own))
    place = {column: k for k, column in enumerate(columns)}
    width = len(columns)
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["topic", *(_COLUMNS[field] for field in times), *columns])
        for batch in recording.read():
            own, fields = batch.info.name, batch.rows.dtype.names or ()
            if own not in streams:
                continue
            cells = [batch.rows[field].tolist() if field in fields else [""] * len(batch.rows) for field in times]
            values = batch.rows["value"].tolist() if "value" in fields else [[]] * len(batch.rows)
            for *instants, value in zip(*cells, values, strict=True):
                row = [""] * width
                for column, number in zip(names[own], value, strict=True):
                    row[place[column]] = repr(number)
                writer.writerow([own, *instants, *row])


def _names(kind: str, columns: tuple[str, ...], width: int) -> list[str]:
    own = _KINDS.get(kind, columns)
    plain = list(own) if len(own) == width else [f"value_{k}" for k in range(width)]
    return [f"action_{name}" for name in plain] if kind == "action" else plain
