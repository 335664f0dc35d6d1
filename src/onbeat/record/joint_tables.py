"""Joint recordings in CSV files: which column is a command, which one its measurement."""

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput
from onbeat.record.joints import JointEpisode, JointRecording
from onbeat.record.tables import Column, TextTable, find_time, open_table, time_unit

__all__ = ("open_joint_table", "pair_columns")

# What recorders call the two sides: LeRobot's action and observation.state, ros2_control's reference and feedback, and the rest.
_COMMAND_WORDS = frozenset(
    {
        *("action", "actions", "cmd", "cmds", "command", "commands", "commanded", "target", "targets"),
        *("desired", "des", "goal", "setpoint", "reference", "ref"),
    }
)
_MEASURED_WORDS = frozenset(
    ("observation", "obs", "state", "states", "meas", "measured", "measurement", "actual", "feedback", "fb", "present")
)
_EPISODE_NAMES = ("episode_index", "episode", "episode_id")


def open_joint_table(
    path: Path, *, time: str | None = None, command: Sequence[str] = (), measured: Sequence[str] = (), unit: str | None = None
) -> JointRecording:
    """Open a CSV file with commands and measurements of joints in its columns.

    Args:
        path: The file.
        time: Name of the column of instants; None finds it.
        command: Columns of commands, by name or with * and ?; empty finds the pairs by the names.
        measured: Columns of measurements, in the order of the commands.
        unit: Unit of the instants, "s", "ms", "us" or "ns"; None tells it by the header or the numbers.

    Raises:
        BadInput: the file is broken, or the columns or the unit cannot be told; names the option that tells it.
    """
    table = open_table(path)
    t = find_time(table, time)
    unit = time_unit(table, t, unit)
    if bool(command) != bool(measured):
        raise BadInput(
            f"--command and --measured go together; name the columns of {'measurements' if command else 'commands'} too"
        )
    others = [c for c in table.columns if c.index != t.index]
    if command:
        asked, read = _select(table, others, command), _select(table, others, measured)
        if len(asked) != len(read):
            raise BadInput(
                f"--command names {len(asked)} column(s) and --measured {len(read)}; they pair up in order, so name as many"
            )
        pairs = [(a.name, a, b) for a, b in zip(asked, read, strict=True)]
    else:
        pairs = pair_columns(table, others)
    episode = next((c for c in table.columns if c.name.lower() in _EPISODE_NAMES), None)

    def read_episodes(only: int | None) -> Iterator[JointEpisode]:
        t_ns = table.instants(t, unit)
        numbers = _whole(table, episode) if episode else np.zeros(len(t_ns), dtype=np.int64)
        values = table.floats([c for _, a, b in pairs for c in (a, b)])
        edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1).tolist(), len(numbers)]
        found = False
        for first, last in pairwise(edges):
            if only is None or numbers[first] == only:
                found = True
                rows = values[first:last]
                yield JointEpisode(
                    int(numbers[first]), t_ns[first:last].copy(), rows[:, 0::2].copy(), rows[:, 1::2].copy(), str(path)
                )
        if not found:
            raise BadInput(f"{path} has no episode {only}; it has {', '.join(str(k) for k in dict.fromkeys(numbers.tolist()))}")

    return JointRecording(
        path=path,
        kind="CSV",
        robot="",
        joints=tuple(name for name, _, _ in pairs),
        rate_hz=None,
        timing=f"the instants are column {t.name!r}, in {unit}; a row's command and measurement count as of the same one",
        episode_count=None if episode else 1,
        read=read_episodes,
    )


def _whole(table: TextTable, column: Column) -> NDArray[np.int64]:
    """Read the numbers of the episodes."""
    values = table.floats([column])[:, 0]
    bad = np.flatnonzero((values != np.round(values)) | (np.abs(values) >= 2**53))
    if len(bad):
        raise BadInput(
            f"{table.path}: {column.name!r} is {values[bad[0]]:g} in row {bad[0] + 1}, not the number of an episode; "
            "correct that column, or rename it if it counts something else"
        )
    return values.astype(np.int64)


def pair_columns(table: TextTable, columns: Sequence[Column]) -> list[tuple[str, Column, Column]]:
    """Pair commands with measurements by their names: action.X with observation.state.X, X_cmd with X_meas, q_des_0 with q_0, ...

    Returns:
        (joint, command, measured), in the order of the commands. The joint is the command's name without that word.

    Raises:
        BadInput: there is no pair.
    """
    commands: dict[tuple[str, ...], list[Column]] = {}
    measured: dict[tuple[str, ...], list[Column]] = {}
    plain: dict[tuple[str, ...], list[Column]] = {}
    for column in columns:
        words = _words(column.name)
        role = next((word for word in words if word in _COMMAND_WORDS or word in _MEASURED_WORDS), None)
        key = tuple(word for word in words if word not in _COMMAND_WORDS and word not in _MEASURED_WORDS)
        side = plain if role is None else commands if role in _COMMAND_WORDS else measured
        side.setdefault(key, []).append(column)
    if any("[" in table.first[column.index] for asked in commands.values() for column in asked):
        hint = "name the data set's folder instead, or write a column for each joint"
        raise BadInput(f"{table.path} holds lists in its cells; {hint}")
    pairs = [
        (_joint(asked[0].name, key), _only(table, asked), _only(table, read))
        for key, asked in commands.items()
        if (read := measured.get(key) or plain.get(key))
    ]
    if pairs:
        return pairs
    have = ", ".join(c.name for c in columns[:10]) + (f" and {len(columns) - 10} more" if len(columns) > 10 else "")
    raise BadInput(f"{table.path}: no command pairs with a measurement (it has {have}); name both with --command and --measured")


def _only(table: TextTable, columns: Sequence[Column]) -> Column:
    """Take the one column that can be meant; of several, none is taken for the user."""
    if len(columns) > 1:
        names = " and ".join(f"{c.name!r} (column {c.index})" for c in columns)
        raise BadInput(f"{table.path}: {names} may be the same side of one joint; say which with --command and --measured")
    return columns[0]


def _select(table: TextTable, columns: Sequence[Column], names: Sequence[str]) -> list[Column]:
    chosen: list[Column] = []
    for name in (part.strip() for entry in names for part in entry.split(",")):
        if "*" in name or "?" in name:
            hits = [c for c in columns if fnmatchcase(c.name, name)]
            if not hits:
                raise BadInput(f"{table.path} has no column like {name!r}; it has {', '.join(c.name for c in columns[:10])}")
            chosen.extend(hits)
        else:
            chosen.append(table.column(name))
    return chosen


def _words(name: str) -> list[str]:
    return [word.lower() for word in re.split(r"[^A-Za-z0-9]+", re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)) if word]


def _joint(name: str, key: tuple[str, ...]) -> str:
    """Name a joint after its command's column, without the word that makes it a command."""
    words = "|".join(sorted(_COMMAND_WORDS | _MEASURED_WORDS, key=len, reverse=True))
    bare = re.sub(rf"(?i)(?:^|[^A-Za-z0-9]+)(?:{words})(?=$|[^A-Za-z0-9])", "", name).strip("._-/ ")
    if not bare or _words(bare) != list(key):
        bare = "_".join(key)
    return f"joint_{bare}" if bare.isdigit() else bare or name
