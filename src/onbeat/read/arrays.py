"""Arrays of an npz file as streams: those that are as long as an array of times, or as many frames at the file's rate."""

import re
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import prod
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

from onbeat.errors import BadInput, Damaged
from onbeat.read.columns import COUNTS, EPISODES, time_role
from onbeat.read.streams import Batch, StreamInfo, StreamRecording, row_dtype
from onbeat.read.vectors import flat_name
from onbeat.record.joints import JointEpisode, JointRecording
from onbeat.record.motion_arrays import motion_instants
from onbeat.record.npz import ArrayFile, ArrayHead, open_arrays
from onbeat.record.tables import TIME_UNITS

__all__ = ("open_array_streams",)

_BLOCK = 1 << 20  # bytes
_WIDEST = 1024  # values of a row; more are content to compare, not numbers to follow
_USUAL_HZ = (2.0, 5000.0)
_SINCE_2001_S, _UNTIL_2100_S = 978_307_200, 4_102_444_800
_ACTION = re.compile(r"(.*_)?(actions?|commands?|cmds?|targets?)")
_JOINTS = re.compile(r"(.*_)?(joints?|joint_pos(itions?)?|qpos|q|state|states|dof_pos)")
_GYRO = re.compile(r"(.*_)?(gyro|gyroscope|angular_velocity|ang_vel|omega)")


@dataclass(frozen=True, slots=True)
class _Times:
    """An array of instants: whose they are by its name ("imu" of "imu_t"), and nanoseconds of its unit."""

    name: str
    role: str
    prefix: str
    length: int
    scale: int


@dataclass(frozen=True, slots=True)
class _Plan:
    """One stream: its array, and the arrays that hold its fields; `grid` are counted stamps where there are no times."""

    info: StreamInfo
    data: ArrayHead | None
    times: dict[str, _Times]
    counts: dict[str, str]
    grid: NDArray[np.int64] | None = None

    @property
    def fields(self) -> list[str]:
        return [*(self.times or ("stamp_ns",)), *self.counts]

    @property
    def width(self) -> int:
        return prod(self.data.shape[1:]) if self.data is not None else 0


def open_array_streams(path: Path) -> StreamRecording:
    """Open an npz file: each array of numbers that is as long as an array of times is a stream.

    An array belongs to the times that share its name's beginning ("imu_t" and "imu_gyro"), else to those of its length. Without
    times, the file's rate (`fps`, `dt`) gives counted stamps.

    Raises:
        BadInput: it is broken, or has neither times nor a rate.
    """
    file = open_arrays(path)
    rows = [head for head in file.heads if head.numeric and head.shape and head.shape[0] > 1 and prod(head.shape) > 0]
    times = [_times(file, head) for head in rows if prod(head.shape[1:]) == 1 and time_role(head.name)]
    named = {one.name for one in times}
    counts = [head for head in rows if prod(head.shape[1:]) == 1 and flat_name(head.name) in (*COUNTS, *EPISODES)]
    data = [head for head in rows if head.name not in named and head not in counts]
    plans = _timed(data, times, counts) if times else _counted(file, data, counts)
    told = {plan.data.name for plan in plans if plan.data}
    left = [head.name for head in data if head.name not in told]
    notes = (f"left out, because they are not as long as the times: {', '.join(left[:8])}",) if left else ()
    return StreamRecording(path, "npz", lambda: _read(file, plans), joints=_joints(file, plans), notes=notes)


def _times(file: ArrayFile, head: ArrayHead) -> _Times:
    role, prefix, unit = time_role(head.name) or ("stamp", "", "")
    return _Times(head.name, role, prefix, head.shape[0], TIME_UNITS[unit or _unit(file, head)])


def _unit(file: ArrayFile, head: ArrayHead) -> str:
    """Tell the unit of instants by their size since 1970, else by the rate that they would be at."""
    values = np.asarray(next(file.blocks(head.name, 4096)), dtype=np.float64).reshape(-1)
    values = values[np.isfinite(values)]
    first = float(np.abs(values[0])) if len(values) else 0.0
    for unit, scale in TIME_UNITS.items():
        if _SINCE_2001_S <= first * scale / 1e9 <= _UNTIL_2100_S:
            return unit
    steps = np.diff(values)
    step = float(np.median(steps[steps > 0])) if np.any(steps > 0) else 0.0
    fits = [u for u, scale in TIME_UNITS.items() if step and _USUAL_HZ[0] <= 1e9 / (step * scale) <= _USUAL_HZ[1]]
    if head.kind == "f" and "s" in fits:
        return "s"
    if len(fits) != 1:
        raise BadInput(
            f"{file.path}: {head.name!r} advances by {step:g} a row, so its unit cannot be told; call it '{head.name}_s' or _ns"
        )
    return fits[0]


