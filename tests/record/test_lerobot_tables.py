import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onbeat.errors import Damaged
from onbeat.record.lerobot_tables import (
    TimeColumn,
    age_unit_s,
    columns_of,
    counted_ns,
    listed_rows,
    says_age,
    says_time,
    table_rows,
    time_columns,
)
from onbeat.units import TimeGrid


def write(path: Path, episode: list[int], **more: pa.Array) -> Path:
    n = len(episode)
    keys = {"episode_index": episode, "frame_index": list(range(n)), "timestamp": [k / 30 for k in range(n)]}
    pq.write_table(pa.table({**keys, **more}), path)
    return path


def test_rows_are_cut_where_the_episode_changes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.parquet", [0, 0, 1, 1, 1], x=pa.array([[1.0, 2.0]] * 5))
    tables = list(table_rows([path], ["x", "absent"]))
    assert [(t.episode, len(t)) for t in tables] == [(0, 2), (1, 3)]
    assert tables[1].columns["x"].shape == (3, 2)
    assert set(columns_of(path)) == {"episode_index", "frame_index", "timestamp", "x"}


def test_footerless_file_is_named_after_the_others_were_read(tmp_path: Path) -> None:
    paths = [write(tmp_path / f"{k}.parquet", [k] * 4) for k in range(3)]
    paths[1].write_bytes(paths[1].read_bytes()[:-8])
    rows = table_rows(paths, [])
    assert [next(rows).episode, next(rows).episode] == [0, 2]
    with pytest.raises(Damaged, match=r"1\.parquet has no footer after .* writer was killed.*2 episode"):
        next(rows)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"\0" * 5000, b"PAR1" + b"\7" * 60 + b"PAR1"])
def test_what_is_no_parquet_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.parquet"
    path.write_bytes(content)
    with pytest.raises(Damaged, match=r"a\.parquet"):
        list(table_rows([path], []))
    with pytest.raises(Damaged, match=r"a\.parquet"):
        listed_rows(path)


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (pa.array([[1.0], [1.0, 2.0]]), "1 to 2 values"),
        (pa.array([["a"], ["b"]]), "not lists of numbers"),
        (pa.array([[1.0], None]), "1 empty cell"),
    ],
)
def test_column_that_is_no_matrix_is_one_sentence(tmp_path: Path, column: pa.Array, why: str) -> None:
    path = write(tmp_path / "a.parquet", [0, 0], x=column)
    with pytest.raises(Damaged, match=why):
        list(table_rows([path], ["x"]))


def test_missing_key_column_is_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"episode_index": [0], "timestamp": [0.0]}), tmp_path / "a.parquet")
    with pytest.raises(Damaged, match="no column 'frame_index'"):
        list(table_rows([tmp_path / "a.parquet"], []))


@pytest.mark.parametrize("fps", [Fraction(30), Fraction(2997, 100), Fraction(60000, 1001)])
def test_counted_instants_are_those_of_the_grid(fps: Fraction) -> None:
    frame = np.array([0, 1, 2, 1799, 10_000_000, 10**10])
    assert counted_ns(frame, fps).tolist() == [TimeGrid(0, fps).tick_ns(int(k)) for k in frame]


@pytest.mark.parametrize(
    "name", ["onbeat.cam.front.t_ns", "wall_time", "capture_time", "receive_ns", "log_time", "header.stamp", "cameraTimestamp"]
)
def test_names_that_say_time(name: str) -> None:
    assert says_time(name)


@pytest.mark.parametrize("name", ["action", "observation.age_s.front", "frame_index", "latency_ms", "next.done", "time_step"])
def test_names_that_do_not_say_time(name: str) -> None:
    assert not says_time(name)


def test_ages_and_their_unit() -> None:
    assert says_age("observation.age_s.front")
    assert not says_age("image")
    assert (age_unit_s("observation.age_s.front"), age_unit_s("age_ms"), age_unit_s("cam.age")) == (1.0, 1e-3, 1.0)


def test_unit_comes_from_the_name_or_from_the_advance() -> None:
    k = np.arange(30)
    first = {
        "t_ns": 10**18 + k * 33_333_333,
        "wall_time": 1.7e9 + k / 30,
        "log_time": 1_700_000_000_000 + k * 33,
        "time_of_day_flag": np.ones(30),
        "stamp": np.cumsum(np.where(k % 2, -1, 1)),
    }
    found = time_columns(list(first), first, 30)
    assert {c.name: c.unit_ns for c in found} == {"t_ns": 1, "wall_time": 1_000_000_000, "log_time": 1_000_000}


def test_instants_keep_every_nanosecond_and_leave_nan_out() -> None:
    whole, there = TimeColumn("t_ns", 1).instants(np.array([10**18 + 1, 10**18 + 3]))
    assert whole.tolist() == [10**18 + 1, 10**18 + 3]
    assert there.all()
    seconds, there = TimeColumn("t", 1_000_000_000).instants(np.array([1.5, np.nan, 2.25]))
    assert seconds.tolist() == [1_500_000_000, 2_250_000_000]
    assert there.tolist() == [True, False, True]


@pytest.mark.parametrize("name", ["episode_index", "frame_index"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300])
def test_number_of_a_row_that_is_none_is_one_sentence(tmp_path: Path, name: str, value: float) -> None:
    keys = {key: pa.array([0.0, value, 2.0]) for key in ("episode_index", "frame_index", "timestamp")}
    pq.write_table(
        pa.table({**keys, **{k: pa.array([0, 1, 2]) for k in ("episode_index", "frame_index") if k != name}}), tmp_path / "a"
    )
    with pytest.raises(Damaged, match=f"column '{name}' has .* in it, which is no whole number"):
        list(table_rows([tmp_path / "a"], []))


def test_pipe_in_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.parquet")
    with pytest.raises(Damaged, match="is no file"):
        columns_of(tmp_path / "a.parquet")
