from pathlib import Path

import numpy as np
import pytest

from onbeat.errors import BadInput
from onbeat.record.tables import find_time, open_table, time_unit


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\n1,2\n", ["a", "b"]),
        ("\ufeffa,b\n1,2\n", ["a", "b"]),
        ("a;b\n1;2\n", ["a", "b"]),
        ("a\tb\n1\t2\n", ["a", "b"]),
        ("a b\n1 2\n", ["a", "b"]),
        ("# said once\n# a, b\n\n1,2\n", ["a", "b"]),
        ('"a,x",b\n1,2\n', ["a,x", "b"]),
        ("# a remark of more words\n1,2\n", ["column_0", "column_1"]),
        ("1,2\n3,4\n", ["column_0", "column_1"]),
    ],
)
def test_heads(text: str, names: list[str], tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "t.csv", text))
    assert table.names == names
    assert table.first[0] == "1"
    assert table.floats(table.columns)[0].tolist() == [1, 2]


def test_units_in_brackets_are_taken_off_the_name(tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "t.csv", "#timestamp [ns],v [m s^-1],q()\n1,2,3\n"))
    assert [(c.name, c.unit) for c in table.columns] == [("timestamp", "ns"), ("v", "m s^-1"), ("q", "")]


@pytest.mark.parametrize(
    ("head", "first", "unit"),
    [
        ("time [ns]", "0", "ns"),
        ("t_ms", "5", "ms"),
        ("time_us", "5", "us"),
        ("elapsed_s", "5", "s"),
        ("timestamp", "0.033", "s"),
        ("timestamp", "1700000000.25", "s"),
        ("timestamp", "1700000000", "s"),
        ("timestamp", "1700000000123", "ms"),
        ("timestamp", "1700000000123456", "us"),
        ("timestamp", "1700000000123456789", "ns"),
        ("timestamp", "1.40363657975856E+018", "ns"),
    ],
)
def test_the_unit_of_time(head: str, first: str, unit: str, tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "t.csv", f"{head},x\n{first},2\n"))
    assert time_unit(table, find_time(table)) == unit


@pytest.mark.parametrize("first", ["0", "5", "120000", "1e3"])
def test_a_unit_that_cannot_be_told_is_asked_for(first: str, tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "t.csv", f"t,x\n{first},2\n"))
    with pytest.raises(BadInput, match="say which with --time-unit"):
        time_unit(table, find_time(table))
    assert time_unit(table, find_time(table), "ms") == "ms"
    with pytest.raises(BadInput, match="'h' is no unit of time here; take one of s, ms, us, ns"):
        time_unit(table, find_time(table), "h")


def test_which_column_is_time(tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "t.csv", "frame,Time_ns,x\n0,1,2\n"))
    assert find_time(table).name == "Time_ns"
    assert find_time(table, "0").name == "frame"
    with pytest.raises(BadInput, match="has no column 'y'; it has frame, Time_ns, x"):
        find_time(table, "y")


def test_two_columns_of_time_are_asked_about(tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "t.csv", "time_ns,time_s,x\n0,1,2\n"))
    with pytest.raises(BadInput, match=r"several columns of time \(time_ns, time_s\); name the one to take with --time"):
        find_time(table)


@pytest.mark.parametrize(
    ("unit", "texts", "ns"),
    [
        ("ns", ["1662915732374960384", "1662915732374960385"], [1662915732374960384, 1662915732374960385]),
        ("s", ["1403636580.838560001", "1403636580.843560002"], [1403636580838560001, 1403636580843560002]),
        ("s", ["1", "2.5"], [1_000_000_000, 2_500_000_000]),
        ("ms", ["0", "33.333"], [0, 33_333_000]),
        ("us", ["7", "8"], [7_000, 8_000]),
        ("ns", ["1.40363657975856E+018", "1.40363657976356E+018"], [1403636579758560000, 1403636579763560000]),
    ],
)
def test_instants_are_exact(unit: str, texts: list[str], ns: list[int], tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "t.csv", "t,x\n" + "".join(f"{text},0\n" for text in texts)))
    t_ns = table.instants(table.columns[0], unit)
    assert t_ns.dtype == np.int64
    assert t_ns.tolist() == ns


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (["0.5", "noon"], "'t' is 'noon' in row 2, no time in s"),
        (["1", "99999999999999999999"], "in row 2, no time in s"),
        (["0.5", "nan"], "row 2"),
    ],
)
def test_instants_that_are_none(texts: list[str], says: str, tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "t.csv", "t,x\n" + "".join(f"{text},0\n" for text in texts)))
    with pytest.raises(BadInput, match=says):
        table.instants(table.columns[0], "s")


def test_two_columns_of_one_name_are_told_apart_by_number(tmp_path: Path) -> None:
    table = open_table(write(tmp_path / "t.csv", "t,x,x\n0,1,2\n"))
    with pytest.raises(BadInput, match="2 columns named 'x'"):
        table.column("x")
    assert table.column("2").index == 2


def test_a_header_that_does_not_fit(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="names 3 columns and the first row has 2"):
        open_table(write(tmp_path / "t.csv", "a,b,c\n1,2\n"))


def test_a_big_table_is_read_in_a_moment(tmp_path: Path) -> None:
    rows = "".join(f"{1_700_000_000_000_000_000 + k * 2_000_000},{k},{k}\n" for k in range(50_000))
    table = open_table(write(tmp_path / "t.csv", "t_ns,a,b\n" + rows))
    assert len(table.instants(table.columns[0], "ns")) == len(table.floats(table.columns[1:])) == 50_000


@pytest.mark.parametrize("text", ["1e999999", "nan", "inf", "-1e400000", "1e50"])
def test_times_that_cannot_be_reckoned_with(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"time,a\n{text},1\n0.1,2\n")
    table = open_table(path)
    with pytest.raises(BadInput, match="which is no time"):
        time_unit(table, table.columns[0])
    path.write_text(f"time,a\n0.0,1\n{text},2\n")
    with pytest.raises(BadInput, match="in row 2, no time in s"):
        open_table(path).instants(table.columns[0], "s")


def test_the_least_int64_does_not_wrap(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"time_us,a\n{-(2**63)},1\n1,2\n")
    table = open_table(path)
    with pytest.raises(BadInput, match="in row 1, no time in us"):
        table.instants(table.columns[0], "us")


def test_decimals_that_advance_like_milliseconds_are_not_taken_for_seconds(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("time,x\n" + "".join(f"{k * 33.3:.1f},{k}\n" for k in range(10)))
    table = open_table(path)
    with pytest.raises(
        BadInput, match=r"'time' advances by 33\.3 a row, which could be seconds or ms; say which with --time-unit"
    ):
        time_unit(table, table.columns[0])
    assert time_unit(table, table.columns[0], "ms") == "ms"