def _timed(data: Sequence[ArrayHead], times: Sequence[_Times], counts: Sequence[ArrayHead]) -> list[_Plan]:
    plans: list[_Plan] = []
    used: set[str] = set()
    for head in data:
        flat = flat_name(head.name)
        near = [one for one in times if one.length == head.shape[0] and (not one.prefix or flat.startswith(one.prefix + "_"))]
        near = near or [one for one in times if one.length == head.shape[0]]
        chosen = _pair(near)
        if chosen:
            used |= {one.name for one in chosen.values()}
            plans.append(_Plan(_info(head), head, chosen, _counts(head.shape[0], counts)))
    for one in times:  # times without values are a stream too
        if one.name not in used and one.role == "stamp":
            chosen = _pair([one, *(other for other in times if other.role == "log" and other.prefix == one.prefix)])
            plans.append(_Plan(StreamInfo(one.prefix or one.name), None, chosen, _counts(one.length, counts)))
    return plans


def _pair(times: Sequence[_Times]) -> dict[str, _Times]:
    """Choose the stamp and the log time, those with the longest name in common first; one alone is the stamp."""
    ordered = sorted(times, key=lambda one: -len(one.prefix))
    stamp = next((one for one in ordered if one.role == "stamp"), None)
    log = next((one for one in ordered if one.role == "log" and (not stamp or one.length == stamp.length)), None)
    if stamp is None:
        return {"stamp_ns": log} if log else {}
    return {"stamp_ns": stamp, "log_ns": log} if log else {"stamp_ns": stamp}


def _counts(length: int, counts: Sequence[ArrayHead]) -> dict[str, str]:
    there: dict[str, str] = {}
    for field, words in (("seq", COUNTS), ("segment", EPISODES)):
        hits = [head.name for head in counts if head.shape[0] == length and head.kind in "iu" and flat_name(head.name) in words]
        if hits:
            there[field] = hits[0]
    return there


def _counted(file: ArrayFile, data: Sequence[ArrayHead], counts: Sequence[ArrayHead]) -> list[_Plan]:
    """Put the arrays of the commonest length on the grid of the file's rate."""
    lengths = Counter(head.shape[0] for head in data)
    if not lengths:
        raise BadInput(f"{file.path} has no array with a row for each sample; {file.listing()}")
    n = lengths.most_common(1)[0][0]
    try:
        t_ns = motion_instants(file, n, None)
    except BadInput as error:
        raise BadInput(
            f"{file.path} has neither times nor a rate ({file.listing()}); save an array 't_ns' beside them, or 'fps'"
        ) from error
    hz = round((n - 1) * 1e9 / int(t_ns[-1] - t_ns[0]), 6)
    return [
        _Plan(replace(_info(head), declared_hz=hz, counted=True), head, {}, _counts(n, counts), t_ns)
        for head in data
        if head.shape[0] == n
    ]


def _info(head: ArrayHead) -> StreamInfo:
    flat, width = flat_name(head.name), prod(head.shape[1:])
    if width > _WIDEST or width == 0:
        return StreamInfo(head.name, "image" if len(head.shape) in (3, 4) else "other", str(head))
    kind = "action" if _ACTION.fullmatch(flat) else "joints" if _JOINTS.fullmatch(flat) else "numbers"
    if _GYRO.fullmatch(flat) and head.shape[1:] == (3,):
        kind = "rotation"
    columns = (head.name,) if width == 1 else tuple(f"{head.name}[{','.join(map(str, k))}]" for k in np.ndindex(head.shape[1:]))
    return StreamInfo(head.name, kind, str(head), columns)


def _instants(values: NDArray[Any], scale: int) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Turn numbers into nanoseconds, to the last bit that they have, and say which of them are instants."""
    values = values.reshape(-1)
    most = (2**63 - 1) // scale
    if values.dtype.kind != "f":
        good = (values <= most) & ((values >= 0) | (values.astype(np.float64) > -float(most)))
        return np.where(good, values, 0).astype(np.int64) * scale, good
    if values.dtype.itemsize < 8:
        values = values.astype(np.float64)
    good = np.isfinite(values) & (np.abs(np.where(np.isfinite(values), values, 0)) < most * (1 - 1e-9))
    exact = np.where(good, values, 0).astype(np.float64)
    whole = np.floor(exact)
    # The whole part and the rest apart: a product with the whole would round to 256 ns at instants since 1970.
    return whole.astype(np.int64) * scale + np.round((exact - whole) * scale).astype(np.int64), good


def _read(file: ArrayFile, plans: Sequence[_Plan]) -> Iterator[Batch]:
    with file.opened() as archive:
        damage = yield from _plans_read(file, archive, plans)
    if damage:
        raise Damaged("; ".join(damage[:3]))


def _plans_read(file: ArrayFile, archive: ZipFile, plans: Sequence[_Plan]) -> Generator[Batch, None, list[str]]:
    """Give the rows of all streams, and then what could not be read."""
    damage: list[str] = []
    for plan in plans:
        digested = plan.data is not None and not plan.info.columns
        width = 0 if digested else plan.width
        dtype = row_dtype([*plan.fields, *(["digest"] if digested else [])], width)
        size = max(min(_BLOCK // max(plan.width * 8, 1), 16_384), 1)
        names = [*(one.name for one in plan.times.values()), *plan.counts.values(), *([plan.data.name] if plan.data else [])]
        bad, first, done = 0, -1, 0
        try:
            for blocks in zip(*(file.blocks(name, size, archive) for name in names), strict=True):
                n = len(blocks[0])
                parts = dict(zip([*plan.times, *plan.counts, "data"], blocks, strict=False))
                rows, good = np.zeros(n, dtype=dtype), np.ones(n, dtype=bool)
                if plan.grid is not None:
                    rows["stamp_ns"] = plan.grid[done : done + n]
                for field, one in plan.times.items():
                    rows[field], fine = _instants(parts[field], one.scale)
                    good &= fine
                for field in plan.counts:
                    rows[field] = parts[field].reshape(-1)
                if digested:
                    rows["digest"] = [_digest(row) for row in parts["data"]]
                elif width:
                    rows["value"] = parts["data"].reshape(n, width)
                    good &= np.isfinite(rows["value"]).all(axis=1)
                if not good.all():
                    first = done + int(np.argmin(good)) if first < 0 else first
                    bad += int((~good).sum())
                done += n
                if good.any():
                    yield Batch(plan.info, rows[good])
        except BadInput as error:
            damage.append(f"{error}; {done - bad} rows of {plan.info.name!r} were read")
        if bad:
            damage.append(
                f"{file.path}: {plan.info.name!r} or its time is not finite in row {first + 1}"
                + (f", and in {bad - 1} more" if bad > 1 else "")
                + f"; the other {done - bad} rows were read; remove the rows that were not measured"
            )
    return damage


def _digest(row: NDArray[Any]) -> int:
    return int.from_bytes(blake2b(np.ascontiguousarray(row).tobytes(), digest_size=8).digest(), "little")


def _joints(file: ArrayFile, plans: Sequence[_Plan]) -> Callable[[], JointRecording] | None:
    """Give what `onbeat delay` asks for where one array of commands is as wide and long as one of joints."""
    sides = {
        kind: [plan for plan in plans if plan.info.kind == kind and plan.data is not None and "segment" not in plan.counts]
        for kind in ("action", "joints")
    }
    pairs = [(a, b) for a in sides["action"] for b in sides["joints"] if a.data and b.data and a.data.shape == b.data.shape]
    if len(pairs) != 1:
        return None
    asked, read = pairs[0]

    def episodes(only: int | None) -> Iterator[JointEpisode]:
        if only not in (None, 0):
            raise BadInput(f"{file.path} has no episode {only}; it has 0")
        rows = [np.concatenate([batch.rows for batch in _read(file, [plan])]) for plan in (asked, read)]
        yield JointEpisode(0, rows[0]["stamp_ns"].copy(), rows[0]["value"].copy(), rows[1]["value"].copy(), str(file.path))

    return lambda: JointRecording(
        path=file.path,
        kind="npz",
        robot="",
        joints=asked.info.columns,
        rate_hz=asked.info.declared_hz,
        timing=f"a row's command and measurement ({asked.info.name!r}, {read.info.name!r}) count as of the same instant",
        episode_count=1,
        read=episodes,
    )
